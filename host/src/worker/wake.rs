//! Turning wakeups that are due into queued turns.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::{Inner, told};
use crate::catalog::CatalogError;
use crate::limits::TURN_RETRIES_MAX;

/// How often is looked for wakeups that are due.
const LOOK: Duration = Duration::from_secs(1);
/// Wakeups that are fired before is looked again.
const AT_ONCE: u32 = 100;

/// Fires what is due, for ever. Any number of hosts may: each wakeup becomes one turn.
pub(super) async fn wake(inner: Arc<Inner>) {
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = fire_due(&inner).await {
            let error = told(error);
            tracing::warn!(error, "wakeups that are due wait");
        }
    }
}

async fn fire_due(inner: &Inner) -> Result<(), CatalogError> {
    for due in inner.catalog.due_wakeups(AT_ONCE).await? {
        match inner.catalog.fire(&due, TURN_RETRIES_MAX).await {
            Ok(_) => {}
            // It stays due, and the others are not held up by it.
            Err(error @ CatalogError::Unavailable { .. }) => return Err(error),
            Err(error) => tracing::debug!(%error, "a wakeup waits"),
        }
    }
    Ok(())
}
