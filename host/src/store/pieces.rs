//! Bytes as they were handed over: large pieces are kept as they are, small ones gathered.

use bytes::{Bytes, BytesMut};

/// A piece from this size on is kept as it is, in bytes: more would be copied than the
/// bookkeeping costs.
const KEPT_BYTES_MIN: usize = 32 << 10;
/// Small pieces are gathered in so many bytes at a time, at most.
const GATHERED_BYTES_MAX: usize = 256 << 10;

/// Bytes in pieces, in order.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    pieces: Vec<Bytes>,
    /// Small ones, after all of `pieces`.
    small: BytesMut,
    length: usize,
}

impl Pieces {
    /// All bytes together.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn push(&mut self, bytes: Bytes) {
        self.length += bytes.len();
        if bytes.len() >= KEPT_BYTES_MIN {
            self.end_small();
            self.pieces.push(bytes);
            return;
        }
        if self.small.capacity() - self.small.len() < bytes.len() {
            self.end_small();
            // Twice as much each time, so that little is allocated for little.
            let room = self.length.clamp(bytes.len(), GATHERED_BYTES_MAX);
            self.small = BytesMut::with_capacity(room);
        }
        self.small.extend_from_slice(&bytes);
    }

    /// What there is, and none of it is kept.
    pub(super) fn take(&mut self) -> Vec<Bytes> {
        self.end_small();
        self.length = 0;
        std::mem::take(&mut self.pieces)
    }

    fn end_small(&mut self) {
        // The rest of its room is for the next ones.
        let small = self.small.split().freeze();
        if !small.is_empty() {
            self.pieces.push(small);
        }
    }
}

#[cfg(test)]
mod tests;
