//! Emptying what was deleted: the one change that no caller's path names.

use std::time::Duration;

use super::within::{timed_out, within};
use super::{Error, ErrorCode, Storage};
use crate::limits::PAGE_FILES_MAX;
use crate::scope::{Deletion, KeyPrefix, ObjectKey};
use crate::store::{Depth, Effect, Listing, StoreError};

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Emptied {
    /// Files, the blobs of skills among them.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Storage {
    /// Removes every file of a deletion, and returns once a listing finds none. May be begun
    /// again at any time, after an error as well.
    ///
    /// # Errors
    /// `unavailable` if storage fails, or goes on showing what it removed.
    pub async fn empty(&self, deletion: Deletion) -> Result<Emptied, Error> {
        let mut emptied = Emptied::default();
        for prefix in deletion.prefixes() {
            self.empty_prefix(&prefix, &mut emptied).await?;
            self.blobs.forget(&prefix);
        }
        Ok(emptied)
    }

    async fn empty_prefix(&self, prefix: &KeyPrefix, emptied: &mut Emptied) -> Result<(), Error> {
        let mut last_removed: Option<ObjectKey> = None;
        while let Some(page) = self.first_files(prefix).await? {
            let keys: Vec<_> = page.objects.iter().map(|(key, _)| key.clone()).collect();
            // Without progress this would never end.
            if last_removed.is_some() && last_removed.as_ref() == keys.first() {
                let message = "storage goes on showing files that it removed; ask again later";
                return Err(Error::new(ErrorCode::Unavailable, "storage", message));
            }
            self.bounded(Effect::Unknown, self.store.delete_many(&keys)).await?;
            emptied.files += keys.len() as u64;
            emptied.bytes += page.objects.iter().map(|(_, object)| object.size).sum::<u64>();
            last_removed = keys.into_iter().next();
        }
        Ok(())
    }

    /// The first page that holds files. Each look begins at the start: a deletion moves what a
    /// page's token stands for.
    async fn first_files(&self, prefix: &KeyPrefix) -> Result<Option<Listing>, Error> {
        let mut after = None;
        loop {
            let list = self.store.list(prefix, Depth::All, after.as_ref(), PAGE_FILES_MAX as usize);
            let page = self.bounded(Effect::None, list).await?;
            if !page.objects.is_empty() {
                return Ok(Some(page));
            }
            let Some(next) = page.next else { return Ok(None) };
            after = Some(next);
        }
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

#[cfg(test)]
mod tests;
