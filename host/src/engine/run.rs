//! Runs a turn within its bounds, and finds out how it ended.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::time::Instant;
use wasmtime::component::ResourceTable;
use wasmtime::{Store, UpdateDeadline};

use super::bindings::exports::bailiwick::agent::turn as contract;
use super::component::Guest;
use super::ending::host_panicked;
use super::folders::{Publish, TurnFolders, Unstored};
use super::invocations::Invocations;
use super::journal::Journal;
use super::limiter::Limiter;
use super::state::TurnState;
use super::tasks::Calls;
use super::turn::{End, LimitKind, Observer, Report, Request, Usage};
use super::wasi::{Streams, Wasi};
use super::{Cancel, Component, Engine, tasks};
use crate::limits::{HOSTCALL_BYTES_MAX, OVERLAPPING_INSTANCES_MAX, TURN_TEXT_BYTES_MAX};
use crate::space::Space;

/// Entries that wasmtime keeps for one handle of a guest, at most: of a stream, itself and its ends.
const ENTRIES_PER_HANDLE: usize = 4;

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
            // Where there is one, nobody is asked for anything else.
            biased;
            place = self.place() => place,
            _ = cancel.requested() => return Report::unstarted(End::Cancelled),
        };
        let Some(_place) = place else {
            return Report::unstarted(End::HostFault("the engine is shutting down".to_owned()));
        };
        if let Err(end) = check_request(&request) {
            return Report::unstarted(end);
        }
        let mut turn = self.prepare(component, space.clone(), &request, journal.clone(), cancel);
        let end = turn.end(component, request).await;
        let unstored = turn.unstored(&end).await;
        let usage = turn.usage();
        let wakes = std::mem::take(&mut turn.store.data_mut().wakes);
        let invocations = turn.store.data_mut().invocations.take();
        // First the end of its rights, then of its readers and writers.
        space.revoke();
        drop(turn);
        let (said, log_lines_dropped) = journal.close();
        let events = space.take_events();
        Report { end, said, wakes, events, unstored, invocations, log_lines_dropped, usage }
    }

    fn prepare(
        &self,
        component: &Component,
        space: Space,
        request: &Request,
        journal: Arc<Journal>,
        cancel: Cancel,
    ) -> RunningTurn {
        let started = Instant::now();
        let limits = self.limits();
        let streams = Streams::new(component, &journal);
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.guest_handles_max);
        let limiter = Limiter::new(limits, self.guest_memory())
            .with_memory_bytes_max(request.bounds.guest_memory_bytes_max);
        let turn_ms_max = limits.turn_ms_max.min(request.bounds.turn_ms_max);
        let (limiter, calls) = match component.guest() {
            Guest::Turn(_) | Guest::Command(_) => (limiter, None),
            Guest::AsyncTurn(_) | Guest::AsyncCommand(_) => (
                limiter.with_instances_max(OVERLAPPING_INSTANCES_MAX),
                Some(Calls::new(limits, self.guest_memory())),
            ),
        };
        let folders = TurnFolders::new(
            space.clone(),
            journal.clone(),
            limits,
            self.gathering(),
            request.unmounted.clone(),
        );
        let offers = self.imports().begin(&space, &cancel, &request.unmounted);
        let state = TurnState {
            wasi: Wasi::new(component, streams.clone(), request),
            folders,
            journal,
            limiter,
            table,
            wakes: Vec::new(),
            cancel,
            host_calls: 0,
            invocations: Invocations::none(),
            deadline: started + Duration::from_millis(turn_ms_max),
            grace: Duration::from_millis(limits.cancel_ms_max),
            calls,
            offers,
            space,
        };
        let mut store = Store::new(component.guest().engine(), state);
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(HOSTCALL_BYTES_MAX);
        store.set_max_component_handles(limits.guest_handles_max);
        if let Some(table) = store.concurrent_resource_table() {
            // A stream that a guest hands on from one call of the host to another takes no handle.
            let entries = limits.guest_handles_max.saturating_mul(ENTRIES_PER_HANDLE);
            table.set_max_capacity(entries);
        }
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|_| {
            // The executor looks at timers and sockets before it comes back: with a guest that
            // computes on each of its threads it would do so too seldom.
            Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())))
        });
        RunningTurn { store, streams, started, turn_ms_max }
    }
}

/// Ends the rights of a turn whose future is dropped.
struct Revoke(Space);

impl Drop for Revoke {
    fn drop(&mut self) {
        self.0.revoke();
    }
}

fn check_request(request: &Request) -> Result<(), End> {
    let answer = request.answer.as_deref().unwrap_or_default();
    let arguments: usize = request.arguments.iter().map(String::len).sum();
    let input = request.input.len() + arguments;
    let longest = input.max(answer.len());
    if longest <= TURN_TEXT_BYTES_MAX {
        return Ok(());
    }
    let sentence = format!(
        "the input of a turn is at most {TURN_TEXT_BYTES_MAX} bytes, and this one has {longest}: put it in a file"
    );
    Err(End::Limit(LimitKind::Input, sentence))
}

/// A turn from its store to its end.
pub(super) struct RunningTurn {
    pub(super) store: Store<TurnState>,
    pub(super) streams: Streams,
    started: Instant,
    pub(super) turn_ms_max: u64,
}

impl RunningTurn {
    async fn end(&mut self, component: &Component, request: Request) -> End {
        let ended = ended(&mut self.store, component, request).await;
        self.streams.finish();
        match ended {
            Ended::OverTime => End::Limit(LimitKind::Time, self.sentence(LimitKind::Time)),
            Ended::Cancelled => End::Cancelled,
            Ended::Returned(Err(panic)) => host_panicked(&*panic),
            Ended::Returned(Ok(Err(error))) => self.failed(&error),
            Ended::Returned(Ok(Ok(returned))) => self.returned(returned),
        }
    }

    /// What of the files that it wrote through folders is not where it was to be, once the others
    /// are stored: all of a turn that came to an end of its own, and of any other what it had
    /// closed.
    async fn unstored(&mut self, end: &End) -> Vec<Unstored> {
        let publish = match end {
            End::Reply(_) | End::Parked(_) | End::GuestError(_) => Publish::All,
            End::Trapped(_) | End::Limit(..) | End::Cancelled | End::HostFault(_) => {
                Publish::Closed
            }
        };
        let state = self.store.data_mut();
        if state.folders.are_untouched() {
            return Vec::new();
        }
        let until = state.deadline.max(Instant::now() + state.grace);
        let finish = async {
            if let Some(calls) = &state.calls {
                // What they have in hand, nobody else can store.
                calls.end(until).await;
            }
            state.folders.finish(publish, until).await
        };
        let finish = AssertUnwindSafe(finish).catch_unwind();
        finish.await.unwrap_or_else(|panic| {
            host_panicked(&*panic);
            Vec::new()
        })
    }

    fn usage(&self) -> Usage {
        let state = self.store.data();
        let saturated = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        Usage {
            elapsed_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            guest_memory_bytes: saturated(state.limiter.memory_bytes()),
            host_calls: state.host_calls,
        }
    }
}

/// What a guest holds goes with its store, and begins nothing by that.
impl Drop for RunningTurn {
    fn drop(&mut self) {
        if let Some(calls) = &self.store.data().calls {
            calls.close();
        }
    }
}

/// What ended a turn first.
enum Ended {
    Returned(std::thread::Result<wasmtime::Result<Returned>>),
    OverTime,
    Cancelled,
}

/// What the call of a guest returned.
pub(super) enum Returned {
    Turn(Result<contract::Outcome, String>),
    Command(Result<(), ()>),
}

async fn ended(store: &mut Store<TurnState>, component: &Component, request: Request) -> Ended {
    let state = store.data();
    let (deadline, grace, cancel) = (state.deadline, state.grace, state.cancel.clone());
    let over_time = async { tokio::time::sleep_until(deadline).await };
    let overstayed = async {
        let since = cancel.requested().await;
        tokio::time::sleep_until(since + grace).await;
    };
    // Where it is: it has room for all that a guest may wait for, and is not to be moved.
    let mut call = pin!(AssertUnwindSafe(call(store, component, request)).catch_unwind());
    tokio::select! {
        // The guest first: the timers are not made for one that never waits.
        biased;
        returned = &mut call => Ended::Returned(returned),
        () = over_time => Ended::OverTime,
        () = overstayed => Ended::Cancelled,
    }
}

async fn call(
    store: &mut Store<TurnState>,
    component: &Component,
    request: Request,
) -> wasmtime::Result<Returned> {
    match component.guest() {
        Guest::Turn(guest) => {
            let Request { input, answer, attempt, .. } = request;
            let request = contract::Request { input, answer, attempt };
            let guest = guest.instantiate_async(&mut *store).await?;
            let turn = guest.bailiwick_agent_turn();
            Ok(Returned::Turn(turn.call_run(store, &request).await?))
        }
        Guest::AsyncTurn(guest) => Ok(Returned::Turn(tasks::call(store, guest, request).await?)),
        Guest::AsyncCommand(guest) => Ok(Returned::Command(tasks::run(store, guest).await?)),
        Guest::Command(guest) => {
            let guest = guest.instantiate_async(&mut *store).await?;
            Ok(Returned::Command(guest.wasi_cli_run().call_run(store).await?))
        }
    }
}
