//! A store that is some way off: each call takes so much longer.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bailiwick::scope::{KeyPrefix, ObjectKey};
use bailiwick::store::{
    Depth, Layer, ListToken, Listing, Object, ObjectStore, Precondition, Remain, Remains, Revision,
    StoreError, Upload,
};
use bytes::Bytes;

/// Another store, after a while.
#[derive(Debug)]
pub(crate) struct FarStore {
    inner: Arc<dyn ObjectStore>,
    latency: Duration,
}

impl FarStore {
    pub(crate) fn new(inner: Arc<dyn ObjectStore>, latency: Duration) -> Self {
        Self { inner, latency }
    }

    async fn there(&self) -> &dyn ObjectStore {
        tokio::time::sleep(self.latency).await;
        &*self.inner
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ObjectStore for FarStore {
    async fn head(&self, key: &ObjectKey) -> Result<Object, StoreError> {
        self.there().await.head(key).await
    }

    async fn get(
        &self,
        key: &ObjectKey,
        range: Range<u64>,
        pinned: Option<&Revision>,
    ) -> Result<(Object, Bytes), StoreError> {
        self.there().await.get(key, range, pinned).await
    }

    async fn put(
        &self,
        key: &ObjectKey,
        bytes: Bytes,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        self.there().await.put(key, bytes, when).await
    }

    async fn upload(
        &self,
        key: &ObjectKey,
        when: Precondition,
    ) -> Result<Box<dyn Upload>, StoreError> {
        self.there().await.upload(key, when).await
    }

    async fn delete(&self, key: &ObjectKey, when: &Precondition) -> Result<(), StoreError> {
        self.there().await.delete(key, when).await
    }

    async fn delete_many(&self, keys: &[ObjectKey]) -> Result<(), StoreError> {
        self.there().await.delete_many(keys).await
    }

    async fn list(
        &self,
        prefix: &KeyPrefix,
        depth: Depth,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Listing, StoreError> {
        self.there().await.list(prefix, depth, after, limit).await
    }

    async fn copy(
        &self,
        source: &ObjectKey,
        pinned: Option<&Revision>,
        target: &ObjectKey,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        self.there().await.copy(source, pinned, target, when).await
    }

    async fn remains(
        &self,
        prefix: &KeyPrefix,
        layer: Layer,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Remains, StoreError> {
        self.there().await.remains(prefix, layer, after, limit).await
    }

    async fn destroy(&self, remains: &[Remain]) -> Result<(), StoreError> {
        self.there().await.destroy(remains).await
    }
}
