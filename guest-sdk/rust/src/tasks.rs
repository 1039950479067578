//! Guests whose calls overlap.
//!
//! An asynchronous turn is an `async fn`, exported by `agent!(async run)`; while one of its
//! calls is under way, others can be. Everything else of this crate is there as well, and holds
//! up all of the guest until it is answered, and nobody else.
//!
//! ```
//! use bailiwick_guest::tasks::{files, join};
//! use bailiwick_guest::{Failure, Request, agent};
//!
//! agent!(async run);
//!
//! async fn run(_: Request) -> Result<String, Failure> {
//!     let months = ["january", "february", "march"];
//!     let paths = months.map(|month| format!("workspace/reports/{month}.md"));
//!     let reports = join(16, paths.iter().map(|path| files::read_to_string(path))).await;
//!     let lines = reports.into_iter().map(|report| Ok(report?.lines().count()));
//!     let lines: Vec<_> = lines.collect::<Result<_, Failure>>()?;
//!     Ok(format!("The reports have {lines:?} lines."))
//! }
//! ```
//!
//! - [`files`]: the verbs of [`crate::files`], to await.
//! - [`Reading`] and [`Writing`]: files of any size, as streams.
//! - [`join`]: many calls, so many at once. The futures are ordinary ones; crates such as
//!   `futures` work with them.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use crate::{Failure, Outcome, Request, log};

pub mod files;
mod reading;
mod writing;

/// What the asynchronous world has beside the synchronous one, as it was generated.
#[expect(
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    clippy::allow_attributes,
    clippy::unwrap_used,
    reason = "generated"
)]
#[rustfmt::skip]
pub mod bindings;

pub use reading::Reading;
pub use writing::Writing;

#[doc(hidden)]
pub use contract::{Outcome as AsyncOutcome, Request as AsyncRequest};

use bindings::exports::bailiwick::agent::async_turn as contract;

/// Awaits all of the calls, at most so many at once, and answers in their order. The host works
/// on 16 calls of a turn at once, by default: more only wait there instead of here.
pub async fn join<T>(
    most: usize,
    calls: impl IntoIterator<Item = impl Future<Output = T>>,
) -> Vec<T> {
    let mut waiting = calls.into_iter().fuse();
    let mut running: Vec<(usize, Pin<Box<_>>)> = Vec::new();
    let mut answers = Vec::new();
    poll_fn(|context| {
        loop {
            while running.len() < most.max(1)
                && let Some(call) = waiting.next()
            {
                running.push((answers.len(), Box::pin(call)));
                answers.push(None);
            }
            let under_way = running.len();
            running.retain_mut(|(index, call)| match call.as_mut().poll(context) {
                Poll::Ready(answer) => {
                    answers[*index] = Some(answer);
                    false
                }
                Poll::Pending => true,
            });
            if under_way == 0 {
                return Poll::Ready(());
            }
            if running.len() == under_way {
                return Poll::Pending;
            }
        }
    })
    .await;
    answers.into_iter().flatten().collect()
}

/// Runs a guest's turn, for [`crate::agent!`].
#[doc(hidden)]
pub async fn run_turn<R, E, F>(
    turn: impl FnOnce(Request) -> F,
    request: contract::Request,
) -> Result<contract::Outcome, String>
where
    R: Into<Outcome>,
    E: Into<Failure>,
    F: Future<Output = Result<R, E>>,
{
    log::log_panics();
    let contract::Request { input, answer, attempt } = request;
    let outcome = turn(Request { input, answer, attempt }).await;
    let outcome = outcome.map_err(|failure| crate::turn::explain(failure.into().as_ref()))?;
    Ok(match outcome.into() {
        Outcome::Reply(text) => contract::Outcome::Reply(text),
        Outcome::Park(text) => contract::Outcome::Park(text),
    })
}

#[cfg(test)]
mod tests;
