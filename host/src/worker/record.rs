//! What a turn did and how it ended, as the catalog keeps it.

use crate::catalog::{self, Ending, Event, Failure, Invoked, LogLevel};
use crate::engine::{End, Invocation, Level, Wake};
use crate::space::FileEvent;

/// How a turn ended whose component the catalog has.
pub fn ending_of(end: &End) -> Ending {
    let failed = |failure, error: &str| Ending::Failed { failure, error: error.to_owned() };
    match end {
        End::Reply(reply) => Ending::Replied(reply.clone()),
        End::Parked(question) => Ending::Asked { question: question.clone(), component: None },
        End::GuestError(error) => failed(Failure::GuestError, error),
        End::Trapped(error) => failed(Failure::Trapped, error),
        End::Limit(_, error) => failed(Failure::Limit, error),
        End::Cancelled => failed(Failure::Cancelled, "the turn was cancelled"),
        // What a host says of its own faults is for its log.
        End::HostFault(_) => failed(Failure::HostFault, "the host failed this turn"),
    }
}

/// How a turn ended, in a word.
pub(super) fn word_of(end: &End) -> &'static str {
    match end {
        End::Reply(_) => "reply",
        End::Parked(_) => "question",
        End::GuestError(_) => Failure::GuestError.as_str(),
        End::Trapped(_) => Failure::Trapped.as_str(),
        End::Limit(..) => Failure::Limit.as_str(),
        End::Cancelled => Failure::Cancelled.as_str(),
        End::HostFault(_) => Failure::HostFault.as_str(),
    }
}

/// What was done with files.
pub fn events_of(events: &[FileEvent]) -> Vec<Event> {
    let event = |event: &FileEvent| match event {
        FileEvent::Written { path, size } => Event::Written { path: path.clone(), size: *size },
        FileEvent::Deleted { path } => Event::Deleted { path: path.clone() },
        FileEvent::Promoted { source, target, revision } => Event::Promoted {
            source: source.clone(),
            target: target.clone(),
            revision: revision.0.clone(),
        },
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

/// What is not kept is told.
pub(super) fn dropped_lines(count: u64) -> Option<Event> {
    let message = format!("{count} log lines over the bound were dropped");
    (count > 0).then_some(Event::Logged { level: LogLevel::Warn, message })
}

/// What it asked of this host.
pub fn invoked_of(invocations: &[Invocation]) -> Vec<Invoked> {
    let invoked = |one: &Invocation| Invoked {
        verb: one.verb.into(),
        scope: one.scope.into(),
        outcome: one.outcome.into(),
        calls: one.calls,
        bytes: one.bytes,
        waited_us: one.waited_us,
    };
    invocations.iter().map(invoked).collect()
}

/// The turns that a guest asked for.
pub fn wakes_of(wakes: &[Wake]) -> Vec<catalog::Wake> {
    let wake = |wake: &Wake| catalog::Wake { after_ms: wake.after_ms, input: wake.input.clone() };
    wakes.iter().map(wake).collect()
}
