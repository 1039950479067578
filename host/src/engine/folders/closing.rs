//! When what was gathered is stored: at `sync`, at the last close, and at the end of the turn.

use std::sync::Arc;

use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use super::Folders;
use super::commit::{self, Stored};
use super::descriptor::Descriptor;
use super::error::{Answer, ErrorCode, Failure};
use super::file::{Changed, OpenFile, State};

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
    /// Stores what a program holds, for everybody to see.
    pub(super) async fn store_now(&mut self, descriptor: &Descriptor) -> Answer<()> {
        match descriptor {
            Descriptor::File(handle) => self.store_in_place(&handle.file).await,
            // What a folder holds is there once it was made.
            Descriptor::Folder(_) => Ok(()),
        }
    }

    /// Stores a file if it was changed, and says whether it is where it was to be.
    pub(super) async fn store_in_place(&mut self, file: &Arc<OpenFile>) -> Answer<()> {
        let mut state = file.lock().await;
        self.store_locked(file, &mut state).await
    }

    /// As [`Self::store_in_place`], for who goes on with the file before anybody else does.
    pub(super) async fn store_locked(
        &mut self,
        file: &Arc<OpenFile>,
        state: &mut State,
    ) -> Answer<()> {
        if let Stored::Beside { path, kept } = commit::store(&self.space, state).await? {
            self.files.remove(&path);
            self.files.insert(kept.clone(), file.clone());
            self.tell(&format!(
                "`{path}` was changed by another writer meanwhile: what this turn wrote is kept as `{kept}`"
            ));
            let why = UnstoredWhy::KeptBeside { kept };
            self.unstored.push(Unstored { path, why });
            // It is stored, and yet not as the program has it.
            return Err(ErrorCode::Busy.into());
        }
        Ok(())
    }

    /// A handle of a file is gone. What came of storing it, if that was the last one: what failed
    /// is tried again at the end of the turn.
    pub(super) async fn close(&mut self, file: &Arc<OpenFile>) -> Answer<()> {
        if !file.close() {
            return Ok(());
        }
        let stored = self.store_in_place(file).await;
        self.forget(file).await;
        if let Err(failure) = &stored {
            tracing::debug!(?failure, "a file was not stored when it was closed");
        }
        stored
    }

    /// Nothing is to be known of a file any more that nobody has open and that is stored.
    async fn forget(&mut self, file: &Arc<OpenFile>) {
        let state = file.lock().await;
        let Some(path) = state.path.clone() else { return };
        if file.is_open() || state.changed == Changed::Yes {
            return;
        }
        drop(state);
        if self.files.get(&path).is_some_and(|found| Arc::ptr_eq(found, file)) {
            self.files.remove(&path);
        }
    }

    /// Whether nothing is open, or still to be stored or kept.
    fn are_settled(&self) -> bool {
        self.files.is_empty() && self.emptied.is_empty()
    }

    /// Stores what is to be stored at the end of a turn, keeps the folders that were emptied, and
    /// says what is not where it was to be.
    pub(super) async fn finish(&mut self, publish: Publish, until: Instant) -> Vec<Unstored> {
        if self.are_settled() {
            return std::mem::take(&mut self.unstored);
        }
        let files: Vec<_> = self.files.values().cloned().collect();
        let late = |_| Err(ErrorCode::Interrupted.into());
        for file in files {
            let is_due = publish == Publish::All || !file.is_open();
            if !is_due {
                continue;
            }
            let stored = timeout_at(until, self.store_in_place(&file)).await;
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
        std::mem::take(&mut self.unstored)
    }

    async fn keep_emptied(&mut self) -> Answer<()> {
        for folder in std::mem::take(&mut self.emptied) {
            self.keep_if_missing(&folder).await?;
        }
        Ok(())
    }

    async fn give_up(&mut self, file: &OpenFile, failure: Failure) {
        let mut state = file.lock().await;
        // What was kept beside is stored.
        let (Changed::Yes, Some(path)) = (state.changed, state.path.clone()) else { return };
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
