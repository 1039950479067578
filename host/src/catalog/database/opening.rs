//! One process at a time makes a file a catalog: neither SQLite's switch to a journal nor the
//! making of tables waits for another that does the same.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Error, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How often it is looked whether another process is ready: to open a catalog takes a moment.
const LOOK: Duration = Duration::from_millis(2);

const TAKEN: &str = "another process has been opening it for too long";

/// Held while a catalog is being opened; it goes with the process, however that ends.
#[derive(Debug)]
pub(super) struct Opening {
    _locked: File,
}

impl Opening {
    /// Waits, for so long at most, until no other process opens the same file. The lock has a file
    /// of its own: closing the catalog's would take SQLite's locks from it.
    pub(super) async fn wait(catalog: &Path, patience: Duration) -> io::Result<Self> {
        let mut path = catalog.as_os_str().to_owned();
        path.push("-opening");
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _locked: file }),
                Err(TryLockError::WouldBlock) if began.elapsed() < patience => sleep(LOOK).await,
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::new(ErrorKind::TimedOut, TAKEN));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever waits in vain is told for whom, and the next one is let in.
    #[tokio::test]
    async fn an_opening_that_takes_too_long_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = folder.path().join("catalog.sqlite");
        let first = Opening::wait(&catalog, Duration::ZERO).await.unwrap();
        let refused = Opening::wait(&catalog, Duration::ZERO).await.unwrap_err();
        assert_eq!(refused.to_string(), TAKEN);
        drop(first);
        Opening::wait(&catalog, Duration::ZERO).await.unwrap();
    }
}
