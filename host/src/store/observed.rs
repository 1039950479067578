//! A store that tells how its operations went.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::Instant;

use super::{
    Depth, Layer, ListToken, Listing, Object, ObjectStore, Precondition, Remain, Remains, Revision,
    Spare, StoreError, Upload,
};
use crate::scope::{KeyPrefix, ObjectKey};

/// Who is told how operations of a store went. Never told of which object.
pub trait Observer: std::fmt::Debug + Send + Sync + 'static {
    /// One came to an end: what it is called, what came of it, how long it took.
    fn operated(&self, operation: &'static str, outcome: &'static str, took: Duration);
}

/// A store, observed.
#[derive(Debug)]
pub struct ObservedStore {
    inner: Arc<dyn ObjectStore>,
    observer: Arc<dyn Observer>,
}

impl ObservedStore {
    /// Tells `observer` of every operation of `inner`.
    pub fn new(inner: Arc<dyn ObjectStore>, observer: Arc<dyn Observer>) -> Self {
        Self { inner, observer }
    }
}

async fn observe<T>(
    observer: &Arc<dyn Observer>,
    operation: &'static str,
    work: impl Future<Output = Result<T, StoreError>> + Send,
) -> Result<T, StoreError> {
    let began = Instant::now();
    let result = work.await;
    observer.operated(operation, outcome(&result), began.elapsed());
    result
}

fn outcome<T>(result: &Result<T, StoreError>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(StoreError::NotFound) => "not-found",
        Err(StoreError::PreconditionFailed) => "precondition",
        Err(
            StoreError::Unsupported(_) | StoreError::Unrepresentable(_) | StoreError::TooLarge(_),
        ) => "refused",
        Err(StoreError::Full | StoreError::Unavailable { .. }) => "failed",
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ObjectStore for ObservedStore {
    async fn head(&self, key: &ObjectKey) -> Result<Object, StoreError> {
        observe(&self.observer, "head", self.inner.head(key)).await
    }

    async fn get(
        &self,
        key: &ObjectKey,
        range: Range<u64>,
        pinned: Option<&Revision>,
    ) -> Result<(Object, Bytes), StoreError> {
        observe(&self.observer, "get", self.inner.get(key, range, pinned)).await
    }

    async fn put(
        &self,
        key: &ObjectKey,
        bytes: Bytes,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        observe(&self.observer, "put", self.inner.put(key, bytes, when)).await
    }

    async fn upload(
        &self,
        key: &ObjectKey,
        when: Precondition,
    ) -> Result<Box<dyn Upload>, StoreError> {
        let begun = observe(&self.observer, "upload", self.inner.upload(key, when)).await?;
        Ok(Box::new(ObservedUpload { inner: begun, observer: self.observer.clone() }))
    }

    async fn delete(&self, key: &ObjectKey, when: &Precondition) -> Result<(), StoreError> {
        observe(&self.observer, "delete", self.inner.delete(key, when)).await
    }

    async fn delete_many(&self, keys: &[ObjectKey]) -> Result<(), StoreError> {
        observe(&self.observer, "delete-many", self.inner.delete_many(keys)).await
    }

    async fn list(
        &self,
        prefix: &KeyPrefix,
        depth: Depth,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Listing, StoreError> {
        observe(&self.observer, "list", self.inner.list(prefix, depth, after, limit)).await
    }

    async fn copy(
        &self,
        source: &ObjectKey,
        pinned: Option<&Revision>,
        target: &ObjectKey,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        observe(&self.observer, "copy", self.inner.copy(source, pinned, target, when)).await
    }

    async fn remains(
        &self,
        prefix: &KeyPrefix,
        layer: Layer,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Remains, StoreError> {
        observe(&self.observer, "remains", self.inner.remains(prefix, layer, after, limit)).await
    }

    async fn destroy(&self, remains: &[Remain]) -> Result<(), StoreError> {
        observe(&self.observer, "destroy", self.inner.destroy(remains)).await
    }
}

struct ObservedUpload {
    inner: Box<dyn Upload>,
    observer: Arc<dyn Observer>,
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Upload for ObservedUpload {
    fn held_bytes_max(&self) -> usize {
        self.inner.held_bytes_max()
    }

    fn lend(&mut self, spare: Arc<dyn Spare>) {
        self.inner.lend(spare);
    }

    async fn write(&mut self, bytes: Bytes) -> Result<(), StoreError> {
        self.inner.write(bytes).await
    }

    async fn file(&mut self) -> Result<Option<Arc<File>>, StoreError> {
        self.inner.file().await
    }

    async fn complete(self: Box<Self>) -> Result<Object, StoreError> {
        let Self { inner, observer } = *self;
        observe(&observer, "complete", inner.complete()).await
    }

    async fn abort(self: Box<Self>) -> Result<(), StoreError> {
        let Self { inner, observer } = *self;
        observe(&observer, "abort", inner.abort()).await
    }
}
