//! What becomes of a session: a pure function of what is known of it, what is set, and the time.

use crate::catalog::{Reason, SessionFacts, ToCome};
use crate::limits::{ACTIVITY_KNOWN_MS, SESSION_QUIET_MS};
use crate::settings::{Effective, Hold, Keeping};

#[cfg(test)]
mod tests;

const DAY_MS: u64 = 86_400_000;

/// How long sessions of an agent are kept. Whichever of these says first that one is to go, it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How long an idle one is kept, in milliseconds; for ever if `None`.
    pub idle_ms: Option<u64>,
    /// How long one is kept after it was closed, in milliseconds; for ever if `None`.
    pub after_close_ms: Option<u64>,
    /// How many are kept, those that were active last; all if `None`.
    pub keep_last: Option<u64>,
    /// Whether none may go.
    pub hold: Hold,
}

impl Policy {
    /// What settings say.
    pub fn of(settings: &Effective) -> Self {
        let days = |kept: Keeping| Some(kept.number()?.saturating_mul(DAY_MS));
        Self {
            idle_ms: days(settings.retention_idle_days.value),
            after_close_ms: days(settings.retention_days_after_close.value),
            keep_last: settings.retention_keep_last.value.number(),
            hold: settings.retention_hold.value,
        }
    }
}

/// What becomes of a session, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It stays, whatever the time.
    Stays(Stay),
    /// It is to go from then on, in milliseconds since the Unix epoch, if nothing happens in it.
    Goes {
        /// Why.
        why: Reason,
        /// From when on; past or to come.
        at_ms: u64,
    },
}

/// Why a session stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// It is held, by itself or by a setting.
    Held,
    /// Something is still to happen in it.
    ToCome(ToCome),
    /// Nothing says that it is to go.
    Unbounded,
}

/// What becomes of a session.
pub fn judge(facts: &SessionFacts, policy: &Policy) -> Verdict {
    if facts.held_ms.is_some() || policy.hold == Hold::Held {
        return Verdict::Stays(Stay::Held);
    }
    if let Some(to_come) = facts.to_come {
        return Verdict::Stays(Stay::ToCome(to_come));
    }
    // So much later something may have happened in it and not have been noted.
    let active_ms = facts.active_ms.saturating_add(ACTIVITY_KNOWN_MS);
    let closed_ms = facts.closed_ms.unwrap_or(u64::MAX);
    let is_beyond = policy.keep_last.is_some_and(|kept| facts.newer >= kept);
    let ends = [
        (Reason::Idle, policy.idle_ms.map(|kept| active_ms.saturating_add(kept))),
        (Reason::Closed, policy.after_close_ms.map(|kept| closed_ms.saturating_add(kept))),
        (Reason::BeyondLast, is_beyond.then_some(active_ms)),
    ];
    let ends = ends.into_iter().filter_map(|(why, end)| Some((end?, why)));
    let first = ends.filter(|(end, _)| *end < u64::MAX).min_by_key(|(end, _)| *end);
    match first {
        None => Verdict::Stays(Stay::Unbounded),
        Some((end, why)) => {
            let at_ms = end.max(active_ms.saturating_add(SESSION_QUIET_MS));
            Verdict::Goes { why, at_ms }
        }
    }
}

impl Stay {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::ToCome(to_come) => to_come.as_str(),
            Self::Unbounded => "unbounded",
        }
    }
}

impl Verdict {
    /// Why the session is to go by a time, in milliseconds since the Unix epoch, if it is.
    pub fn by(self, now_ms: u64) -> Option<Reason> {
        match self {
            Self::Goes { why, at_ms } if at_ms <= now_ms => Some(why),
            Self::Goes { .. } | Self::Stays(_) => None,
        }
    }
}
