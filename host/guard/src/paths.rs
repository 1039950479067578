//! What is counted: one call on each of the paths that every turn takes.

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use bailiwick::clock::SystemClock;
use bailiwick::engine::{Cancel, End, Engine, EngineOptions, Request};
use bailiwick::limits::Limits;
use bailiwick::scope::{
    Access, AgentId, Coordinates, Grant, GuestPath, MountTable, Need, SessionId, Sha256, Skill,
    SkillFile, SkillTable, WorkspaceId,
};
use bailiwick::space::{Search, Space, Storage};
use bailiwick::store::s3::{Addressing, S3Config, S3Store};
use bailiwick::store::{Depth, LocalStore, MemoryStore, ObjectStore, Precondition};
use bytes::Bytes;
use uuid::Uuid;

/// The paths, as `perform` knows them, and how many times suffice to count them.
pub(crate) const NAMES: [(&str, u64); 16] = [
    ("scope/resolve", 400),
    ("scope/resolve-skill", 400),
    ("scope/refuse", 400),
    ("memory/stat", 400),
    ("memory/read", 400),
    ("memory/write", 400),
    ("memory/list-1000", 2),
    ("memory/search-100", 4),
    ("directory/list-1000", 2),
    ("bucket/stat", 25),
    ("bucket/read", 25),
    ("bucket/write", 25),
    ("guest/nothing", 400),
    ("guest/stat", 400),
    ("guest/read", 400),
    ("guest/write", 400),
];

const FILE: &str = "session/reports/2026/summary.md";
const SKILL_FILE: &str = "skill/pdf/scripts/fill.py";

/// Does what a name says so many times.
pub(crate) async fn perform(path: &str, times: u64) -> Result<()> {
    match path.split_once('/') {
        Some(("scope", call)) => scope(call, times),
        Some(("memory", call)) => {
            verb(call, times, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await
        }
        Some(("directory", call)) => {
            let folder = tempfile::tempdir()?;
            let store = LocalStore::open_ambient(folder.path(), Arc::new(SystemClock))?;
            verb(call, times, Arc::new(store)).await
        }
        Some(("bucket", call)) => verb(call, times, Arc::new(bucket().await?)).await,
        Some(("guest", call)) => guest(call, times).await,
        _ => bail!("there is no path `{path}`"),
    }
}

/// A bucket of the server that the test runs.
async fn bucket() -> Result<S3Store> {
    let port =
        std::env::var("BAILIWICK_GUARD_PORT").context("no server: run `cargo xtask guard`")?;
    let credentials = Credentials::new("AKIDEXAMPLE", "secret", None, None, "guard");
    let config = S3Config {
        endpoint: Some(format!("http://127.0.0.1:{port}")),
        region: Some("us-east-1".to_owned()),
        addressing: Addressing::Path,
        credentials: Some(SharedCredentialsProvider::new(credentials)),
        ..S3Config::new("files")
    };
    S3Store::open(&config, Arc::new(SystemClock)).await
}

/// Calls out of a guest, on the memory store. Compiled once, where the test says: compiling is
/// no part of a call, and takes long under callgrind.
#[expect(clippy::disallowed_methods, reason = "the guest is what the set-up built")]
async fn guest(call: &str, times: u64) -> Result<()> {
    let folder = |name| std::env::var_os(name).map(PathBuf::from);
    let guests = folder("BAILIWICK_GUESTS").context("no guests: run `cargo xtask guard`")?;
    let component = std::fs::read(guests.join("bench-verbs.wasm"))?;
    // No epochs: when they come is the clock's affair.
    let limits = Limits { epoch_ms: 3_600_000, turn_ms_max: 3_600_000, ..Limits::default() };
    let cache_dir = folder("BAILIWICK_GUARD_CACHE");
    let options = EngineOptions { cache_dir, ..EngineOptions::default() };
    let engine = Engine::new(limits.clone(), options)?;
    let component = engine.load(&component).await?;
    let clock = Arc::new(SystemClock);
    let storage = Storage::new(Arc::new(MemoryStore::new(clock.clone())), clock, limits);
    let space = storage.space(table()?);
    space.write(FILE, vec![b'x'; 4096].into(), Precondition::Always).await?;
    let input = format!("{call} {FILE} {times}");
    let request = Request { input, attempt: 1, ..Request::default() };
    match engine.run(&component, space, request, Arc::new(()), Cancel::new()).await.end {
        End::Reply(_) => Ok(()),
        end => bail!("the guest did not reply: {end:?}"),
    }
}

fn scope(call: &str, times: u64) -> Result<()> {
    let table = table()?;
    let (path, need) = match call {
        "resolve" => (FILE, Need::Write),
        "resolve-skill" => (SKILL_FILE, Need::Read),
        "refuse" => (SKILL_FILE, Need::Write),
        _ => bail!("there is no call `{call}`"),
    };
    for _ in 0..times {
        let resolved =
            GuestPath::parse(black_box(path)).and_then(|path| table.resolve(&path, need));
        drop(black_box(resolved));
    }
    Ok(())
}

async fn verb(call: &str, times: u64, store: Arc<dyn ObjectStore>) -> Result<()> {
    let storage = Storage::new(store, Arc::new(SystemClock), Limits::default());
    let space = storage.space(table()?);
    let bytes = Bytes::from(vec![b'x'; 4096]);
    space.write(FILE, bytes.clone(), Precondition::Always).await?;
    match call {
        "stat" => {
            for _ in 0..times {
                black_box(space.stat(FILE).await?);
            }
        }
        "read" => {
            for _ in 0..times {
                black_box(space.read(FILE, 0, 4096).await?);
            }
        }
        "write" => {
            for _ in 0..times {
                black_box(space.write(FILE, bytes.clone(), Precondition::Always).await?);
            }
        }
        "list-1000" => list(&space, times).await?,
        "search-100" => search(&space, times).await?,
        _ => bail!("there is no call `{call}`"),
    }
    Ok(())
}

async fn list(space: &Space, times: u64) -> Result<()> {
    for file in 0..1000 {
        let path = format!("agent/listed/{file:04}.md");
        space.write(&path, Bytes::new(), Precondition::Always).await?;
    }
    for _ in 0..times {
        black_box(space.list("agent/listed", Depth::All, None, 1000).await?);
    }
    Ok(())
}

async fn search(space: &Space, times: u64) -> Result<()> {
    let text = Bytes::from("a line of some length, as texts have them\n".repeat(100));
    for file in 0..100 {
        let path = format!("agent/searched/{file:04}.md");
        space.write(&path, text.clone(), Precondition::Always).await?;
    }
    let search = Search {
        folder: "agent/searched",
        glob: None,
        pattern: "no such (line|text)",
        after: None,
        limit: 100,
    };
    for _ in 0..times {
        black_box(space.search(search).await?);
    }
    Ok(())
}

fn table() -> Result<MountTable> {
    let coordinates = Coordinates {
        workspace: WorkspaceId(Uuid::from_u128(1)),
        agent: AgentId(Uuid::from_u128(2)),
        session: Some(SessionId(Uuid::from_u128(3))),
    };
    let file = SkillFile { sha256: Sha256([7; 32]), size: 1, modified_ms: 0 };
    let files = (0..50).map(|number| format!("reference/{number}.md"));
    let files = files.chain(["scripts/fill.py".to_owned()]).map(|path| (path, file));
    let skill = Skill::new(coordinates.workspace, files)?;
    let mut skills = SkillTable::default();
    skills.bind("pdf", Arc::new(skill))?;
    let grant = Grant { agent: Some(Access::ReadWrite), workspace: Some(Access::ReadOnly) };
    Ok(MountTable::new(coordinates, grant, skills))
}
