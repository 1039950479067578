//! What a caller may have the host hold at once: operations and bytes, of its own and of all.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::Error;

/// A bound for one caller within a bound for the whole host.
#[derive(Clone, Debug)]
pub(super) struct Room {
    own: Arc<Semaphore>,
    host: Arc<Semaphore>,
    wait: Duration,
}

/// What was taken out of a [`Room`]; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Held {
    _own: OwnedSemaphorePermit,
    _host: OwnedSemaphorePermit,
}

impl Room {
    pub(super) fn new(own: usize, host: Arc<Semaphore>, wait: Duration) -> Self {
        let own = Arc::new(Semaphore::new(own.min(Semaphore::MAX_PERMITS)));
        Self { own, host, wait }
    }

    /// Takes `amount`, waiting a bounded time for others to give it back.
    pub(super) async fn take(&self, amount: usize) -> Result<Held, Error> {
        let amount = u32::try_from(amount).map_err(|_| Error::busy())?;
        let both = async {
            // One's own bound first: a caller who waits for itself keeps nothing from others.
            let own = self.own.clone().acquire_many_owned(amount).await.ok()?;
            let host = self.host.clone().acquire_many_owned(amount).await.ok()?;
            Some(Held { _own: own, _host: host })
        };
        tokio::time::timeout(self.wait, both).await.ok().flatten().ok_or_else(Error::busy)
    }
}
