//! An object being written into a temporary file: by a thread for blocking work, in large
//! pieces, while the caller brings the next ones.

use std::fs::File;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, spawn_blocking};

use super::Disk;
use super::caller::Caller;
use super::commit;
use super::errors::unchanged;
use super::temporary::{Lead, TemporaryFile};
use crate::limits::UPLOAD_HELD_BYTES_MAX;
use crate::scope::ObjectKey;
use crate::store::pieces::Pieces;
use crate::store::{Object, Precondition, Spare, StoreError, Upload};

/// From this size on, what was gathered is worth a thread's while, in bytes.
const WRITTEN_BYTES_MIN: usize = 1 << 20;
/// Most that is gathered while as much is being written, in bytes.
const GATHERED_BYTES_MAX: usize = UPLOAD_HELD_BYTES_MAX / 2;

/// An upload to a directory. A small one is nothing but memory until it is completed.
#[derive(Debug)]
pub(super) struct LocalUpload {
    disk: Arc<Disk>,
    key: ObjectKey,
    when: Precondition,
    gathered: Pieces,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// Nobody writes; with the file, once there is one.
    Idle(Option<TemporaryFile>),
    Writing(JoinHandle<Result<TemporaryFile, StoreError>>),
    /// A call has failed, or its caller did not wait for it.
    Broken,
}

impl LocalUpload {
    /// An upload of which nothing is on the disk yet.
    pub(super) fn new(disk: Arc<Disk>, key: ObjectKey, when: Precondition) -> Self {
        Self { disk, key, when, gathered: Pieces::default(), stage: Stage::Idle(None) }
    }

    /// The stage, which is [`Stage::Broken`] until another one is set.
    fn take(&mut self) -> Result<Stage, StoreError> {
        match std::mem::replace(&mut self.stage, Stage::Broken) {
            Stage::Broken => {
                Err(StoreError::unchanged(anyhow::anyhow!("an earlier write was given up")))
            }
            stage => Ok(stage),
        }
    }

    /// Lets a thread write what was gathered.
    fn launch(&mut self, file: Option<TemporaryFile>) -> Stage {
        let (disk, pieces) = (Arc::clone(&self.disk), self.gathered.take());
        let lead = Lead::of(&self.key);
        Stage::Writing(spawn_blocking(move || append(&disk, (file, &lead), &pieces)))
    }
}

/// Writes pieces to the end of a file, a new one if there is none.
fn append(
    disk: &Arc<Disk>,
    (file, lead): (Option<TemporaryFile>, &Lead),
    pieces: &[Bytes],
) -> Result<TemporaryFile, StoreError> {
    let mut file = match file {
        Some(file) => file,
        None => TemporaryFile::create(disk, lead)?,
    };
    let written = pieces.iter().try_for_each(|piece| file.append(piece));
    written.map_err(unchanged("writing an upload"))?;
    Ok(file)
}

/// Waits for the thread that writes, if one does.
async fn land(stage: Stage) -> Result<Option<TemporaryFile>, StoreError> {
    match stage {
        Stage::Idle(file) => Ok(file),
        Stage::Writing(task) => task.await.map_err(StoreError::unchanged)?.map(Some),
        Stage::Broken => Ok(None),
    }
}

#[async_trait]
impl Upload for LocalUpload {
    fn held_bytes_max(&self) -> usize {
        UPLOAD_HELD_BYTES_MAX
    }

    /// A disk is not faster for it.
    fn lend(&mut self, _: Arc<dyn Spare>) {}

    async fn write(&mut self, bytes: Bytes) -> Result<(), StoreError> {
        let mut stage = self.take()?;
        if self.gathered.len() + bytes.len() > GATHERED_BYTES_MAX {
            let file = land(stage).await?;
            stage = self.launch(file);
        }
        self.gathered.push(bytes);
        if matches!(&stage, Stage::Writing(task) if task.is_finished()) {
            stage = Stage::Idle(land(stage).await?);
        }
        self.stage = match stage {
            Stage::Idle(file) if self.gathered.len() >= WRITTEN_BYTES_MIN => self.launch(file),
            stage => stage,
        };
        Ok(())
    }

    async fn file(&mut self) -> Result<Option<Arc<File>>, StoreError> {
        let file = land(self.take()?).await?;
        let (disk, lead) = (Arc::clone(&self.disk), Lead::of(&self.key));
        let pieces = self.gathered.take();
        let made = spawn_blocking(move || append(&disk, (file, &lead), &pieces)).await;
        let made = made.unwrap_or_else(|panic| Err(StoreError::unchanged(panic)))?;
        let file = made.shared();
        self.stage = Stage::Idle(Some(made));
        Ok(Some(file))
    }

    async fn complete(mut self: Box<Self>) -> Result<Object, StoreError> {
        let file = land(self.take()?).await?;
        let (disk, pieces) = (Arc::clone(&self.disk), self.gathered.take());
        let (key, when) = (self.key.clone(), self.when.clone());
        let caller = Caller::default();
        let _waits = caller.waits();
        let committed = spawn_blocking(move || {
            let file = append(&disk, (file, &Lead::of(&key)), &pieces)?;
            commit::commit(file, &key, &when, &caller)
        });
        committed.await.unwrap_or_else(|panic| Err(StoreError::ambiguous(panic)))
    }

    async fn abort(mut self: Box<Self>) -> Result<(), StoreError> {
        // What failed is gone already.
        let Ok(stage) = self.take() else { return Ok(()) };
        let file = land(stage).await.unwrap_or_default();
        spawn_blocking(move || drop(file)).await.map_err(StoreError::unchanged)
    }
}

impl Drop for LocalUpload {
    fn drop(&mut self) {
        // A file that is being written goes with the thread that writes it.
        let Stage::Idle(Some(file)) = std::mem::replace(&mut self.stage, Stage::Broken) else {
            return;
        };
        // Deleting a large file takes its time; a turn's thread should not.
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || drop(file))),
            Err(_) => drop(file),
        }
    }
}
