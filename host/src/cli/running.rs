//! Which sessions of this data directory a living process runs a turn in.
//!
//! Such a process holds a lock that goes when it does, however it ends. So the turn of a process
//! that was killed is given up at once, and not only when its lease is over.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bailiwick::catalog::Catalog;
use bailiwick::scope::SessionId;

use super::failure::Failure;

/// How often a lock is asked for that somebody else holds: to look at it takes a moment.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(25);

/// A session is ours to run a turn in, until this is dropped.
#[derive(Debug)]
pub(super) struct Running {
    path: PathBuf,
    _locked: File,
}

impl Running {
    /// Takes a session, unless another process has it.
    pub(super) async fn take(data_dir: &Path, session: SessionId) -> Result<Self, Failure> {
        let unusable = |error| Failure::because("the data directory cannot hold a lock", &error);
        for _ in 0..TRIES {
            if let Some(running) = Self::try_take(data_dir, session).map_err(unusable)? {
                return Ok(running);
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(Failure::new("a turn is running in this session: wait for it to end"))
    }

    fn try_take(data_dir: &Path, session: SessionId) -> io::Result<Option<Self>> {
        let folder = data_dir.join("running");
        std::fs::create_dir_all(&folder)?;
        let path = folder.join(session.to_string());
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Whoever had it may have removed it after we opened it: then this is no lock any more.
        let ours = file.metadata()?.ino();
        let is_there = path.symlink_metadata().is_ok_and(|found| found.ino() == ours);
        Ok(is_there.then_some(Self { path, _locked: file }))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that stays is a small file, and as good as new for the next one.
        #[expect(clippy::disallowed_methods, reason = "the host's own lock file, by its full path")]
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Gives up the turns whose processes are gone.
pub(super) async fn give_up_dead(catalog: &Catalog, data_dir: &Path) -> Result<(), Failure> {
    for session in catalog.running_sessions().await? {
        // Where there are no locks, the lease decides.
        if let Ok(Some(_ours)) = Running::try_take(data_dir, session) {
            catalog.abandon(session).await?;
        }
    }
    Ok(())
}
