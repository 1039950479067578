//! Guests whose calls overlap: the world `bailiwick:agent/async-agent`, and programs of WASI 0.3.
//!
//! wasmtime polls what a guest waits for only while the guest waits. A guest that computes would
//! leave its calls half-way, with whatever they hold of the host. So the work of calls is kept
//! in [`Calls`], beside the guest, and goes on whatever the guest does.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use wasmtime::Store;

use super::bindings::exports::bailiwick::agent::turn as contract;
use super::folders::ProgramPre;
use super::state::TurnState;
use super::turn::Request;

mod bindings;
mod calls;
mod files;
mod reading;
mod writing;

pub(super) use bindings::AsyncAgentPre;
pub(super) use bindings::exports::bailiwick::agent::async_turn;
pub(super) use calls::{Calls, Done, HeldAnswer};
pub(super) use files::add_to_linker;

/// Runs the guest's turn, and its calls beside it. Once it has returned, nothing of it is polled
/// again.
pub(super) async fn call(
    store: &mut Store<TurnState>,
    guest: &AsyncAgentPre<TurnState>,
    request: Request,
) -> wasmtime::Result<Result<contract::Outcome, String>> {
    let calls = store.data().calls.clone();
    let turn = async {
        let guest = guest.instantiate_async(&mut *store).await?;
        let run = guest.bailiwick_agent_async_turn().func_run();
        let Request { input, answer, attempt, .. } = request;
        let request = async_turn::Request { input, answer, attempt };
        let (returned,) = run.call_async(&mut *store, (request,)).await?;
        Ok(returned.map(Into::into))
    };
    beside(calls, turn).await
}

/// As [`call`], of a program.
pub(super) async fn run(
    store: &mut Store<TurnState>,
    program: &ProgramPre<TurnState>,
) -> wasmtime::Result<Result<(), ()>> {
    let calls = store.data().calls.clone();
    let turn = async {
        let program = program.instantiate_async(&mut *store).await?;
        let run = program.wasi_cli_run().func_run();
        let (returned,) = run.call_async(&mut *store, ()).await?;
        Ok(returned)
    };
    beside(calls, turn).await
}

/// Goes on with the guest, and with its calls beside it.
async fn beside<T>(calls: Option<Calls>, turn: impl Future<Output = T>) -> T {
    let mut turn = pin!(turn);
    poll_fn(|context| {
        // The guest first: what it starts is taken up at once.
        if let Poll::Ready(returned) = turn.as_mut().poll(context) {
            return Poll::Ready(returned);
        }
        if let Some(calls) = &calls {
            calls.poll(context);
        }
        Poll::Pending
    })
    .await
}

impl From<async_turn::Outcome> for contract::Outcome {
    fn from(outcome: async_turn::Outcome) -> Self {
        match outcome {
            async_turn::Outcome::Reply(text) => Self::Reply(text),
            async_turn::Outcome::Park(text) => Self::Park(text),
        }
    }
}
