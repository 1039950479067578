//! Runs a turn within its bounds, and finds out how it ended.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::time::Instant;
use wasmtime::component::ResourceTable;
use wasmtime::{Store, Trap};
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::{I32Exit, WasiCtx};

use super::bindings::exports::bailiwick::agent::turn as contract;
use super::component::Guest;
use super::journal::Journal;
use super::limiter::Limiter;
use super::output::{Collected, LogLines, Output};
use super::state::TurnState;
use super::turn::{End, Level, LimitKind, Observer, Report, Request, Usage};
use super::{Cancel, Component, Engine};
use crate::limits::{HOSTCALL_BYTES_MAX, TURN_TEXT_BYTES_MAX};
use crate::space::Space;

/// Most random bytes that a guest gets in one call.
const RANDOM_BYTES_MAX: u64 = 1 << 20;

impl Engine {
    /// Runs one turn of a guest. Whatever it does, this returns: a trap, a limit and a fault of
    /// the host are ends among others. However it ends, `space` is revoked and what the guest
    /// was still writing is given up. Dropping the future ends the turn in the same way.
    ///
    /// Waits while as many turns run as [`crate::limits::Limits::host_turns_max`] allows; the
    /// turn's clock starts after that.
    pub async fn run(
        &self,
        component: &Component,
        space: Space,
        request: Request,
        observer: Arc<dyn Observer>,
        cancel: Cancel,
    ) -> Report {
        let _revoked_on_drop = Revoke(space.clone());
        let journal = Journal::new(observer, self.limits());
        let place = tokio::select! {
            place = self.place() => place,
            _ = cancel.requested() => return unstarted(End::Cancelled),
        };
        let Some(_place) = place else {
            return unstarted(End::HostFault("the engine is shutting down".to_owned()));
        };
        if let Err(end) = check_request(&request) {
            return unstarted(end);
        }
        let started = Instant::now();
        let mut turn = self.prepare(component, space.clone(), &request, journal.clone(), cancel);
        let end = turn.end(component, request).await;
        let usage = turn.usage(started);
        let wakes = std::mem::take(&mut turn.store.data_mut().wakes);
        // First the end of its rights, then of its readers and writers.
        space.revoke();
        drop(turn);
        let (said, log_lines_dropped) = journal.close();
        Report { end, said, wakes, events: space.take_events(), log_lines_dropped, usage }
    }

    fn prepare(
        &self,
        component: &Component,
        space: Space,
        request: &Request,
        journal: Arc<Journal>,
        cancel: Cancel,
    ) -> RunningTurn {
        let limits = self.limits();
        let output = StandardOutput::new(component, &journal);
        let errors = LogLines::new(journal.clone(), Level::Warn);
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.guest_handles_max);
        let state = TurnState {
            wasi: wasi(&output, &errors, component, request),
            journal,
            limiter: Limiter::new(limits),
            table,
            wakes: Vec::new(),
            cancel,
            host_calls: 0,
            deadline: Instant::now() + Duration::from_millis(limits.turn_ms_max),
            grace: Duration::from_millis(limits.cancel_ms_max),
            space,
        };
        let mut store = Store::new(self.wasmtime(), state);
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(HOSTCALL_BYTES_MAX);
        store.set_max_component_handles(limits.guest_handles_max);
        store.set_epoch_deadline(1);
        store.epoch_deadline_async_yield_and_update(1);
        RunningTurn { store, output, errors, turn_ms_max: limits.turn_ms_max }
    }
}

/// Ends the rights of a turn whose future is dropped.
struct Revoke(Space);

impl Drop for Revoke {
    fn drop(&mut self) {
        self.0.revoke();
    }
}

/// Where the standard output of a guest goes.
enum StandardOutput {
    /// Of a guest that exports a turn: to the log.
    Log(Arc<LogLines>),
    /// Of a command: it is the reply.
    Reply(Arc<Collected>),
}

impl StandardOutput {
    fn new(component: &Component, journal: &Arc<Journal>) -> Self {
        match component.guest() {
            Guest::Turn(_) => Self::Log(LogLines::new(journal.clone(), Level::Info)),
            Guest::Command(_) => Self::Reply(Collected::new(TURN_TEXT_BYTES_MAX)),
        }
    }
}

/// Nothing is granted but clocks, randomness and the three streams.
fn wasi(
    output: &StandardOutput,
    errors: &Arc<LogLines>,
    component: &Component,
    request: &Request,
) -> WasiCtx {
    let mut wasi = WasiCtx::builder();
    wasi.allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false);
    wasi.max_random_size(RANDOM_BYTES_MAX);
    wasi.stderr(Output(errors.clone()));
    match output {
        StandardOutput::Log(lines) => wasi.stdout(Output(lines.clone())),
        StandardOutput::Reply(reply) => wasi.stdout(Output(reply.clone())),
    };
    if matches!(component.guest(), Guest::Command(_)) {
        wasi.stdin(MemoryInputPipe::new(request.input.clone()));
    }
    wasi.build()
}

fn check_request(request: &Request) -> Result<(), End> {
    let answer = request.answer.as_deref().unwrap_or_default();
    let longest = request.input.len().max(answer.len());
    if longest <= TURN_TEXT_BYTES_MAX {
        return Ok(());
    }
    let sentence = format!(
        "the input of a turn is at most {TURN_TEXT_BYTES_MAX} bytes, and this one has {longest}: put it in a file"
    );
    Err(End::Limit(LimitKind::Input, sentence))
}

fn unstarted(end: End) -> Report {
    Report {
        end,
        said: String::new(),
        wakes: Vec::new(),
        events: Vec::new(),
        log_lines_dropped: 0,
        usage: Usage::default(),
    }
}

struct RunningTurn {
    store: Store<TurnState>,
    output: StandardOutput,
    errors: Arc<LogLines>,
    turn_ms_max: u64,
}

impl RunningTurn {
    async fn end(&mut self, component: &Component, request: Request) -> End {
        let state = self.store.data();
        let (deadline, grace, cancel) = (state.deadline, state.grace, state.cancel.clone());
        let overstayed = async {
            let since = cancel.requested().await;
            tokio::time::sleep_until(since + grace).await;
        };
        let over_time = self.sentence(LimitKind::Time);
        let call = AssertUnwindSafe(call(&mut self.store, component, request)).catch_unwind();
        let returned = tokio::select! {
            returned = call => Ok(returned),
            () = tokio::time::sleep_until(deadline) => Err(End::Limit(LimitKind::Time, over_time)),
            () = overstayed => Err(End::Cancelled),
        };
        self.finish_output();
        match returned {
            Err(end) => end,
            Ok(Err(panic)) => host_panicked(&*panic),
            Ok(Ok(Err(error))) => self.failed(&error),
            Ok(Ok(Ok(returned))) => self.returned(returned),
        }
    }

    fn finish_output(&self) {
        self.errors.finish();
        if let StandardOutput::Log(lines) = &self.output {
            lines.finish();
        }
    }

    fn returned(&self, returned: Returned) -> End {
        match returned {
            Returned::Turn(Ok(contract::Outcome::Reply(text))) => bounded(text, End::Reply),
            Returned::Turn(Ok(contract::Outcome::Park(text))) => bounded(text, End::Parked),
            Returned::Turn(Err(text)) => bounded(text, End::GuestError),
            Returned::Command(Ok(())) => self.command_reply(),
            Returned::Command(Err(())) => self.command_failed(1),
        }
    }

    fn command_reply(&self) -> End {
        let StandardOutput::Reply(reply) = &self.output else {
            return End::Reply(String::new());
        };
        let Ok(bytes) = reply.take() else { return too_long() };
        match String::from_utf8(bytes) {
            Ok(text) => End::Reply(text),
            Err(_) => End::GuestError("the reply on standard output is not UTF-8 text".to_owned()),
        }
    }

    // A reply that was cut off is the likeliest reason of a command for failing.
    fn command_failed(&self, code: i32) -> End {
        if let StandardOutput::Reply(reply) = &self.output
            && reply.take().is_err()
        {
            return too_long();
        }
        End::GuestError(format!("the command ended with exit code {code}"))
    }

    /// What an error means that ended the call of the guest.
    fn failed(&self, error: &wasmtime::Error) -> End {
        if let Some(I32Exit(code)) = error.downcast_ref::<I32Exit>() {
            return if *code == 0 { self.command_reply() } else { self.command_failed(*code) };
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
    fn sentence(&self, kind: LimitKind) -> String {
        let limiter = &self.store.data().limiter;
        match kind {
            LimitKind::Time => format!("the turn ran for longer than {} ms", self.turn_ms_max),
            LimitKind::Memory => format!(
                "the guest asked for more memory than the {} bytes that all of its memories may have together",
                limiter.memory_bytes_max()
            ),
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

    fn usage(&self, started: Instant) -> Usage {
        let state = self.store.data();
        let saturated = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        Usage {
            elapsed_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            guest_memory_bytes: saturated(state.limiter.memory_bytes()),
            host_calls: state.host_calls,
        }
    }
}

enum Returned {
    Turn(Result<contract::Outcome, String>),
    Command(Result<(), ()>),
}

async fn call(
    store: &mut Store<TurnState>,
    component: &Component,
    request: Request,
) -> wasmtime::Result<Returned> {
    match component.guest() {
        Guest::Turn(guest) => {
            let Request { input, answer, attempt } = request;
            let request = contract::Request { input, answer, attempt };
            let guest = guest.instantiate_async(&mut *store).await?;
            let turn = guest.bailiwick_agent_turn();
            Ok(Returned::Turn(turn.call_run(store, &request).await?))
        }
        Guest::Command(guest) => {
            let guest = guest.instantiate_async(&mut *store).await?;
            Ok(Returned::Command(guest.wasi_cli_run().call_run(store).await?))
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
    if let Some(error) = error.downcast_ref::<wasmtime::component::ResourceTableError>() {
        return matches!(error, wasmtime::component::ResourceTableError::Full)
            .then_some(LimitKind::Handles);
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
    let mut cause = error.root_cause().to_string();
    if error.downcast_ref::<Trap>() == Some(&Trap::MemoryOutOfBounds) {
        // Compilers keep a stack of their own at the start of the memory.
        cause.push_str(" (often a stack that overflowed)");
    }
    let frames = error.downcast_ref::<wasmtime::WasmBacktrace>().map(|trace| trace.frames());
    let names: Vec<_> = frames
        .unwrap_or_default()
        .iter()
        .filter_map(|frame| frame.func_name())
        .take(FRAMES_MAX)
        .collect();
    if names.is_empty() { cause } else { format!("{cause} (in {})", names.join(" < ")) }
}

fn host_panicked(panic: &(dyn Any + Send)) -> End {
    let words = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let words = words.unwrap_or("no message");
    tracing::error!(panic = words, "a call of a guest panicked in the host");
    End::HostFault(format!("a call of the guest panicked in the host: {words}"))
}
