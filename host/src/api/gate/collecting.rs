//! Contents of skills that nobody needs any more.

use std::time::Duration;

use super::Host;
use crate::limits::SKILL_COLLECTING_MS;
use crate::skills::collect_once;

impl Host {
    /// Removes what nobody needs, for ever: page by page while there is something, and now and
    /// then.
    pub(in crate::api) async fn collect_for_ever(self) {
        let pause = Duration::from_millis(SKILL_COLLECTING_MS);
        loop {
            match collect_once(&self.0.catalog, &self.0.storage).await {
                Ok(collected) if collected.is_full() => continue,
                Ok(_) => {}
                Err(error) => {
                    let error = format!("{error:#}");
                    tracing::warn!(error, "files of skills that nobody needs are still there");
                }
            }
            tokio::time::sleep(pause).await;
        }
    }
}
