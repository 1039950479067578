//! When what was gathered is stored: at `sync`, at the last close, and at the end of the turn.

use std::sync::Arc;

use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use super::Folders;
use super::commit::{self, Stored};
use super::error::{Answer, ErrorCode, Failure};
use super::file::{Changed, OpenFile};

/// A file that a program wrote through a folder, and that is not where it was to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unstored {
    /// Where it was to be.
    pub path: String,
    /// What became of it.
    #[serde(flatten)]
    pub why: UnstoredWhy,
}

/// What became of a file that is not where it was to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum UnstoredWhy {
    /// Another writer changed the file since it was opened. Both are there: the other one's at the
    /// path, this one's beside it.
    KeptBeside {
        /// Where this one's is.
        kept: String,
    },
    /// It could not be stored, and is lost.
    Failed {
        /// A word for the reason, as WASI has it: `io`, `insufficient-space`…
        reason: String,
    },
}

/// What of a turn's files is stored when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Publish {
    /// All that were written.
    All,
    /// Those that were closed, and could not be stored then.
    Closed,
}

impl Folders {
    /// Stores a file if it was changed, and says whether it is where it was to be.
    pub(super) async fn store_in_place(&mut self, file: &Arc<OpenFile>) -> Answer<()> {
        match self.store(file).await? {
            Stored::There => Ok(()),
            // It is stored, and yet not as the program has it.
            Stored::Beside { .. } => Err(ErrorCode::Busy.into()),
        }
    }

    async fn store(&mut self, file: &Arc<OpenFile>) -> Answer<Stored> {
        let stored = commit::store(&self.space, file).await?;
        if let Stored::Beside { path, kept } = &stored {
            self.files.remove(path);
            self.files.insert(kept.clone(), file.clone());
            self.tell(&format!(
                "`{path}` was changed by another writer meanwhile: what this turn wrote is kept as `{kept}`"
            ));
            let why = UnstoredWhy::KeptBeside { kept: kept.clone() };
            self.unstored.push(Unstored { path: path.clone(), why });
        }
        Ok(stored)
    }

    /// A handle of a file is gone.
    pub(super) async fn close(&mut self, file: &Arc<OpenFile>) -> wasmtime::Result<()> {
        if !file.close() {
            return Ok(());
        }
        match self.store(file).await {
            Ok(_) => {
                self.forget(file).await;
                Ok(())
            }
            // A close has no answer: the end of the turn tries again, and tells.
            Err(Failure::Code(code)) => {
                tracing::debug!(?code, "a file was not stored when it was closed");
                Ok(())
            }
            Err(Failure::Fatal(error)) => Err(error),
        }
    }

    async fn forget(&mut self, file: &Arc<OpenFile>) {
        let Some(path) = file.lock().await.path.clone() else { return };
        if self.files.get(&path).is_some_and(|found| Arc::ptr_eq(found, file)) {
            self.files.remove(&path);
        }
    }

    /// Whether nothing is open, or still to be stored or kept.
    pub(in crate::engine) fn are_settled(&self) -> bool {
        self.files.is_empty() && self.emptied.is_empty()
    }

    /// What is not where it was to be, so far.
    pub(in crate::engine) fn take_unstored(&mut self) -> Vec<Unstored> {
        std::mem::take(&mut self.unstored)
    }

    /// Stores what is to be stored at the end of a turn, keeps the folders that were emptied, and
    /// says what is not where it was to be.
    pub(in crate::engine) async fn finish(
        &mut self,
        publish: Publish,
        until: Instant,
    ) -> Vec<Unstored> {
        let files: Vec<_> = self.files.values().cloned().collect();
        let late = |_| Err(ErrorCode::Interrupted.into());
        for file in files {
            let is_due = publish == Publish::All || !file.is_open();
            if !is_due {
                continue;
            }
            let stored = timeout_at(until, self.store(&file)).await;
            if let Err(failure) = stored.unwrap_or_else(late) {
                self.give_up(&file, failure).await;
            }
        }
        if publish == Publish::All {
            let kept = timeout_at(until, self.keep_emptied()).await;
            if let Err(failure) = kept.unwrap_or_else(|_| Err(ErrorCode::Interrupted.into())) {
                tracing::debug!(?failure, "folders that were emptied were not kept");
            }
        }
        self.take_unstored()
    }

    async fn keep_emptied(&mut self) -> Answer<()> {
        for folder in std::mem::take(&mut self.emptied) {
            self.keep_if_missing(&folder).await?;
        }
        Ok(())
    }

    async fn give_up(&mut self, file: &OpenFile, failure: Failure) {
        let mut state = file.lock().await;
        let Some(path) = state.path.clone() else { return };
        state.changed = Changed::No;
        let reason = match failure {
            Failure::Code(code) => code.name().to_owned(),
            Failure::Fatal(error) => {
                tracing::warn!(error = format!("{error:#}"), "a file was not stored");
                ErrorCode::Io.name().to_owned()
            }
        };
        self.tell(&format!("`{path}` could not be stored, and what was written is lost: {reason}"));
        self.unstored.push(Unstored { path, why: UnstoredWhy::Failed { reason } });
    }
}
