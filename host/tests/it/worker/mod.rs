//! The worker: queued turns, run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bailiwick::catalog::{
    Catalog, CatalogLocation, CatalogOptions, Enqueue, Event, Name, Resume, Turn, TurnId, TurnState,
};
use bailiwick::clock::Clock;
use bailiwick::engine::{Engine, EngineOptions};
use bailiwick::limits::Limits;
use bailiwick::scope::{AgentId, Coordinates, SessionId, Sha256, WorkspaceId};
use bailiwick::space::Storage;
use bailiwick::store::MemoryStore;
use bailiwick::worker::{Mounting, Worker, WorkerOptions};
use sha2::Digest;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::faulty::Faulty;

mod folders;
mod leases;
mod skills;
mod turns;

/// Longest that a test waits for something to happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// Real time, and as much more as a test says.
#[derive(Debug, Default)]
struct AheadClock(AtomicU64);

impl Clock for AheadClock {
    fn now_ms(&self) -> u64 {
        bailiwick::clock::SystemClock.now_ms() + self.0.load(Ordering::Relaxed)
    }
}

/// A catalog, a store and what runs guests: a platform's back room.
struct Platform {
    catalog: Catalog,
    storage: Arc<Storage>,
    engine: Engine,
    clock: Arc<AheadClock>,
    store: Faulty,
    workspace: WorkspaceId,
    agent: AgentId,
    folder: tempfile::TempDir,
}

impl Platform {
    async fn new() -> Self {
        // Whoever is asked to stop and does not has not long.
        Self::with(Limits { cancel_ms_max: 300, ..Limits::default() }).await
    }

    async fn with(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(AheadClock::default());
        let location = CatalogLocation::File(folder.path().join("catalog.sqlite"));
        let catalog = Catalog::open(CatalogOptions {
            location: &location,
            store: "test",
            lease_ms: limits.turn_lease_ms,
            clock: clock.clone(),
        });
        let catalog = catalog.await.unwrap();
        let store = Faulty::new(Arc::new(MemoryStore::new(clock.clone())));
        let cache = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-guests");
        let options = EngineOptions { cache_dir: Some(cache), ..EngineOptions::default() };
        let engine = Engine::new(limits.clone(), options).unwrap();
        let storage = Storage::new(Arc::new(store.clone()), clock.clone(), limits);
        let workspace = catalog.make_workspace(&name("w")).await.unwrap().id();
        let agent = catalog.make_agent(workspace, &name("a")).await.unwrap().id();
        Self { catalog, storage, engine, clock, store, workspace, agent, folder }
    }

    async fn session(&self, called: &str) -> SessionId {
        self.catalog.make_session(self.agent, &name(called)).await.unwrap().id()
    }

    async fn upload(&self, guest: &[u8]) -> Sha256 {
        let sha256 = Sha256(sha2::Sha256::digest(guest).into());
        let named = name("guest");
        self.catalog.upload_component(self.workspace, &named, sha256, guest).await.unwrap();
        sha256
    }

    async fn ask(&self, session: SessionId, component: Sha256, input: &str) -> TurnId {
        let turn = Enqueue { session, component, input, retries: 1, request: None };
        self.catalog.enqueue(turn).await.unwrap().id()
    }

    async fn answer(&self, question: TurnId, text: &str) -> TurnId {
        let resume = Resume { question, text, retries: 1, request: None };
        self.catalog.resume(resume).await.unwrap().id()
    }

    fn worker(&self, host: &str, turns_max: usize) -> Worker {
        Worker::new(self.options(host, turns_max))
    }

    fn mounting_worker(&self, host: &str, mounting: Mounting) -> Worker {
        Worker::new(WorkerOptions { mounting, ..self.options(host, 1) })
    }

    fn options(&self, host: &str, turns_max: usize) -> WorkerOptions {
        WorkerOptions {
            catalog: self.catalog.clone(),
            engine: self.engine.clone(),
            storage: self.storage.clone(),
            host: host.to_owned(),
            turns_max,
            mounting: Mounting::BestEffort,
        }
    }

    /// Waits until a turn is as wanted.
    async fn until(&self, turn: TurnId, is: impl Fn(&Turn) -> bool) -> Turn {
        let looked = async {
            loop {
                let found = self.catalog.turn(turn).await.unwrap().unwrap();
                if is(&found) {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let found = tokio::time::timeout(PATIENCE, looked).await;
        match found {
            Ok(turn) => turn,
            Err(_) => panic!("it stays {:?}", self.catalog.turn(turn).await),
        }
    }

    async fn ended(&self, turn: TurnId) -> Turn {
        let over = [TurnState::Done, TurnState::Failed, TurnState::Parked];
        self.until(turn, |turn| over.contains(&turn.state)).await
    }

    async fn events(&self, turn: TurnId) -> Vec<Event> {
        let events = self.catalog.events_of_turn(turn, 0, 256).await.unwrap();
        events.into_iter().map(|recorded| recorded.event).collect()
    }

    /// What a session's files hold.
    async fn read(&self, session: SessionId, path: &str) -> Option<Vec<u8>> {
        use bailiwick::scope::{Grant, MountTable, SkillTable};
        let coordinates =
            Coordinates { workspace: self.workspace, agent: self.agent, session: Some(session) };
        let table = MountTable::new(coordinates, Grant::default(), SkillTable::default());
        let chunk = self.storage.space(table).read(path, 0, 1 << 20).await.ok()?;
        Some(chunk.bytes.to_vec())
    }
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

/// A worker at work, until it is told to stop.
struct AtWork {
    worker: Worker,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl AtWork {
    fn start(worker: Worker, patience: Duration) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn({
            let worker = worker.clone();
            async move {
                let stopped = async { _ = stopped.await };
                worker.run(stopped, patience).await;
            }
        });
        Self { worker, stop, task }
    }

    async fn stop(self) {
        _ = self.stop.send(());
        tokio::time::timeout(PATIENCE, self.task).await.unwrap().unwrap();
    }
}
