//! What became of a change whose answer was lost.

use std::time::Duration;

use super::lineage::{Lineage, WriteId};
use crate::store::{Object, Precondition, Revision};

/// What a HEAD found, after the answer was lost.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) object: Object,
    pub(super) lineage: Lineage,
    /// The server's time, in milliseconds since the Unix epoch, where it said so.
    pub(super) server_ms: Option<u64>,
}

/// What a change is to leave behind.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// An object, made by this write.
    Write(WriteId),
    /// Nothing.
    Delete,
}

/// What is known of a change before it is sent.
#[derive(Clone, Debug)]
pub(super) struct Intent {
    pub(super) change: Change,
    pub(super) when: Precondition,
    /// The write that made what it is to replace, as far as that had been seen.
    pub(super) base: Option<WriteId>,
    /// The write that made what had been seen there last.
    pub(super) latest: Option<WriteId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It took effect; others may have written since.
    Applied,
    /// It did not take effect before what is there now.
    NotApplied,
    /// It cannot be told.
    Unknown,
}

/// Times are of whole seconds, and the clocks of a server's machines differ.
const CLOCK_MARGIN_MS: u64 = 3_000;

impl Intent {
    /// Judges what is there `elapsed` after the first attempt began.
    pub(super) fn judge(&self, seen: Option<&Seen>, elapsed: Duration) -> Outcome {
        let Some(seen) = seen else { return self.judge_nothing() };
        if self.made(seen) {
            Outcome::Applied
        } else if self.leads_past(seen) || seen.is_older_than(elapsed) {
            Outcome::NotApplied
        } else {
            Outcome::Unknown
        }
    }

    /// A write that finds nothing there counts as not applied, unless it was conditional on
    /// something: should its object have been made and deleted in the same moment, it is made
    /// again, as if the write had come after the deletion.
    fn judge_nothing(&self) -> Outcome {
        match (self.change, &self.when) {
            (Change::Delete, _) => Outcome::Applied,
            (Change::Write(_), Precondition::IfRevision(_)) => Outcome::Unknown,
            (Change::Write(_), Precondition::Always | Precondition::IfAbsent) => {
                Outcome::NotApplied
            }
        }
    }

    fn made(&self, seen: &Seen) -> bool {
        match self.change {
            Change::Write(write) => seen.lineage.contains(write),
            // What had been seen there is gone, and something was made where nothing was.
            Change::Delete => {
                let gone = self.base.is_some_and(|base| !seen.lineage.contains(base));
                gone && seen.lineage.is_complete()
            }
        }
    }

    /// Whether what is there was reached from what had been seen, without this change.
    fn leads_past(&self, seen: &Seen) -> bool {
        let known = [self.base, self.latest];
        known.into_iter().flatten().any(|write| seen.lineage.contains(write))
            || match &self.when {
                Precondition::Always => false,
                // Of those that found nothing there, one led to this, and it was another.
                Precondition::IfAbsent => seen.lineage.first().is_some(),
                Precondition::IfRevision(revision) => seen.object.revision == *revision,
            }
    }
}

impl Seen {
    /// Whether it was there before something that began `elapsed` ago, by the server's clock.
    pub(super) fn is_older_than(&self, elapsed: Duration) -> bool {
        let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        let dated = !made_in_parts(&self.object.revision);
        let limit = self.object.modified_ms.saturating_add(elapsed_ms);
        dated && self.server_ms.is_some_and(|now| limit.saturating_add(CLOCK_MARGIN_MS) < now)
    }
}

/// The time of an object that was uploaded in parts is that at which the upload began.
fn made_in_parts(revision: &Revision) -> bool {
    revision.0.contains('-')
}

/// Stands for a revision that was there for a moment, and is no more: it equals no other.
pub(super) fn superseded(write: WriteId) -> Revision {
    Revision(format!("superseded:{write}"))
}

#[cfg(test)]
mod tests;
