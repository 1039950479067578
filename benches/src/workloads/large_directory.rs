//! One large file through a writer and a reader, in a directory.

use std::io::{ErrorKind, Read, Write};
use std::num::NonZeroU64;
use std::sync::Arc;

use anyhow::{Result, ensure};
use bailiwick::space::ErrorCode;
use bailiwick::store::Precondition;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File};
use futures::TryStreamExt;
use object_store::local::LocalFileSystem;
use object_store::path::Path as PeerPath;
use object_store::{ObjectStoreExt, WriteMultipart};
use rustix::fs::{Advice, fadvise};

use super::{Found, Workload};
use crate::figure::Unit;
use crate::ours::Host;
use crate::race::{Cost, Race, pair, timed};
use crate::setting::Setting;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "large-directory",
    title: "One large file in a directory",
    about: "A guest writes 1 GiB (128 MiB in a quick run) through a writer, durably, and reads it \
            back from the page cache through a reader, 1 MiB per call. `cap-std` does the same in \
            blocks of 1 MiB on a thread for blocking work: new file, sync, rename, sync of the \
            folder. It writes once more as our store does, sending each 8 MiB to the disk at once \
            and not all of them by the sync; and it reads once more, copying each block to where \
            a guest's memory could be. `object_store` is its `LocalFileSystem` with `with_fsync`. \
            Before it writes, each one deletes what it wrote last, off the clock: a kernel fills \
            pages that were just given back several times as fast as others.",
    run: |setting| Box::pin(run(setting)),
};

const BLOCK: usize = 1 << 20;
const READ_CAUSE: &str = "a guest's bytes are copied twice, by the kernel and into the guest's \
     memory; beside a reader that does the same, ours is level. Reading no further ahead than \
     8 MiB, in blocks of 1 MiB, brought it from 0.44 to between 0.60 and 0.74; reading on the guest's \
     own thread what the kernel has in memory was worse (0.58), as were windows of 2, 4 and 16 MiB.";

#[derive(Clone)]
struct Contest {
    host: Host,
    dir: Arc<Dir>,
    peer: Arc<LocalFileSystem>,
    bytes: usize,
}

async fn run(setting: &Setting) -> Result<Found> {
    let root = setting.folder()?;
    for place in ["raw", "peer"] {
        std::fs::create_dir(root.path().join(place))?;
    }
    let bytes = setting.choose(128 << 20, 1 << 30);
    let contest = Contest {
        host: Host::in_directory(setting, &root.path().join("ours")).await?,
        dir: Arc::new(Dir::open_ambient_dir(root.path().join("raw"), ambient_authority())?),
        peer: Arc::new(
            LocalFileSystem::new_with_prefix(root.path().join("peer"))?.with_fsync(true),
        ),
        bytes,
    };
    let mut race = Race::default();
    race.enter("guest", "write", || contest.clone().our_write());
    race.enter("cap-std", "write", || contest.clone().raw_write(raw_write));
    race.enter("cap-std, sent early", "write", || contest.clone().raw_write(raw_write_sent_early));
    race.enter("object_store", "write", || contest.clone().peer_write());
    race.enter("guest", "read", || contest.clone().ours("stream-read session/large 1".to_owned()));
    race.enter("cap-std", "read", || contest.clone().raw(raw_read));
    race.enter("cap-std, copied on", "read", || contest.clone().raw(raw_read_copied_on));
    race.enter("object_store", "read", || contest.clone().peer_read());
    let raced = race.run(setting.choose(7, 11)).await?;
    let speed = |what, against| {
        raced.speed(pair(what, "guest", against), bytes as u64, Unit::BytesPerSecond)
    };
    Ok(vec![
        speed("write", "cap-std")?.at_least(0.9),
        speed("write", "cap-std, sent early")?,
        speed("write", "object_store")?,
        speed("read", "cap-std")?.at_least(0.9).because(READ_CAUSE),
        speed("read", "cap-std, copied on")?,
        speed("read", "object_store")?,
    ]
    .into())
}

impl Contest {
    async fn our_write(self) -> Result<Cost> {
        let gone = self.host.space().delete("session/large", Precondition::Always).await;
        if let Err(error) = gone {
            ensure!(error.code == ErrorCode::NotFound, "{error}");
        }
        let input = format!("stream-write session/large 1 {}", self.bytes);
        self.ours(input).await
    }

    async fn raw_write(self, work: fn(&Dir, usize) -> Result<()>) -> Result<Cost> {
        gone(self.dir.remove_file("large"))?;
        self.raw(work).await
    }

    async fn ours(self, input: String) -> Result<Cost> {
        Ok(timed(self.host.turn(input)).await?.1)
    }

    async fn raw(self, work: fn(&Dir, usize) -> Result<()>) -> Result<Cost> {
        let whole = async {
            let (dir, bytes) = (self.dir, self.bytes);
            tokio::task::spawn_blocking(move || work(&dir, bytes)).await?
        };
        Ok(timed(whole).await?.1)
    }

    async fn peer_write(self) -> Result<Cost> {
        match self.peer.delete(&PeerPath::from("large")).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let whole = async {
            let upload = self.peer.put_multipart(&PeerPath::from("large")).await?;
            let mut upload = WriteMultipart::new(upload);
            let block = vec![b'x'; BLOCK];
            for _ in 0..self.bytes / BLOCK {
                upload.wait_for_capacity(8).await?;
                upload.write(&block);
            }
            upload.finish().await?;
            Ok(())
        };
        Ok(timed(whole).await?.1)
    }

    async fn peer_read(self) -> Result<Cost> {
        let whole = async {
            let mut body = self.peer.get(&PeerPath::from("large")).await?.into_stream();
            let mut length = 0;
            while let Some(bytes) = body.try_next().await? {
                length += bytes.len();
            }
            ensure!(length == self.bytes, "{length} bytes came");
            Ok(())
        };
        Ok(timed(whole).await?.1)
    }
}

/// Of a deletion: whether it is there no more.
fn gone(deleted: std::io::Result<()>) -> Result<()> {
    match deleted {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn raw_write(dir: &Dir, bytes: usize) -> Result<()> {
    write_blocks(dir, bytes, |_, _| Ok(()))
}

/// As before, but what was written is sent to the disk at once, not all of it by the sync.
fn raw_write_sent_early(dir: &Dir, bytes: usize) -> Result<()> {
    const SENT: usize = 8 * BLOCK;
    write_blocks(dir, bytes, |file, written| {
        if written % SENT == 0 {
            let range = ((written - SENT) as u64, NonZeroU64::new(SENT as u64));
            fadvise(file, range.0, range.1, Advice::DontNeed)?;
        }
        Ok(())
    })
}

fn write_blocks(
    dir: &Dir,
    bytes: usize,
    written: impl Fn(&File, usize) -> Result<()>,
) -> Result<()> {
    let mut file = dir.create("being-written")?;
    let block = vec![b'x'; BLOCK];
    for count in 1..=bytes / BLOCK {
        file.write_all(&block)?;
        written(&file, count * BLOCK)?;
    }
    file.sync_all()?;
    dir.rename("being-written", dir, "large")?;
    dir.open(".")?.sync_all()?;
    Ok(())
}

fn raw_read(dir: &Dir, bytes: usize) -> Result<()> {
    read_blocks(dir, bytes, |_| {})
}

/// Once more, as bytes come to be in a guest's memory.
fn raw_read_copied_on(dir: &Dir, bytes: usize) -> Result<()> {
    let mut guest = vec![0; BLOCK];
    read_blocks(dir, bytes, |block| {
        std::hint::black_box(&mut guest[..block.len()]).copy_from_slice(block);
    })
}

fn read_blocks(dir: &Dir, bytes: usize, mut take: impl FnMut(&[u8])) -> Result<()> {
    let mut file = dir.open("large")?;
    let mut block = vec![0; BLOCK];
    let mut length = 0;
    loop {
        match file.read(&mut block)? {
            0 => break,
            read => {
                take(std::hint::black_box(&block[..read]));
                length += read;
            }
        }
    }
    ensure!(length == bytes, "{length} bytes were there");
    Ok(())
}
