//! Keeping a lease, and recording what its turn does on the way.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::anyhow;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::record;
use crate::catalog::{Catalog, CatalogError, Event, Lease, Standing, Watch};
use crate::engine::{Cancel, Level, Observer};
use crate::limits::Limits;
use crate::space::Space;

/// How long what happens is gathered before it is recorded: a guest may say a letter at a time.
const GATHER: Duration = Duration::from_millis(100);
/// The same of what is done with files; and how much of it is recorded as soon as that. A guest may
/// change ten thousand files a second: what is more waits for the next renewal.
const GATHER_FILES: Duration = Duration::from_secs(1);
const FILES_AT_ONCE: usize = 100;
/// How often a lease is renewed that nothing else is to be written for, sooner if it is short;
/// and how long one attempt at that may take.
const RENEW: Duration = Duration::from_secs(10);
/// A lease is renewed so many times within its length at least.
const RENEWALS_MIN: u32 = 4;

/// What a turn did and nobody recorded yet, in order. Bounded by what a turn may say and log,
/// and by how often it is emptied.
#[derive(Debug, Default)]
pub struct Journal {
    due: Mutex<Due>,
    more: Notify,
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Due {
    /// How many were recorded.
    recorded: u64,
    /// Those that were taken to be recorded, and may have been: nothing is added to them.
    unsure: Vec<Event>,
    events: Vec<Event>,
    space: Option<Space>,
}

impl Journal {
    /// Who is to be told of what is done in a space that it follows.
    pub(super) fn changed(&self) -> Arc<Notify> {
        self.changed.clone()
    }

    /// From now on what is done in this space is part of it.
    pub(super) fn follow(&self, space: Space) {
        self.due().space = Some(space);
    }

    /// All of it; whoever fails to record it puts it back.
    pub fn take(&self) -> Taken {
        let mut due = self.due();
        let mut events = std::mem::take(&mut due.unsure);
        events.append(&mut due.events);
        if let Some(space) = &due.space {
            events.extend(record::events_of(&space.take_events()));
        }
        Taken { recorded: due.recorded, events }
    }

    fn put_back(&self, taken: Taken) {
        self.due().unsure = taken.events;
    }

    fn recorded(&self, taken: &Taken) {
        self.due().recorded += taken.events.len() as u64;
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

    /// Returns a while after there is something to record.
    async fn gathered(&self) {
        tokio::select! {
            () = self.more.notified() => sleep(GATHER).await,
            () = self.few_files_changed() => {}
        }
    }

    async fn few_files_changed(&self) {
        loop {
            self.changed.notified().await;
            sleep(GATHER_FILES).await;
            if self.due().space.as_ref().is_some_and(|space| space.events() <= FILES_AT_ONCE) {
                return;
            }
        }
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

/// What is to be recorded.
#[derive(Debug)]
pub struct Taken {
    /// How many were before.
    pub recorded: u64,
    /// What comes next.
    pub events: Vec<Event>,
}

/// Keeps the lease of one turn, and records what its journal gathers.
#[derive(Debug)]
pub struct Keeper {
    catalog: Catalog,
    held: Lease,
    journal: Arc<Journal>,
    /// How long after a renewal the next one is due.
    next: Duration,
    /// How long after a renewal the turn may go on: an operation of the store that begins then
    /// is over before the lease is.
    safe: Duration,
    began: Instant,
}

/// Why a lease is not kept any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// It was lost, or could be before what the turn has begun is over.
    Lost,
    /// The turn is over.
    Over,
}

/// What a renewal came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Renewal {
    Held,
    Failed,
    Lost,
}

impl Keeper {
    /// For a lease that was just taken.
    pub fn new(catalog: Catalog, limits: &Limits, held: Lease) -> Self {
        let lease = Duration::from_millis(limits.turn_lease_ms);
        Self {
            catalog,
            held,
            journal: Arc::default(),
            next: (lease / RENEWALS_MIN).min(RENEW),
            safe: lease.saturating_sub(Duration::from_millis(limits.transfer_ms_max)),
            began: Instant::now(),
        }
    }

    /// What gathers what the turn says and logs: one who watches it.
    pub fn journal(&self) -> Arc<Journal> {
        self.journal.clone()
    }

    /// Runs a turn for as long as its lease is kept; `None` once that is lost: the turn was dropped
    /// then. `cancel` is asked to stop it if somebody else wants that. When this returns nothing is
    /// being recorded any more: what was not recorded is in the journal.
    pub async fn during<T>(&self, turn: impl Future<Output = T>, cancel: &Cancel) -> Option<T> {
        let over = Notify::new();
        let mut kept = pin!(self.kept(cancel, &over));
        let done = tokio::select! {
            done = turn => done,
            _ = &mut kept => return None,
        };
        over.notify_one();
        (kept.await == Ended::Over).then_some(done)
    }

    async fn kept(&self, cancel: &Cancel, over: &Notify) -> Ended {
        let mut renewed = self.began;
        // Where nobody can be heard, who wants the turn to stop is found out with a renewal.
        let mut stop = self.catalog.watch_stop(self.held.turn).await.ok();
        loop {
            tokio::select! {
                biased;
                () = over.notified() => return Ended::Over,
                () = self.journal.gathered() => {}
                () = heard(stop.as_mut()) => {}
                () = sleep_until((renewed + self.next).max(Instant::now() + GATHER)) => {}
            }
            // The catalog counts from some moment of the call: from its first one, to be safe.
            let asked = Instant::now();
            match self.renew(renewed + self.safe, cancel).await {
                Renewal::Held => renewed = asked,
                Renewal::Failed if Instant::now() < renewed + self.safe => {}
                Renewal::Failed | Renewal::Lost => return Ended::Lost,
            }
        }
    }

    async fn renew(&self, deadline: Instant, cancel: &Cancel) -> Renewal {
        let taken = self.journal.take();
        let renewal = self.catalog.renew(self.held, taken.recorded, &taken.events);
        let late = |_| CatalogError::Unavailable { source: anyhow!("the catalog is busy") };
        let bound = deadline.min(Instant::now() + RENEW);
        match timeout_at(bound, renewal).await.map_err(late).flatten() {
            Ok(standing) => {
                self.journal.recorded(&taken);
                if standing == Standing::CancelAsked {
                    cancel.cancel();
                }
                Renewal::Held
            }
            Err(CatalogError::LeaseLost | CatalogError::Deleted) => Renewal::Lost,
            Err(error) => {
                self.journal.put_back(taken);
                let error = super::told(error);
                tracing::warn!(turn = %self.held.turn, error, "a lease was not renewed");
                Renewal::Failed
            }
        }
    }
}

async fn heard(stop: Option<&mut Watch>) {
    match stop {
        Some(stop) => stop.heard().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
