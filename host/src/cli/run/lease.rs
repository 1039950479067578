use std::time::Duration;

use anyhow::anyhow;
use bailiwick::catalog::{CatalogError, Event, Lease, Standing};
use bailiwick::engine::Cancel;
use tokio::time::{Instant, sleep, timeout};

use super::super::desk::Desk;
use super::watch::Watch;

/// How often the catalog learns what the guest said.
const LOOK: Duration = Duration::from_secs(1);
/// How often a lease is renewed that nothing else is to be written for.
const RENEW: Duration = Duration::from_secs(10);

/// Keeps the lease of a turn, and returns once it is lost: somebody gave the turn up, or would
/// while a store operation begun now is still in flight. What the guest says is recorded on the
/// way, and whoever wants the turn to stop is heard.
pub(super) async fn kept(desk: &Desk, held: Lease, watch: &Watch, cancel: &Cancel) {
    let limits = desk.storage.limits();
    let lease = Duration::from_millis(limits.turn_lease_ms);
    // An attempt to renew it may take as long as the time between two.
    let safe = lease.saturating_sub(Duration::from_millis(limits.transfer_ms_max) + RENEW);
    let (mut renewed, mut recorded) = (Instant::now(), 0);
    loop {
        sleep(LOOK).await;
        let more = watch.said_since(recorded);
        if more.is_empty() && renewed.elapsed() < RENEW {
            continue;
        }
        // The catalog counts from some moment of the call: from its first one, to be safe.
        let began = Instant::now();
        let said: &[Event] = &pieces(&more);
        let renewal = timeout(RENEW, desk.catalog.renew(held, said)).await;
        let late = |_| CatalogError::Unavailable { source: anyhow!("the catalog is busy") };
        match renewal.map_err(late).flatten() {
            Ok(standing) => {
                if standing == Standing::CancelAsked {
                    cancel.cancel();
                }
                renewed = began;
                recorded += more.len();
            }
            Err(CatalogError::LeaseLost) => return,
            Err(error) if renewed.elapsed() >= safe => {
                let error = format!("{:#}", anyhow::Error::from(error));
                tracing::error!(error, "the lease of the turn is lost");
                return;
            }
            Err(error) => {
                let error = format!("{:#}", anyhow::Error::from(error));
                tracing::warn!(error, "the lease was not renewed; trying again");
            }
        }
    }
}

fn pieces(said: &str) -> Vec<Event> {
    if said.is_empty() { Vec::new() } else { vec![Event::Said { text: said.to_owned() }] }
}
