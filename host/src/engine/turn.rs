//! One turn: what goes in, what comes out, and the ways in which it ends.

use serde::Serialize;

use super::folders::Unstored;
use super::invocations::Invocation;
use crate::space::{FileEvent, Unmounted};

/// How loud a log line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// For the guest's author.
    Debug,
    /// Ordinary progress.
    Info,
    /// Something to look at.
    Warn,
    /// Something failed.
    Error,
}

/// Who watches a turn while it runs. Called on the turn's own thread: it must not block.
pub trait Observer: Send + Sync + 'static {
    /// A piece of the reply. All pieces together are [`Report::said`].
    fn said(&self, part: &str);
    /// A line of the log, cut to its bound. It is the guest's text: escape it for a terminal.
    fn logged(&self, level: Level, line: &str);
}

/// Nobody watches.
impl Observer for () {
    fn said(&self, _: &str) {}
    fn logged(&self, _: Level, _: &str) {}
}

/// What a guest is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// What the caller sent, at most [`crate::limits::TURN_TEXT_BYTES_MAX`] bytes.
    pub input: String,
    /// What a person answered, on the turn that resumes a parked one; bounded like the input.
    pub answer: Option<String>,
    /// Of a program that exports `wasi:cli/run`, after its name. They count with the input.
    pub arguments: Vec<String>,
    /// The folders that it goes on without, since they could not be set up; its log says so. What
    /// its space has is not changed by that.
    pub unmounted: Vec<Unmounted>,
    /// 1 on the first try; more when a host died during an earlier one.
    pub attempt: u32,
    /// What it may take, within what this host allows every turn.
    pub bounds: Bounds,
}

/// Bounds of one turn: whichever is less holds, this or the engine's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Wall clock, in milliseconds.
    pub turn_ms_max: u64,
    /// Bytes of the guest's memories, all together.
    pub guest_memory_bytes_max: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { turn_ms_max: u64::MAX, guest_memory_bytes_max: usize::MAX }
    }
}

/// Another turn of the session that a guest asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wake {
    /// How much later, in milliseconds, as the guest said it: any number.
    pub after_ms: u64,
    /// Its input.
    pub input: String,
}

/// What came of a turn.
#[derive(Clone, Debug)]
pub struct Report {
    /// How it ended.
    pub end: End,
    /// The pieces of the reply, at most [`crate::limits::TURN_TEXT_BYTES_MAX`] bytes; of a turn
    /// that was interrupted they are its partial reply.
    pub said: String,
    /// The wakes it asked for, at most [`crate::limits::TURN_WAKES_MAX`].
    pub wakes: Vec<Wake>,
    /// What it did with files, in order.
    pub events: Vec<FileEvent>,
    /// What it wrote through folders and is not where it was to be.
    pub unstored: Vec<Unstored>,
    /// What it asked of the host, calls that were alike together.
    pub invocations: Vec<Invocation>,
    /// Log lines over the bound, which nobody saw.
    pub log_lines_dropped: u64,
    /// What it took.
    pub usage: Usage,
}

impl Report {
    /// Of a turn whose guest was never called.
    pub fn unstarted(end: End) -> Self {
        Self {
            end,
            said: String::new(),
            wakes: Vec::new(),
            events: Vec::new(),
            unstored: Vec::new(),
            invocations: Vec::new(),
            log_lines_dropped: 0,
            usage: Usage::default(),
        }
    }
}

/// What a turn took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Wall clock, in milliseconds, instantiation included.
    pub elapsed_ms: u64,
    /// Most bytes that the guest held in its memories.
    pub guest_memory_bytes: u64,
    /// Calls of `bailiwick` functions, and of those of folders.
    pub host_calls: u64,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Done.
    Reply(String),
    /// Waiting for a person: the question.
    Parked(String),
    /// A failure that the guest itself reported.
    GuestError(String),
    /// The guest broke a rule of WebAssembly or gave up; which, in a sentence.
    Trapped(String),
    /// The guest went over a bound; which, and its number, in a sentence.
    Limit(LimitKind, String),
    /// It was asked to stop, and ended before it had an end of its own.
    Cancelled,
    /// The host failed; for its operator's log, never for a guest.
    HostFault(String),
}

/// A bound of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Wall clock.
    Time,
    /// Bytes of its memories, all together.
    Memory,
    /// Bytes of the memories of all guests of the host: it may go better later.
    HostMemory,
    /// Elements of its tables, all together.
    Table,
    /// Depth of its calls.
    Stack,
    /// Core instances, memories or tables, by number.
    Instances,
    /// Handles open at once.
    Handles,
    /// Bytes handed over in one call.
    CallBytes,
    /// Bytes of the input or the answer.
    Input,
    /// Bytes of the reply or the question.
    Reply,
}
