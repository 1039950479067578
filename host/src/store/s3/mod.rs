//! Objects in a bucket of any server that speaks S3.
//!
//! A change whose answer was lost is settled by what is there: see `settle` for how, and
//! `lineage` for what objects carry to make it possible. What a server is relied on for is
//! tried out first: see `conditions`.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use super::{
    Depth, Layer, ListToken, Listing, Object, ObjectStore, Precondition, Remain, Remains, Revision,
    StoreError, Upload,
};
use crate::scope::{KeyPrefix, ObjectKey};

mod bucket;
mod changes;
mod conditions;
mod config;
mod copy;
mod errors;
mod known;
mod lanes;
mod lifecycle;
mod lineage;
mod list;
mod open;
mod probe;
mod reads;
mod remains;
mod requests;
mod retry;
mod settle;
mod upload;
mod wire;

pub use bucket::{BucketError, BucketReport, Versions};
pub use conditions::{Condition, ProbeReport, Probed, Support};
pub use config::{Addressing, Encryption, S3Config, Tuning};
pub use lifecycle::{Lifetime, MaximumDays, RuleLine, Standing, WantedRules};

use conditions::Conditions;
use known::KnownObjects;
use lineage::Lineages;
use requests::Requests;
use retry::RetryBudget;
use upload::S3Upload;

/// A bucket, or the part of one under an operator's prefix. Clones share what they know.
#[derive(Clone, Debug)]
pub struct S3Store {
    requests: Requests,
    lineages: Arc<Lineages>,
    objects: Arc<KnownObjects>,
    budget: Arc<RetryBudget>,
    conditions: Arc<Conditions>,
    tuning: Tuning,
    bucket: String,
}

#[async_trait]
impl ObjectStore for S3Store {
    async fn head(&self, key: &ObjectKey) -> Result<Object, StoreError> {
        self.read_head(key).await
    }

    async fn get(
        &self,
        key: &ObjectKey,
        range: Range<u64>,
        pinned: Option<&Revision>,
    ) -> Result<(Object, Bytes), StoreError> {
        self.read_range(key, range, pinned).await
    }

    async fn put(
        &self,
        key: &ObjectKey,
        bytes: Bytes,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        self.put_object(key, bytes, when).await
    }

    async fn upload(
        &self,
        key: &ObjectKey,
        when: Precondition,
    ) -> Result<Box<dyn Upload>, StoreError> {
        Ok(Box::new(S3Upload::new(self.clone(), key.clone(), when)))
    }

    async fn delete(&self, key: &ObjectKey, when: &Precondition) -> Result<(), StoreError> {
        match when {
            Precondition::IfAbsent => match self.read_head(key).await {
                Ok(_) => Err(StoreError::PreconditionFailed),
                Err(StoreError::NotFound) => Ok(()),
                Err(error) => Err(error),
            },
            Precondition::Always | Precondition::IfRevision(_) => {
                self.delete_object(key, when).await
            }
        }
    }

    async fn delete_many(&self, keys: &[ObjectKey]) -> Result<(), StoreError> {
        self.delete_all(keys).await
    }

    async fn list(
        &self,
        prefix: &KeyPrefix,
        depth: Depth,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Listing, StoreError> {
        self.list_page(prefix, depth, after, limit).await
    }

    async fn copy(
        &self,
        source: &ObjectKey,
        pinned: Option<&Revision>,
        target: &ObjectKey,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        self.copy_object(source, pinned, target, when).await
    }

    async fn remains(
        &self,
        prefix: &KeyPrefix,
        layer: Layer,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Remains, StoreError> {
        self.remains_page(prefix, layer, after, limit).await
    }

    async fn destroy(&self, remains: &[Remain]) -> Result<(), StoreError> {
        self.destroy_all(remains).await
    }
}
