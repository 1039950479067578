//! What a turn did and how it ended, as the catalog keeps it.

use crate::catalog::{self, Ending, Event, Failure, LogLevel};
use crate::engine::{End, Level, Wake};
use crate::space::FileEvent;

/// A turn without a reply, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// What kind of failure.
    pub failure: Failure,
    /// A sentence about it.
    pub sentence: String,
}

/// How a turn ended whose component the catalog has.
pub fn ending_of(end: &End) -> Ending {
    match end {
        End::Reply(reply) => Ending::Replied(reply.clone()),
        End::Parked(question) => Ending::Asked { question: question.clone(), component: None },
        End::GuestError(_)
        | End::Trapped(_)
        | End::Limit(..)
        | End::Cancelled
        | End::HostFault(_) => {
            let Told { failure, sentence } = told(end);
            Ending::Failed { failure, error: sentence }
        }
    }
}

/// Why a turn ended without a reply.
pub fn told(end: &End) -> Told {
    let (failure, sentence) = match end {
        End::Reply(_) | End::Parked(_) => (Failure::HostFault, "it ended well"),
        End::GuestError(error) => (Failure::GuestError, error.as_str()),
        End::Trapped(error) => (Failure::Trapped, error.as_str()),
        End::Limit(_, error) => (Failure::Limit, error.as_str()),
        End::Cancelled => (Failure::Cancelled, "the turn was cancelled"),
        // What a host says of its own faults is for its log.
        End::HostFault(_) => (Failure::HostFault, "the host failed this turn; its log says why"),
    };
    Told { failure, sentence: sentence.to_owned() }
}

/// What was done with files.
pub fn events_of(events: &[FileEvent]) -> Vec<Event> {
    let event = |event: &FileEvent| match event {
        FileEvent::Written { path, size } => Event::Written { path: path.clone(), size: *size },
        FileEvent::Deleted { path } => Event::Deleted { path: path.clone() },
        FileEvent::Promoted { source, target, .. } => {
            Event::Promoted { source: source.clone(), target: target.clone() }
        }
        FileEvent::Spilled { path } => Event::Spilled { path: path.clone() },
    };
    events.iter().map(event).collect()
}

/// A line of the log.
pub(super) fn logged(level: Level, line: &str) -> Event {
    let level = match level {
        Level::Debug => LogLevel::Debug,
        Level::Info => LogLevel::Info,
        Level::Warn => LogLevel::Warn,
        Level::Error => LogLevel::Error,
    };
    Event::Logged { level, message: line.to_owned() }
}

/// The turns that a guest asked for.
pub(super) fn wakes_of(wakes: &[Wake]) -> Vec<catalog::Wake> {
    let wake = |wake: &Wake| catalog::Wake { after_ms: wake.after_ms, input: wake.input.clone() };
    wakes.iter().map(wake).collect()
}
