//! What a caller brought to be written, until a thread takes it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::limits::{UPLOAD_HELD_BYTES_MAX, WRITER_CALL_BYTES_MAX};
use crate::store::pieces::Pieces;

/// From this size on, what was gathered is worth a thread's while, in bytes.
const WRITTEN_BYTES_MIN: usize = 1 << 20;
/// More than this is not gathered while a thread writes, in bytes: the less it is, the likelier it
/// is still in the processor's cache when its time comes.
const GATHERED_BYTES_MAX: usize = 2 * WRITTEN_BYTES_MIN;
/// Most that is held: what is gathered, and as much being written. The last call of either may
/// have come when there was just too little for a thread.
pub(super) const HELD_BYTES_MAX: usize = 2 * (WRITTEN_BYTES_MIN + WRITER_CALL_BYTES_MAX);
const _: () = assert!(HELD_BYTES_MAX <= UPLOAD_HELD_BYTES_MAX);

/// Bytes between one who brings them and one who writes them.
#[derive(Debug, Default)]
pub(super) struct Brought {
    gathered: Mutex<Gathered>,
    taken: Notify,
}

#[derive(Debug, Default)]
struct Gathered {
    pieces: Pieces,
    thread: Thread,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Thread {
    #[default]
    None,
    /// One was asked for, or writes and will look for more.
    Comes,
}

/// What became of bytes that were brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    Done,
    /// They are among the others, and it is for the caller to let a thread write them.
    WantsThread,
    /// They are to be brought again once a thread has taken others.
    Full,
}

impl Brought {
    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        // Whatever panicked has added a piece or has not.
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, bytes: &Bytes) -> Pushed {
        let mut gathered = self.gathered();
        let held = gathered.pieces.len();
        // A thread comes for what is here: it was asked to when there was enough of it.
        if held >= WRITTEN_BYTES_MIN && held + bytes.len() > GATHERED_BYTES_MAX {
            return Pushed::Full;
        }
        gathered.pieces.push(bytes.clone());
        if gathered.pieces.len() < WRITTEN_BYTES_MIN || gathered.thread == Thread::Comes {
            return Pushed::Done;
        }
        gathered.thread = Thread::Comes;
        Pushed::WantsThread
    }

    /// What a thread is to write now. None if there is too little; then it does not come back.
    pub(super) fn take(&self) -> Option<Vec<Bytes>> {
        let mut gathered = self.gathered();
        if gathered.pieces.len() < WRITTEN_BYTES_MIN {
            gathered.thread = Thread::None;
            return None;
        }
        let pieces = gathered.pieces.take();
        drop(gathered);
        self.taken.notify_one();
        Some(pieces)
    }

    /// Returns when a thread has taken something since the last time.
    pub(super) async fn taken(&self) {
        self.taken.notified().await;
    }

    /// All that no thread has taken.
    pub(super) fn rest(&self) -> Vec<Bytes> {
        self.gathered().pieces.take()
    }
}

#[cfg(test)]
mod tests;
