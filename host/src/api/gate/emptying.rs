//! Files of what was deleted.

use std::time::Duration;

use super::Host;
use crate::limits::EMPTYING_MS;
use crate::scope::Deletion;

impl Host {
    /// Removes files that are owed to deletion, for ever: soon after something was deleted here,
    /// and now and then for those that went elsewhere, or whose host did not live to do it.
    pub(in crate::api) async fn empty_for_ever(self) {
        let pause = Duration::from_millis(EMPTYING_MS);
        loop {
            self.empty_owed().await;
            let _ = tokio::time::timeout(pause, self.0.deleted.notified()).await;
        }
    }

    async fn empty_owed(&self) {
        let owed = match self.0.catalog.owed().await {
            Ok(owed) => owed,
            Err(error) => return warn(&error.into()),
        };
        for deletion in owed {
            if let Err(error) = self.empty_one(deletion).await {
                warn(&error);
            }
        }
    }

    async fn empty_one(&self, deletion: Deletion) -> anyhow::Result<()> {
        self.0.storage.empty(deletion).await?;
        Ok(self.0.catalog.settle(deletion).await?)
    }
}

fn warn(error: &anyhow::Error) {
    let error = format!("{error:#}");
    tracing::warn!(error, "files of what was deleted are still there; they are tried again");
}
