//! Bailiwick as a contestant: a store, an engine with a pool, and the guest that calls verbs.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use bailiwick::clock::SystemClock;
use bailiwick::engine::{Allocation, Cancel, Component, End, Engine, EngineOptions, Request};
use bailiwick::limits::Limits;
use bailiwick::scope::{
    Access, AgentId, Coordinates, Grant, GuestPath, MountTable, Need, ObjectKey, SessionId,
    SkillTable, WorkspaceId,
};
use bailiwick::space::{Space, Storage};
use bailiwick::store::{LocalStore, MemoryStore, ObjectStore};
use uuid::Uuid;

use crate::race::{Cost, timed};
use crate::setting::Setting;

/// A host over one store. Clones share it.
#[derive(Clone)]
pub(crate) struct Host {
    engine: Engine,
    guest: Component,
    storage: Arc<Storage>,
}

impl Host {
    pub(crate) async fn new(setting: &Setting, store: Arc<dyn ObjectStore>) -> Result<Self> {
        Self::with_guest(setting, store, "bench-verbs").await
    }

    /// As [`Self::new`], with another guest.
    pub(crate) async fn with_guest(
        setting: &Setting,
        store: Arc<dyn ObjectStore>,
        guest: &str,
    ) -> Result<Self> {
        let limits = Limits { turn_ms_max: 3_600_000, ..Limits::default() };
        let options = EngineOptions {
            cache_dir: Some(setting.scratch.join("compiled")),
            allocation: Allocation::Pooling,
            ..EngineOptions::default()
        };
        let engine = Engine::new(limits.clone(), options)?;
        let guest = engine.load(&setting.guest(guest)?).await?;
        let storage = Storage::new(store, Arc::new(SystemClock), limits);
        Ok(Self { engine, guest, storage })
    }

    pub(crate) async fn in_memory(setting: &Setting) -> Result<Self> {
        Self::new(setting, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await
    }

    pub(crate) async fn in_directory(setting: &Setting, folder: &Path) -> Result<Self> {
        let store = LocalStore::open_ambient(folder, Arc::new(SystemClock))?;
        Self::new(setting, Arc::new(store)).await
    }

    /// Over a directory, with a program of plain files.
    pub(crate) async fn program_in_directory(
        setting: &Setting,
        folder: &Path,
        program: &str,
    ) -> Result<Self> {
        let store = LocalStore::open_ambient(folder, Arc::new(SystemClock))?;
        Self::with_guest(setting, Arc::new(store), program).await
    }

    /// A space of the first session.
    pub(crate) fn space(&self) -> Space {
        self.space_of(coordinates(1))
    }

    pub(crate) fn space_of(&self, coordinates: Coordinates) -> Space {
        self.storage.space(table(coordinates))
    }

    /// Runs one turn of the first session.
    ///
    /// # Errors
    /// If it ends otherwise than with a reply.
    pub(crate) async fn turn(&self, input: impl Into<String>) -> Result<String> {
        self.turn_of(coordinates(1), input).await
    }

    pub(crate) async fn turn_of(
        &self,
        coordinates: Coordinates,
        input: impl Into<String>,
    ) -> Result<String> {
        let request = Request { input: input.into(), attempt: 1, ..Request::default() };
        let space = self.space_of(coordinates);
        let turn = self.engine.run(&self.guest, space, request, Arc::new(()), Cancel::new());
        match turn.await.end {
            End::Reply(reply) => Ok(reply),
            end => bail!("the turn ended otherwise than with a reply: {end:?}"),
        }
    }

    /// What one call of a verb costs in a guest: a turn with so many calls, less one with none.
    pub(crate) async fn verb(self, verb: String, times: usize, rest: String) -> Result<Cost> {
        let (_, none) = timed(self.turn(format!("{verb} 0 {rest}"))).await?;
        let (_, all) = timed(self.turn(format!("{verb} {times} {rest}"))).await?;
        Ok(all.less(none).per(times))
    }
}

/// The address of the session of that number; all are of one agent.
pub(crate) fn coordinates(session: u128) -> Coordinates {
    Coordinates {
        workspace: WorkspaceId(Uuid::from_u128(1)),
        agent: AgentId(Uuid::from_u128(2)),
        session: Some(SessionId(Uuid::from_u128(session))),
    }
}

/// Everything granted.
pub(crate) fn table(coordinates: Coordinates) -> MountTable {
    let grant = Grant { agent: Some(Access::ReadWrite), workspace: Some(Access::ReadWrite) };
    MountTable::new(coordinates, grant, SkillTable::default())
}

/// The key of a file as a session knows it.
///
/// # Errors
/// If it is no legal path.
pub(crate) fn key(coordinates: Coordinates, path: &str) -> Result<ObjectKey> {
    let parsed = GuestPath::parse(path).map_err(|refusal| anyhow!("{refusal}"))?;
    let resolved = table(coordinates).resolve(&parsed, Need::Write);
    Ok(resolved.map_err(|refusal| anyhow!("{refusal}"))?.key)
}

/// A key as long as ours are, for those who are measured beside us.
pub(crate) fn like_a_key(name: &str) -> String {
    let [workspace, agent, session] = [11, 12, 13].map(Uuid::from_u128);
    format!("sessions/{workspace}/{agent}/{session}/{name}")
}
