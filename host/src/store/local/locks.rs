//! Locks that processes share by files. The operating system releases them when a process ends,
//! however it ends.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file that one thread of one process holds at a time.
#[derive(Debug)]
pub(super) struct LockFile(Mutex<File>);

impl LockFile {
    /// A lock on a file, which may hold something of its own.
    pub(super) fn new(file: File) -> Self {
        Self(Mutex::new(file))
    }

    /// Waits for it. Never waits for storage longer than its holders do.
    pub(super) fn hold(&self) -> io::Result<Held<'_>> {
        // A file lock belongs to the open file, not to a thread: hence the mutex around it. A
        // panic while it was held leaves nothing half-done that a crash would not.
        let file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        retry(|| file.lock())?;
        Ok(Held(file))
    }
}

/// The lock, until it is dropped.
#[derive(Debug)]
pub(super) struct Held<'a>(MutexGuard<'a, File>);

impl Deref for Held<'_> {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.unlock() {
            tracing::error!(%error, "a lock of the store's folder could not be released");
        }
    }
}

/// Repeats what a signal interrupted.
pub(super) fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            answer => return answer,
        }
    }
}
