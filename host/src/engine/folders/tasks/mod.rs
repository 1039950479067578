//! `wasi:filesystem` 0.3, for guests whose calls overlap. Each call is one of the turn's
//! ([`Calls`]): let in by number and by what it holds, and worked on beside the guest. What it does
//! is what its namesake of 0.2 does, in [`super`].

use tokio::sync::oneshot;
use wasmtime::component::{Accessor, HasData, Linker, Resource};

use super::descriptor::Descriptor;
use super::error::{Answer, ErrorCode, Failure};
use super::path::Place;
use super::shared::Shared;
use crate::engine::state::TurnState;
use crate::engine::tasks::{Calls, Done};

mod bindings;
mod convert;
mod descriptor;
mod listing;
mod reading;
mod writing;

pub(in crate::engine) use bindings::ProgramPre;

use bindings::wasi::filesystem::{preopens, types};

/// Most bytes of an answer that is no content: of a file, a link or a code.
const ANSWER_BYTES: usize = 256;

/// Adds the interfaces to what a guest may import.
pub(in crate::engine) fn add_to_linker(linker: &mut Linker<TurnState>) -> wasmtime::Result<()> {
    types::add_to_linker::<_, Tasks>(linker, |state| state)?;
    preopens::add_to_linker::<_, Tasks>(linker, |state| state)
}

/// What the interfaces are linked for: a turn.
struct Tasks;

impl HasData for Tasks {
    type Data<'a> = &'a mut TurnState;
}

/// Where a call gets at its turn.
type Turn = Accessor<TurnState, Tasks>;
/// What a guest holds.
type Handle = Resource<Descriptor>;
/// What a stream came to.
type Outcome = Result<(), types::ErrorCode>;

/// A call on what the guest holds.
struct Asked {
    descriptor: Descriptor,
    folders: Shared,
    calls: Calls,
}

impl Asked {
    fn of(state: &mut TurnState, handle: &Handle) -> Answer<Self> {
        state.count_call();
        let descriptor = state.table.get(handle)?.clone();
        let calls = state.calls.clone();
        let none = || wasmtime::format_err!("this turn has no overlapping calls");
        let calls = calls.ok_or_else(|| Failure::Fatal(none()))?;
        Ok(Self { descriptor, folders: state.folders.shared().clone(), calls })
    }

    fn place(&self, path: &str) -> Answer<Place> {
        self.descriptor.clone().place(path, self.folders.link())
    }

    /// Looks at something; who gives the call up ends it.
    async fn look<T, W>(&self, argument_bytes: usize, work: impl FnOnce(Shared) -> W) -> Answer<T>
    where
        T: Send + 'static,
        W: Future<Output = Answer<T>> + Send + 'static,
    {
        let started = self.calls.start(argument_bytes)?;
        answer(self.calls.run(started, ANSWER_BYTES, work(self.folders.clone()))).await
    }

    /// Changes something, or what is known of an open file: to the end, once it was begun.
    async fn change<T, W>(&self, argument_bytes: usize, work: impl FnOnce(Shared) -> W) -> Answer<T>
    where
        T: Send + 'static,
        W: Future<Output = Answer<T>> + Send + 'static,
    {
        let started = self.calls.start(argument_bytes)?;
        answer(self.calls.carry_out(started, ANSWER_BYTES, work(self.folders.clone()))).await
    }
}

fn asked(turn: &Turn, handle: &Handle) -> Answer<Asked> {
    turn.with(|mut access| Asked::of(access.get(), handle))
}

async fn answer<T>(answered: oneshot::Receiver<Done<T, Failure>>) -> Answer<T> {
    answered.await.map_err(over)?.parts().0
}

/// Work is dropped unanswered only together with its turn.
fn over(_: oneshot::error::RecvError) -> Failure {
    Failure::Fatal(wasmtime::format_err!("the turn is over"))
}

/// What a guest reads beside a stream, in the end. One that it dropped before has nothing to report.
async fn told(outcome: oneshot::Receiver<Answer<()>>) -> wasmtime::Result<Outcome> {
    match outcome.await.unwrap_or(Ok(())) {
        Ok(()) => Ok(Ok(())),
        Err(failure) => failure.told().map(|code| Err(code.into())),
    }
}

/// An offset that a file may have.
fn checked(offset: u64) -> Answer<u64> {
    if i64::try_from(offset).is_ok() { Ok(offset) } else { Err(ErrorCode::Invalid.into()) }
}
