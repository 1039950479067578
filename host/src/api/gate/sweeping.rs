//! What goes by itself, and files of what was deleted.

use std::sync::Arc;
use std::time::Duration;

use super::Host;
use crate::limits::SWEEP_MS;
use crate::retention::Sweeper;

/// How long a sweep rests at least where there is more to do: others want the catalog too.
const REST: Duration = Duration::from_millis(100);

impl Host {
    /// Removes what is to go, for ever: soon after something was deleted here, and now and then for
    /// what went elsewhere, or whose host did not live to do it.
    pub(in crate::api) async fn sweep_for_ever(self) {
        let shared = &*self.0;
        let observer = Arc::new(shared.metrics.clone());
        let sweeper = Sweeper::new(shared.catalog.clone(), shared.storage.clone(), observer);
        let mut pauses = Pauses::new();
        loop {
            let began = tokio::time::Instant::now();
            let tick = sweeper.tick().await;
            if tick.is_full {
                tokio::time::sleep(began.elapsed().max(REST)).await;
                continue;
            }
            let _ = tokio::time::timeout(pauses.next(), shared.deleted.notified()).await;
        }
    }
}

/// How long to wait, a tenth more or less each time: what starts hosts together is not to keep them
/// together.
struct Pauses(u64);

impl Pauses {
    fn new() -> Self {
        Self(uuid::Uuid::new_v4().as_u64_pair().0)
    }

    fn next(&mut self) -> Duration {
        // Any full-period generator would do. Knuth's, in The Art of Computer Programming, vol. 2.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Duration::from_millis(SWEEP_MS * 9 / 10 + (self.0 >> 33) % (SWEEP_MS / 5))
    }
}
