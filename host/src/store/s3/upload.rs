//! An object of unknown size: one put if it is small, else in parts, of which two are held.

use bytes::{Bytes, BytesMut};
use tokio::task::JoinHandle;

use super::S3Store;
use super::changes::Write;
use super::conditions::Verb;
use super::config::PARTS_MAX;
use super::errors::{Failure, FailureKind};
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
    /// Ends the upload when it is dropped; there once the server knows of it.
    begun: Option<Begun>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Whole,
    /// A call has failed, or was cut off halfway.
    Broken,
}

struct Begun {
    target: Target,
    parts: Vec<Part>,
    /// The part on its way.
    flying: Option<JoinHandle<Result<Part, Failure>>>,
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
        let requests = &self.store.requests;
        let begin = || requests.begin_upload(&self.key, &self.write.lineage);
        let id = self.store.repeat(begin).await.map_err(unchanged)?;
        let target = Target { store: self.store.clone(), key: self.key.clone(), id };
        Ok(Begun { target, parts: Vec::new(), flying: None })
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
        self.begun = None;
        Ok(object)
    }

    async fn give_up(&mut self) -> Result<(), StoreError> {
        self.state = State::Broken;
        match self.begun.take() {
            Some(mut begun) => {
                let landed = begun.land().await;
                if let Err(error) = landed {
                    tracing::debug!(%error, "a part of an aborted upload did not arrive");
                }
                begun.target.abort().await
            }
            None => Ok(()),
        }
    }
}

impl Begun {
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

impl Drop for S3Upload {
    fn drop(&mut self) {
        let Some(begun) = self.begun.take() else { return };
        // Without a runtime the process is at its end; the bucket's own rule takes over.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            let mut begun = begun;
            _ = begun.land().await;
            if let Err(error) = begun.target.abort().await {
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
