//! Where a run takes place, and how thorough it is.

use std::path::PathBuf;

use anyhow::{Context, Result};
use tempfile::TempDir;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// A few minutes: for a look, and while working on something.
    Quick,
    /// For a release.
    Full,
}

/// What every workload is handed.
pub(crate) struct Setting {
    pub(crate) effort: Effort,
    /// Where the components are.
    pub(crate) guests: PathBuf,
    /// Where servers are installed.
    pub(crate) tools: PathBuf,
    /// On the disk that is measured.
    pub(crate) scratch: PathBuf,
    /// The command `bailiwick`.
    pub(crate) command: PathBuf,
}

impl Setting {
    /// The first for a look, the second for a release.
    pub(crate) fn choose<T>(&self, quick: T, full: T) -> T {
        match self.effort {
            Effort::Quick => quick,
            Effort::Full => full,
        }
    }

    /// The bytes of a guest.
    ///
    /// # Errors
    /// If it has not been built.
    pub(crate) fn guest(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.guests.join(format!("{name}.wasm"));
        std::fs::read(&path).with_context(|| format!("no guest {}", path.display()))
    }

    /// An empty folder on the disk that is measured, gone when it is dropped.
    pub(crate) fn folder(&self) -> Result<TempDir> {
        Ok(tempfile::Builder::new().prefix("files-").tempdir_in(&self.scratch)?)
    }
}
