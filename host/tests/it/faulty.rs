//! A store that fails when it is told to, and counts what it is asked.

use std::fs::File;
use std::ops::Range;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bailiwick::scope::{KeyPrefix, ObjectKey};
use bailiwick::store::{
    Depth, Layer, ListToken, Listing, Object, ObjectStore, Precondition, Remain, Remains, Revision,
    Spare, StoreError, Upload,
};
use bytes::Bytes;

/// What a failing call does before it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing: the request never arrived.
    Before,
    /// All of it: the answer was lost.
    After,
    /// It never answers.
    Hang,
    /// Nothing: the store has no such operation.
    Cannot,
}

/// Which calls fail, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Plan {
    None,
    Every(Fault),
    /// Counted from 0.
    Nth(usize, Fault),
}

/// Words that no answer to a guest may hold.
pub(crate) const POISON: [&str; 5] = [
    "poison-bucket",
    "https://poison.endpoint:9000",
    "/var/lib/poison/host/path",
    "sessions/poison-key",
    "deadbeef-dead-4ead-8ead-deadbeefdead",
];

#[derive(Clone)]
pub(crate) struct Faulty {
    inner: Arc<dyn ObjectStore>,
    plan: Arc<Mutex<Plan>>,
    calls: Arc<AtomicUsize>,
    latency: Arc<Mutex<Duration>>,
    at_once: Arc<Mutex<AtOnce>>,
    meanwhile: Arc<Mutex<Option<Meanwhile>>>,
}

/// Calls that are under way, and the most there were.
#[derive(Default)]
struct AtOnce {
    now: usize,
    most: usize,
}

/// One call that is under way.
struct UnderWay(Arc<Mutex<AtOnce>>);

impl UnderWay {
    fn new(at_once: &Arc<Mutex<AtOnce>>) -> Self {
        let mut counted = at_once.lock().unwrap();
        counted.now += 1;
        counted.most = counted.most.max(counted.now);
        Self(at_once.clone())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.lock().unwrap().now -= 1;
    }
}

/// What happens just before a call, by its number.
type Meanwhile = (usize, Pin<Box<dyn Future<Output = ()> + Send>>);

impl Faulty {
    pub(crate) fn new(inner: Arc<dyn ObjectStore>) -> Self {
        let plan = Arc::new(Mutex::new(Plan::None));
        Self {
            inner,
            plan,
            calls: Arc::default(),
            latency: Arc::default(),
            at_once: Arc::default(),
            meanwhile: Arc::default(),
        }
    }

    /// Lets each call take so long, from now on.
    pub(crate) fn slow_down(&self, latency: Duration) {
        *self.latency.lock().unwrap() = latency;
    }

    /// Calls that are under way now.
    pub(crate) fn under_way(&self) -> usize {
        self.at_once.lock().unwrap().now
    }

    /// The most calls that were under way at once since this was asked last.
    pub(crate) fn most_at_once(&self) -> usize {
        let mut at_once = self.at_once.lock().unwrap();
        let now = at_once.now;
        std::mem::replace(&mut at_once.most, now)
    }

    /// Lets something else happen just before a call, counted from 0 from now on.
    pub(crate) fn meanwhile(&self, nth: usize, change: impl Future<Output = ()> + Send + 'static) {
        self.plan(Plan::None);
        *self.meanwhile.lock().unwrap() = Some((nth, Box::pin(change)));
    }

    /// Sets the plan and counts calls from 0 again.
    pub(crate) fn plan(&self, plan: Plan) {
        *self.plan.lock().unwrap() = plan;
        self.calls.store(0, Ordering::SeqCst);
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    async fn run<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        let _under_way = UnderWay::new(&self.at_once);
        let latency = *self.latency.lock().unwrap();
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        let due = self.meanwhile.lock().unwrap().take_if(|(nth, _)| *nth == number);
        if let Some((_, change)) = due {
            change.await;
        }
        let plan = *self.plan.lock().unwrap();
        let fault = match plan {
            Plan::Every(fault) => Some(fault),
            Plan::Nth(nth, fault) if nth == number => Some(fault),
            Plan::None | Plan::Nth(..) => None,
        };
        match fault {
            None => call.await,
            Some(Fault::Before) => Err(StoreError::unchanged(poisoned())),
            Some(Fault::After) => {
                call.await?;
                Err(StoreError::ambiguous(poisoned()))
            }
            Some(Fault::Cannot) => Err(StoreError::Unsupported("this store cannot do that")),
            Some(Fault::Hang) => std::future::pending().await,
        }
    }
}

impl std::fmt::Debug for Faulty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Faulty")
    }
}

fn poisoned() -> anyhow::Error {
    anyhow::anyhow!("{}", POISON.join(" ")).context("poison-bucket did not answer")
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ObjectStore for Faulty {
    async fn head(&self, key: &ObjectKey) -> Result<Object, StoreError> {
        self.run(self.inner.head(key)).await
    }

    async fn get(
        &self,
        key: &ObjectKey,
        range: Range<u64>,
        pinned: Option<&Revision>,
    ) -> Result<(Object, Bytes), StoreError> {
        self.run(self.inner.get(key, range, pinned)).await
    }

    async fn put(
        &self,
        key: &ObjectKey,
        bytes: Bytes,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        self.run(self.inner.put(key, bytes, when)).await
    }

    async fn upload(
        &self,
        key: &ObjectKey,
        when: Precondition,
    ) -> Result<Box<dyn Upload>, StoreError> {
        let upload = self.run(self.inner.upload(key, when)).await?;
        Ok(Box::new(FaultyUpload { store: self.clone(), inner: upload }))
    }

    async fn delete(&self, key: &ObjectKey, when: &Precondition) -> Result<(), StoreError> {
        self.run(self.inner.delete(key, when)).await
    }

    async fn delete_many(&self, keys: &[ObjectKey]) -> Result<(), StoreError> {
        self.run(self.inner.delete_many(keys)).await
    }

    async fn list(
        &self,
        prefix: &KeyPrefix,
        depth: Depth,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Listing, StoreError> {
        self.run(self.inner.list(prefix, depth, after, limit)).await
    }

    async fn copy(
        &self,
        source: &ObjectKey,
        pinned: Option<&Revision>,
        target: &ObjectKey,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        self.run(self.inner.copy(source, pinned, target, when)).await
    }

    async fn remains(
        &self,
        prefix: &KeyPrefix,
        layer: Layer,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Remains, StoreError> {
        self.run(self.inner.remains(prefix, layer, after, limit)).await
    }

    async fn destroy(&self, remains: &[Remain]) -> Result<(), StoreError> {
        self.run(self.inner.destroy(remains)).await
    }
}

struct FaultyUpload {
    store: Faulty,
    inner: Box<dyn Upload>,
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Upload for FaultyUpload {
    fn held_bytes_max(&self) -> usize {
        self.inner.held_bytes_max()
    }

    fn lend(&mut self, spare: Arc<dyn Spare>) {
        self.inner.lend(spare);
    }

    async fn write(&mut self, bytes: Bytes) -> Result<(), StoreError> {
        self.store.run(self.inner.write(bytes)).await
    }

    async fn file(&mut self) -> Result<Option<Arc<File>>, StoreError> {
        self.store.run(self.inner.file()).await
    }

    async fn complete(self: Box<Self>) -> Result<Object, StoreError> {
        let store = self.store.clone();
        store.run(self.inner.complete()).await
    }

    async fn abort(self: Box<Self>) -> Result<(), StoreError> {
        let store = self.store.clone();
        store.run(self.inner.abort()).await
    }
}
