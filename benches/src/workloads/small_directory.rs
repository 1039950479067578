//! Small files in a directory, durably written.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use bytes::Bytes;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use futures::TryStreamExt;
use object_store::local::LocalFileSystem;
use object_store::path::Path as PeerPath;
use object_store::{ObjectStore, ObjectStoreExt};

use super::key_value::peer;
use super::{Found, Workload};
use crate::bare::{self, Peers};
use crate::ours::{Host, like_a_key};
use crate::race::{Cost, Race, pair, timed};
use crate::setting::Setting;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "small-directory",
    title: "Small files in a directory",
    about: "A guest reads, stats and durably writes 64 files of 4 KiB in turn, and lists 1,000 \
            with what is to be known of each. `cap-std` does the same by hand: reads and stats on \
            the task's own thread, writes (new file, sync, rename, sync of the folder) and \
            listings on one for blocking work, as ours are. `object_store` is its \
            `LocalFileSystem`, called by the host, with `with_fsync` (it syncs nothing by itself). \
            `wasi:filesystem` is wasmtime's own host of it, called by a guest, with the same two \
            syncs.",
    run: |setting| Box::pin(run(setting)),
};

const FILES: usize = 64;
const REST: &str = "4096 64";
const LISTED: usize = 1_000;
const VERBS: [(&str, &str); 4] =
    [("read 4 KiB", "read"), ("stat", "stat"), ("write 4 KiB", "write"), ("list 1,000", "list")];
/// Of each verb, beside `cap-std` and beside `object_store`, and why it may be missed.
const TARGETS: [(f64, f64, &str); 4] = [
    (2.0, 0.8, CALL_CAUSE),
    (2.0, 1.0, CALL_CAUSE),
    (1.15, 1.0, WRITE_CAUSE),
    (1.5, 0.3, LIST_CAUSE),
];
const CALL_CAUSE: &str = "the kernel is asked the same (open, stat, close). Of what is added, a \
host call is 0.5 to 0.6 µs, and 0.4 µs are the bounds: a path parsed and resolved, and a place among \
the operations of the turn and of the host. One unit of compilation for the whole crate brought it, \
in quiet runs side by side, from between 2.1 and 2.3 to between 2.0 and 2.15; `fstat` in place of \
`cap-std`'s metadata changed little. A busy machine takes more from what is not the kernel's.";
const WRITE_CAUSE: &str = "two syncs take most of the time on either side, and how long one takes \
swings by a third from run to run: this ratio was between 0.95 and 1.24 in six runs of an hour. Ours \
takes locks that processes share and a stamp of a clock that they share beside that. Syncing outside \
of the lock and reserving stamps for a second at a time were the remedies; what remains is what \
several processes on one directory need.";
const LIST_CAUSE: &str = "by perf, 37 % of it are the kernel's (names, and a `statat` for each file, \
as `cap-std` needs them), 27 % go into handing a thousand records to the guest, three texts in each, \
10 % into sorting names and 10 % into the heap. `statat` in place of opening each file brought it, \
in quiet runs, from 2.1 to between 1.8 and 2.0; comparing the first eight bytes of names as one number, digits \
written by hand, and one unit of compilation changed nothing that could be measured. 0.3 beside \
`object_store` would leave a quarter of a millisecond for all that is neither the kernel's nor the \
guest's.";

#[derive(Clone)]
struct Folder {
    dir: Arc<Dir>,
    peer: Arc<LocalFileSystem>,
    peers: Peers,
    wasi: Arc<Path>,
}

async fn run(setting: &Setting) -> Result<Found> {
    let root = setting.folder()?;
    let host = Host::in_directory(setting, &root.path().join("ours")).await?;
    host.turn(format!("write session/f {FILES} {REST}")).await?;
    host.turn(format!("write session/many/f {LISTED} 4096 {LISTED}")).await?;
    let folder = Folder::fill(setting, root.path())?;
    let times = |verb: &str| match verb {
        "write" => setting.choose(30, 100),
        "list" => setting.choose(5, 20),
        _ => setting.choose(2_000, 10_000),
    };
    let mut race = Race::default();
    for (what, verb) in VERBS {
        let (times, folder, host) = (times(verb), folder.clone(), host.clone());
        let (path, rest) = if verb == "list" { ("session/many", "") } else { ("session/f", REST) };
        race.enter("guest", what, move || {
            host.clone().verb(format!("{verb} {path}"), times, rest.to_owned())
        });
        let raw = folder.clone();
        race.enter("cap-std", what, move || raw.clone().raw(verb, times));
        let store = folder.clone();
        race.enter("object_store", what, move || store.clone().peer(verb, times));
        let (name, rest) = if verb == "list" { ("many", "") } else { ("f", REST) };
        race.enter("wasi:filesystem", what, move || {
            let (peers, folder) = (folder.peers.clone(), folder.wasi.clone());
            peer(peers, folder, format!("{verb} {name}"), times, rest)
        });
    }
    let raced = race.run(setting.choose(11, 31)).await?;
    let mut figures = Vec::new();
    for ((what, _), (beside_raw, beside_peer, cause)) in VERBS.into_iter().zip(TARGETS) {
        let beside = |other| raced.time(pair(what, "guest", other));
        figures.push(beside("cap-std")?.at_most(beside_raw).because(cause));
        figures.push(beside("object_store")?.at_most(beside_peer).because(cause));
        figures.push(raced.time(pair(what, "guest", "wasi:filesystem"))?);
    }
    Ok(figures.into())
}

impl Folder {
    /// The same files for everybody beside us.
    fn fill(setting: &Setting, root: &Path) -> Result<Self> {
        for place in ["raw", "peer"] {
            fill(&root.join(place).join(like_a_key("")))?;
        }
        fill(&root.join("wasi"))?;
        Ok(Self {
            dir: Arc::new(Dir::open_ambient_dir(root.join("raw"), ambient_authority())?),
            peer: Arc::new(LocalFileSystem::new_with_prefix(root.join("peer"))?.with_fsync(true)),
            peers: Peers::new(&bare::engine()?, &setting.guest("bench-peers")?)?,
            wasi: root.join("wasi").into(),
        })
    }

    async fn raw(self, verb: &'static str, times: usize) -> Result<Cost> {
        let paths = paths("f", FILES);
        let calls = async {
            for at in 0..times {
                let path = &paths[at % FILES];
                match verb {
                    "read" => drop(self.dir.read(path)?),
                    "stat" => self.dir.metadata(path).map(|_| ())?,
                    _ => {
                        let (dir, path) = (self.dir.clone(), path.clone());
                        let work = move || match verb {
                            "write" => raw_write(&dir, &path),
                            _ => raw_list(&dir),
                        };
                        tokio::task::spawn_blocking(work).await??;
                    }
                }
            }
            Ok(())
        };
        Ok(timed(calls).await?.1.per(times))
    }

    async fn peer(self, verb: &'static str, times: usize) -> Result<Cost> {
        let paths: Vec<_> = paths("f", FILES).into_iter().map(PeerPath::from).collect();
        let many = PeerPath::from(like_a_key("many"));
        let bytes = Bytes::from(vec![b'x'; 4096]);
        let calls = async {
            for at in 0..times {
                let path = &paths[at % FILES];
                match verb {
                    "read" => drop(self.peer.get(path).await?.bytes().await?),
                    "stat" => drop(self.peer.head(path).await?),
                    "write" => drop(self.peer.put(path, bytes.clone().into()).await?),
                    _ => drop(self.peer.list(Some(&many)).try_collect::<Vec<_>>().await?),
                }
            }
            Ok(())
        };
        Ok(timed(calls).await?.1.per(times))
    }
}

fn fill(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder.join("many"))?;
    for file in 0..FILES {
        std::fs::write(folder.join(format!("f{file}")), [b'x'; 4096])?;
    }
    for file in 0..LISTED {
        std::fs::write(folder.join(format!("many/f{file}")), [b'x'; 4096])?;
    }
    Ok(())
}

fn paths(start: &str, files: usize) -> Vec<String> {
    (0..files).map(|file| like_a_key(&format!("{start}{file}"))).collect()
}

fn raw_write(dir: &Dir, path: &str) -> Result<()> {
    const NEW: &str = "being-written";
    let mut file = dir.create(NEW)?;
    file.write_all(&[b'x'; 4096])?;
    file.sync_all()?;
    dir.rename(NEW, dir, path)?;
    let (folder, _) = path.rsplit_once('/').context("a path without a folder")?;
    dir.open(folder)?.sync_all()?;
    Ok(())
}

/// Names with size and time, in order.
fn raw_list(dir: &Dir) -> Result<()> {
    let mut files = Vec::new();
    for entry in dir.read_dir(like_a_key("many"))? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        files.push((entry.file_name(), metadata.len(), metadata.modified()?));
    }
    files.sort();
    Ok(())
}
