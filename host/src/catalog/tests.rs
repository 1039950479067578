//! The same tests over both databases.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::scope::{AgentId, Coordinates, Deletion, SessionId, Sha256, WorkspaceId};

#[path = "../../tests/it/postgres.rs"]
mod postgres;

mod components;
mod crashes;
mod events;
mod model;
mod places;
mod promotions;
mod queue;
mod races;
mod retention;
mod rows;
mod skills;
mod sweeping;
mod turns;
mod upgrade;
mod wakeups;

use postgres::Schema;

const LEASE_MS: u64 = 45_000;
const START_MS: u64 = 1_000_000;
const COMPONENT: Sha256 = Sha256([7; 32]);

/// Makes of each function a test on SQLite and one on PostgreSQL.
macro_rules! on_both {
    ($($(#[$about:meta])* async fn $name:ident($desk:ident: &Desk) $body:block)*) => {$(
        $(#[$about])*
        mod $name {
            use super::*;

            async fn check($desk: &Desk) $body

            #[tokio::test]
            async fn sqlite() {
                check(&Desk::sqlite().await).await;
            }

            #[tokio::test]
            async fn postgres() {
                if let Some(desk) = Desk::postgres().await {
                    check(&desk).await;
                }
            }
        }
    )*};
}
use on_both;

#[derive(Debug)]
struct HandClock(AtomicU64);

impl Clock for HandClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Where the database of a test is, and goes with it.
enum Kept {
    Folder(tempfile::TempDir),
    Schema(Schema),
}

struct Desk {
    catalog: Catalog,
    clock: Arc<HandClock>,
    kept: Kept,
}

impl Desk {
    async fn sqlite() -> Self {
        // Where there is a folder in memory, syncs cost nothing.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory } else { &std::env::temp_dir() };
        Self::open(Kept::Folder(tempfile::tempdir_in(folder).unwrap())).await
    }

    async fn postgres() -> Option<Self> {
        Some(Self::open(Kept::Schema(Schema::new().await?)).await)
    }

    async fn open(kept: Kept) -> Self {
        let clock = Arc::new(HandClock(AtomicU64::new(START_MS)));
        let catalog = open(&location(&kept), "files", &clock).await;
        Self { catalog, clock, kept }
    }

    fn file(&self) -> PathBuf {
        match &self.kept {
            Kept::Folder(folder) => folder.path().join("catalog.sqlite"),
            Kept::Schema(_) => panic!("this is no file"),
        }
    }

    async fn another(&self, store: &str) -> Catalog {
        open(&location(&self.kept), store, &self.clock).await
    }

    fn pass(&self, ms: u64) {
        self.clock.0.fetch_add(ms, Ordering::Relaxed);
    }

    async fn session(&self) -> (WorkspaceId, AgentId, SessionId) {
        session(&self.catalog, "monday").await
    }

    /// A session of an agent with a component, so that turns can be queued.
    async fn ready(&self) -> (AgentId, SessionId) {
        let (workspace, agent, session) = self.session().await;
        let guest = name("guest");
        let upload = self.catalog.upload_component(workspace, &guest, COMPONENT, b"wasm");
        upload.await.unwrap();
        let latest = AgentComponent::Latest(guest);
        self.catalog.set_agent_component(agent, Some(&latest)).await.unwrap();
        (agent, session)
    }

    /// What a query counts.
    async fn count(&self, query: &'static str) -> u64 {
        let (count,) = self.catalog.database.rows(sql(query)).await.unwrap().one().unwrap();
        count
    }

    async fn states(&self, session: SessionId) -> Vec<TurnState> {
        let turns = self.catalog.turns(session, 0, 1_000).await.unwrap();
        turns.into_iter().map(|turn| turn.state).collect()
    }
}

fn location(kept: &Kept) -> CatalogLocation {
    match kept {
        Kept::Folder(folder) => CatalogLocation::File(folder.path().join("catalog.sqlite")),
        Kept::Schema(schema) => schema.url().parse().unwrap(),
    }
}

async fn open(location: &CatalogLocation, store: &str, clock: &Arc<HandClock>) -> Catalog {
    let clock: Arc<dyn Clock> = clock.clone();
    let options = CatalogOptions { location, store, lease_ms: LEASE_MS, clock };
    Catalog::open(options).await.unwrap()
}

async fn session(catalog: &Catalog, called: &str) -> (WorkspaceId, AgentId, SessionId) {
    let workspace = catalog.make_workspace(&name("acme")).await.unwrap().id();
    let agent = catalog.make_agent(workspace, &name("clerk")).await.unwrap().id();
    let session = catalog.make_session(agent, &name(called)).await.unwrap().id();
    (workspace, agent, session)
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn label(text: &str) -> Label {
    text.parse().unwrap()
}

fn start(session: SessionId) -> Start<'static> {
    Start { session, component: COMPONENT, input: "in", answer: None, skills: &[] }
}

fn turn_of(session: SessionId) -> Enqueue<'static> {
    let (component, input) = (COMPONENT, "in");
    Enqueue { session, component, input, retries: 2, request: None }
}

fn answer_to(question: TurnId) -> Resume<'static> {
    Resume { question, text: "that", retries: 2, request: None }
}

fn finish(ending: Ending) -> Finish {
    let (wakes, events, invoked) = (Vec::new(), Vec::new(), Vec::new());
    Finish { ending, said: "so far".into(), wakes, events, recorded: 0, invoked }
}

fn replied() -> Finish {
    finish(Ending::Replied("out".into()))
}

fn asked(question: &str) -> Finish {
    let component = Some(b"component".to_vec());
    finish(Ending::Asked { question: question.into(), component })
}

fn failed(failure: Failure) -> Finish {
    finish(Ending::Failed { failure, error: "no luck".into() })
}

fn said(text: &str) -> Event {
    Event::Said { text: text.into() }
}

/// Claims one turn, which there has to be.
async fn claim_one(catalog: &Catalog) -> Claimed {
    let mut claimed = catalog.claim("host", 1).await.unwrap();
    assert_eq!(claimed.len(), 1, "{claimed:?}");
    claimed.remove(0)
}
