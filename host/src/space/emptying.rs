//! Emptying what was deleted: the one change that no caller's path names.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use sha2::Digest;

use super::within::{timed_out, within};
use super::{Error, ErrorCode, Storage};
use crate::limits::{EMPTYING_PASSES_MAX, PAGE_FILES_MAX};
use crate::scope::{Deletion, KeyPrefix, Sha256};
use crate::store::{Effect, Layer, Remain, RemainKind, Remains, Sight, StoreError};

/// What was removed. Kept by whoever goes on with an emptying after a crash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Emptied {
    /// Files, the blobs of skills among them.
    pub files: u64,
    /// Contents that had been replaced or deleted before, and were kept.
    pub versions: u64,
    /// Marks of earlier deletions.
    pub markers: u64,
    /// Unfinished uploads.
    pub uploads: u64,
    /// Bytes of all of them, where the store says how many.
    pub bytes: u64,
    /// Pages in which they were removed, of at most a thousand each.
    pub pages: u64,
    /// Of all pages, in order: see [`page_digest`].
    pub digest: Sha256,
    /// How often it was begun again with a page in the middle of which it had ended. What each of
    /// those pages held may be counted twice.
    pub resumed: u64,
    /// The page that was counted last, until all of it is gone.
    pub pending: Option<Sha256>,
    /// Where nobody could look: what is left there is not known.
    pub unseen: Vec<Layer>,
}

/// Whether nothing is left, for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Nothing was left when it was looked for, later than any change could take effect that had
    /// begun before the deletion.
    Made {
        /// When that look began, in milliseconds since the Unix epoch.
        at_ms: u64,
    },
    /// Nothing is left now. A change that had begun before may still take effect until then, in
    /// milliseconds since the Unix epoch: empty it again afterwards.
    Due {
        /// When.
        at_ms: u64,
    },
}

/// Who keeps what an emptying comes to, so that a crash does not forget what was removed.
#[async_trait]
pub trait Ledger: Send {
    /// Called before a page is removed, with all that will be gone then. It is removed only if
    /// this succeeds.
    async fn record(&mut self, emptied: &Emptied) -> anyhow::Result<()>;
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug)]
pub struct Unrecorded;

#[async_trait]
impl Ledger for Unrecorded {
    async fn record(&mut self, _: &Emptied) -> anyhow::Result<()> {
        Ok(())
    }
}

/// An emptying that is owed.
#[derive(Clone, Debug)]
pub struct Emptying {
    /// What was deleted.
    pub deletion: Deletion,
    /// When it was, in milliseconds since the Unix epoch: nobody begins a change of it later.
    pub deleted_ms: u64,
    /// What the ledger was told last of the same emptying.
    pub so_far: Emptied,
}

impl Storage {
    /// Removes every file of a deletion, and returns once nothing is found any more. May be begun
    /// again at any time, after an error as well. Proves nothing: see [`Self::empty_on`].
    ///
    /// # Errors
    /// `unavailable` if storage fails, or goes on showing what it removed.
    pub async fn empty(&self, deletion: Deletion) -> Result<Emptied, Error> {
        let emptying = Emptying { deletion, deleted_ms: 0, so_far: Emptied::default() };
        Ok(self.empty_on(emptying, &mut Unrecorded).await?.0)
    }

    /// Removes all that is left of a deletion, whether or not a listing shows it, page by page,
    /// each told to the ledger first; and says whether that proves that nothing will be left.
    ///
    /// # Errors
    /// As [`Self::empty`]; `unavailable` if the ledger fails.
    pub async fn empty_on(
        &self,
        emptying: Emptying,
        ledger: &mut dyn Ledger,
    ) -> Result<(Emptied, Proof), Error> {
        let Emptying { deletion, deleted_ms, so_far } = emptying;
        let prefixes = deletion.prefixes();
        let mut sweep = Sweep { storage: self, emptied: so_far, last: None, ledger };
        for _ in 0..EMPTYING_PASSES_MAX {
            let looked_ms = self.clock.now_ms();
            let found = sweep.pass(&prefixes).await?;
            prefixes.iter().for_each(|prefix| self.blobs.forget(prefix));
            if found == Found::Nothing {
                // What was on its way when it was deleted has arrived by then.
                let settled_ms = deleted_ms.saturating_add(self.limits.change_ms_max());
                let proof = match looked_ms >= settled_ms {
                    true => Proof::Made { at_ms: looked_ms },
                    false => Proof::Due { at_ms: settled_ms },
                };
                return Ok((sweep.emptied, proof));
            }
        }
        Err(goes_on("others go on putting files there; ask again later"))
    }

    pub(super) async fn bounded<T>(
        &self,
        effect: Effect,
        operation: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, Error> {
        let bound = Duration::from_millis(self.limits.operation_ms_max);
        let result = within(bound, operation).await;
        let result = result.unwrap_or_else(|| Err(timed_out(bound, effect)));
        result.map_err(|error| Error::from_store(error, "it"))
    }
}

/// Whether a pass came upon something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    Something,
}

struct Sweep<'a> {
    storage: &'a Storage,
    emptied: Emptied,
    /// The page that was removed last by this sweep.
    last: Option<Sha256>,
    ledger: &'a mut dyn Ledger,
}

impl Sweep<'_> {
    /// Empties every layer under every prefix once.
    async fn pass(&mut self, prefixes: &[KeyPrefix]) -> Result<Found, Error> {
        self.emptied.unseen.clear();
        let mut found = Found::Nothing;
        for prefix in prefixes {
            for layer in Layer::ALL {
                while let Some(page) = self.first(prefix, layer).await? {
                    self.remove(&page).await?;
                    found = Found::Something;
                }
            }
        }
        Ok(found)
    }

    /// The first page that holds something. Each look begins at the start: a removal moves what a
    /// page's token stands for.
    async fn first(
        &mut self,
        prefix: &KeyPrefix,
        layer: Layer,
    ) -> Result<Option<Vec<Remain>>, Error> {
        let storage = self.storage;
        let mut after = None;
        loop {
            let limit = PAGE_FILES_MAX as usize;
            let page = storage.store.remains(prefix, layer, after.as_ref(), limit);
            let Remains { left, next, sight } = storage.bounded(Effect::None, page).await?;
            if sight == Sight::Blind && !self.emptied.unseen.contains(&layer) {
                self.emptied.unseen.push(layer);
            }
            if !left.is_empty() {
                return Ok(Some(left));
            }
            if next.is_none() {
                return Ok(None);
            }
            after = next;
        }
    }

    async fn remove(&mut self, page: &[Remain]) -> Result<(), Error> {
        let digest = page_digest(page);
        // Without progress this would never end.
        if self.last == Some(digest) {
            return Err(goes_on("storage goes on showing files that it removed; ask again later"));
        }
        if self.emptied.pending != Some(digest) {
            self.count(page, digest);
            let recorded = self.ledger.record(&self.emptied).await;
            recorded.map_err(|error| Error::from_store(StoreError::unchanged(error), "it"))?;
        }
        tracing::info!(things = page.len(), %digest, "removing a page of what was deleted");
        let storage = self.storage;
        storage.bounded(Effect::Unknown, storage.store.destroy(page)).await?;
        self.emptied.pending = None;
        self.last = Some(digest);
        Ok(())
    }

    fn count(&mut self, page: &[Remain], digest: Sha256) {
        let emptied = &mut self.emptied;
        emptied.resumed += u64::from(emptied.pending.is_some());
        for remain in page {
            let counter = match remain.kind {
                RemainKind::Object => &mut emptied.files,
                RemainKind::Version => &mut emptied.versions,
                RemainKind::Marker => &mut emptied.markers,
                RemainKind::Upload => &mut emptied.uploads,
            };
            *counter += 1;
            emptied.bytes = emptied.bytes.saturating_add(remain.size);
        }
        emptied.pages += 1;
        emptied.digest = chained(emptied.digest, digest);
        emptied.pending = Some(digest);
    }
}

/// The SHA-256 of a page: of a line for each thing in it, in byte order, of its kind, key, id and
/// size in bytes, separated by NULs and ended by a line feed. An [`Emptied`] has that of those of
/// all pages: of 32 zero bytes at first, then each time of what it was and the next page's.
pub fn page_digest(page: &[Remain]) -> Sha256 {
    let line = |remain: &Remain| {
        let Remain { key, kind, id, size } = remain;
        format!("{}\0{}\0{id}\0{size}\n", kind.name(), key.as_str())
    };
    let mut lines: Vec<_> = page.iter().map(line).collect();
    lines.sort_unstable();
    let mut digest = sha2::Sha256::new();
    lines.iter().for_each(|line| digest.update(line));
    Sha256(digest.finalize().into())
}

fn chained(before: Sha256, page: Sha256) -> Sha256 {
    Sha256(sha2::Sha256::new().chain_update(before.0).chain_update(page.0).finalize().into())
}

fn goes_on(message: &'static str) -> Error {
    Error::new(ErrorCode::Unavailable, "storage", message)
}

#[cfg(test)]
mod tests;
