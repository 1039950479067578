//! How somebody asks a turn to stop.

use tokio::sync::watch;
use tokio::time::Instant;

/// Asks one turn to stop; clones ask the same one.
#[derive(Clone, Debug)]
pub struct Cancel(watch::Sender<Option<Instant>>);

impl Default for Cancel {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl Cancel {
    /// Not asked for yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks: the guest learns it from `session.current-status`, and is ended if it goes on for
    /// longer than [`crate::limits::Limits::cancel_ms_max`].
    pub fn cancel(&self) {
        self.0.send_if_modified(|since| {
            let is_first = since.is_none();
            since.get_or_insert_with(Instant::now);
            is_first
        });
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
        *self.0.borrow()
    }

    /// As [`Self::asked`], and says when that was.
    pub(super) async fn requested(&self) -> Instant {
        let mut changes = self.0.subscribe();
        loop {
            if let Some(since) = *changes.borrow_and_update() {
                return since;
            }
            // `self` holds a sender, so this waits for as long as nobody asks.
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
