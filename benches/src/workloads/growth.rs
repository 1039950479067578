//! What a call costs while what is there grows tenfold, and tenfold again.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use bailiwick::catalog::{Catalog, CatalogLocation, CatalogOptions, Name};
use bailiwick::clock::SystemClock;
use bailiwick::limits::Limits;
use bailiwick::scope::{AgentId, Coordinates, SessionId, WorkspaceId};
use bailiwick::space::Space;
use bailiwick::store::{Depth, Precondition};
use bytes::Bytes;
use uuid::Uuid;

use super::{Found, Workload};
use crate::figure::Figure;
use crate::ours::{Host, coordinates, key};
use crate::race::{Cost, Race, Raced, pair, timed};
use crate::setting::Setting;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "growth",
    title: "Growth",
    about: "What a call costs in stores of three sizes, a factor of ten apart: more files in the \
            scope (in folders of 30, on the memory store and in a directory), more sessions of \
            an agent and more workspaces (in a directory, and by name in the catalog). Each is \
            the cost at that size over the cost at the smallest. The flat folder is the one \
            exception that is known: a directory has to be read to be sorted, so a page of it \
            costs a pass over all of its names.",
    run: |setting| Box::pin(run(setting)),
};

const FOLDER: usize = 30;

const WRITE_CAUSE: &str = "where a filesystem places what was just made decides what a sync takes: \
ten plain writes with the same two syncs, in trees of the same shapes, took as long in each in one \
run of four, and 1.6 to 2.5 times as long in the largest in the three others. A full run, whose \
smallest store is larger, showed none of it (0.97 to 1.00 at the largest).";
const FIND_CAUSE: &str = "three statements, each handed to a thread of SQLite's and waited for. How \
long two threads take to wake one another hangs on what ran before: right after a folder that took \
65 ms to read, lookups in the smallest catalog took 261 µs, and 115 µs elsewhere. Held to one \
processor (`taskset -c 0`), the largest took 0.98 (0.97 – 1.06) of the smallest.";

async fn run(setting: &Setting) -> Result<Found> {
    let sizes = setting.choose([30, 300, 3_000], [1_000, 10_000, 100_000]);
    let names = sizes.map(|size| size.to_string());
    let root = setting.folder()?;
    let mut race = Race::default();
    for (size, name) in sizes.into_iter().zip(&names) {
        let memory = Host::in_memory(setting).await?;
        fill_memory(&memory.space(), size).await?;
        enter_files(&mut race, "memory store, files", name, (memory.space(), FILE), [500; 4]);
        let directory = |kind: &str| root.path().join(format!("{kind}-{size}"));
        let files = directory("files");
        fill(&files, (0..size).map(|file| (coordinates(1), path(file))))?;
        let host = Host::in_directory(setting, &files).await?;
        enter_files(&mut race, "directory, files", name, (host.space(), FILE), ON_DISK);
        let sessions = directory("sessions");
        fill(&sessions, (0..size).map(|at| (coordinates(at as u128), FILE.to_owned())))?;
        let host = Host::in_directory(setting, &sessions).await?;
        enter_files(&mut race, "directory, sessions", name, (host.space(), FILE), ON_DISK);
        let workspaces = directory("workspaces");
        fill(&workspaces, (0..size).map(|at| (workspace(at), FILE.to_owned())))?;
        let host = Host::in_directory(setting, &workspaces).await?;
        enter_files(
            &mut race,
            "directory, workspaces",
            name,
            (host.space_of(workspace(1)), FILE),
            ON_DISK,
        );
        let flat = directory("flat");
        fill(&flat, (0..size).map(|file| (coordinates(1), format!("session/flat/{file}"))))?;
        let space = Host::in_directory(setting, &flat).await?.space();
        race.enter(name, "directory, flat folder: list", move || {
            calls(space.clone(), Call::List("session/flat"), 1)
        });
        let known = Known::new(&directory("catalog"), size / 10).await?;
        race.enter(name, "catalog, sessions: find", move || known.clone().find(200));
    }
    let raced = race.run(setting.choose(9, 21)).await?;
    let mut figures = Vec::new();
    for kind in
        ["memory store, files", "directory, files", "directory, sessions", "directory, workspaces"]
    {
        for call in ["stat", "read", "write", "list"] {
            let found = grown(&raced, &format!("{kind}: {call}"), &names, Some(1.2))?;
            figures.extend(found.into_iter().map(|figure| match call {
                "write" if kind.starts_with("directory") => figure.because(WRITE_CAUSE),
                _ => figure,
            }));
        }
    }
    let finds = grown(&raced, "catalog, sessions: find", &names, Some(1.2))?;
    figures.extend(finds.into_iter().map(|figure| figure.because(FIND_CAUSE)));
    figures.extend(grown(&raced, "directory, flat folder: list", &names, None)?);
    Ok(figures.into())
}

/// The larger sizes over the smallest one.
fn grown(raced: &Raced, what: &str, names: &[String], most: Option<f64>) -> Result<Vec<Figure>> {
    let (smallest, larger) = names.split_first().context("no sizes")?;
    let figure = |size: &String| {
        let figure = raced.time(pair(what, size, smallest))?;
        Ok(most.map_or(figure.clone(), |most| figure.at_most(most)))
    };
    larger.iter().map(figure).collect()
}

const FILE: &str = "session/0000/0000001.txt";

fn path(file: usize) -> String {
    format!("session/{:04}/{file:07}.txt", file / FOLDER)
}

fn workspace(at: usize) -> Coordinates {
    let id = Uuid::from_u128(at as u128);
    Coordinates { workspace: WorkspaceId(id), agent: AgentId(id), session: Some(SessionId(id)) }
}

async fn fill_memory(space: &Space, size: usize) -> Result<()> {
    for file in 0..size {
        let bytes = Bytes::from_static(&[b'x'; 4096]);
        space.write(&path(file), bytes, Precondition::Always).await?;
    }
    Ok(())
}

/// Puts files where the store keeps them, without its syncs.
fn fill(folder: &Path, files: impl Iterator<Item = (Coordinates, String)>) -> Result<()> {
    for (coordinates, path) in files {
        let file = folder.join(key(coordinates, &path)?.as_str());
        std::fs::create_dir_all(file.parent().context("a file without a folder")?)?;
        std::fs::write(file, [b'x'; 64])?;
    }
    Ok(())
}

/// How often each verb is called in a round where a write waits for a disk.
const ON_DISK: [usize; 4] = [500, 500, 10, 20];

fn enter_files(
    race: &mut Race<'_>,
    kind: &str,
    size: &str,
    (space, file): (Space, &'static str),
    times: [usize; 4],
) {
    let verbs = [
        ("stat", Call::Stat(file)),
        ("read", Call::Read(file)),
        ("write", Call::Write(file)),
        ("list", Call::List("session/0000")),
    ];
    for ((verb, call), times) in verbs.into_iter().zip(times) {
        let space = space.clone();
        race.enter(size, &format!("{kind}: {verb}"), move || calls(space.clone(), call, times));
    }
}

#[derive(Clone, Copy)]
enum Call {
    Stat(&'static str),
    Read(&'static str),
    Write(&'static str),
    /// A page of a folder of 30 files.
    List(&'static str),
}

async fn calls(space: Space, call: Call, times: usize) -> Result<Cost> {
    let all = async {
        for _ in 0..times {
            match call {
                Call::Stat(file) => drop(space.stat(file).await?),
                Call::Read(file) => drop(space.read(file, 0, 4096).await?),
                Call::Write(file) => {
                    let bytes = Bytes::from_static(b"written");
                    drop(space.write(file, bytes, Precondition::Always).await?);
                }
                Call::List(folder) => drop(space.list(folder, Depth::All, None, 30).await?),
            }
        }
        Ok(())
    };
    Ok(timed(all).await?.1.per(times))
}

/// A catalog with so many sessions of one agent.
#[derive(Clone)]
struct Known {
    catalog: Arc<Catalog>,
}

impl Known {
    async fn new(folder: &Path, sessions: usize) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        let options = CatalogOptions {
            location: &CatalogLocation::File(folder.join("catalog")),
            store: "bench",
            lease_ms: Limits::default().turn_lease_ms,
            clock: Arc::new(SystemClock),
        };
        let catalog = Catalog::open(options).await?;
        let workspace = catalog.make_workspace(&name("acme")?).await?.id();
        let agent = catalog.make_agent(workspace, &name("bench")?).await?.id();
        for session in 0..sessions {
            catalog.make_session(agent, &name(&format!("s{session}"))?).await?;
        }
        Ok(Self { catalog: Arc::new(catalog) })
    }

    /// Looks the first session up by its names, as each command does. It does so once more before
    /// it counts: for a while after others have worked, two threads wake one another more slowly.
    async fn find(self, times: usize) -> Result<Cost> {
        self.find_all(times).await?;
        Ok(timed(self.find_all(times)).await?.1.per(times))
    }

    async fn find_all(&self, times: usize) -> Result<()> {
        let names = [name("acme")?, name("bench")?, name("s0")?];
        for _ in 0..times {
            let workspace = self.catalog.workspace(&names[0]).await?.context("no workspace")?;
            let agent = self.catalog.agent(workspace, &names[1]).await?.context("no agent")?;
            self.catalog.session(agent, &names[2]).await?.context("no session")?;
        }
        Ok(())
    }
}

fn name(text: &str) -> Result<Name> {
    Ok(text.parse()?)
}
