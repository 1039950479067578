//! How many parts of one upload are on their way at once.

use std::sync::Arc;
use std::time::Duration;

use super::config::Tuning;
use crate::store::{Lent, Spare};

/// Grows while parts arrive quickly, and shrinks when they do not: parts share one way to the
/// server, and each has to arrive in its time.
#[derive(Debug)]
pub(super) struct Lanes {
    own: Own,
    spare: Option<Arc<dyn Spare>>,
    flying: usize,
    most: usize,
    max: usize,
    quick: Duration,
    slow: Duration,
}

/// The one lane that needs no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Own {
    Free,
    Taken,
}

/// A part's way. To be given back when the part has arrived, or will not.
#[derive(Debug)]
pub(super) enum Lane {
    Own,
    Lent(#[expect(dead_code, reason = "held to be dropped")] Lent),
    /// Borrowed, and the room is given back already.
    Returned,
}

impl Lane {
    /// The part's bytes are no longer held.
    pub(super) fn arrived(self) -> Self {
        match self {
            Self::Own => Self::Own,
            Self::Lent(_) | Self::Returned => Self::Returned,
        }
    }
}

/// Parts at once, before it is known how quickly they arrive.
const MOST_AT_FIRST: usize = 2;

impl Lanes {
    pub(super) fn new(tuning: &Tuning) -> Self {
        let time = Duration::from_millis(tuning.request_ms_max);
        let max = tuning.parts_at_once_max;
        Self {
            own: Own::Free,
            spare: None,
            flying: 0,
            most: MOST_AT_FIRST.min(max),
            max,
            quick: time / 8,
            slow: time / 3,
        }
    }

    pub(super) fn lend(&mut self, spare: Arc<dyn Spare>) {
        self.spare = Some(spare);
    }

    /// A way for a part of so many bytes, if there is one.
    pub(super) fn take(&mut self, bytes: usize) -> Option<Lane> {
        let lane = if self.own == Own::Free {
            self.own = Own::Taken;
            Lane::Own
        } else if self.flying < self.most {
            Lane::Lent(self.spare.as_ref()?.take(bytes)?)
        } else {
            return None;
        };
        self.flying += 1;
        Some(lane)
    }

    /// A part took so long to arrive, or did not.
    pub(super) fn give_back(&mut self, lane: Lane, took: Option<Duration>) {
        self.flying -= 1;
        if matches!(lane, Lane::Own) {
            self.own = Own::Free;
        }
        match took {
            Some(took) if took < self.quick => self.most = (self.most + 1).min(self.max),
            Some(took) if took < self.slow => {}
            _ => self.most = (self.most / 2).max(1),
        }
    }
}

#[cfg(test)]
mod tests;
