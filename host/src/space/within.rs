//! Bounds on time that cost nothing where there is nothing to wait for.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::task::unconstrained;
use tokio::time::sleep;

use crate::store::{Effect, StoreError};

/// What `work` comes to; `None` if that takes longer than `bound`. A timer costs a look at the
/// clock, which is more than a store in memory takes: there is one only once `work` has to wait.
pub(super) async fn within<T>(bound: Duration, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut timer = None;
    poll_fn(|context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(Some(done));
        }
        // Unconstrained: work that never gives way must not keep the timer from its turn.
        let timer = timer.get_or_insert_with(|| Box::pin(unconstrained(sleep(bound))));
        timer.as_mut().poll(context).map(|()| None)
    })
    .await
}

/// What became of an operation that took longer than it may.
pub(super) fn timed_out(bound: Duration, effect: Effect) -> StoreError {
    let source = anyhow::anyhow!("the operation did not end within {bound:?}");
    StoreError::Unavailable { effect, source }
}
