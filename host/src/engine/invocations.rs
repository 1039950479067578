//! What a turn asks of its host, gathered: calls that were alike are counted together.

use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::poll;

use super::convert::Failure;
use super::files::{FileAnswer, PageAnswer};
use crate::space::{Error, ErrorCode};

/// Calls of one verb in one scope that ended alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// Which verb, by its interface: `files.read`.
    pub verb: &'static str,
    /// The scope that the path named: `session`, `agent`, `workspace` or `skill`; empty where it named
    /// none.
    pub scope: &'static str,
    /// `ok`, or the word of the refusal.
    pub outcome: &'static str,
    /// How many there were.
    pub calls: u64,
    /// Bytes of files that they read or wrote, all together.
    pub bytes: u64,
    /// How long the guest waited for them, all together, in microseconds; for those that overlap
    /// each for itself, and for those that were answered at once not at all.
    pub waited_us: u64,
}

/// Room for these is made at once, so that most turns make it once.
const KINDS_OF_MOST_TURNS: usize = 16;

/// The calls of one turn.
#[derive(Debug)]
pub(super) struct Invocations(Vec<Invocation>);

impl Invocations {
    /// None so far.
    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    /// One call more. There are no more kinds of them than verbs, scopes and outcomes make.
    pub(super) fn count(&mut self, called: Called, outcome: &'static str, bytes: u64) {
        let Called { verb, scope, waited } = called;
        let waited_us = micros(waited);
        let alike = |one: &&mut Invocation| {
            is(one.verb, verb) && is(one.scope, scope) && is(one.outcome, outcome)
        };
        match self.0.iter_mut().find(alike) {
            Some(one) => {
                one.calls += 1;
                one.bytes = one.bytes.saturating_add(bytes);
                one.waited_us = one.waited_us.saturating_add(waited_us);
            }
            None => {
                if self.0.is_empty() {
                    self.0.reserve_exact(KINDS_OF_MOST_TURNS);
                }
                self.0.push(Invocation { verb, scope, outcome, calls: 1, bytes, waited_us });
            }
        }
    }

    /// All of them.
    pub(super) fn take(&mut self) -> Vec<Invocation> {
        std::mem::take(&mut self.0)
    }
}

/// The words are all written out in this program: where they are the same ones, they mostly are in
/// the same place.
fn is(one: &'static str, other: &'static str) -> bool {
    std::ptr::eq(one, other) || one == other
}

fn micros(waited: Duration) -> u64 {
    u64::try_from(waited.as_micros()).unwrap_or(u64::MAX)
}

/// A call, and how long it was waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Called {
    verb: &'static str,
    scope: &'static str,
    waited: Duration,
}

impl Called {
    /// Of what an argument names.
    pub(super) fn of(verb: &'static str, named: &(impl Named + ?Sized)) -> Self {
        Self { verb, scope: named.scope(), waited: Duration::ZERO }
    }

    /// Does what the call is for. The clock is asked only where that has to wait: to read it twice
    /// takes as long as a third of a call that is answered at once. And the work stays where it is:
    /// to move it costs as much.
    pub(super) async fn during<F: Future>(&mut self, mut work: Pin<&mut F>) -> F::Output {
        if let Poll::Ready(done) = poll!(work.as_mut()) {
            return done;
        }
        let began = Instant::now();
        let done = work.await;
        self.waited += began.elapsed();
        done
    }
}

/// What names a scope, if anything does.
pub(super) trait Named {
    fn scope(&self) -> &'static str;
}

impl Named for str {
    fn scope(&self) -> &'static str {
        let may_be: &[&'static str] = match self.as_bytes().first() {
            Some(b'a') => &["agent"],
            Some(b's') => &["session", "skill"],
            Some(b'w') => &["workspace"],
            _ => &[],
        };
        for scope in may_be {
            let rest = self.strip_prefix(scope);
            if rest.is_some_and(|rest| rest.is_empty() || rest.as_bytes()[0] == b'/') {
                return scope;
            }
        }
        ""
    }
}

impl Named for String {
    fn scope(&self) -> &'static str {
        self.as_str().scope()
    }
}

impl<T> Named for wasmtime::component::Resource<T> {
    fn scope(&self) -> &'static str {
        ""
    }
}

/// What is answered, and how many bytes of a file that moved.
pub(super) trait Moved {
    fn bytes(&self) -> u64;
}

impl Moved for Bytes {
    fn bytes(&self) -> u64 {
        self.len() as u64
    }
}

/// Of a file that is made or looked at: none moved to or from the guest but what was handed over.
impl Moved for FileAnswer {
    fn bytes(&self) -> u64 {
        0
    }
}

impl Moved for PageAnswer {
    fn bytes(&self) -> u64 {
        0
    }
}

impl Moved for () {
    fn bytes(&self) -> u64 {
        0
    }
}

impl<T> Moved for wasmtime::component::Resource<T> {
    fn bytes(&self) -> u64 {
        0
    }
}

/// The word for how a verb of a space ended.
pub(super) fn outcome_of_verb<T>(done: &Result<T, Error>) -> &'static str {
    done.as_ref().map_or_else(word, |_| "ok")
}

/// The word for how a call ended.
pub(super) fn outcome_of<T>(done: &Result<T, Failure>) -> &'static str {
    match done {
        Ok(_) => "ok",
        Err(Failure::Refused(error)) => word(error),
        Err(Failure::Fatal(_)) => "fatal",
    }
}

/// The word of a refusal: that of the contract.
fn word(error: &Error) -> &'static str {
    match error.code {
        ErrorCode::NoScope => "no-scope",
        ErrorCode::Invalid => "invalid",
        ErrorCode::Denied => "denied",
        ErrorCode::NotFound => "not-found",
        ErrorCode::Conflict => "conflict",
        ErrorCode::NoMatch => "no-match",
        ErrorCode::TooLarge => "too-large",
        ErrorCode::NoText => "no-text",
        ErrorCode::TextPending => "text-pending",
        ErrorCode::Closed => "closed",
        ErrorCode::Unsupported => "unsupported",
        ErrorCode::Busy => "busy",
        ErrorCode::Unavailable => "unavailable",
    }
}
