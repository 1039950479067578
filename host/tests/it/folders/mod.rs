//! Scopes as folders: programs of plain files, over each kind of store.

mod database;
mod ending;
mod hostile;
mod limits;
mod plain;
mod tasks;
mod testsuite;
mod writing;

use std::path::Path;
use std::sync::Arc;

use bailiwick::clock::{Clock, SystemClock};
use bailiwick::engine::{Cancel, End, Engine, EngineOptions, Report, Request};
use bailiwick::limits::Limits;
use bailiwick::scope::{Access, Grant, MountTable, SkillTable};
use bailiwick::space::{Space, Storage};
use bailiwick::store::{LocalStore, MemoryStore, ObjectStore};
use serde_json::{Value, json};

use crate::guests;
use crate::servers;
use crate::space::{World, coordinates, publish};

/// What the program's library has no words for, by the numbers of WASI 0.1.
const BAD_DESCRIPTOR: &str = "errno 8";
const FAILED: &str = "errno 29";
const NOT_EMPTY: &str = "errno 55";

/// The program of WASI 0.3.
const TASKS: &str = "folders-async";

/// All that a turn may be granted.
const ALL: Grant = Grant { agent: Some(Access::ReadWrite), workspace: Some(Access::ReadWrite) };

/// A store, an engine, and a program.
struct Ground {
    name: String,
    world: World,
    engine: Engine,
    program: Vec<u8>,
    grant: Grant,
    skills: SkillTable,
    _folder: Option<tempfile::TempDir>,
}

impl Ground {
    fn over(name: &'static str, store: Arc<dyn ObjectStore>, limits: Limits) -> Option<Self> {
        Self::of(guests::program("folders")?, name, store, limits)
    }

    fn of(
        program: Vec<u8>,
        name: &str,
        store: Arc<dyn ObjectStore>,
        limits: Limits,
    ) -> Option<Self> {
        let name = name.to_owned();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let world = World::over(store, clock, limits.clone());
        // Shared by all tests, and kept: a guest is compiled once.
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-guests");
        let options = EngineOptions { cache_dir: Some(cache), ..EngineOptions::default() };
        let engine = Engine::new(limits, options).unwrap();
        let skills = SkillTable::default();
        Some(Self { name, world, engine, program, grant: ALL, skills, _folder: None })
    }

    /// Over the model store, which answers at once.
    fn new() -> Option<Self> {
        Self::with(bounds())
    }

    fn with(limits: Limits) -> Option<Self> {
        Self::over("memory", Arc::new(MemoryStore::new(Arc::new(SystemClock))), limits)
    }

    /// With the program of WASI 0.3, which takes the same steps.
    fn with_tasks(limits: Limits) -> Option<Self> {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        Self::of(guests::guest(TASKS)?, "memory, WASI 0.3", store, limits)
    }

    /// Over a directory, which is there for as long as somebody has it.
    fn in_directory() -> Option<(Self, tempfile::TempDir)> {
        let folder = tempfile::tempdir().unwrap();
        let local = LocalStore::open_ambient(folder.path(), Arc::new(SystemClock)).unwrap();
        Some((Self::over("directory", Arc::new(local), bounds())?, folder))
    }

    /// One over each kind of store.
    async fn each() -> Vec<Self> {
        let Some(memory) = Self::new() else { return Vec::new() };
        let folder = tempfile::tempdir().unwrap();
        let local = LocalStore::open_ambient(folder.path(), Arc::new(SystemClock)).unwrap();
        let mut grounds = vec![memory];
        let local = Self::over("directory", Arc::new(local), bounds());
        grounds.extend(local.map(|local| Self { _folder: Some(folder), ..local }));
        for server in [servers::seaweed(), servers::moto()].into_iter().flatten() {
            let store = Arc::new(server.store().await);
            grounds.extend(Self::over(server.name, store, bounds()));
        }
        grounds
    }

    /// One over each kind of store, with the program of WASI 0.3.
    async fn each_with_tasks() -> Vec<Self> {
        let Some(program) = guests::guest(TASKS) else { return Vec::new() };
        let grounds = Self::each().await.into_iter().map(|ground| {
            let name = format!("{}, WASI 0.3", ground.name);
            Self { name, program: program.clone(), ..ground }
        });
        grounds.collect()
    }

    /// One over each kind of store and with each of the programs that take steps.
    async fn each_of_both() -> Vec<Self> {
        let mut grounds = Self::each().await;
        grounds.extend(Self::each_with_tasks().await);
        grounds
    }

    async fn with_skill(mut self) -> Self {
        let files = [("SKILL.md", "read me"), ("forms/a.txt", "a"), ("forms/b.txt", "b")];
        let files = files.map(|(path, text)| (path.to_owned(), text.into()));
        let owner = self.world.coordinates.workspace;
        let skill = publish(&self.world.storage, owner, files).await;
        self.skills.bind("pdf", Arc::new(skill)).unwrap();
        self
    }

    fn space(&self) -> Space {
        let table = MountTable::new(self.world.coordinates, self.grant, self.skills.clone());
        self.world.storage.space(table)
    }

    fn storage(&self) -> &Arc<Storage> {
        &self.world.storage
    }

    /// The report of a turn of steps.
    async fn report(&self, steps: Value) -> Report {
        let guest = self.engine.load(&self.program).await.unwrap();
        let request = Request { input: steps.to_string(), attempt: 1, ..Request::default() };
        self.engine.run(&guest, self.space(), request, Arc::new(()), Cancel::new()).await
    }

    /// What each step came to.
    #[track_caller]
    fn run(&self, steps: Value) -> impl Future<Output = Vec<Value>> {
        let asked = steps.clone();
        async move {
            let report = self.report(steps).await;
            let End::Reply(reply) = &report.end else { panic!("{}: {report:?}", self.name) };
            let came: Vec<Value> = serde_json::from_str(reply).unwrap();
            assert_eq!(came.len(), asked.as_array().unwrap().len());
            came
        }
    }

    /// Runs steps, each with what it has to come to.
    async fn hold(&self, steps: &[(Value, Value)]) {
        let asked: Vec<_> = steps.iter().map(|(step, _)| step.clone()).collect();
        let came = self.run(asked.into()).await;
        for ((step, wanted), came) in steps.iter().zip(came) {
            assert_eq!(&came, wanted, "{}: {step}", self.name);
        }
    }
}

/// Bounds under which nothing in these tests takes long.
fn bounds() -> Limits {
    Limits { turn_ms_max: 60_000, ..Limits::default() }
}

fn ok(value: impl Into<Value>) -> Value {
    json!({ "ok": value.into() })
}

fn done() -> Value {
    ok(Value::Null)
}

fn error(word: &str) -> Value {
    json!({ "error": word })
}

/// Another session of the same agent.
fn another_session(ground: &Ground) -> MountTable {
    let session = coordinates(9).session;
    let coordinates = bailiwick::scope::Coordinates { session, ..ground.world.coordinates };
    MountTable::new(coordinates, ground.grant, ground.skills.clone())
}
