//! A store whose reads take their time, each another one, and that knows which are under way.

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bailiwick::scope::{KeyPrefix, ObjectKey};
use bailiwick::store::{
    Depth, Layer, ListToken, Listing, Object, ObjectStore, Precondition, Remain, Remains, Revision,
    StoreError, Upload,
};
use bytes::Bytes;

#[derive(Clone)]
pub(crate) struct Slow {
    inner: Arc<dyn ObjectStore>,
    reads: Arc<Mutex<Reads>>,
    pace: Arc<Mutex<Pace>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pace {
    /// 10 to 90 ms each, so that what is asked for later often comes sooner.
    #[default]
    Uneven,
    /// What is asked for from now on never comes.
    Never,
}

/// What was read, and is being read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reads {
    /// Every range, as it was asked for, in order.
    pub(crate) ranges: Vec<Range<u64>>,
    /// Reads under way now, and the bytes that they ask for.
    pub(crate) flying: usize,
    pub(crate) flying_bytes: u64,
    /// The most of either at any time.
    pub(crate) flying_most: usize,
    pub(crate) flying_bytes_most: u64,
}

impl Slow {
    pub(crate) fn new(inner: Arc<dyn ObjectStore>) -> Self {
        Self { inner, reads: Arc::default(), pace: Arc::default() }
    }

    pub(crate) fn go(&self, pace: Pace) {
        *self.pace.lock().unwrap() = pace;
    }

    pub(crate) fn reads(&self) -> Reads {
        self.reads.lock().unwrap().clone()
    }

    /// Forgets what was read before.
    pub(crate) fn forget(&self) {
        *self.reads.lock().unwrap() = Reads::default();
    }

    fn begin(&self, range: &Range<u64>) -> (Flying, Duration) {
        let mut reads = self.reads.lock().unwrap();
        let bytes = range.end.saturating_sub(range.start);
        let delay = Duration::from_millis(10 + reads.ranges.len() as u64 * 37 % 80);
        reads.ranges.push(range.clone());
        reads.flying += 1;
        reads.flying_bytes += bytes;
        reads.flying_most = reads.flying_most.max(reads.flying);
        reads.flying_bytes_most = reads.flying_bytes_most.max(reads.flying_bytes);
        (Flying { reads: self.reads.clone(), bytes }, delay)
    }
}

/// A read under way, until it is answered or given up.
struct Flying {
    reads: Arc<Mutex<Reads>>,
    bytes: u64,
}

impl Drop for Flying {
    fn drop(&mut self) {
        let mut reads = self.reads.lock().unwrap();
        reads.flying = reads.flying.saturating_sub(1);
        reads.flying_bytes = reads.flying_bytes.saturating_sub(self.bytes);
    }
}

impl std::fmt::Debug for Slow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Slow")
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ObjectStore for Slow {
    async fn head(&self, key: &ObjectKey) -> Result<Object, StoreError> {
        self.inner.head(key).await
    }

    async fn get(
        &self,
        key: &ObjectKey,
        range: Range<u64>,
        pinned: Option<&Revision>,
    ) -> Result<(Object, Bytes), StoreError> {
        let (_flying, delay) = self.begin(&range);
        let pace = *self.pace.lock().unwrap();
        match pace {
            Pace::Uneven => tokio::time::sleep(delay).await,
            Pace::Never => std::future::pending().await,
        }
        self.inner.get(key, range, pinned).await
    }

    async fn put(
        &self,
        key: &ObjectKey,
        bytes: Bytes,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        self.inner.put(key, bytes, when).await
    }

    async fn upload(
        &self,
        key: &ObjectKey,
        when: Precondition,
    ) -> Result<Box<dyn Upload>, StoreError> {
        self.inner.upload(key, when).await
    }

    async fn delete(&self, key: &ObjectKey, when: &Precondition) -> Result<(), StoreError> {
        self.inner.delete(key, when).await
    }

    async fn delete_many(&self, keys: &[ObjectKey]) -> Result<(), StoreError> {
        self.inner.delete_many(keys).await
    }

    async fn list(
        &self,
        prefix: &KeyPrefix,
        depth: Depth,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Listing, StoreError> {
        self.inner.list(prefix, depth, after, limit).await
    }

    async fn copy(
        &self,
        source: &ObjectKey,
        pinned: Option<&Revision>,
        target: &ObjectKey,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        self.inner.copy(source, pinned, target, when).await
    }

    async fn remains(
        &self,
        prefix: &KeyPrefix,
        layer: Layer,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Remains, StoreError> {
        self.inner.remains(prefix, layer, after, limit).await
    }

    async fn destroy(&self, remains: &[Remain]) -> Result<(), StoreError> {
        self.inner.destroy(remains).await
    }
}
