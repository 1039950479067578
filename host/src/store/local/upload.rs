//! An object being written into a temporary file: by a thread for blocking work, in large
//! pieces, while the caller brings the next ones.

use std::fs::File;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinHandle, spawn_blocking};

use super::Disk;
use super::caller::Caller;
use super::commit;
use super::errors::unchanged;
use super::temporary::{Lead, TemporaryFile};
use crate::scope::ObjectKey;
use crate::store::{Object, Precondition, Spare, StoreError, Upload};

mod brought;

use brought::{Brought, HELD_BYTES_MAX, Pushed};

/// An upload to a directory. A small one is nothing but memory until it is completed.
#[derive(Debug)]
pub(super) struct LocalUpload {
    disk: Arc<Disk>,
    key: ObjectKey,
    when: Precondition,
    brought: Arc<Brought>,
    stage: Stage,
}

type Written = Result<TemporaryFile, StoreError>;

#[derive(Debug)]
enum Stage {
    /// Nobody writes; with the file, once there is one.
    Idle(Option<TemporaryFile>),
    Writing(JoinHandle<Written>),
    /// A call has failed, or its caller did not wait for it.
    Broken,
}

impl LocalUpload {
    /// An upload of which nothing is on the disk yet.
    pub(super) fn new(disk: Arc<Disk>, key: ObjectKey, when: Precondition) -> Self {
        Self { disk, key, when, brought: Arc::default(), stage: Stage::Idle(None) }
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

    /// Lets a thread write what was brought, and what will have been when it is done with that.
    fn launch(&self, file: Option<TemporaryFile>) -> Stage {
        let (disk, brought) = (Arc::clone(&self.disk), Arc::clone(&self.brought));
        let lead = Lead::of(&self.key);
        Stage::Writing(spawn_blocking(move || {
            let mut file = opened(&disk, file, &lead)?;
            while let Some(pieces) = brought.take() {
                append(&mut file, &pieces)?;
            }
            Ok(file)
        }))
    }

    /// Waits until the thread that writes has taken what was brought, or is done.
    async fn taken(&self, stage: Stage) -> Result<Stage, StoreError> {
        let Stage::Writing(mut task) = stage else { return Ok(stage) };
        tokio::select! {
            () = self.brought.taken() => Ok(Stage::Writing(task)),
            written = &mut task => Ok(Stage::Idle(Some(landed(written)?))),
        }
    }
}

/// The file, a new one if there is none.
fn opened(disk: &Arc<Disk>, file: Option<TemporaryFile>, lead: &Lead) -> Written {
    file.map_or_else(|| TemporaryFile::create(disk, lead), Ok)
}

fn append(file: &mut TemporaryFile, pieces: &[Bytes]) -> Result<(), StoreError> {
    let written = pieces.iter().try_for_each(|piece| file.append(piece));
    written.map_err(unchanged("writing an upload"))
}

/// Waits for the thread that writes, if one does.
async fn land(stage: Stage) -> Result<Option<TemporaryFile>, StoreError> {
    match stage {
        Stage::Idle(file) => Ok(file),
        Stage::Writing(task) => landed(task.await).map(Some),
        Stage::Broken => Ok(None),
    }
}

fn landed(written: Result<Written, JoinError>) -> Written {
    written.unwrap_or_else(|panic| Err(StoreError::unchanged(panic)))
}

#[async_trait]
impl Upload for LocalUpload {
    fn held_bytes_max(&self) -> usize {
        HELD_BYTES_MAX
    }

    /// A disk is not faster for it.
    fn lend(&mut self, _: Arc<dyn Spare>) {}

    async fn write(&mut self, bytes: Bytes) -> Result<(), StoreError> {
        let mut stage = self.take()?;
        loop {
            if matches!(&stage, Stage::Writing(task) if task.is_finished()) {
                stage = Stage::Idle(land(stage).await?);
            }
            self.stage = match self.brought.push(&bytes) {
                Pushed::Done => stage,
                Pushed::WantsThread => self.launch(land(stage).await?),
                Pushed::Full => {
                    stage = self.taken(stage).await?;
                    continue;
                }
            };
            return Ok(());
        }
    }

    async fn file(&mut self) -> Result<Option<Arc<File>>, StoreError> {
        let file = land(self.take()?).await?;
        let (disk, lead) = (Arc::clone(&self.disk), Lead::of(&self.key));
        let pieces = self.brought.rest();
        let made = spawn_blocking(move || {
            let mut file = opened(&disk, file, &lead)?;
            append(&mut file, &pieces)?;
            Ok(file)
        });
        let made = landed(made.await)?;
        let file = made.shared();
        self.stage = Stage::Idle(Some(made));
        Ok(Some(file))
    }

    async fn complete(mut self: Box<Self>) -> Result<Object, StoreError> {
        let file = land(self.take()?).await?;
        let (disk, pieces) = (Arc::clone(&self.disk), self.brought.rest());
        let (key, when) = (self.key.clone(), self.when.clone());
        let caller = Caller::default();
        let _waits = caller.waits();
        let committed = spawn_blocking(move || {
            let mut file = opened(&disk, file, &Lead::of(&key))?;
            append(&mut file, &pieces)?;
            commit::commit(file, &key, &when, &caller)
        });
        committed.await.unwrap_or_else(|panic| Err(StoreError::ambiguous(panic)))
    }

    async fn abort(mut self: Box<Self>) -> Result<(), StoreError> {
        // What failed is gone already.
        let Ok(stage) = self.take() else { return Ok(()) };
        self.brought.rest();
        let file = land(stage).await.unwrap_or_default();
        spawn_blocking(move || drop(file)).await.map_err(StoreError::unchanged)
    }
}

impl Drop for LocalUpload {
    fn drop(&mut self) {
        // A file that is being written goes with the thread that writes it, which finds no more.
        self.brought.rest();
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
