//! How long things are kept, and how they go: a real catalog over a real store, with a clock that a
//! test sets.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bailiwick::catalog::{
    AgentComponent, Catalog, CatalogLocation, CatalogOptions, Claimed, Ending, Enqueue, Finish,
    Name,
};
use bailiwick::clock::Clock;
use bailiwick::limits::Limits;
use bailiwick::retention::{Observer, Sweeper};
use bailiwick::scope::{
    Access, AgentId, Coordinates, Grant, MountTable, SessionId, Sha256, SkillTable, WorkspaceId,
};
use bailiwick::space::{Space, Storage};
use bailiwick::store::{Depth, MemoryStore, ObjectStore};

use crate::faulty::Faulty;
use crate::postgres::Schema;
use crate::space::put;

mod orders;
mod sweeping;
mod year;

pub(crate) const DAY_MS: u64 = 86_400_000;
const START_MS: u64 = 1_700_000_000_000;
/// Longer than any test lasts: nobody gives up a turn that a test has in hand.
const LEASE_MS: u64 = 1_000 * DAY_MS;
const COMPONENT: Sha256 = Sha256([7; 32]);

/// The time that a test says it is.
#[derive(Debug)]
pub(crate) struct HandClock(AtomicU64);

impl Clock for HandClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl HandClock {
    pub(crate) fn pass(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

/// Where the database of a test is, and goes with it.
pub(crate) enum Database {
    File(tempfile::TempDir),
    Server(Schema),
}

impl Database {
    pub(crate) fn file() -> Self {
        Self::File(folder())
    }

    fn location(&self) -> CatalogLocation {
        match self {
            Self::File(folder) => CatalogLocation::File(folder.path().join("catalog.sqlite")),
            Self::Server(schema) => schema.url().parse().unwrap(),
        }
    }
}

/// In memory where there is such a place: what is synced is synced at once.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory } else { &std::env::temp_dir() };
    tempfile::tempdir_in(folder).unwrap()
}

/// A platform's back room.
pub(crate) struct Ground {
    pub(crate) catalog: Catalog,
    pub(crate) clock: Arc<HandClock>,
    pub(crate) store: Faulty,
    pub(crate) storage: Arc<Storage>,
    pub(crate) workspace: WorkspaceId,
    database: Database,
}

impl Ground {
    pub(crate) async fn new() -> Self {
        let clock = Arc::new(HandClock(AtomicU64::new(START_MS)));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        Self::over(Database::file(), store, clock).await
    }

    pub(crate) async fn over(
        database: Database,
        store: Arc<dyn ObjectStore>,
        clock: Arc<HandClock>,
    ) -> Self {
        let catalog = catalog(&database, &clock).await;
        let store = Faulty::new(store);
        let storage = Storage::new(Arc::new(store.clone()), clock.clone(), Limits::default());
        let workspace = catalog.make_workspace(&name("w")).await.unwrap().id();
        let guest = name("guest");
        catalog.upload_component(workspace, &guest, COMPONENT, b"wasm").await.unwrap();
        Self { catalog, clock, store, storage, workspace, database }
    }

    /// A catalog of another process, of the same database.
    pub(crate) async fn another(&self) -> Catalog {
        catalog(&self.database, &self.clock).await
    }

    pub(crate) fn sweeper(&self) -> Sweeper {
        self.watched_by(Arc::new(()))
    }

    pub(crate) fn watched_by(&self, observer: Arc<dyn Observer>) -> Sweeper {
        Sweeper::new(self.catalog.clone(), self.storage.clone(), observer)
    }

    pub(crate) async fn agent(&self, called: &str) -> AgentId {
        let agent = self.catalog.make_agent(self.workspace, &name(called)).await.unwrap().id();
        let latest = AgentComponent::Latest(name("guest"));
        self.catalog.set_agent_component(agent, Some(&latest)).await.unwrap();
        agent
    }

    pub(crate) async fn session(&self, agent: AgentId, called: &str) -> SessionId {
        self.catalog.make_session(agent, &name(called)).await.unwrap().id()
    }

    pub(crate) fn space(&self, agent: AgentId, session: SessionId) -> Space {
        space(&self.storage, self.workspace, agent, session)
    }

    /// A file, as somebody writes it from outside of a turn.
    pub(crate) async fn write(&self, agent: AgentId, session: SessionId, path: &str) {
        put(&self.space(agent, session), path, "text").await;
        self.catalog.note_write(session).await.unwrap();
    }

    /// The files of a session.
    pub(crate) async fn files(&self, agent: AgentId, session: SessionId) -> Vec<String> {
        let space = self.space(agent, session);
        let page = space.list("session", Depth::All, None, 1_000).await.unwrap();
        page.files.into_iter().map(|file| file.path).collect()
    }

    /// Queues a turn of a session and begins it.
    pub(crate) async fn begin(&self, session: SessionId) -> Claimed {
        self.catalog.enqueue(turn(session)).await.unwrap();
        let claimed = self.catalog.claim("host", 1).await.unwrap();
        claimed.into_iter().next().unwrap()
    }

    /// A turn of a session, from its beginning to its end.
    pub(crate) async fn turn(&self, session: SessionId, ending: Ending) {
        let lease = self.begin(session).await.lease;
        self.catalog.finish_turn(lease, &ended(ending)).await.unwrap();
    }

    /// Sweeps until all is proved.
    pub(crate) async fn sweep_out(&self) {
        let sweeper = self.sweeper();
        while {
            let tick = sweeper.tick_through().await;
            assert_eq!(tick.failed, 0, "{tick:?}");
            self.catalog.unproved_deletions().await.unwrap() > 0
        } {
            self.clock.pass(self.storage.limits().change_ms_max());
        }
    }
}

pub(crate) fn turn(session: SessionId) -> Enqueue<'static> {
    Enqueue { session, component: COMPONENT, input: "in", retries: 0, request: None }
}

pub(crate) fn ended(ending: Ending) -> Finish {
    let (wakes, events, invoked) = (Vec::new(), Vec::new(), Vec::new());
    Finish { ending, said: String::new(), wakes, events, recorded: 0, invoked }
}

pub(crate) fn replied() -> Ending {
    Ending::Replied("out".into())
}

pub(crate) fn space(
    storage: &Arc<Storage>,
    workspace: WorkspaceId,
    agent: AgentId,
    session: SessionId,
) -> Space {
    let coordinates = Coordinates { workspace, agent, session: Some(session) };
    let all = Some(Access::ReadWrite);
    let table =
        MountTable::new(coordinates, Grant { agent: all, workspace: all }, SkillTable::default());
    storage.space(table)
}

async fn catalog(database: &Database, clock: &Arc<HandClock>) -> Catalog {
    let location = database.location();
    let clock: Arc<dyn Clock> = clock.clone();
    let options = CatalogOptions { location: &location, store: "files", lease_ms: LEASE_MS, clock };
    Catalog::open(options).await.unwrap()
}

pub(crate) fn name(text: &str) -> Name {
    text.parse().unwrap()
}
