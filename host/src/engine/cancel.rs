//! How somebody asks a turn to stop.

use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;
use tokio::time::Instant;

/// Asks one turn to stop; clones ask the same one.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Asked>);

#[derive(Debug, Default)]
struct Asked {
    since: OnceLock<Instant>,
    first: Notify,
}

impl Cancel {
    /// Not asked for yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks: the guest learns it from `session.current-status`, and is ended if it goes on for
    /// longer than [`crate::limits::Limits::cancel_ms_max`].
    pub fn cancel(&self) {
        self.0.since.get_or_init(Instant::now);
        self.0.first.notify_waiters();
    }

    /// Whether it was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.since().is_some()
    }

    /// Waits until it is asked for.
    pub async fn asked(&self) {
        self.requested().await;
    }

    /// When it was asked for first.
    pub(super) fn since(&self) -> Option<Instant> {
        self.0.since.get().copied()
    }

    /// As [`Self::asked`], and says when that was.
    pub(super) async fn requested(&self) -> Instant {
        loop {
            // Before the look: what is asked for after it is heard.
            let first = self.0.first.notified();
            if let Some(since) = self.since() {
                return since;
            }
            first.await;
        }
    }
}
