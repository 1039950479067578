//! Small files of skills that were slow to get. They are named by their content, so that what is
//! kept of one is never out of date.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use lru::LruCache;
use tokio::time::Instant;

use super::{Error, Space};
use crate::limits::{
    BLOB_KEPT_BYTES_MAX, BLOB_KEPT_MS_MAX, BLOB_SLOW_US_MIN, BLOBS_KEPT_BYTES_MAX,
};
use crate::scope::{KeyPrefix, ObjectKey, Resolved};
use crate::store::{Effect, StoreError};

/// Blobs of all callers; only who was given a skill asks for its key.
#[derive(Debug)]
pub(super) struct Blobs(Mutex<Kept>);

#[derive(Debug)]
struct Kept {
    blobs: LruCache<ObjectKey, Blob>,
    bytes: usize,
}

struct Blob {
    bytes: Bytes,
    since: Instant,
}

impl std::fmt::Debug for Blob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Blob of {} bytes", self.bytes.len())
    }
}

/// What a blob counts for beside its bytes: its key and its place.
const OVERHEAD_BYTES: usize = 512;

impl Default for Blobs {
    fn default() -> Self {
        Self(Mutex::new(Kept { blobs: LruCache::unbounded(), bytes: 0 }))
    }
}

impl Blobs {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Nothing panics while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, key: &ObjectKey) -> Option<Bytes> {
        let mut kept = self.kept();
        let blob = kept.blobs.get(key)?;
        if blob.since.elapsed() < Duration::from_millis(BLOB_KEPT_MS_MAX) {
            return Some(blob.bytes.clone());
        }
        kept.forget(key);
        None
    }

    fn keep(&self, key: &ObjectKey, bytes: Bytes) {
        let mut kept = self.kept();
        kept.forget(key);
        kept.bytes += bytes.len() + OVERHEAD_BYTES;
        kept.blobs.push(key.clone(), Blob { bytes, since: Instant::now() });
        while kept.bytes > BLOBS_KEPT_BYTES_MAX
            && let Some((_, oldest)) = kept.blobs.pop_lru()
        {
            kept.bytes -= oldest.bytes.len() + OVERHEAD_BYTES;
        }
    }

    /// Keeps nothing of what is deleted.
    pub(super) fn forget(&self, prefix: &KeyPrefix) {
        let mut kept = self.kept();
        let below = |key: &&ObjectKey| key.as_str().starts_with(prefix.as_str());
        let keys: Vec<_> = kept.blobs.iter().map(|(key, _)| key).filter(below).cloned().collect();
        keys.iter().for_each(|key| kept.forget(key));
    }
}

impl Kept {
    fn forget(&mut self, key: &ObjectKey) {
        if let Some(blob) = self.blobs.pop(key) {
            self.bytes -= blob.bytes.len() + OVERHEAD_BYTES;
        }
    }
}

/// The size of a skill's file that is small enough to be kept.
pub(super) fn kept_size(resolved: &Resolved) -> Option<u64> {
    let size = resolved.skill_file.as_ref()?.size;
    (size <= BLOB_KEPT_BYTES_MAX).then_some(size)
}

impl Space {
    /// The whole of a small blob.
    pub(super) async fn blob(
        &self,
        path: &str,
        key: &ObjectKey,
        size: u64,
    ) -> Result<Bytes, Error> {
        let blobs = &self.0.storage.blobs;
        if let Some(bytes) = blobs.find(key) {
            return Ok(bytes);
        }
        let _room = self.hold(usize::try_from(size).unwrap_or(usize::MAX)).await?;
        let started = Instant::now();
        let get = self.store().get(key, 0..size, None);
        let (_, bytes) = self.operate(path, Effect::None, get).await?;
        if bytes.len() as u64 != size {
            let odd = anyhow::anyhow!("a skill's file of {size} bytes has {}", bytes.len());
            return Err(Error::from_store(StoreError::unchanged(odd), path));
        }
        if started.elapsed() >= Duration::from_micros(BLOB_SLOW_US_MIN) {
            blobs.keep(key, bytes.clone());
        }
        Ok(bytes)
    }
}
