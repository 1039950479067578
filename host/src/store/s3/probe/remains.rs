//! Whether a server shows what it holds beside objects: some leave it out, and to some whoever
//! asks may not look.

use super::{ALWAYS, Failure, FailureKind, Probe, Support, lineage};
use crate::scope::{KeyPrefix, ObjectKey};
use crate::store::s3::requests::{Left, LeftRequest, PartSource, Versioning};
use crate::store::{Layer, Remain, RemainKind};

/// Most pages that one name can have.
const PAGES_MAX: usize = 20;

impl Probe<'_> {
    pub(super) async fn uploads_listed(&self, key: &ObjectKey) -> Result<Support, Failure> {
        let (store, requests, lineage) = (self.store, &self.store.requests, lineage());
        let id = store.repeat(|| requests.begin_upload(key, &lineage, PartSource::Sent)).await?;
        let listed = self.left_of(key, Layer::Uploads).await;
        _ = store.repeat(|| requests.abort((key, &id))).await;
        Ok(match may(listed)? {
            Some(left) if left.is_empty() => Support::Ignored,
            Some(_) => Support::Kept,
            None => Support::Refused,
        })
    }

    /// A version, and the mark of its deletion, are shown, and gone once they are removed.
    pub(super) async fn versions_listed(&self, key: &ObjectKey) -> Result<Support, Failure> {
        let (store, requests) = (self.store, &self.store.requests);
        let versioning = store.repeat(|| requests.versioning()).await?;
        if versioning == Versioning::Never {
            return Ok(Support::Kept);
        }
        self.put(key, "version").await?;
        store.repeat(|| requests.delete(key, ALWAYS)).await?;
        let Some(left) = may(self.left_of(key, Layer::Versions).await)? else {
            return Ok(Support::Refused);
        };
        let has = |kind| left.iter().any(|remain| remain.kind == kind);
        let is_whole = has(RemainKind::Version) && has(RemainKind::Marker);
        if versioning == Versioning::Kept && !is_whole {
            return Ok(Support::Ignored);
        }
        if left.is_empty() {
            return Ok(Support::Kept);
        }
        let destroyed = store.repeat(|| requests.destroy_versions(&left)).await;
        if may(destroyed)?.is_none() {
            return Ok(Support::Refused);
        }
        let left = self.left_of(key, Layer::Versions).await?;
        Ok(if left.is_empty() { Support::Kept } else { Support::Ignored })
    }

    /// What pages show of one key.
    async fn left_of(&self, key: &ObjectKey, layer: Layer) -> Result<Vec<Remain>, Failure> {
        let prefix = KeyPrefix::probes();
        // Some servers show an upload to who asks for its whole name, and to nobody else.
        let under = &key.as_str()[..key.as_str().len() - 1];
        let (mut found, mut after) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let after_now = after.as_ref();
            let page = LeftRequest { prefix: &prefix, under, after: after_now, limit: 1000 };
            let Left { left, next } = self.store.left(layer, page).await?;
            found.extend(left.into_iter().filter(|remain| remain.key == *key));
            after = next;
            if after.is_none() {
                break;
            }
        }
        Ok(found)
    }
}

/// `None` for what is not allowed, or not known.
fn may<T>(asked: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match asked {
        Ok(answer) => Ok(Some(answer)),
        Err(failure) => match failure.kind {
            FailureKind::Denied | FailureKind::NotImplemented | FailureKind::Refused => Ok(None),
            _ => Err(failure),
        },
    }
}
