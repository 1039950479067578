//! Single requests of a probe, in two steps, so that racers start together.

use bytes::Bytes;

use super::{Probe, lineage};
use crate::scope::ObjectKey;
use crate::store::s3::conditions::Verb;
use crate::store::s3::errors::{Failure, FailureKind};
use crate::store::s3::lineage::Lineage;
use crate::store::s3::requests::{Part, PartSource, UploadId};
use crate::store::{Object, Precondition};

/// A change that only has to be sent.
pub(super) enum Shot {
    Put(Bytes, Lineage),
    Complete { id: UploadId, part: Part, size: u64, lineage: Lineage },
    Copy(Object, Lineage),
    Delete,
}

impl Probe<'_> {
    pub(super) async fn prepare(
        &self,
        verb: Verb,
        [source, key]: [&ObjectKey; 2],
        racer: u32,
    ) -> Result<Shot, Failure> {
        let bytes = Bytes::from(format!("racer {racer}"));
        Ok(match verb {
            Verb::Put => Shot::Put(bytes, lineage()),
            Verb::Complete => self.prepare_upload(key, bytes, lineage()).await?,
            Verb::Copy => {
                let seen = self.store.repeat(|| self.store.requests.head(source)).await?;
                Shot::Copy(seen.object, lineage())
            }
            Verb::Delete => Shot::Delete,
        })
    }

    pub(super) async fn prepare_upload(
        &self,
        key: &ObjectKey,
        bytes: Bytes,
        lineage: Lineage,
    ) -> Result<Shot, Failure> {
        let (store, requests) = (self.store, &self.store.requests);
        let size = bytes.len() as u64;
        let id = store.repeat(|| requests.begin_upload(key, &lineage, PartSource::Sent)).await?;
        let part = store.repeat(|| requests.part((key, &id), 1, bytes.clone())).await?;
        Ok(Shot::Complete { id, part, size, lineage })
    }

    pub(super) async fn fire(
        &self,
        shot: Shot,
        [source, key]: [&ObjectKey; 2],
        when: &Precondition,
    ) -> Result<(), Failure> {
        let (requests, when) = (&self.store.requests, when.clone());
        match shot {
            Shot::Put(bytes, lineage) => {
                let sent = requests.put(key, bytes, when, &lineage).await.map(drop);
                self.found_out(sent, key, &lineage).await
            }
            Shot::Complete { id, part, size, lineage } => {
                let sent = requests.complete((key, &id), (&[part], size), when).await.map(drop);
                let sent = self.found_out(sent, key, &lineage).await;
                if sent.is_err() {
                    _ = requests.abort((key, &id)).await;
                }
                sent
            }
            Shot::Copy(object, lineage) => {
                let sent = requests.copy((source, &object), key, when, &lineage).await.map(drop);
                // The source is there: it is the target's condition that fails.
                let sent = sent.map_err(|failure| match failure.kind {
                    FailureKind::NotFound => Failure { kind: FailureKind::Condition, ..failure },
                    _ => failure,
                });
                self.found_out(sent, key, &lineage).await
            }
            Shot::Delete => requests.delete(key, when).await,
        }
    }

    /// What became of a write whose answer was lost, or cannot be read.
    async fn found_out(
        &self,
        sent: Result<(), Failure>,
        key: &ObjectKey,
        lineage: &Lineage,
    ) -> Result<(), Failure> {
        match sent {
            Err(failure) if failure.kind == FailureKind::Lost => {
                match self.store.look(key).await? {
                    Some(seen) if seen.lineage == *lineage => Ok(()),
                    _ => Err(failure),
                }
            }
            sent => sent,
        }
    }
}
