//! What a caller may have the host hold at once: operations and bytes, of its own and of all.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::Error;

/// A bound for all callers of a host.
#[derive(Debug)]
pub(super) struct HostRoom {
    permits: Arc<Semaphore>,
    most: usize,
}

impl HostRoom {
    pub(super) fn new(most: usize) -> Self {
        let most = most.min(Semaphore::MAX_PERMITS);
        Self { permits: Arc::new(Semaphore::new(most)), most }
    }

    /// Waits, for so long at most, until nothing is taken.
    pub(super) async fn all_given_back(&self, wait: Duration) {
        let all = u32::try_from(self.most).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(wait, self.permits.acquire_many(all)).await;
    }
}

/// A bound for one caller within a bound for the whole host.
#[derive(Clone, Debug)]
pub(super) struct Room {
    own: Arc<Semaphore>,
    host: Arc<Semaphore>,
    /// Most that one caller takes: the smaller of the two bounds.
    most: usize,
    wait: Duration,
}

/// What was taken out of a [`Room`]; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Held {
    _own: OwnedSemaphorePermit,
    _host: OwnedSemaphorePermit,
}

impl Room {
    /// Room for one caller, within `host`.
    pub(super) fn new(own: usize, host: &HostRoom, wait: Duration) -> Self {
        let most = own.min(host.most);
        Self { own: Arc::new(Semaphore::new(most)), host: host.permits.clone(), most, wait }
    }

    /// Takes `amount`, waiting a bounded time for others to give it back. Where that is more
    /// than there is in all, it takes all.
    pub(super) async fn take(&self, amount: usize) -> Result<Held, Error> {
        let amount = u32::try_from(amount.min(self.most)).map_err(|_| Error::busy())?;
        let both = async {
            // One's own bound first: a caller who waits for itself keeps nothing from others.
            let own = self.own.clone().acquire_many_owned(amount).await.ok()?;
            let host = self.host.clone().acquire_many_owned(amount).await.ok()?;
            Some(Held { _own: own, _host: host })
        };
        tokio::time::timeout(self.wait, both).await.ok().flatten().ok_or_else(Error::busy)
    }
}
