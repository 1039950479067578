//! Large buffers that are used again. A fresh one is memory that the kernel has to find and clear,
//! page by page, which costs several times as much as copying a file's bytes into it.

use std::collections::{TryReserveError, VecDeque};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use crate::limits::{BUFFER_KEPT_BYTES_MIN, BUFFERS_KEPT_BYTES_MAX};

/// Room for bytes, which goes back to where it came from once nobody holds them any more.
#[derive(Debug)]
pub(crate) struct Buffer(Vec<u8>);

/// Buffers that nobody holds, those that came back last at the end.
#[derive(Debug)]
struct Kept {
    buffers: VecDeque<Vec<u8>>,
    bytes: usize,
}

/// Of the whole process: what is kept has no bytes that anybody could read.
static KEPT: Mutex<Kept> = Mutex::new(Kept::new());

impl Buffer {
    /// An empty one with room for `length` bytes, and little more.
    pub(crate) fn with_room(length: usize) -> Self {
        Self(taken(length).unwrap_or_else(|| Vec::with_capacity(length)))
    }

    /// As [`Self::with_room`], for a length that the machine may not have.
    pub(crate) fn try_with_room(length: usize) -> Result<Self, TryReserveError> {
        if let Some(buffer) = taken(length) {
            return Ok(Self(buffer));
        }
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(length)?;
        Ok(Self(buffer))
    }

    /// One that holds these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut buffer = Self::with_room(bytes.len());
        buffer.room().extend_from_slice(bytes);
        buffer
    }

    /// What it holds, to be added to as far as there is room.
    pub(crate) fn room(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }

    /// What it holds, to be shared.
    pub(crate) fn freeze(mut self) -> Bytes {
        if is_large(self.0.capacity()) {
            Bytes::from_owner(self)
        } else {
            std::mem::take(&mut self.0).into()
        }
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.0);
        if !is_large(buffer.capacity()) {
            return;
        }
        let unfit = kept(|kept| kept.put(buffer));
        // Outside of the lock: giving memory back takes its time.
        drop(unfit);
    }
}

fn taken(length: usize) -> Option<Vec<u8>> {
    if is_large(length) { kept(|kept| kept.take(length)) } else { None }
}

fn kept<T>(act: impl FnOnce(&mut Kept) -> T) -> T {
    act(&mut KEPT.lock().unwrap_or_else(PoisonError::into_inner))
}

fn is_large(capacity: usize) -> bool {
    (BUFFER_KEPT_BYTES_MIN..=BUFFERS_KEPT_BYTES_MAX).contains(&capacity)
}

impl Kept {
    const fn new() -> Self {
        Self { buffers: VecDeque::new(), bytes: 0 }
    }

    /// The one that came back last of those that are large enough, and not much larger.
    fn take(&mut self, length: usize) -> Option<Vec<u8>> {
        let fits = length..=length + length / 4;
        let at = self.buffers.iter().rposition(|buffer| fits.contains(&buffer.capacity()))?;
        let buffer = self.buffers.remove(at)?;
        self.bytes -= buffer.capacity();
        Some(buffer)
    }

    /// Keeps a buffer, its bytes forgotten, and answers those that there is no room for.
    fn put(&mut self, mut buffer: Vec<u8>) -> Vec<Vec<u8>> {
        buffer.clear();
        self.bytes += buffer.capacity();
        self.buffers.push_back(buffer);
        let mut unfit = Vec::new();
        while self.bytes > BUFFERS_KEPT_BYTES_MAX
            && let Some(oldest) = self.buffers.pop_front()
        {
            self.bytes -= oldest.capacity();
            unfit.push(oldest);
        }
        unfit
    }
}

#[cfg(test)]
mod tests;
