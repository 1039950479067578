//! How often, and how soon, a request is sent again.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::config::Tuning;

/// What all requests of a store together may spend on being sent again, so that a server that
/// is down is not asked eight times as much as one that is up.
#[derive(Debug)]
pub(super) struct RetryBudget(AtomicU32);

const TOKENS_MAX: u32 = 500;
const RETRY_TOKENS: u32 = 5;

impl RetryBudget {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(TOKENS_MAX))
    }

    fn take(&self) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(RETRY_TOKENS)
            })
            .is_ok()
    }

    pub(super) fn refund(&self) {
        let refunded = |left: u32| Some((left + RETRY_TOKENS).min(TOKENS_MAX));
        _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, refunded);
    }
}

/// The attempts of one operation.
#[derive(Debug)]
pub(super) struct Attempts {
    made: u32,
    max: u32,
    started: Instant,
    deadline: Instant,
}

const FIRST_WAIT_MS: u64 = 25;
const WAIT_MS_MAX: u64 = 2_000;

impl Attempts {
    pub(super) fn new(tuning: &Tuning) -> Self {
        let started = Instant::now();
        let deadline = started + Duration::from_millis(tuning.change_ms_max);
        Self { made: 0, max: tuning.attempts_max, started, deadline }
    }

    /// When the operation must be over, with all its requests.
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Since the first attempt began.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Waits for the next attempt; false if there is to be none.
    pub(super) async fn next(&mut self, budget: &RetryBudget) -> bool {
        self.made += 1;
        let wait = wait(self.made);
        if self.made >= self.max || Instant::now() + wait >= self.deadline || !budget.take() {
            return false;
        }
        tokio::time::sleep(wait).await;
        true
    }
}

/// Somewhere between nothing and twice as long as the last time at most, so that those who
/// failed together do not come back together.
fn wait(made: u32) -> Duration {
    let most = (FIRST_WAIT_MS << made.min(16)).min(WAIT_MS_MAX);
    Duration::from_millis(rand::random_range(0..=most))
}
