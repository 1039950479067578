//! An object of unknown size: one put if it is small, else in parts, of which one is filled while
//! others are on their way.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use super::S3Store;
use super::changes::Write;
use super::conditions::Verb;
use super::config::PARTS_MAX;
use super::errors::{Failure, FailureKind};
use super::lanes::{Lane, Lanes};
use super::lineage::Lineage;
use super::requests::{Part, PartSource, UploadId};
use super::wire::{Content, Crc32c};
use crate::scope::ObjectKey;
use crate::store::pieces::Pieces;
use crate::store::{Object, Precondition, Spare, StoreError, Upload};

pub(super) struct S3Upload {
    store: S3Store,
    key: ObjectKey,
    when: Precondition,
    write: Write,
    /// At most one part.
    filling: Filling,
    size: u64,
    state: State,
    lanes: Lanes,
    /// There once the server knows of it.
    begun: Option<Begun>,
}

/// Bytes that were not sent yet, and their sum, taken while they are at hand.
#[derive(Debug, Default)]
struct Filling {
    pieces: Pieces,
    sum: Crc32c,
}

impl Filling {
    fn len(&self) -> usize {
        self.pieces.len()
    }

    fn push(&mut self, bytes: Bytes) {
        self.sum.update(&bytes);
        self.pieces.push(bytes);
    }

    fn take(&mut self) -> Content {
        Content::from(self.pieces.take()).with_crc32c(self.sum.take())
    }
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
    /// How many were sent off.
    launched: i32,
    /// Those that arrived, by number.
    landed: BTreeMap<i32, Part>,
    /// Those on their way.
    flying: JoinSet<Landing>,
    stage: Stage,
}

/// What became of a part on its way.
struct Landing {
    number: i32,
    part: Result<Part, Failure>,
    lane: Lane,
    took: Duration,
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
        let filling = Filling::default();
        let (state, lanes) = (State::Whole, Lanes::new(&store.tuning));
        Self { store, key, when, write, filling, size: 0, state, lanes, begun: None }
    }

    async fn take(&mut self, mut bytes: Bytes) -> Result<(), StoreError> {
        let part_bytes = self.store.tuning.part_bytes;
        let most = (part_bytes * PARTS_MAX) as u64;
        if self.size + bytes.len() as u64 > most {
            return Err(StoreError::TooLarge(most));
        }
        self.size += bytes.len() as u64;
        while !bytes.is_empty() {
            if self.filling.len() == part_bytes {
                self.send_part().await?;
            }
            let room = part_bytes - self.filling.len();
            self.filling.push(bytes.split_to(room.min(bytes.len())));
        }
        Ok(())
    }

    /// Sends off the part that was filled, once there is a way for it.
    async fn send_part(&mut self) -> Result<(), StoreError> {
        if self.begun.is_none() {
            self.begun = Some(self.begin().await?);
        }
        let Some(begun) = &mut self.begun else { return Ok(()) };
        while let Some(landing) = begun.flying.try_join_next() {
            begun.land(landing, &mut self.lanes)?;
        }
        loop {
            if let Some(lane) = self.lanes.take(self.filling.len()) {
                begun.launch(self.filling.take(), lane);
                return Ok(());
            }
            begun.land_next(&mut self.lanes).await?;
        }
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
            let content = self.filling.take();
            let (write, size) = (&self.write, self.size);
            let requests = &self.store.requests;
            let send = |when| requests.put(&self.key, content.clone(), when, &write.lineage);
            return self.store.write(Verb::Put, (&self.key, size), &self.when, write, send).await;
        }
        self.send_part().await?;
        let Some(begun) = &mut self.begun else { return Err(broken()) };
        while !begun.flying.is_empty() {
            begun.land_next(&mut self.lanes).await?;
        }
        let parts: Vec<_> = std::mem::take(&mut begun.landed).into_values().collect();
        let (target, parts) = (&begun.target, (parts.as_slice(), self.size));
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
        // A part that arrives later would stay.
        while begun.flying.join_next().await.is_some() {}
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
        let id =
            store.repeat(|| store.requests.begin_upload(&key, &lineage, PartSource::Sent)).await?;
        let target = Target { store, key, id };
        let (landed, flying) = (BTreeMap::new(), JoinSet::new());
        Ok(Self { target, launched: 0, landed, flying, stage: Stage::Open })
    }

    fn launch(&mut self, content: Content, lane: Lane) {
        let target = self.target.clone();
        // `PARTS_MAX` parts at most.
        self.launched += 1;
        let number = self.launched;
        self.flying.spawn(async move {
            let (upload, started) = ((&target.key, &target.id), Instant::now());
            let send = || target.store.requests.part(upload, number, content.clone());
            let part = target.store.repeat(send).await;
            drop(content);
            Landing { number, part, lane: lane.arrived(), took: started.elapsed() }
        });
    }

    /// Waits for one of the parts on their way, if there is one.
    async fn land_next(&mut self, lanes: &mut Lanes) -> Result<(), StoreError> {
        match self.flying.join_next().await {
            Some(landing) => self.land(landing, lanes),
            None => Ok(()),
        }
    }

    fn land(
        &mut self,
        landing: Result<Landing, JoinError>,
        lanes: &mut Lanes,
    ) -> Result<(), StoreError> {
        let Landing { number, part, lane, took } = landing.map_err(StoreError::unchanged)?;
        lanes.give_back(lane, part.is_ok().then_some(took));
        self.landed.insert(number, part.map_err(unchanged)?);
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
        let (target, mut flying) = (self.target.clone(), std::mem::take(&mut self.flying));
        runtime.spawn(async move {
            // A part that arrives later would stay.
            while flying.join_next().await.is_some() {}
            if let Err(error) = target.abort().await {
                tracing::warn!(%error, "an upload was left behind");
            }
        });
    }
}

#[async_trait::async_trait]
impl Upload for S3Upload {
    fn held_bytes_max(&self) -> usize {
        2 * self.store.tuning.part_bytes
    }

    fn lend(&mut self, spare: Arc<dyn Spare>) {
        self.lanes.lend(spare);
    }

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

    async fn file(&mut self) -> Result<Option<Arc<File>>, StoreError> {
        Ok(None)
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
