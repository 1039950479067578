//! Keeping a lease, and recording what its turn does on the way.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::{Inner, record};
use crate::catalog::{CatalogError, Event, Lease, Standing, Watch};
use crate::engine::{Cancel, Level, Observer};
use crate::space::Space;

/// How long what happens is gathered before it is recorded: a guest may say a letter at a time.
const GATHER: Duration = Duration::from_millis(100);
/// How often a lease is renewed that nothing else is to be written for; sooner if it is short.
const RENEW: Duration = Duration::from_secs(10);
/// A lease is renewed so many times within its length at least.
const RENEWALS_MIN: u32 = 4;

/// What a turn did and nobody recorded yet, in order. Bounded by what a turn may say and log,
/// and by how often it is emptied.
#[derive(Debug, Default)]
pub(super) struct Journal {
    due: Mutex<Due>,
    more: Notify,
}

#[derive(Debug, Default)]
struct Due {
    events: Vec<Event>,
    space: Option<Space>,
}

impl Journal {
    /// From now on what is done in this space is part of it.
    pub(super) fn follow(&self, space: Space) {
        self.due().space = Some(space);
    }

    /// All of it; whoever fails to record it puts it back.
    pub(super) fn take(&self) -> Vec<Event> {
        let mut due = self.due();
        let mut events = std::mem::take(&mut due.events);
        if let Some(space) = &due.space {
            events.extend(record::events_of(&space.take_events()));
        }
        events
    }

    fn put_back(&self, mut events: Vec<Event>) {
        let mut due = self.due();
        events.append(&mut due.events);
        due.events = events;
    }

    fn push(&self, event: Event) {
        let mut due = self.due();
        match (due.events.last_mut(), &event) {
            (Some(Event::Said { text }), Event::Said { text: more }) => text.push_str(more),
            _ => due.events.push(event),
        }
        drop(due);
        self.more.notify_one();
    }

    /// Nothing panics while it is held, so it is whole.
    fn due(&self) -> MutexGuard<'_, Due> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Journal {
    fn said(&self, part: &str) {
        self.push(Event::Said { text: part.to_owned() });
    }

    fn logged(&self, level: Level, line: &str) {
        self.push(record::logged(level, line));
    }
}

/// Keeps a lease that was taken at `began`, and returns once it is lost, or could be while an
/// operation of the store that was begun before is still in flight.
pub(super) async fn kept(
    inner: &Inner,
    held: Lease,
    journal: &Journal,
    cancel: &Cancel,
    began: Instant,
) {
    let limits = inner.storage.limits();
    let lease = Duration::from_millis(limits.turn_lease_ms);
    let safe = lease.saturating_sub(Duration::from_millis(limits.transfer_ms_max));
    let mut renewed = began;
    let mut stop = inner.catalog.watch_stop(held.turn).await.ok();
    loop {
        let deadline = renewed + safe;
        let next = renewed + (lease / RENEWALS_MIN).min(RENEW);
        tokio::select! {
            () = gathered(journal) => {}
            () = heard(stop.as_mut()) => {}
            () = sleep_until(next.max(Instant::now() + GATHER)) => {}
        }
        let asked = Instant::now();
        let events = journal.take();
        match timeout_at(deadline, inner.catalog.renew(held, &events)).await {
            Ok(Ok(standing)) => {
                renewed = asked;
                if standing == Standing::CancelAsked {
                    cancel.cancel();
                }
            }
            Ok(Err(CatalogError::LeaseLost | CatalogError::Deleted)) => return,
            Ok(Err(error)) => {
                journal.put_back(events);
                let error = format!("{error:#}");
                tracing::warn!(turn = %held.turn, error, "a lease was not renewed; trying again");
                if Instant::now() >= deadline {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}

/// Where nobody can be heard, who wants the turn to stop is found out with the next renewal.
async fn heard(stop: Option<&mut Watch>) {
    match stop {
        Some(stop) => stop.heard().await,
        None => std::future::pending().await,
    }
}

/// Returns a while after there is something to record.
async fn gathered(journal: &Journal) {
    journal.more.notified().await;
    tokio::time::sleep(GATHER).await;
}
