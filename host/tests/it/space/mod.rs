//! What a caller may do with files, over the model store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bailiwick::clock::Clock;
use bailiwick::limits::Limits;
use bailiwick::scope::{
    Access, AgentId, Coordinates, Grant, MountTable, SessionId, Sha256, Skill, SkillFile,
    SkillTable, WorkspaceId,
};
use bailiwick::space::{Error, Space, Storage};
use bailiwick::store::{MemoryStore, ObjectStore, Precondition};
use bytes::Bytes;
use sha2::Digest as _;
use uuid::Uuid;

use crate::faulty::Faulty;
use crate::slow::Slow;

mod blobs;
mod edits;
mod emptying;
mod faults;
mod files;
mod grants;
mod listing;
mod promotions;
mod readers;
mod search;
mod text;

/// A clock that ticks once a look.
#[derive(Debug, Default)]
pub(crate) struct Ticks(AtomicU64);

impl Clock for Ticks {
    fn now_ms(&self) -> u64 {
        1_700_000_000_000 + self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// A host over the model store, and the address of one conversation in it.
pub(crate) struct World {
    pub(crate) store: Faulty,
    pub(crate) storage: Arc<Storage>,
    pub(crate) coordinates: Coordinates,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(Ticks::default());
        Self::over(Arc::new(MemoryStore::new(clock.clone())), clock, limits)
    }

    /// With a store whose reads take their time, and tell how many there are.
    pub(crate) fn slow(limits: Limits) -> (Self, Slow) {
        let clock: Arc<dyn Clock> = Arc::new(Ticks::default());
        let slow = Slow::new(Arc::new(MemoryStore::new(clock.clone())));
        (Self::over(Arc::new(slow.clone()), clock, limits), slow)
    }

    /// Over a store that keeps what is replaced and deleted.
    pub(crate) fn versioned(clock: Arc<dyn Clock>) -> Self {
        Self::over(Arc::new(MemoryStore::keeping_versions(clock.clone())), clock, Limits::default())
    }

    pub(crate) fn over(store: Arc<dyn ObjectStore>, clock: Arc<dyn Clock>, limits: Limits) -> Self {
        let store = Faulty::new(store);
        let storage = Storage::new(Arc::new(store.clone()), clock, limits);
        Self { store, storage, coordinates: coordinates(1) }
    }

    /// A second host over the same store: no lock is shared with the first.
    pub(crate) fn another_host(&self) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(Ticks::default());
        let storage = Storage::new(Arc::new(self.store.clone()), clock, Limits::default());
        Self { store: self.store.clone(), storage, coordinates: self.coordinates }
    }

    /// A space that may do all that a grant can give.
    pub(crate) fn space(&self) -> Space {
        let all = Some(Access::ReadWrite);
        self.granted(Grant { agent: all, workspace: all })
    }

    pub(crate) fn granted(&self, grant: Grant) -> Space {
        self.storage.space(MountTable::new(self.coordinates, grant, SkillTable::default()))
    }

    /// A space with the skill `pdf` bound.
    pub(crate) async fn with_skill(&self) -> Space {
        let files = [("guide.md", "read me"), ("forms/a.txt", "a"), ("forms/b.txt", "b")];
        let files = files.map(|(path, text)| (path.to_owned(), text.into()));
        let owner = self.coordinates.workspace;
        let skill = publish(&self.storage, owner, files).await;
        let mut skills = SkillTable::default();
        skills.bind("pdf", Arc::new(skill)).unwrap();
        self.storage.space(MountTable::new(self.coordinates, Grant::default(), skills))
    }
}

/// A version of a skill whose files are stored, and that no catalog knows.
pub(crate) async fn publish(
    storage: &Arc<Storage>,
    owner: WorkspaceId,
    files: impl IntoIterator<Item = (String, Bytes)>,
) -> Skill {
    let (mut table, mut contents) = (Vec::new(), Vec::new());
    for (path, bytes) in files {
        let sha256 = Sha256(sha2::Sha256::digest(&bytes).into());
        table.push((path, SkillFile { sha256, size: bytes.len() as u64, modified_ms: 7 }));
        contents.push(bytes);
    }
    storage.keep_blobs(owner, contents).await.unwrap();
    Skill::new(owner, table).unwrap()
}

pub(crate) fn coordinates(seed: u128) -> Coordinates {
    Coordinates {
        workspace: WorkspaceId(Uuid::from_u128(seed << 8 | 1)),
        agent: AgentId(Uuid::from_u128(seed << 8 | 2)),
        session: Some(SessionId(Uuid::from_u128(seed << 8 | 3))),
    }
}

pub(crate) async fn put(space: &Space, path: &str, text: &str) {
    space.write(path, text.to_owned().into(), Precondition::Always).await.unwrap();
}

pub(crate) async fn cat(space: &Space, path: &str) -> String {
    let chunk = space.read(path, 0, 4 << 20).await.unwrap();
    String::from_utf8(chunk.bytes.to_vec()).unwrap()
}

/// Everything of an error that its caller reads.
pub(crate) fn visible(error: &Error) -> String {
    format!("{error} {} {} {:?}", error.message, error.reason, error.suggestions)
}
