//! A thousand turns at once.

use std::ops::Range;
use std::sync::Arc;

use anyhow::Result;
use async_trait::async_trait;
use bailiwick::clock::SystemClock;
use bailiwick::scope::{KeyPrefix, ObjectKey};
use bailiwick::space::Space;
use bailiwick::store::{
    Depth, Layer, ListToken, Listing, MemoryStore, Object, ObjectStore, Precondition, Remain,
    Remains, Revision, StoreError, Upload,
};
use bytes::Bytes;
use futures::future::try_join_all;
use tokio::sync::Semaphore;

use super::{Found, Workload};
use crate::figure::{Figure, Kind, Unit};
use crate::machine::resident_bytes;
use crate::ours::{Host, coordinates};
use crate::race::{Cost, Race, pair, timed};
use crate::setting::Setting;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "many-turns",
    title: "A thousand turns at once",
    about: "A thousand turns, each of a session of its own, start together; each reads a file of \
            4 KiB and writes one. Against as many tasks of the host's that do the same on `Space`. \
            Then all of them wait for a store that does not answer: what is resident beyond what \
            was before, a turn's share, the pages that its guest has touched included.",
    run: |setting| Box::pin(run(setting)),
};

const TURNS: usize = 1_000;

async fn run(setting: &Setting) -> Result<Found> {
    let folder = setting.folder()?;
    let memory = Host::in_memory(setting).await?;
    let directory = Host::in_directory(setting, folder.path()).await?;
    let mut race = Race::default();
    for (what, host) in [("memory store", &memory), ("directory", &directory)] {
        for turn in 0..TURNS {
            let space = host.space_of(coordinates(turn as u128));
            let bytes = Bytes::from(vec![b'x'; 4096]);
            space.write("session/file", bytes, Precondition::Always).await?;
        }
        race.enter("guests", what, || turns(host.clone()));
        race.enter("Space", what, || tasks(host.clone()));
    }
    let raced = race.run(setting.choose(5, 15)).await?;
    let rate = |what| raced.speed(pair(what, "guests", "Space"), TURNS as u64, Unit::PerSecond);
    let waiting = waiting(setting).await?;
    let waiting =
        Figure::new("resident, a waiting turn", "guests", Kind::Amount, Unit::Bytes, &waiting)
            .at_most(f64::from(256 << 10));
    Ok(vec![rate("memory store")?, rate("directory")?, waiting].into())
}

async fn turns(host: Host) -> Result<Cost> {
    let turns = (0..TURNS).map(|turn| {
        let host = host.clone();
        let turn = coordinates(turn as u128);
        tokio::spawn(async move { host.turn_of(turn, "both session/file 1").await })
    });
    let all = async {
        for turn in try_join_all(turns).await? {
            turn?;
        }
        Ok(())
    };
    Ok(timed(all).await?.1)
}

async fn tasks(host: Host) -> Result<Cost> {
    let tasks = (0..TURNS).map(|turn| tokio::spawn(both(host.space_of(coordinates(turn as u128)))));
    let all = async {
        for task in try_join_all(tasks).await? {
            task?;
        }
        Ok(())
    };
    Ok(timed(all).await?.1)
}

async fn both(space: Space) -> Result<()> {
    let chunk = space.read("session/file", 0, 4096).await?;
    space.write("session/file-out", chunk.bytes, Precondition::Always).await?;
    Ok(())
}

/// Resident bytes per turn while all of them wait for the store.
async fn waiting(setting: &Setting) -> Result<Vec<f64>> {
    let mut samples = Vec::new();
    for _ in 0..setting.choose(3, 7) {
        // A pool of its own each time: places that were used before may have kept their memory.
        let gate = Gate::new();
        let host = Host::new(setting, Arc::new(gate.clone())).await?;
        let before = resident_bytes();
        let turns: Vec<_> = (0..TURNS)
            .map(|turn| {
                let host = host.clone();
                let turn = coordinates(turn as u128);
                tokio::spawn(async move { host.turn_of(turn, "stat session/file 1").await })
            })
            .collect();
        // Those for whom the store has no room either wait as well.
        gate.arrived.acquire_many(gate.most).await?.forget();
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        samples.push(resident_bytes().saturating_sub(before) as f64 / TURNS as f64);
        gate.open.add_permits(TURNS);
        for turn in turns {
            // There is no such file, and the guest says so.
            _ = turn.await?;
        }
    }
    Ok(samples)
}

/// The memory store, whose `head` does not answer until it is told to.
#[derive(Clone, Debug)]
struct Gate {
    store: MemoryStore,
    arrived: Arc<Semaphore>,
    open: Arc<Semaphore>,
    /// How many the host lets through to a store at once.
    most: u32,
}

impl Gate {
    fn new() -> Self {
        let store = MemoryStore::new(Arc::new(SystemClock));
        let most = bailiwick::limits::Limits::default().host_operations_max;
        let most = u32::try_from(most.min(TURNS)).unwrap_or(u32::MAX);
        let semaphore = || Arc::new(Semaphore::new(0));
        Self { store, arrived: semaphore(), open: semaphore(), most }
    }
}

#[async_trait]
impl ObjectStore for Gate {
    async fn head(&self, key: &ObjectKey) -> Result<Object, StoreError> {
        self.arrived.add_permits(1);
        if let Ok(permit) = self.open.acquire().await {
            permit.forget();
        }
        self.store.head(key).await
    }

    async fn get(
        &self,
        key: &ObjectKey,
        range: Range<u64>,
        pinned: Option<&Revision>,
    ) -> Result<(Object, Bytes), StoreError> {
        self.store.get(key, range, pinned).await
    }

    async fn put(
        &self,
        key: &ObjectKey,
        bytes: Bytes,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        self.store.put(key, bytes, when).await
    }

    async fn upload(
        &self,
        key: &ObjectKey,
        when: Precondition,
    ) -> Result<Box<dyn Upload>, StoreError> {
        self.store.upload(key, when).await
    }

    async fn delete(&self, key: &ObjectKey, when: &Precondition) -> Result<(), StoreError> {
        self.store.delete(key, when).await
    }

    async fn delete_many(&self, keys: &[ObjectKey]) -> Result<(), StoreError> {
        self.store.delete_many(keys).await
    }

    async fn list(
        &self,
        prefix: &KeyPrefix,
        depth: Depth,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Listing, StoreError> {
        self.store.list(prefix, depth, after, limit).await
    }

    async fn copy(
        &self,
        source: &ObjectKey,
        pinned: Option<&Revision>,
        target: &ObjectKey,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        self.store.copy(source, pinned, target, when).await
    }

    async fn remains(
        &self,
        prefix: &KeyPrefix,
        layer: Layer,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Remains, StoreError> {
        self.store.remains(prefix, layer, after, limit).await
    }

    async fn destroy(&self, remains: &[Remain]) -> Result<(), StoreError> {
        self.store.destroy(remains).await
    }
}
