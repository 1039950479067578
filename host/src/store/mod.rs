//! Where bytes live. A store sees object keys alone: no grant, no path of a guest, no request.
//!
//! [`ObjectStore`] is the minimum an implementation must write, without defaults; one
//! conformance suite runs over all of them.

use std::any::Any;
use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::scope::{KeyPrefix, ObjectKey};

mod layout;
mod local;
mod location;
mod memory;
mod observed;
mod pieces;
mod remains;
pub mod s3;

pub use local::{LocalReport, LocalStore, Twins};
pub use location::{LocationError, StoreLocation};
pub use memory::MemoryStore;
pub use observed::{ObservedStore, Observer};
pub use remains::{Layer, Remain, RemainKind, Remains, Sight};
pub use s3::{S3Config, S3Store};

/// Which content a key holds. Opaque: equal revisions of a key mean equal bytes, and nothing
/// else can be read from one. It changes with every change of bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Revision(pub String);

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a store knows of an object beside its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Which content it is.
    pub revision: Revision,
    /// Bytes.
    pub size: u64,
    /// Milliseconds since the Unix epoch, UTC.
    pub modified_ms: u64,
}

/// When a change may take effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// In any case.
    Always,
    /// Only if nothing is there.
    IfAbsent,
    /// Only if the object is there and still has this revision.
    IfRevision(Revision),
}

impl Precondition {
    /// Whether it holds for what is there now.
    pub fn holds(&self, current: Option<&Revision>) -> bool {
        match self {
            Self::Always => true,
            Self::IfAbsent => current.is_none(),
            Self::IfRevision(revision) => current == Some(revision),
        }
    }
}

/// How deep a listing goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Objects directly under the prefix, and the folders there.
    Children,
    /// Every object under the prefix.
    All,
}

/// Where a listing goes on: a store's own word, for the same prefix and depth only. May hold a
/// key, so no caller outside the host sees it unsealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListToken(pub String);

/// One page of a listing.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Each object once over all pages, in byte order of keys where the store lists so.
    pub objects: Vec<(ObjectKey, Object)>,
    /// Folders directly under the prefix, each once over all pages; for [`Depth::Children`] alone.
    pub folders: Vec<KeyPrefix>,
    /// Absent on the last page. A page may be empty and not the last.
    pub next: Option<ListToken>,
}

/// A store of objects.
///
/// Every change is whole: a reader sees what was there before or what is there after. What was
/// acknowledged is durable. A future that is dropped leaves one or the other.
#[async_trait]
pub trait ObjectStore: fmt::Debug + Send + Sync + 'static {
    /// What is there, without its bytes.
    async fn head(&self, key: &ObjectKey) -> Result<Object, StoreError>;

    /// The bytes of `range` as far as they exist (fewer at the end, none past it), and the
    /// object that they are of. With `pinned`, only of that revision; another one is
    /// [`StoreError::PreconditionFailed`].
    async fn get(
        &self,
        key: &ObjectKey,
        range: Range<u64>,
        pinned: Option<&Revision>,
    ) -> Result<(Object, Bytes), StoreError>;

    /// Creates or replaces an object.
    async fn put(
        &self,
        key: &ObjectKey,
        bytes: Bytes,
        when: &Precondition,
    ) -> Result<Object, StoreError>;

    /// Begins an object of unknown size. Nothing is there until it is completed.
    async fn upload(
        &self,
        key: &ObjectKey,
        when: Precondition,
    ) -> Result<Box<dyn Upload>, StoreError>;

    /// Removes an object. Nothing there is success for [`Precondition::Always`];
    /// [`Precondition::IfAbsent`] makes no sense and is [`StoreError::PreconditionFailed`]
    /// if something is there.
    async fn delete(&self, key: &ObjectKey, when: &Precondition) -> Result<(), StoreError>;

    /// Removes any number of objects; those that are not there are no error. After an error
    /// some may be gone.
    async fn delete_many(&self, keys: &[ObjectKey]) -> Result<(), StoreError>;

    /// A page of at most `limit` objects and folders (1 to 1,000), from the start or where an
    /// earlier page of the same listing ended. What is not legal as a key is left out.
    async fn list(
        &self,
        prefix: &KeyPrefix,
        depth: Depth,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Listing, StoreError>;

    /// Copies an object without its bytes passing through the host where the store can.
    /// `pinned` is the source's revision; `when` is about the target.
    async fn copy(
        &self,
        source: &ObjectKey,
        pinned: Option<&Revision>,
        target: &ObjectKey,
        when: &Precondition,
    ) -> Result<Object, StoreError>;

    /// A page of at most `limit` things (1 to 1,000) that one layer still holds under a prefix,
    /// from the start or where an earlier page of the same prefix and layer ended. Bytes on their
    /// way are left only once the store has some of them.
    async fn remains(
        &self,
        prefix: &KeyPrefix,
        layer: Layer,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Remains, StoreError>;

    /// Removes for good what [`Self::remains`] showed; what is gone is no error. An upload that is
    /// destroyed fails when its writer goes on. After an error some may be gone.
    async fn destroy(&self, remains: &[Remain]) -> Result<(), StoreError>;
}

/// Room that an upload may borrow, where being fast takes more than it has of its own.
pub trait Spare: fmt::Debug + Send + Sync {
    /// Room for one more operation with so many bytes, if it is there now.
    fn take(&self, bytes: usize) -> Option<Lent>;
}

/// Borrowed room; dropping it gives it back.
#[derive(Debug)]
pub struct Lent(#[expect(dead_code, reason = "held to be dropped")] Box<dyn Any + Send>);

impl Lent {
    /// Lends what dropping `room` gives back.
    pub fn new(room: impl Any + Send) -> Self {
        Self(Box::new(room))
    }
}

/// An object being written. Dropping it aborts it, and leaves nothing behind.
#[async_trait]
pub trait Upload: Send {
    /// Most bytes that it holds at a time without borrowing room.
    fn held_bytes_max(&self) -> usize;

    /// Lets it hold more, as far as it can borrow room.
    fn lend(&mut self, spare: Arc<dyn Spare>);

    /// Appends bytes, any number; waits while the store is behind.
    async fn write(&mut self, bytes: Bytes) -> Result<(), StoreError>;

    /// The file of this machine that becomes the object, to be written to at any place instead of
    /// by [`Self::write`]; none where the store has no such files. It is asked for before anything
    /// is written. Once the upload is completed nothing may write to it, whatever came of that.
    async fn file(&mut self) -> Result<Option<Arc<File>>, StoreError>;

    /// Makes the object appear, whole, if its precondition holds now.
    async fn complete(self: Box<Self>) -> Result<Object, StoreError>;

    /// Gives it up, and returns once nothing of it is left.
    async fn abort(self: Box<Self>) -> Result<(), StoreError>;
}

/// Why a store did not do it. The first ones are answers that any store could give; the last
/// is everything else, and its source is for logs alone.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing is there.
    #[error("not found")]
    NotFound,
    /// The precondition does not hold, or the pinned revision is gone.
    #[error("the precondition does not hold")]
    PreconditionFailed,
    /// This store cannot do it, ever; a sentence that says what.
    #[error("{0}")]
    Unsupported(&'static str),
    /// This store cannot hold an object of that name; a sentence that says why.
    #[error("{0}")]
    Unrepresentable(&'static str),
    /// The object would be larger than this store holds, in bytes.
    #[error("an object is at most {0} bytes")]
    TooLarge(u64),
    /// There is no room left.
    #[error("storage is full")]
    Full,
    /// Storage did not answer, or not sensibly.
    #[error("storage failed: {source:#}")]
    Unavailable {
        /// Whether something may have changed all the same.
        effect: Effect,
        /// What happened, for logs.
        source: anyhow::Error,
    },
}

impl StoreError {
    /// Storage failed before anything could change.
    pub fn unchanged(source: impl Into<anyhow::Error>) -> Self {
        Self::Unavailable { effect: Effect::None, source: source.into() }
    }

    /// Storage failed, and it is not known whether the change took effect.
    pub fn ambiguous(source: impl Into<anyhow::Error>) -> Self {
        Self::Unavailable { effect: Effect::Unknown, source: source.into() }
    }
}

/// Whether a failed operation may have changed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing changed.
    None,
    /// It is not known.
    Unknown,
}
