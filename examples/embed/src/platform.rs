//! The platform: one workspace, one agent, as many sessions as are named.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bailiwick::catalog::{
    Cancelled, Catalog, CatalogError, CatalogLocation, CatalogOptions, Enqueue, Event, Name, Turn,
    TurnId, TurnState, Watch,
};
use bailiwick::clock::SystemClock;
use bailiwick::engine::{Engine, EngineOptions, Imports};
use bailiwick::limits::{EVENTS_PAGE_MAX, Limits, TURN_RETRIES_MAX};
use bailiwick::scope::{AgentId, Sha256};
use bailiwick::space::Storage;
use bailiwick::store::LocalStore;
use bailiwick::worker::{Mounting, Worker, WorkerOptions};
use sha2::Digest;
use uuid::Uuid;

use crate::model::{Backend, Model};

const WORKSPACE: &str = "embed";
const AGENT: &str = "assistant";
/// Turns at once: most of them wait for the model.
const TURNS_MAX: usize = 64;

/// What a platform is made of.
#[derive(Debug)]
pub struct PlatformOptions<'a> {
    /// Where it keeps everything; made if need be.
    pub folder: &'a Path,
    /// What its agent runs.
    pub component: &'a [u8],
    /// Its model.
    pub backend: Backend,
}

/// A platform that is open.
#[derive(Clone, Debug)]
pub struct Platform {
    catalog: Catalog,
    storage: Arc<Storage>,
    engine: Engine,
    agent: AgentId,
    component: Sha256,
}

impl Platform {
    /// Opens a platform, with what is in its folder.
    ///
    /// # Errors
    /// If the folder cannot be used, or the component is none that this platform can run.
    pub async fn open(options: PlatformOptions<'_>) -> anyhow::Result<Self> {
        let PlatformOptions { folder, component, backend } = options;
        let (clock, limits) = (Arc::new(SystemClock), limits());
        let store = LocalStore::open_ambient(&folder.join("files"), clock.clone())?;
        let location = CatalogLocation::File(folder.join("catalog.sqlite"));
        let catalog = Catalog::open(CatalogOptions {
            location: &location,
            store: "files",
            lease_ms: limits.turn_lease_ms,
            clock: clock.clone(),
        });
        let catalog = catalog.await?;
        let storage = Storage::new(Arc::new(store), clock, limits.clone());

        let workspace = catalog.make_workspace(&WORKSPACE.parse()?).await?.id();
        let agent = catalog.make_agent(workspace, &AGENT.parse()?).await?.id();
        let engine = Engine::new(
            limits,
            EngineOptions {
                cache_dir: Some(folder.join("compiled")),
                // Its turns have a model, and no other agent's.
                imports: Imports::default().with(Model::new(backend, [agent])),
                ..EngineOptions::default()
            },
        )?;
        engine.load(component).await.context("the agent's component")?;
        let sha256 = Sha256(sha2::Sha256::digest(component).into());
        catalog.upload_component(workspace, &AGENT.parse()?, sha256, component).await?;
        Ok(Self { catalog, storage, engine, agent, component: sha256 })
    }

    /// Runs what is asked until `stop` is ready, and then what has begun, for so long at most: what
    /// does not end by then is tried again when the platform is opened next.
    pub async fn run(&self, stop: impl Future<Output = ()> + Send, patience: Duration) {
        let worker = Worker::new(WorkerOptions {
            catalog: self.catalog.clone(),
            engine: self.engine.clone(),
            storage: self.storage.clone(),
            host: Uuid::new_v4().to_string(),
            turns_max: TURNS_MAX,
            mounting: Mounting::BestEffort,
        });
        worker.run(stop, patience).await;
        self.storage.settled(patience).await;
    }

    /// Asks the agent something in a session, which is made if need be. It is answered behind
    /// what was asked there before, whether somebody follows or not.
    ///
    /// # Errors
    /// As [`Catalog::enqueue`]'s.
    pub async fn ask(&self, session: &Name, input: &str) -> Result<Following, CatalogError> {
        let session = self.catalog.make_session(self.agent, session).await?.id();
        // From before it is asked: nothing is missed.
        let watch = self.catalog.watch(session).await?;
        let turn = self.catalog.enqueue(Enqueue {
            session,
            component: self.component,
            input,
            retries: TURN_RETRIES_MAX,
            request: None,
        });
        let turn = turn.await?.id();
        Ok(Following { catalog: self.catalog.clone(), watch, turn, after: 0, attempt: 0 })
    }

    /// Stops a turn.
    ///
    /// # Errors
    /// As [`Catalog::cancel`]'s.
    pub async fn stop(&self, turn: TurnId) -> Result<Cancelled, CatalogError> {
        self.catalog.cancel(turn).await
    }
}

/// A platform that was killed takes its turns up again a minute later.
fn limits() -> Limits {
    Limits { turn_lease_ms: 60_000, transfer_ms_max: 30_000, ..Limits::default() }
}

/// What happens in a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A piece of the reply.
    Said(String),
    /// It is tried again: what was said before is void.
    Again,
    /// It is over.
    Over(Box<Turn>),
}

/// Follows a turn.
#[derive(Debug)]
pub struct Following {
    catalog: Catalog,
    watch: Watch,
    turn: TurnId,
    after: u64,
    attempt: u32,
}

impl Following {
    /// Which turn.
    pub fn turn(&self) -> TurnId {
        self.turn
    }

    /// What happened since the last call, once there is something. The end is the last of it.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`]; [`CatalogError::Deleted`] if the session is gone.
    pub async fn next(&mut self) -> Result<Vec<Heard>, CatalogError> {
        loop {
            let events =
                self.catalog.events_of_turn(self.turn, self.after, EVENTS_PAGE_MAX).await?;
            let mut heard = Vec::new();
            for recorded in events {
                self.after = recorded.number;
                if recorded.attempt > self.attempt.max(1) {
                    heard.push(Heard::Again);
                }
                self.attempt = self.attempt.max(recorded.attempt);
                match recorded.event {
                    Event::Said { text } => heard.push(Heard::Said(text)),
                    Event::State(TurnState::Done | TurnState::Failed | TurnState::Parked) => {
                        let turn = self.catalog.turn(self.turn).await?;
                        heard.push(Heard::Over(Box::new(turn.ok_or(CatalogError::Deleted)?)));
                        return Ok(heard);
                    }
                    _ => {}
                }
            }
            if !heard.is_empty() {
                return Ok(heard);
            }
            self.watch.changed().await;
        }
    }
}
