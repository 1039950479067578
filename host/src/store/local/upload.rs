//! An object being written, piece by piece, into a temporary file.

use std::io::Write;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use super::caller::Caller;
use super::commit;
use super::errors::unchanged;
use super::temporary::TemporaryFile;
use crate::scope::ObjectKey;
use crate::store::{Object, Precondition, StoreError, Upload};

/// An upload to a directory. Nothing of it is in memory between two calls.
#[derive(Debug)]
pub(super) struct LocalUpload {
    /// Absent while a piece is written, and for good if the caller did not wait for that.
    temporary: Option<TemporaryFile>,
    key: ObjectKey,
    when: Precondition,
}

impl LocalUpload {
    /// An upload into `temporary`.
    pub(super) fn new(temporary: TemporaryFile, key: ObjectKey, when: Precondition) -> Self {
        Self { temporary: Some(temporary), key, when }
    }

    fn take(&mut self) -> Result<TemporaryFile, StoreError> {
        let gone = || StoreError::unchanged(anyhow::anyhow!("an earlier write was given up"));
        self.temporary.take().ok_or_else(gone)
    }
}

#[async_trait]
impl Upload for LocalUpload {
    async fn write(&mut self, bytes: Bytes) -> Result<(), StoreError> {
        let temporary = self.take()?;
        let written =
            spawn_blocking(move || temporary.file().write_all(&bytes).map(|()| temporary));
        let written = written.await.map_err(StoreError::unchanged)?;
        self.temporary = Some(written.map_err(unchanged("writing an upload"))?);
        Ok(())
    }

    async fn complete(mut self: Box<Self>) -> Result<Object, StoreError> {
        let temporary = self.take()?;
        let (key, when) = (self.key.clone(), self.when.clone());
        let caller = Caller::default();
        let _waits = caller.waits();
        let committed = spawn_blocking(move || commit::commit(temporary, &key, &when, &caller));
        committed.await.unwrap_or_else(|panic| Err(StoreError::ambiguous(panic)))
    }

    async fn abort(mut self: Box<Self>) -> Result<(), StoreError> {
        let temporary = self.temporary.take();
        spawn_blocking(move || drop(temporary)).await.map_err(StoreError::unchanged)
    }
}

impl Drop for LocalUpload {
    fn drop(&mut self) {
        let Some(temporary) = self.temporary.take() else { return };
        // Deleting a large file takes its time; a turn's thread should not.
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || drop(temporary))),
            Err(_) => drop(temporary),
        }
    }
}
