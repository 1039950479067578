//! What one caller may do with files, now.
//!
//! Every door (a guest's import, the HTTP API, the command) holds a [`Space`] and calls its
//! verbs; none reaches a store. A `Space` is made from a mount table and never grows: what the
//! table does not grant cannot be asked for.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};

use crate::clock::Clock;
use crate::limits::{Limits, READY_MS_MAX};
use crate::scope::{Coordinates, GuestPath, Mount, MountTable, Need, ObjectKey, Resolved};
use crate::store::{Effect, Object, ObjectStore, Revision, StoreError};

mod ahead;
mod blobs;
mod copy;
mod draft;
mod emptying;
mod error;
mod files;
mod folders;
mod guidance;
mod listing;
mod locks;
mod media;
mod promotion;
mod reader;
mod room;
mod seal;
mod search;
mod skills;
mod spill;
mod text;
mod within;
mod writer;

pub(crate) use draft::Draft;
pub use emptying::{Emptied, Emptying, Ledger, Proof, Unrecorded, page_digest};
pub use error::{Error, ErrorCode};
pub use files::Chunk;
pub use folders::{FolderState, Tree};
pub use guidance::{Guidance, Unmounted};
pub use listing::Page;
pub use promotion::Receipts;
pub use reader::Reader;
pub use seal::SealKey;
pub use search::{Match, Matches, Search};
pub use spill::Spilled;
pub use text::{Occurrence, Position, Slice};
pub use writer::Writer;

use ahead::Windows;
use blobs::Blobs;
use locks::KeyLocks;
use media::media_type;
use room::{Held, HostRoom, HostSpare, Room, Spare};
use seal::Seal;
use within::{timed_out, within};

/// A file, as a caller sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The one spelling of its path.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Which content it is.
    pub revision: Revision,
    /// Milliseconds since the Unix epoch, UTC.
    pub modified_ms: u64,
    /// Media type, by name.
    pub media_type: &'static str,
}

impl File {
    /// A file at a path that was resolved: a legal path is its own one spelling.
    fn new(path: &str, object: Object) -> Self {
        Self::at(path.to_owned(), object)
    }

    fn at(path: String, object: Object) -> Self {
        let media_type = media_type(&path);
        Self::of(path, object, media_type)
    }

    fn of(path: String, object: Object, media_type: &'static str) -> Self {
        let Object { revision, size, modified_ms } = object;
        Self { path, size, revision, modified_ms, media_type }
    }
}

/// What was done with a file, for the record of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileEvent {
    /// A file was created or replaced.
    Written {
        /// Which.
        path: String,
        /// Bytes it has now.
        size: u64,
    },
    /// A file was removed.
    Deleted {
        /// Which.
        path: String,
    },
    /// A file was copied to a longer-lived scope.
    Promoted {
        /// From where.
        source: String,
        /// To where.
        target: String,
        /// Which content the copy has.
        revision: Revision,
    },
    /// A result too large to show was kept as a file.
    Spilled {
        /// Where.
        path: String,
    },
}

/// Most events that a space keeps until they are taken; what comes later is not recorded.
const EVENTS_MAX: usize = 10_000;

/// A store and what all its callers share. One per process and store.
#[derive(Debug)]
pub struct Storage {
    store: Arc<dyn ObjectStore>,
    clock: Arc<dyn Clock>,
    limits: Limits,
    locks: KeyLocks,
    seal: Seal,
    operations: HostRoom,
    buffer: HostRoom,
    spare: HostSpare,
    blobs: Blobs,
}

impl Storage {
    /// Storage over a store.
    pub fn new(store: Arc<dyn ObjectStore>, clock: Arc<dyn Clock>, limits: Limits) -> Arc<Self> {
        Self::sealed(store, clock, limits, &SealKey::random())
    }

    /// As [`Self::new`], for one of several hosts: a listing that one began, another with the
    /// same key goes on with.
    pub fn sealed(
        store: Arc<dyn ObjectStore>,
        clock: Arc<dyn Clock>,
        limits: Limits,
        key: &SealKey,
    ) -> Arc<Self> {
        Arc::new(Self {
            store,
            clock,
            locks: KeyLocks::default(),
            seal: Seal::new(key),
            operations: HostRoom::new(limits.host_operations_max),
            buffer: HostRoom::new(limits.host_buffer_bytes_max),
            spare: HostSpare::new(&limits),
            blobs: Blobs::default(),
            limits,
        })
    }

    /// What a caller with this table may do. Its bounds for one turn begin anew.
    pub fn space(self: &Arc<Self>, table: MountTable) -> Space {
        self.space_on(Terms::default(), table)
    }

    /// As [`Self::space`], on terms of its own.
    pub fn space_on(self: &Arc<Self>, terms: Terms, table: MountTable) -> Space {
        let limits = &self.limits;
        let wait = Duration::from_millis(limits.busy_ms_max);
        let operations = Room::new(limits.turn_operations_max, &self.operations, wait);
        let buffer = Room::new(limits.turn_buffer_bytes_max, &self.buffer, wait);
        let spare = Arc::new(Spare::new(limits, &self.spare, &operations, &buffer));
        let permits = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Space(Arc::new(Inner {
            readers: permits(limits.turn_readers_max),
            writers: permits(limits.turn_writers_max),
            storage: self.clone(),
            spill_bytes_min: terms.spill_bytes_min.unwrap_or(limits.spill_bytes_min),
            receipts: terms.receipts,
            changed: terms.changed,
            table,
            operations,
            buffer,
            spare,
            windows: Windows::default(),
            revoked: AtomicBool::new(false),
            events: Mutex::default(),
        }))
    }

    /// Waits, for so long at most, until nothing of writers that were dropped is left: for a
    /// process that is about to end.
    pub async fn settled(&self, wait: Duration) {
        self.buffer.all_given_back(wait).await;
    }

    /// Whether the store answers.
    ///
    /// # Errors
    /// `unavailable` if it does not.
    pub async fn ready(&self) -> Result<(), Error> {
        let bound = Duration::from_millis(READY_MS_MAX);
        // Whatever it says of that, it answers.
        match within(bound, self.store.head(&ObjectKey::layout_marker())).await {
            Some(Ok(_) | Err(StoreError::NotFound)) => Ok(()),
            Some(Err(error)) => Err(Error::from_store(error, "the store")),
            None => Err(Error::from_store(timed_out(bound, Effect::None), "the store")),
        }
    }

    /// The bounds in force.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The clock in force.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
}

/// What a space is given beside its table.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// Results of more bytes than this are spilled; the host's bound if absent.
    pub spill_bytes_min: Option<usize>,
    /// Who keeps receipts of promotions; nobody if absent.
    pub receipts: Option<Arc<dyn Receipts>>,
    /// Told when there is an event after there was none: see [`Space::take_events`].
    pub changed: Option<Arc<Notify>>,
}

/// What one caller may do now. Clones share its bounds and its end.
#[derive(Clone, Debug)]
pub struct Space(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    storage: Arc<Storage>,
    spill_bytes_min: usize,
    receipts: Option<Arc<dyn Receipts>>,
    changed: Option<Arc<Notify>>,
    table: MountTable,
    operations: Room,
    buffer: Room,
    spare: Arc<Spare>,
    windows: Windows,
    readers: Arc<Semaphore>,
    writers: Arc<Semaphore>,
    revoked: AtomicBool,
    events: Mutex<Vec<FileEvent>>,
}

impl Space {
    /// What the caller can reach.
    pub fn mounts(&self) -> Vec<Mount<'_>> {
        self.0.table.mounts()
    }

    /// Whose it is.
    pub(crate) fn coordinates(&self) -> &Coordinates {
        self.0.table.coordinates()
    }

    /// Ends this space: from now on every verb of it, its clones, readers and writers is
    /// refused. The turn is over, or its lease is lost.
    pub fn revoke(&self) {
        self.0.revoked.store(true, Ordering::SeqCst);
        self.0.windows.close();
    }

    /// What was done since the last call, in order.
    pub fn take_events(&self) -> Vec<FileEvent> {
        std::mem::take(&mut *self.recorded())
    }

    /// Nothing panics while it is held, so it is whole.
    fn recorded(&self) -> MutexGuard<'_, Vec<FileEvent>> {
        self.0.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many events there are to take.
    pub fn events(&self) -> usize {
        self.recorded().len()
    }

    fn record(&self, event: FileEvent) {
        let mut events = self.recorded();
        if events.len() < EVENTS_MAX {
            events.push(event);
        }
        if let (1, Some(changed)) = (events.len(), &self.0.changed) {
            changed.notify_one();
        }
    }

    fn limits(&self) -> &Limits {
        &self.0.storage.limits
    }

    fn store(&self) -> &dyn ObjectStore {
        &*self.0.storage.store
    }

    /// The one way from a caller's path to a key: parsed, checked against the grant, resolved.
    fn resolve<'p>(&self, path: &'p str, need: Need) -> Result<(GuestPath<'p>, Resolved), Error> {
        self.check_alive()?;
        let table = &self.0.table;
        let parsed = GuestPath::parse(path).map_err(|refusal| table.explain(path, refusal))?;
        let resolved = table.resolve(&parsed, need)?;
        Ok((parsed, resolved))
    }

    fn check_alive(&self) -> Result<(), Error> {
        if self.0.revoked.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorCode::Closed, "turn-over", "this turn is over"));
        }
        Ok(())
    }

    /// Runs one store operation within its bounds: in flight, time, and life of the space.
    /// `effect` is what a caller must assume if it does not end in time.
    async fn operate<T>(
        &self,
        path: &str,
        effect: Effect,
        operation: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, Error> {
        let bound = Duration::from_millis(self.limits().operation_ms_max);
        self.operate_within(bound, path, effect, operation).await
    }

    /// As [`Self::operate`], for what takes as long as a file is large.
    async fn transfer<T>(
        &self,
        path: &str,
        operation: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, Error> {
        let bound = Duration::from_millis(self.limits().transfer_ms_max);
        self.operate_within(bound, path, Effect::Unknown, operation).await
    }

    async fn operate_within<T>(
        &self,
        bound: Duration,
        path: &str,
        effect: Effect,
        operation: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, Error> {
        let _held = self.operation().await?;
        self.timed(bound, path, effect, operation).await
    }

    /// A place among the operations in flight.
    async fn operation(&self) -> Result<Held, Error> {
        let held = self.0.operations.take(1).await?;
        self.check_alive()?;
        Ok(held)
    }

    /// Room for bytes that were asked for: what was read ahead gives way to them.
    async fn hold(&self, bytes: usize) -> Result<Held, Error> {
        if let Some(held) = self.0.buffer.take_now(bytes) {
            return Ok(held);
        }
        self.0.windows.clear();
        self.0.buffer.take(bytes).await
    }

    /// Runs one store operation that has its place, within a time.
    async fn timed<T>(
        &self,
        bound: Duration,
        path: &str,
        effect: Effect,
        operation: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, Error> {
        let result = within(bound, operation).await;
        let result = result.unwrap_or_else(|| Err(timed_out(bound, effect)));
        result.map_err(|error| Error::from_store(error, path))
    }
}
