//! How a turn ended, from what came of the guest's call.

use std::any::Any;

use wasmtime::Trap;
use wasmtime::component::ResourceTableError;
use wasmtime_wasi::I32Exit;

use super::bindings::exports::bailiwick::agent::turn as contract;
use super::component::printable;
use super::run::{Returned, RunningTurn};
use super::turn::{End, LimitKind};
use super::wasi::StandardOutput;
use crate::limits::{HOSTCALL_BYTES_MAX, TURN_TEXT_BYTES_MAX};

impl RunningTurn {
    /// What it means that the call of the guest returned.
    pub(super) fn returned(&self, returned: Returned) -> End {
        match returned {
            Returned::Turn(Ok(contract::Outcome::Reply(text))) => bounded(text, End::Reply),
            Returned::Turn(Ok(contract::Outcome::Park(text))) => bounded(text, End::Parked),
            Returned::Turn(Err(text)) => bounded(text, End::GuestError),
            Returned::Command(Ok(())) => self.command_reply(),
            Returned::Command(Err(())) => self.command_failed(1),
        }
    }

    fn command_reply(&self) -> End {
        let StandardOutput::Reply(reply) = &self.streams.output else {
            return End::Reply(String::new());
        };
        let Ok(bytes) = reply.take() else { return too_long() };
        match String::from_utf8(bytes) {
            Ok(text) => End::Reply(text),
            Err(_) => End::GuestError("the reply on standard output is not UTF-8 text".to_owned()),
        }
    }

    /// What it means that the guest ended itself through `wasi:cli/exit`.
    fn exited(&self, code: i32) -> End {
        match &self.streams.output {
            StandardOutput::Log(_) => {
                End::GuestError(format!("the guest exited with code {code} and returned nothing"))
            }
            StandardOutput::Reply(_) if code == 0 => self.command_reply(),
            StandardOutput::Reply(_) => self.command_failed(code),
        }
    }

    // A reply that was cut off is the likeliest reason of a command for failing.
    fn command_failed(&self, code: i32) -> End {
        if let StandardOutput::Reply(reply) = &self.streams.output
            && reply.take().is_err()
        {
            return too_long();
        }
        End::GuestError(format!("the command ended with exit code {code}"))
    }

    /// What an error means that ended the call of the guest.
    pub(super) fn failed(&self, error: &wasmtime::Error) -> End {
        if let Some(I32Exit(code)) = error.downcast_ref::<I32Exit>() {
            return self.exited(*code);
        }
        let trap = error.downcast_ref::<Trap>();
        if let Some(kind) = self.store.data().limiter.refused()
            && trap.is_none_or(follows_refused_growth)
        {
            return self.over(kind);
        }
        if let Some(kind) = limit_of(error, trap) {
            return self.over(kind);
        }
        if error.downcast_ref::<wasmtime::PoolConcurrencyLimitError>().is_some() {
            return End::HostFault(format!("no room for another guest: {error:#}"));
        }
        End::Trapped(trapped(error))
    }

    fn over(&self, kind: LimitKind) -> End {
        End::Limit(kind, self.sentence(kind))
    }

    /// Which bound it is, and its number.
    pub(super) fn sentence(&self, kind: LimitKind) -> String {
        let limiter = &self.store.data().limiter;
        match kind {
            LimitKind::Time => format!("the turn ran for longer than {} ms", self.turn_ms_max),
            LimitKind::Memory => format!(
                "the guest asked for more memory than the {} bytes that all of its memories may have together",
                limiter.memory_bytes_max()
            ),
            LimitKind::HostMemory => {
                "this host is short of memory for guests: run the turn again later".to_owned()
            }
            LimitKind::Table => format!(
                "the guest asked for more than the {} elements that all of its tables may have together",
                limiter.table_elements_max()
            ),
            LimitKind::Stack => "the guest's calls went too deep for its stack".to_owned(),
            LimitKind::Instances => {
                "the guest has more core instances, memories or tables than a guest may have"
                    .to_owned()
            }
            LimitKind::Handles => format!(
                "the guest held more than {} handles at once",
                self.store.max_component_handles()
            ),
            LimitKind::CallBytes => {
                format!("the guest handed over more than {HOSTCALL_BYTES_MAX} bytes in one call")
            }
            LimitKind::Input | LimitKind::Reply => {
                format!("a turn's text is at most {TURN_TEXT_BYTES_MAX} bytes")
            }
        }
    }
}

fn bounded(text: String, end: impl FnOnce(String) -> End) -> End {
    if text.len() > TURN_TEXT_BYTES_MAX { too_long() } else { end(text) }
}

fn too_long() -> End {
    let sentence = format!(
        "the reply of a turn is at most {TURN_TEXT_BYTES_MAX} bytes: anything longer belongs in a file"
    );
    End::Limit(LimitKind::Reply, sentence)
}

/// Whether a guest that did not get its memory typically ends so.
fn follows_refused_growth(trap: &Trap) -> bool {
    matches!(
        trap,
        Trap::UnreachableCodeReached
            | Trap::MemoryOutOfBounds
            | Trap::TableOutOfBounds
            | Trap::AllocationTooLarge
    )
}

fn limit_of(error: &wasmtime::Error, trap: Option<&Trap>) -> Option<LimitKind> {
    if trap == Some(&Trap::StackOverflow) {
        return Some(LimitKind::Stack);
    }
    if let Some(error) = error.downcast_ref::<ResourceTableError>() {
        return matches!(error, ResourceTableError::Full).then_some(LimitKind::Handles);
    }
    // wasmtime has no types for these; a test for each holds its words.
    let cause = error.root_cause().to_string();
    let known = [
        ("fuel allocated for hostcalls has been exhausted", LimitKind::CallBytes),
        ("store handle limit exceeded", LimitKind::Handles),
        ("resource limit exceeded:", LimitKind::Instances),
    ];
    known.into_iter().find(|(words, _)| cause.contains(words)).map(|(_, kind)| kind)
}

/// What went wrong, and in which functions, innermost first.
fn trapped(error: &wasmtime::Error) -> String {
    const FRAMES_MAX: usize = 8;
    let mut cause = printable(&error.root_cause().to_string());
    if error.downcast_ref::<Trap>() == Some(&Trap::MemoryOutOfBounds) {
        // Compilers keep a stack of their own at the start of the memory.
        cause.push_str(" (often a stack that overflowed)");
    }
    let frames = error.downcast_ref::<wasmtime::WasmBacktrace>().map(|trace| trace.frames());
    let names = frames.unwrap_or_default().iter().filter_map(|frame| frame.func_name());
    let names: Vec<_> = names.take(FRAMES_MAX).map(printable).collect();
    if names.is_empty() { cause } else { format!("{cause} (in {})", names.join(" < ")) }
}

/// What it means that a call of the guest panicked.
pub(super) fn host_panicked(panic: &(dyn Any + Send)) -> End {
    let words = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let words = words.unwrap_or("no message");
    tracing::error!(panic = words, "a call of a guest panicked in the host");
    End::HostFault(format!("a call of the guest panicked in the host: {words}"))
}
