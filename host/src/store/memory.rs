//! The model: what every other store must look like from outside.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};

use super::{
    Depth, Layer, ListToken, Listing, Object, ObjectStore, Precondition, Remain, Remains, Revision,
    Spare, StoreError, Upload,
};
use crate::clock::Clock;
use crate::limits::UPLOAD_HELD_BYTES_MAX;
use crate::scope::{KeyPrefix, ObjectKey};
use crate::walk::walk;

mod remains;

use remains::{Kept, Past};

/// A store in memory, for tests and for hosts that keep nothing.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<ObjectKey, (Object, Bytes)>,
    changes: u64,
    kept: Kept,
    /// What was replaced or deleted, and the marks of deletions, where they are kept.
    past: BTreeMap<(ObjectKey, u64), Past>,
    /// Those that are not over, by when they began.
    uploads: BTreeMap<u64, ObjectKey>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Arc::default() }
    }

    /// An empty one that keeps what is replaced and deleted, as some buckets do.
    pub fn keeping_versions(clock: Arc<dyn Clock>) -> Self {
        let state = State { kept: Kept::Everything, ..State::default() };
        Self { clock, state: Arc::new(Mutex::new(state)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held, so a poisoned state is still whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put_now(
        &self,
        key: &ObjectKey,
        bytes: Bytes,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        let mut state = self.state();
        if !when.holds(state.revision(key)) {
            return Err(StoreError::PreconditionFailed);
        }
        state.supersede(key);
        let object = Object {
            revision: Revision(format!("{:x}", state.changes)),
            size: bytes.len() as u64,
            modified_ms: self.clock.now_ms(),
        };
        state.objects.insert(key.clone(), (object.clone(), bytes));
        Ok(object)
    }
}

impl State {
    fn revision(&self, key: &ObjectKey) -> Option<&Revision> {
        self.objects.get(key).map(|(object, _)| &object.revision)
    }

    fn pinned(
        &self,
        key: &ObjectKey,
        pinned: Option<&Revision>,
    ) -> Result<&(Object, Bytes), StoreError> {
        let found = self.objects.get(key).ok_or(StoreError::NotFound)?;
        if pinned.is_some_and(|pinned| *pinned != found.0.revision) {
            return Err(StoreError::PreconditionFailed);
        }
        Ok(found)
    }
}

#[async_trait]
impl ObjectStore for MemoryStore {
    async fn head(&self, key: &ObjectKey) -> Result<Object, StoreError> {
        Ok(self.state().pinned(key, None)?.0.clone())
    }

    async fn get(
        &self,
        key: &ObjectKey,
        range: Range<u64>,
        pinned: Option<&Revision>,
    ) -> Result<(Object, Bytes), StoreError> {
        let state = self.state();
        let (object, bytes) = state.pinned(key, pinned)?;
        let within = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
        let (start, end) = (within(range.start), within(range.end));
        Ok((object.clone(), bytes.slice(start..end.max(start))))
    }

    async fn put(
        &self,
        key: &ObjectKey,
        bytes: Bytes,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        self.put_now(key, bytes, when)
    }

    async fn upload(
        &self,
        key: &ObjectKey,
        when: Precondition,
    ) -> Result<Box<dyn Upload>, StoreError> {
        let mut state = self.state();
        state.changes += 1;
        let number = state.changes;
        state.uploads.insert(number, key.clone());
        let (store, key) = (self.clone(), key.clone());
        Ok(Box::new(MemoryUpload { store, key, when, number, bytes: BytesMut::new() }))
    }

    async fn delete(&self, key: &ObjectKey, when: &Precondition) -> Result<(), StoreError> {
        let mut state = self.state();
        if !when.holds(state.revision(key)) {
            return Err(StoreError::PreconditionFailed);
        }
        state.delete(key);
        Ok(())
    }

    async fn delete_many(&self, keys: &[ObjectKey]) -> Result<(), StoreError> {
        let mut state = self.state();
        for key in keys {
            state.delete(key);
        }
        Ok(())
    }

    async fn list(
        &self,
        prefix: &KeyPrefix,
        depth: Depth,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Listing, StoreError> {
        let state = self.state();
        let last = after.map(|token| token.0.as_str());
        let page = walk(&state.objects, prefix.as_str(), depth, last, limit);
        let objects = page.entries.into_iter();
        Ok(Listing {
            objects: objects.map(|(key, (object, _))| (key.clone(), object.clone())).collect(),
            folders: page.folders.iter().filter_map(|folder| prefix.folder(folder)).collect(),
            next: page.next.map(ListToken),
        })
    }

    async fn copy(
        &self,
        source: &ObjectKey,
        pinned: Option<&Revision>,
        target: &ObjectKey,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        let bytes = self.state().pinned(source, pinned)?.1.clone();
        self.put_now(target, bytes, when)
    }

    async fn remains(
        &self,
        prefix: &KeyPrefix,
        layer: Layer,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Remains, StoreError> {
        self.state().remains(prefix, layer, after, limit)
    }

    async fn destroy(&self, remains: &[Remain]) -> Result<(), StoreError> {
        let mut state = self.state();
        remains.iter().for_each(|remain| state.destroy(remain));
        Ok(())
    }
}

struct MemoryUpload {
    store: MemoryStore,
    key: ObjectKey,
    when: Precondition,
    number: u64,
    bytes: BytesMut,
}

impl Drop for MemoryUpload {
    fn drop(&mut self) {
        self.store.state().uploads.remove(&self.number);
    }
}

#[async_trait]
impl Upload for MemoryUpload {
    fn held_bytes_max(&self) -> usize {
        UPLOAD_HELD_BYTES_MAX
    }

    fn lend(&mut self, _: Arc<dyn Spare>) {}

    async fn write(&mut self, bytes: Bytes) -> Result<(), StoreError> {
        self.bytes.extend_from_slice(&bytes);
        Ok(())
    }

    async fn file(&mut self) -> Result<Option<Arc<File>>, StoreError> {
        Ok(None)
    }

    async fn complete(mut self: Box<Self>) -> Result<Object, StoreError> {
        if self.store.state().uploads.remove(&self.number).is_none() {
            return Err(StoreError::unchanged(anyhow::anyhow!("the upload was destroyed")));
        }
        let bytes = std::mem::take(&mut self.bytes).freeze();
        self.store.put_now(&self.key, bytes, &self.when)
    }

    async fn abort(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}
