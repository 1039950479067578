//! An object of unknown size: one put if it is small, else in parts, of which two are held.

use bytes::{Bytes, BytesMut};
use tokio::task::JoinHandle;

use super::S3Store;
use super::changes::Write;
use super::conditions::Verb;
use super::config::PARTS_MAX;
use super::errors::{Failure, FailureKind};
use super::lineage::Lineage;
use super::requests::{Part, UploadId};
use crate::scope::ObjectKey;
use crate::store::{Object, Precondition, StoreError, Upload};

pub(super) struct S3Upload {
    store: S3Store,
    key: ObjectKey,
    when: Precondition,
    write: Write,
    /// At most one part.
    buffer: BytesMut,
    size: u64,
    state: State,
    /// There once the server knows of it.
    begun: Option<Begun>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Whole,
    /// A call has failed, or was cut off halfway.
    Broken,
}

/// Aborts the upload when it is dropped, unless it is over.
struct Begun {
    target: Target,
    parts: Vec<Part>,
    /// The part on its way.
    flying: Option<JoinHandle<Result<Part, Failure>>>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    Over,
}

/// An upload that the server knows of.
#[derive(Clone)]
struct Target {
    store: S3Store,
    key: ObjectKey,
    id: UploadId,
}

impl S3Upload {
    pub(super) fn new(store: S3Store, key: ObjectKey, when: Precondition) -> Self {
        let write = store.new_write(&key, &when);
        let (buffer, state) = (BytesMut::new(), State::Whole);
        Self { store, key, when, write, buffer, size: 0, state, begun: None }
    }

    async fn take(&mut self, mut bytes: Bytes) -> Result<(), StoreError> {
        let part_bytes = self.store.tuning.part_bytes;
        let most = (part_bytes * PARTS_MAX) as u64;
        if self.size + bytes.len() as u64 > most {
            return Err(StoreError::TooLarge(most));
        }
        self.size += bytes.len() as u64;
        while !bytes.is_empty() {
            if self.buffer.len() == part_bytes {
                self.send_part().await?;
            }
            let room = part_bytes - self.buffer.len();
            self.buffer.extend_from_slice(&bytes.split_to(room.min(bytes.len())));
        }
        Ok(())
    }

    /// Sends the buffer off once the part before has arrived.
    async fn send_part(&mut self) -> Result<(), StoreError> {
        if self.begun.is_none() {
            self.begun = Some(self.begin().await?);
        }
        let Some(begun) = &mut self.begun else { return Ok(()) };
        begun.land().await?;
        let bytes = self.buffer.split().freeze();
        begun.launch(bytes);
        Ok(())
    }

    async fn begin(&self) -> Result<Begun, StoreError> {
        if let Some(condition) = Verb::Complete.condition(&self.when) {
            self.store.require(condition).await?;
        }
        let target = (self.store.clone(), self.key.clone());
        let begun = tokio::spawn(Begun::begin(target, self.write.lineage.clone()));
        begun.await.map_err(StoreError::unchanged)?.map_err(unchanged)
    }

    async fn finish(&mut self) -> Result<Object, StoreError> {
        if self.state == State::Broken {
            return Err(broken());
        }
        if self.begun.is_none() {
            let bytes = self.buffer.split().freeze();
            let (write, size) = (&self.write, self.size);
            let requests = &self.store.requests;
            let send = |when| requests.put(&self.key, bytes.clone(), when, &write.lineage);
            return self.store.write(Verb::Put, (&self.key, size), &self.when, write, send).await;
        }
        self.send_part().await?;
        let Some(begun) = &mut self.begun else { return Err(broken()) };
        begun.land().await?;
        let (target, parts) = (&begun.target, (begun.parts.as_slice(), self.size));
        let upload = (&target.key, &target.id);
        let send = |when| self.store.requests.complete(upload, parts, when);
        let made =
            self.store.write(Verb::Complete, (&self.key, self.size), &self.when, &self.write, send);
        let object = made.await?;
        begun.stage = Stage::Over;
        self.begun = None;
        Ok(object)
    }

    async fn give_up(&mut self) -> Result<(), StoreError> {
        self.state = State::Broken;
        let Some(begun) = &mut self.begun else { return Ok(()) };
        if let Err(error) = begun.land().await {
            tracing::debug!(%error, "a part of an aborted upload did not arrive");
        }
        let aborted = begun.target.abort().await;
        begun.stage = Stage::Over;
        self.begun = None;
        aborted
    }
}

impl Begun {
    /// Run as a task of its own: should its caller go away meanwhile, what the server began is
    /// still known here, and aborted.
    async fn begin((store, key): (S3Store, ObjectKey), lineage: Lineage) -> Result<Self, Failure> {
        let id = store.repeat(|| store.requests.begin_upload(&key, &lineage)).await?;
        let target = Target { store, key, id };
        Ok(Self { target, parts: Vec::new(), flying: None, stage: Stage::Open })
    }

    fn launch(&mut self, bytes: Bytes) {
        let target = self.target.clone();
        // `PARTS_MAX` parts at most.
        let number = i32::try_from(self.parts.len() + 1).unwrap_or(i32::MAX);
        self.flying = Some(tokio::spawn(async move {
            let upload = (&target.key, &target.id);
            let send = || target.store.requests.part(upload, number, bytes.clone());
            target.store.repeat(send).await
        }));
    }

    /// Waits for the part on its way.
    async fn land(&mut self) -> Result<(), StoreError> {
        let Some(flying) = &mut self.flying else { return Ok(()) };
        let landed = flying.await;
        self.flying = None;
        let part = landed.map_err(StoreError::unchanged)?;
        self.parts.push(part.map_err(unchanged)?);
        Ok(())
    }
}

impl Target {
    /// Once this returns, nothing of the upload is left.
    async fn abort(&self) -> Result<(), StoreError> {
        let abort = || self.store.requests.abort((&self.key, &self.id));
        match self.store.repeat(abort).await {
            Ok(()) => Ok(()),
            Err(failure) if failure.kind == FailureKind::NoUpload => Ok(()),
            Err(failure) => Err(unchanged(failure)),
        }
    }
}

/// Until it is completed, nothing of an upload shows.
fn unchanged(failure: Failure) -> StoreError {
    match failure.kind {
        FailureKind::Lost => StoreError::unchanged(failure.source),
        _ => failure.into_error(),
    }
}

fn broken() -> StoreError {
    StoreError::unchanged(anyhow::Error::msg("the upload had failed before"))
}

impl Drop for Begun {
    fn drop(&mut self) {
        if self.stage == Stage::Over {
            return;
        }
        // Without a runtime the process is at its end; the bucket's own rule takes over.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (target, flying) = (self.target.clone(), self.flying.take());
        runtime.spawn(async move {
            // A part that arrives later would stay.
            if let Some(flying) = flying {
                _ = flying.await;
            }
            if let Err(error) = target.abort().await {
                tracing::warn!(%error, "an upload was left behind");
            }
        });
    }
}

#[async_trait::async_trait]
impl Upload for S3Upload {
    async fn write(&mut self, bytes: Bytes) -> Result<(), StoreError> {
        if self.state == State::Broken {
            return Err(broken());
        }
        // Should this future be dropped halfway, nobody knows how much was taken.
        self.state = State::Broken;
        match self.take(bytes).await {
            Ok(()) => {
                self.state = State::Whole;
                Ok(())
            }
            Err(error) => {
                _ = self.give_up().await;
                Err(error)
            }
        }
    }

    async fn complete(mut self: Box<Self>) -> Result<Object, StoreError> {
        let done = self.finish().await;
        if done.is_err() {
            _ = self.give_up().await;
        }
        done
    }

    async fn abort(mut self: Box<Self>) -> Result<(), StoreError> {
        self.give_up().await
    }
}
