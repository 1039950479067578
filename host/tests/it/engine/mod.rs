//! Guests, run by the engine over the memory store.

mod c;
mod cache;
mod codes;
mod faults;
mod hostile;
mod imports;
mod javascript;
mod languages;
mod loading;
mod overlapping;
mod python;
mod turns;
pub(crate) mod wat;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bailiwick::clock::SystemClock;
use bailiwick::engine::{
    Cancel, Component, Engine, EngineOptions, Level, Observer, Report, Request,
};
use bailiwick::limits::Limits;
use bailiwick::scope::{
    Access, AgentId, Coordinates, Grant, MountTable, SessionId, SkillTable, WorkspaceId,
};
use bailiwick::space::{Space, Storage};
use bailiwick::store::{MemoryStore, Precondition};
use bytes::Bytes;
use uuid::Uuid;

use crate::faulty::Faulty;

/// An engine and a store, with bounds small enough to be reached in a moment.
struct Host {
    engine: Engine,
    store: Faulty,
    storage: Arc<Storage>,
}

/// Bounds under which nothing in these tests takes long.
fn limits() -> Limits {
    Limits { turn_ms_max: 20_000, cancel_ms_max: 300, log_bytes_max: 64 << 10, ..Limits::default() }
}

impl Host {
    fn new(limits: Limits) -> Self {
        // Shared by all tests, and kept: a guest is compiled once.
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-guests");
        Self::with(limits, EngineOptions { cache_dir: Some(cache), ..EngineOptions::default() })
    }

    fn with(limits: Limits, options: EngineOptions) -> Self {
        let clock = Arc::new(SystemClock);
        let store = Faulty::new(Arc::new(MemoryStore::new(clock.clone())));
        let engine = Engine::new(limits.clone(), options).unwrap();
        Self { engine, storage: Storage::new(Arc::new(store.clone()), clock, limits), store }
    }

    /// The space of a turn of the one session of these tests.
    fn space(&self) -> Space {
        self.granted(Grant::default())
    }

    /// Puts a file into the workspace, which these turns only read.
    async fn publish(&self, path: &str, bytes: &'static [u8]) {
        let space = self.granted(Grant { workspace: Some(Access::ReadWrite), ..Grant::default() });
        let path = format!("workspace/{path}");
        space.write(&path, Bytes::from_static(bytes), Precondition::Always).await.unwrap();
    }

    fn granted(&self, grant: Grant) -> Space {
        let coordinates = Coordinates {
            workspace: WorkspaceId(Uuid::from_u128(1)),
            agent: AgentId(Uuid::from_u128(2)),
            session: Some(SessionId(Uuid::from_u128(3))),
        };
        let table = MountTable::new(coordinates, grant, SkillTable::default());
        self.storage.space(table)
    }

    async fn load(&self, bytes: &[u8]) -> Component {
        self.engine.load(bytes).await.unwrap()
    }

    async fn run(&self, guest: &Component, input: &str) -> Report {
        self.observed(guest, input, Arc::new(())).await
    }

    async fn observed(
        &self,
        guest: &Component,
        input: &str,
        observer: Arc<dyn Observer>,
    ) -> Report {
        let request = Request { input: input.to_owned(), attempt: 1, ..Request::default() };
        self.engine.run(guest, self.space(), request, observer, Cancel::new()).await
    }

    async fn cancelled_after(&self, guest: &Component, input: &str, wait: Duration) -> Report {
        let request = Request { input: input.to_owned(), attempt: 1, ..Request::default() };
        let cancel = Cancel::new();
        let turn = self.engine.run(guest, self.space(), request, Arc::new(()), cancel.clone());
        let asked = async {
            tokio::time::sleep(wait).await;
            cancel.cancel();
        };
        tokio::join!(turn, asked).0
    }
}

/// Keeps what it sees.
#[derive(Default)]
struct Recorder {
    said: Mutex<Vec<String>>,
    logged: Mutex<Vec<(Level, String)>>,
}

impl Observer for Recorder {
    fn said(&self, part: &str) {
        self.said.lock().unwrap().push(part.to_owned());
    }

    fn logged(&self, level: Level, line: &str) {
        self.logged.lock().unwrap().push((level, line.to_owned()));
    }
}

impl Recorder {
    fn logged(&self) -> Vec<(Level, String)> {
        self.logged.lock().unwrap().clone()
    }
}
