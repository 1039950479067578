//! What a case is handed: a store, what it declares that it cannot do, and places to work in.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bailiwick::scope::{
    Access, AgentId, Coordinates, Folder, FolderPath, Grant, GuestPath, KeyPrefix, MountTable,
    Need, ObjectKey, SessionId, SkillTable, WorkspaceId,
};
use bailiwick::store::{Depth, Effect, Lent, Object, ObjectStore, Precondition, Spare, StoreError};
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};
use uuid::Uuid;

/// What a store may honestly lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ability {
    /// `put` under `IfAbsent`.
    PutIfAbsent,
    /// `put` under `IfRevision`.
    PutIfRevision,
    /// An upload completed under `IfAbsent`.
    CompleteIfAbsent,
    /// An upload completed under `IfRevision`.
    CompleteIfRevision,
    /// `delete` under `IfRevision`.
    DeleteIfRevision,
    /// `copy` of a pinned source.
    CopyPinned,
    /// `copy` under `IfAbsent`.
    CopyIfAbsent,
    /// `copy` under `IfRevision`.
    CopyIfRevision,
    /// Names that differ in case alone.
    CaseTwins,
    /// Names that differ in normalization alone.
    NormalizationTwins,
    /// Names with characters that XML cannot hold.
    NamesBeyondXml,
    /// `IfAbsent` where there is a folder of that name.
    IfAbsentBesideFolder,
    /// Knowing whose a deletion was: where answers are lost, a deletion that finds nothing there
    /// is told as done, since nothing is left that could tell, and a write onto a revision of
    /// what is not there as one that may have been made. Lacking it is no error.
    WhoDeleted,
    /// Listings in byte order. Lacking it is no error, so cases compare without order.
    ByteOrder,
}

/// Room for all that an upload wants to borrow.
#[derive(Debug)]
pub(crate) struct Plenty;

impl Spare for Plenty {
    fn take(&self, _: usize) -> Option<Lent> {
        Some(Lent::new(()))
    }
}

type Leftovers = Box<dyn Fn() -> BoxFuture<'static, Vec<String>> + Send + Sync>;

/// A store under test.
pub(crate) struct Subject {
    name: &'static str,
    /// The store.
    pub(crate) store: Arc<dyn ObjectStore>,
    lacks: Vec<Ability>,
    leftovers: Option<Leftovers>,
    /// How many random sequences the model test runs.
    pub(crate) model_runs: u32,
    guards: Vec<Box<dyn std::any::Any + Send + Sync>>,
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subject({}, lacks {:?}, {} guards)", self.name, self.lacks, self.guards.len())
    }
}

#[allow(dead_code, clippy::allow_attributes, reason = "each store needs some of the builders")]
impl Subject {
    /// A store that lacks nothing.
    pub(crate) fn new(name: &'static str, store: Arc<dyn ObjectStore>) -> Self {
        Self {
            name,
            store,
            lacks: Vec::new(),
            leftovers: None,
            model_runs: 200,
            guards: Vec::new(),
        }
    }

    /// Declares what the store cannot do, and has to refuse.
    pub(crate) fn lacking(mut self, lacks: impl IntoIterator<Item = Ability>) -> Self {
        self.lacks.extend(lacks);
        self
    }

    /// How to find what an aborted upload or a failed write left (temporary files, open
    /// uploads); every case ends with none.
    pub(crate) fn with_leftovers(
        mut self,
        leftovers: impl Fn() -> BoxFuture<'static, Vec<String>> + Send + Sync + 'static,
    ) -> Self {
        self.leftovers = Some(Box::new(leftovers));
        self
    }

    /// How many random sequences the model test runs, where 200 are too slow.
    pub(crate) fn with_model_runs(mut self, runs: u32) -> Self {
        self.model_runs = runs;
        self
    }

    /// Keeps something alive as long as the store.
    pub(crate) fn guarded_by(mut self, guard: impl std::any::Any + Send + Sync) -> Self {
        self.guards.push(Box::new(guard));
        self
    }

    /// Whether the store declares that it cannot do it; says so where it does.
    pub(crate) fn lacks(&self, ability: Ability) -> bool {
        let lacks = self.lacks.contains(&ability);
        if lacks {
            eprintln!("NOT OFFERED by {}: {ability:?}", self.name);
        }
        lacks
    }

    /// Whether a write onto a revision of what is not there was refused, or left open where that
    /// cannot be told: see [`Ability::WhoDeleted`].
    pub(crate) fn refused_or_open<T>(&self, answer: &Result<T, StoreError>) -> bool {
        match answer {
            Err(StoreError::PreconditionFailed) => true,
            Err(StoreError::Unavailable { effect: Effect::Unknown, .. }) => {
                self.lacks(Ability::WhoDeleted)
            }
            Ok(_) | Err(_) => false,
        }
    }

    /// What a verb answered; `None`, loudly, if it is one that the store declares to lack, and
    /// then the answer has to be a refusal.
    #[track_caller]
    pub(crate) fn offered<T: fmt::Debug>(
        &self,
        ability: Ability,
        answer: Result<T, StoreError>,
    ) -> Option<Result<T, StoreError>> {
        if !self.lacks(ability) {
            return Some(answer);
        }
        match answer {
            Err(StoreError::Unsupported(_) | StoreError::Unrepresentable(_)) => None,
            other => panic!("{} declares to lack {ability:?}, and answered {other:?}", self.name),
        }
    }

    /// Fails if something half-done is still there a while after the case.
    pub(crate) async fn assert_nothing_left(&self) {
        let Some(leftovers) = &self.leftovers else { return };
        let mut left = leftovers().await;
        for _ in 0..100 {
            if left.is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            left = leftovers().await;
        }
        panic!("{}: left behind: {left:?}", self.name);
    }

    /// Puts an object, whatever is there.
    pub(crate) async fn put(&self, key: &ObjectKey, bytes: impl Into<Bytes>) -> Object {
        self.store.put(key, bytes.into(), &Precondition::Always).await.unwrap()
    }

    /// Everything a listing shows, over all its pages.
    pub(crate) async fn list_all(
        &self,
        prefix: &KeyPrefix,
        depth: Depth,
        limit: usize,
    ) -> (Vec<(ObjectKey, Object)>, Vec<KeyPrefix>) {
        let (mut objects, mut folders, mut after) = (Vec::new(), Vec::new(), None);
        loop {
            let page = self.store.list(prefix, depth, after.as_ref(), limit).await.unwrap();
            assert!(page.objects.len() + page.folders.len() <= limit, "a page over its limit");
            objects.extend(page.objects);
            folders.extend(page.folders);
            after = page.next;
            if after.is_none() {
                return (objects, folders);
            }
        }
    }

    /// Compares what a listing showed with what it has to, in order where the store has one.
    #[track_caller]
    pub(crate) fn assert_listed(&self, mut listed: Vec<String>, mut expected: Vec<String>) {
        expected.sort();
        if self.lacks(Ability::ByteOrder) {
            listed.sort();
        }
        assert_eq!(listed, expected, "{}", self.name);
    }
}

/// A session of its own, in which a case works.
#[derive(Debug)]
pub(crate) struct Place {
    mounts: MountTable,
}

impl Place {
    /// One that nobody else has.
    pub(crate) fn new() -> Self {
        let coordinates = Coordinates {
            workspace: WorkspaceId(Uuid::new_v4()),
            agent: AgentId(Uuid::new_v4()),
            session: Some(SessionId(Uuid::new_v4())),
        };
        let all = Some(Access::ReadWrite);
        let grant = Grant { agent: all, workspace: all };
        Self { mounts: MountTable::new(coordinates, grant, SkillTable::default()) }
    }

    /// The key of a file of the session.
    pub(crate) fn key(&self, rest: &str) -> ObjectKey {
        let path = format!("session/{rest}");
        let path = GuestPath::parse(&path).unwrap();
        self.mounts.resolve(&path, Need::Write).unwrap().key
    }

    /// A folder of the session; empty for the session itself.
    pub(crate) fn folder(&self, rest: &str) -> KeyPrefix {
        let path = format!("session/{rest}");
        let path = FolderPath::parse(&path).unwrap();
        match self.mounts.resolve_folder(&path).unwrap() {
            Folder::Stored(prefix) => prefix,
            other => panic!("not a stored folder: {other:?}"),
        }
    }

    /// What stands below the session in a key or a folder.
    pub(crate) fn rest<'a>(&self, key: &'a str) -> &'a str {
        key.strip_prefix(self.folder("").as_str()).expect("a key of this place")
    }

    /// The rests of listed objects.
    pub(crate) fn rests(&self, objects: &[(ObjectKey, Object)]) -> Vec<String> {
        objects.iter().map(|(key, _)| self.rest(key.as_str()).to_owned()).collect()
    }

    /// The rests of listed folders.
    pub(crate) fn folder_rests(&self, folders: &[KeyPrefix]) -> Vec<String> {
        folders.iter().map(|folder| self.rest(folder.as_str()).to_owned()).collect()
    }
}

/// Bytes that nothing else has: a different sequence for every seed.
pub(crate) fn content(seed: u64, size: usize) -> Bytes {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(size);
    bytes.into()
}

/// Puts one small object per rest, many at once.
pub(crate) async fn many(subject: &Subject, place: &Place, rests: &[String]) {
    let mut by_depth = BTreeMap::<usize, Vec<&String>>::new();
    for rest in rests {
        by_depth.entry(rest.matches('/').count()).or_default().push(rest);
    }
    // A file before what stands in a folder of its name: SeaweedFS, asked for both in the same
    // moment, acknowledges both and keeps one.
    for rests in by_depth.into_values() {
        let puts = rests.into_iter().map(|rest| {
            let key = place.key(rest);
            let bytes = Bytes::from(rest.clone());
            async move { subject.store.put(&key, bytes, &Precondition::Always).await }
        });
        let puts = stream::iter(puts).buffer_unordered(64);
        puts.try_for_each(|_| async { Ok(()) }).await.unwrap();
    }
}

/// All bytes of an object, by ranges of one revision.
pub(crate) async fn read_whole(store: &dyn ObjectStore, key: &ObjectKey) -> Bytes {
    const STEP: u64 = 4 << 20;
    let object = store.head(key).await.unwrap();
    let mut whole = Vec::new();
    while (whole.len() as u64) < object.size {
        let at = whole.len() as u64;
        let (_, bytes) = store.get(key, at..at + STEP, Some(&object.revision)).await.unwrap();
        assert!(!bytes.is_empty(), "a range before the end is empty");
        whole.extend_from_slice(&bytes);
    }
    whole.into()
}
