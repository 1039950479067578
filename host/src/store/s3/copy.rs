//! Copies: within the server where it keeps the conditions, else through this host.

use std::ops::Range;
use std::pin::pin;

use bytes::Bytes;
use futures::stream::{StreamExt, TryStreamExt};

use super::S3Store;
use super::changes::Write;
use super::conditions::{Condition, Verb};
use super::config::PARTS_MAX;
use super::errors::{Failure, FailureKind};
use super::lineage::Lineage;
use super::requests::{Part, PartSource, UploadId};
use super::upload::S3Upload;
use crate::scope::ObjectKey;
use crate::store::{Object, ObjectStore, Precondition, Revision, StoreError, Upload};

/// How often a copy starts again because its source changed under it.
const RESTARTS_MAX: u32 = 5;
/// Parts of one copy that are made at once.
const PARTS_AT_ONCE: usize = 4;
/// Ranges that are read at once by a copy through this host, of half a part each.
const READS_AT_ONCE: usize = 2;

/// A copy to be made of one revision.
struct Copy<'a> {
    source: &'a ObjectKey,
    object: Object,
    target: &'a ObjectKey,
    when: &'a Precondition,
}

enum Way {
    OneRequest,
    Parts,
    ThroughHost,
}

impl S3Store {
    pub(super) async fn copy_object(
        &self,
        source: &ObjectKey,
        pinned: Option<&Revision>,
        target: &ObjectKey,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        for _ in 0..RESTARTS_MAX {
            let object = self.source(source, pinned).await?;
            let revision = object.revision.clone();
            let copy = Copy { source, object, target, when };
            let held = match self.make(&copy).await {
                Err(StoreError::PreconditionFailed) => StoreError::PreconditionFailed,
                Err(StoreError::NotFound) => StoreError::NotFound,
                done => return done,
            };
            // The condition on the target, unless the source is another one meanwhile.
            match self.look(source).await {
                Ok(Some(seen)) if seen.object.revision == revision => {
                    return Err(StoreError::PreconditionFailed);
                }
                Ok(Some(_)) if pinned.is_some() => return Err(StoreError::PreconditionFailed),
                Ok(Some(_)) => {}
                Ok(None) => return Err(StoreError::NotFound),
                Err(_) => return Err(held),
            }
        }
        Err(StoreError::unchanged(anyhow::Error::msg("the source of a copy keeps changing")))
    }

    /// The source as it was seen last; where that is not known, or not what is asked for, as it
    /// is.
    async fn source(
        &self,
        source: &ObjectKey,
        pinned: Option<&Revision>,
    ) -> Result<Object, StoreError> {
        let fits = |object: &Object| pinned.is_none_or(|pinned| *pinned == object.revision);
        if let Some(known) = self.objects.of(source).filter(fits) {
            return Ok(known);
        }
        let object = self.head(source).await?;
        if fits(&object) { Ok(object) } else { Err(StoreError::PreconditionFailed) }
    }

    async fn make(&self, copy: &Copy<'_>) -> Result<Object, StoreError> {
        let write = self.new_write(copy.target, copy.when);
        match self.way(copy).await? {
            Way::OneRequest => {
                let send = |when| self.copied(copy, when, &write.lineage);
                let target = (copy.target, copy.object.size);
                self.write(Verb::Copy, target, copy.when, &write, send).await
            }
            Way::Parts => self.copy_in_parts(copy, &write).await,
            Way::ThroughHost => self.copy_through_host(copy).await,
        }
    }

    /// One request, and which of its two conditions did not hold.
    async fn copied(
        &self,
        copy: &Copy<'_>,
        when: Precondition,
        lineage: &Lineage,
    ) -> Result<Object, Failure> {
        let source = (copy.source, &copy.object);
        let sent = self.requests.copy(source, copy.target, when, lineage).await;
        let Err(failure) = sent else { return sent };
        if failure.kind != FailureKind::Condition {
            return Err(failure);
        }
        match self.look(copy.source).await {
            Ok(Some(seen)) if seen.object.revision == copy.object.revision => Err(failure),
            Ok(_) => Err(Failure { kind: FailureKind::SourceChanged, ..failure }),
            Err(_) => Err(failure),
        }
    }

    async fn way(&self, copy: &Copy<'_>) -> Result<Way, StoreError> {
        if copy.object.size <= self.tuning.copy_bytes_max {
            let source = self.keeps(Condition::CopySource).await?;
            if source && self.keeps_for(Verb::Copy, copy.when).await? {
                return Ok(Way::OneRequest);
            }
        }
        let in_parts = copy.object.size > self.tuning.part_bytes as u64;
        if in_parts && self.keeps(Condition::PartCopySource).await? {
            return Ok(Way::Parts);
        }
        Ok(Way::ThroughHost)
    }

    async fn keeps_for(&self, verb: Verb, when: &Precondition) -> Result<bool, StoreError> {
        match verb.condition(when) {
            Some(condition) => self.keeps(condition).await,
            None => Ok(true),
        }
    }

    async fn copy_in_parts(&self, copy: &Copy<'_>, write: &Write) -> Result<Object, StoreError> {
        if let Some(condition) = Verb::Complete.condition(copy.when) {
            self.require(condition).await?;
        }
        let (store, key, lineage) = (self.clone(), copy.target.clone(), write.lineage.clone());
        // A task of its own: should the caller go away meanwhile, the upload is aborted.
        let begun = tokio::spawn(Unfinished::begin(store, key, lineage)).await;
        let upload = begun.map_err(StoreError::unchanged)?.map_err(Failure::into_error)?;
        upload.finish(copy, write).await
    }

    async fn copied_parts(&self, copy: &Copy<'_>, upload: &UploadId) -> Result<Vec<Part>, Failure> {
        let ranges = ranges(copy.object.size, self.tuning.part_bytes as u64);
        let parts = ranges.into_iter().zip(1..).map(|(range, number)| async move {
            let source = (copy.source, &copy.object.revision);
            let target = (copy.target, upload);
            let send = || self.requests.copied_part(target, number, source, range.clone());
            self.repeat(send).await
        });
        futures::stream::iter(parts).buffered(PARTS_AT_ONCE).try_collect().await
    }

    /// Reads one revision and writes it again, part by part.
    async fn copy_through_host(&self, copy: &Copy<'_>) -> Result<Object, StoreError> {
        let mut upload =
            Box::new(S3Upload::new(self.clone(), copy.target.clone(), copy.when.clone()));
        let (size, step) = (copy.object.size, self.tuning.part_bytes as u64 / 2);
        let starts = (0..size.div_ceil(step)).map(|number| number * step);
        let reads = starts.map(|start| self.read_source(copy, start..size.min(start + step)));
        let mut reads = pin!(futures::stream::iter(reads).buffered(READS_AT_ONCE));
        while let Some(read) = reads.next().await {
            let bytes = match read {
                Ok(bytes) => bytes,
                Err(error) => {
                    upload.abort().await?;
                    return Err(error);
                }
            };
            upload.write(bytes).await?;
        }
        upload.complete().await
    }

    async fn read_source(&self, copy: &Copy<'_>, range: Range<u64>) -> Result<Bytes, StoreError> {
        let pinned = Some(&copy.object.revision);
        let (_, bytes) = self.get(copy.source, range.clone(), pinned).await?;
        match bytes.len() as u64 == range.end - range.start {
            true => Ok(bytes),
            false => Err(StoreError::unchanged(anyhow::anyhow!("{range:?} came in part"))),
        }
    }
}

/// An upload that is aborted unless it is finished.
struct Unfinished {
    store: S3Store,
    key: ObjectKey,
    id: Option<UploadId>,
}

impl Unfinished {
    async fn begin(store: S3Store, key: ObjectKey, lineage: Lineage) -> Result<Self, Failure> {
        let id = store
            .repeat(|| store.requests.begin_upload(&key, &lineage, PartSource::Copied))
            .await?;
        Ok(Self { store, key, id: Some(id) })
    }

    async fn finish(mut self, copy: &Copy<'_>, write: &Write) -> Result<Object, StoreError> {
        let Some(id) = self.id.clone() else { return Err(StoreError::NotFound) };
        let store = self.store.clone();
        let parts = match store.copied_parts(copy, &id).await {
            Ok(parts) => parts,
            Err(failure) => {
                self.abort().await;
                return Err(match failure.kind {
                    FailureKind::Lost => StoreError::unchanged(failure.source),
                    _ => failure.into_error(),
                });
            }
        };
        let (target, size) = ((copy.target, &id), copy.object.size);
        let send = |when| store.requests.complete(target, (&parts, size), when);
        let made = store.write(Verb::Complete, (copy.target, size), copy.when, write, send).await;
        match made {
            Ok(object) => {
                self.id = None;
                Ok(object)
            }
            Err(error) => {
                self.abort().await;
                Err(error)
            }
        }
    }

    async fn abort(&mut self) {
        let Some(id) = self.id.clone() else { return };
        abort(&self.store, &self.key, &id).await;
        self.id = None;
    }
}

async fn abort(store: &S3Store, key: &ObjectKey, id: &UploadId) {
    let send = || store.requests.abort((key, id));
    match store.repeat(send).await {
        Ok(()) => {}
        Err(failure) if failure.kind == FailureKind::NoUpload => {}
        Err(failure) => {
            tracing::warn!(error = format!("{:#}", failure.source), "an upload was left behind");
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (store, key) = (self.store.clone(), self.key.clone());
        runtime.spawn(async move { abort(&store, &key, &id).await });
    }
}

/// Parts of equal length, but the last: no more of them than an upload may have.
fn ranges(size: u64, part_bytes: u64) -> Vec<Range<u64>> {
    let part_bytes = part_bytes.max(size.div_ceil(PARTS_MAX as u64)).max(1);
    (0..size.div_ceil(part_bytes))
        .map(|part| part * part_bytes..size.min((part + 1) * part_bytes))
        .collect()
}
