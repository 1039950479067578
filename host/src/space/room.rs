//! What a caller may have the host hold at once: operations and bytes, of its own and of all.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::Error;
use crate::limits::{Limits, SPARE_SHARE};
use crate::store;

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
    own: OwnedSemaphorePermit,
    host: OwnedSemaphorePermit,
}

impl Held {
    /// Gives back all but `amount`.
    fn shrink(&mut self, amount: usize) {
        for permit in [&mut self.own, &mut self.host] {
            drop(permit.split(permit.num_permits().saturating_sub(amount)));
        }
    }
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
        // Nobody is overtaken: while others wait, what is given back is theirs.
        if let Some(held) = self.take_now(amount) {
            return Ok(held);
        }
        let amount = u32::try_from(amount.min(self.most)).map_err(|_| Error::busy())?;
        let both = async {
            // One's own bound first: a caller who waits for itself keeps nothing from others.
            let own = self.own.clone().acquire_many_owned(amount).await.ok()?;
            let host = self.host.clone().acquire_many_owned(amount).await.ok()?;
            Some(Held { own, host })
        };
        tokio::time::timeout(self.wait, both).await.ok().flatten().ok_or_else(Error::busy)
    }

    /// As [`Self::take`], if it need not wait.
    pub(super) fn take_now(&self, amount: usize) -> Option<Held> {
        self.take_exactly(amount.min(self.most))
    }

    /// Takes exactly `amount`, if it is there.
    fn take_exactly(&self, amount: usize) -> Option<Held> {
        let amount = u32::try_from(amount).ok()?;
        let own = self.own.clone().try_acquire_many_owned(amount).ok()?;
        let host = self.host.clone().try_acquire_many_owned(amount).ok()?;
        Some(Held { own, host })
    }
}

/// The host's bounds for what nobody has asked for yet.
#[derive(Debug)]
pub(super) struct HostSpare {
    bytes: HostRoom,
    operations: HostRoom,
}

impl HostSpare {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            bytes: HostRoom::new(limits.host_buffer_bytes_max / SPARE_SHARE),
            operations: HostRoom::new(limits.host_operations_max / SPARE_SHARE),
        }
    }
}

/// Room for what one caller has not asked for yet: a share of what there is, so that what is
/// asked for finds the rest, and never waited for.
#[derive(Debug)]
pub(super) struct Spare {
    /// The share, and what it is a share of.
    bytes: [Room; 2],
    operations: [Room; 2],
}

/// Spare room that was taken; dropping it gives it back.
#[derive(Debug)]
pub(super) struct SpareHeld([Held; 2]);

impl Spare {
    /// A share of these rooms of one caller.
    pub(super) fn new(limits: &Limits, host: &HostSpare, operations: &Room, bytes: &Room) -> Self {
        let share = |most: usize, host| Room::new(most / SPARE_SHARE, host, Duration::ZERO);
        let bytes_share = share(limits.turn_buffer_bytes_max, &host.bytes);
        let operations_share = share(limits.turn_operations_max, &host.operations);
        Self {
            bytes: [bytes_share, bytes.clone()],
            operations: [operations_share, operations.clone()],
        }
    }

    /// Room for so many bytes.
    pub(super) fn bytes(&self, amount: usize) -> Option<SpareHeld> {
        take_both(&self.bytes, amount)
    }

    /// Room for one store operation.
    pub(super) fn operation(&self) -> Option<SpareHeld> {
        take_both(&self.operations, 1)
    }
}

fn take_both([share, whole]: &[Room; 2], amount: usize) -> Option<SpareHeld> {
    Some(SpareHeld([share.take_exactly(amount)?, whole.take_exactly(amount)?]))
}

impl SpareHeld {
    /// Gives back all but `amount`.
    pub(super) fn shrink(&mut self, amount: usize) {
        self.0.iter_mut().for_each(|held| held.shrink(amount));
    }
}

impl store::Spare for Spare {
    fn take(&self, bytes: usize) -> Option<store::Lent> {
        let lent = (self.operation()?, self.bytes(bytes)?);
        Some(store::Lent::new(lent))
    }
}
