//! Runs the turns of the queue: claims as many as this host has room for, keeps their leases,
//! records what they do while they do it, and ends them.
//!
//! A turn is this host's as long as its lease is. Who loses a lease, or could not renew it in
//! time, ends the turn's space with it: another host may have the turn by then.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lru::LruCache;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tracing::Instrument;

use crate::catalog::{Catalog, CatalogError, Claimed, Lease, Watch};
use crate::engine::{Component, Engine};
use crate::limits::{TURN_ADMISSION_BYTES, WATCH_LOOK_MS};
use crate::scope::Sha256;
use crate::skills::Shelf;
use crate::space::Storage;

mod lease;
mod mounting;
mod record;
mod turn;
mod wake;

use turn::Outcome;

pub use lease::{Journal, Keeper, Taken};
pub use mounting::Mounting;
pub use record::{ending_of, events_of, invoked_of, wakes_of};

/// Components that are kept loaded, so that their next turn starts at once.
const COMPONENTS_MAX: NonZeroUsize = NonZeroUsize::MIN.saturating_add(63);
/// How long a host waits after its catalog failed it.
const PAUSE: Duration = Duration::from_secs(1);
/// How often a host looks for turns, told of some or not.
const LOOK: Duration = Duration::from_millis(WATCH_LOOK_MS);

/// Runs queued turns on this host. Clones share its room.
#[derive(Clone, Debug)]
pub struct Worker(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    catalog: Catalog,
    engine: Engine,
    storage: Arc<Storage>,
    /// As the catalog knows this host.
    host: String,
    turns_max: usize,
    mounting: Mounting,
    places: Arc<Semaphore>,
    /// A turn ended: there is room again, and its session may have another one.
    freed: Notify,
    components: Mutex<LruCache<Sha256, Component>>,
    skills: Shelf,
}

/// What a worker works with.
#[derive(Debug)]
pub struct WorkerOptions {
    /// Where turns are queued.
    pub catalog: Catalog,
    /// What runs them.
    pub engine: Engine,
    /// What their files are in.
    pub storage: Arc<Storage>,
    /// What this host is called in the catalog; no two that run may be called the same.
    pub host: String,
    /// How many turns it runs at once, at most.
    pub turns_max: usize,
    /// What it means for a turn that a folder cannot be set up.
    pub mounting: Mounting,
}

impl Worker {
    /// A worker that has not begun.
    pub fn new(options: WorkerOptions) -> Self {
        let WorkerOptions { catalog, engine, storage, host, turns_max, mounting } = options;
        Self(Arc::new(Inner {
            catalog,
            engine,
            storage,
            host,
            turns_max,
            mounting,
            places: Arc::new(Semaphore::new(turns_max.min(Semaphore::MAX_PERMITS))),
            freed: Notify::new(),
            components: Mutex::new(LruCache::new(COMPONENTS_MAX)),
            skills: Shelf::default(),
        }))
    }

    /// How many turns run now.
    pub fn running(&self) -> usize {
        self.0.turns_max.saturating_sub(self.0.places.available_permits())
    }

    /// Claims and runs turns until `stop` is ready. Then it claims none any more and waits for
    /// those that run, for `patience` at most. What does not end by then is broken off, and
    /// handed back to the queue: another host tries it again.
    pub async fn run(&self, stop: impl Future<Output = ()> + Send, patience: Duration) {
        let mut turns = Turns::default();
        let wakes = tokio::spawn(wake::wake(self.0.clone()));
        self.claim_until(stop, &mut turns).await;
        wakes.abort();
        if timeout(patience, self.drain(&mut turns)).await.is_err() {
            tracing::warn!(turns = turns.tasks.len(), "turns are left to other hosts");
            turns.tasks.abort_all();
            self.drain(&mut turns).await;
        }
    }

    async fn claim_until(&self, stop: impl Future<Output = ()> + Send, turns: &mut Turns) {
        let mut stop = pin!(stop);
        let mut watch = tokio::select! {
            () = &mut stop => return,
            watch = self.watch() => watch,
        };
        loop {
            let freed = self.0.freed.notified();
            while let Some(ended) = turns.tasks.try_join_next_with_id() {
                self.settle(turns, ended).await;
            }
            let pause = self.claim(turns).await;
            tokio::select! {
                () = &mut stop => return,
                () = freed, if pause.is_none() => {}
                () = watch.changed(), if pause.is_none() && self.0.room() > 0 => {}
                // Guests of others give memory back without telling.
                () = sleep(pause.unwrap_or(LOOK)) => {}
            }
        }
    }

    /// Claims and starts what there is room for; how long to wait if the catalog failed. Not to be
    /// dropped before its end: what was claimed then would wait until its lease is over.
    async fn claim(&self, turns: &mut Turns) -> Option<Duration> {
        match self.0.claim(self.0.room()).await {
            Ok(claimed) => {
                for (claimed, place) in claimed {
                    let lease = claimed.lease;
                    let task = turns.tasks.spawn(self.0.clone().run_claimed(claimed, place));
                    turns.leases.insert(task.id(), lease);
                }
                None
            }
            Err(error) => {
                let error = told(error);
                tracing::warn!(error, "no turns can be claimed; trying again");
                Some(PAUSE)
            }
        }
    }

    async fn drain(&self, turns: &mut Turns) {
        while let Some(ended) = turns.tasks.join_next_with_id().await {
            self.settle(turns, ended).await;
        }
    }

    /// Hands back what did not come to its end: it was broken off, or could not be tried. Where
    /// that fails, others wait until the lease is over.
    async fn settle(&self, turns: &mut Turns, ended: Result<(Id, Outcome), JoinError>) {
        let (task, outcome) = match ended {
            Ok(ended) => ended,
            Err(error) => (error.id(), Outcome::Untried),
        };
        let Some(lease) = turns.leases.remove(&task) else { return };
        if outcome == Outcome::Over {
            return;
        }
        if let Err(error) = self.0.catalog.release(lease).await {
            let error = told(error);
            tracing::warn!(turn = %lease.turn, error, "a turn waits for the end of its lease");
        }
    }

    async fn watch(&self) -> Watch {
        loop {
            match self.0.catalog.watch_work().await {
                Ok(watch) => return watch,
                Err(error) => {
                    let error = told(error);
                    tracing::warn!(error, "the queue cannot be watched; trying again");
                    sleep(PAUSE).await;
                }
            }
        }
    }
}

/// Turns that run, and whose leases this host holds for them.
#[derive(Debug, Default)]
struct Turns {
    tasks: JoinSet<Outcome>,
    leases: HashMap<Id, Lease>,
}

/// With its reason, for the log.
fn told(error: CatalogError) -> String {
    format!("{:#}", anyhow::Error::from(error))
}

impl Inner {
    /// How many more turns fit, by places and by memory. A turn that was claimed has its share of
    /// that from then on: it takes it later.
    fn room(&self) -> usize {
        let places = self.places.available_permits();
        let claimed = self.turns_max.saturating_sub(places).saturating_mul(TURN_ADMISSION_BYTES);
        let most = self.engine.limits().host_guest_memory_bytes_max;
        let memory = self.engine.guest_memory_left().min(most.saturating_sub(claimed));
        places.min(memory / TURN_ADMISSION_BYTES)
    }

    async fn claim(
        &self,
        room: usize,
    ) -> Result<Vec<(Claimed, OwnedSemaphorePermit)>, CatalogError> {
        // Taken before the turns are: what is claimed has its place.
        let places: Vec<_> =
            (0..room).map_while(|_| self.places.clone().try_acquire_owned().ok()).collect();
        let room = u32::try_from(places.len()).unwrap_or(u32::MAX);
        let claimed = self.catalog.claim(&self.host, room).await?;
        Ok(claimed.into_iter().zip(places).collect())
    }

    async fn run_claimed(
        self: Arc<Self>,
        claimed: Claimed,
        place: OwnedSemaphorePermit,
    ) -> Outcome {
        let span = turn::span(&claimed);
        let outcome = turn::run(&self, claimed).instrument(span).await;
        drop(place);
        self.freed.notify_one();
        outcome
    }
}
