//! What a request carries: bytes in one piece or in several, which are sent as they are.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use crc_fast::{CrcAlgorithm, Digest};
use http_body::{Body, Frame, SizeHint};

/// The bytes of a request. Clones share them.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Content {
    held: Held,
    /// Where it is known already.
    crc32c: Option<u32>,
}

#[derive(Clone, Debug, Default)]
enum Held {
    #[default]
    Nothing,
    One(Bytes),
    Several(Arc<[Bytes]>),
}

impl From<Bytes> for Content {
    fn from(bytes: Bytes) -> Self {
        let held = if bytes.is_empty() { Held::Nothing } else { Held::One(bytes) };
        Self { held, crc32c: None }
    }
}

impl From<Vec<Bytes>> for Content {
    fn from(mut pieces: Vec<Bytes>) -> Self {
        pieces.retain(|piece| !piece.is_empty());
        let held = match pieces.len() {
            0 | 1 => pieces.pop().map_or(Held::Nothing, Held::One),
            _ => Held::Several(pieces.into()),
        };
        Self { held, crc32c: None }
    }
}

impl Content {
    /// The same, its CRC-32C being known.
    pub(in super::super) fn with_crc32c(self, crc32c: u32) -> Self {
        Self { crc32c: Some(crc32c), ..self }
    }

    /// The CRC-32C of all bytes together.
    pub(in super::super) fn crc32c(&self) -> u32 {
        self.crc32c.unwrap_or_else(|| {
            let mut sum = Crc32c::default();
            self.pieces().iter().for_each(|piece| sum.update(piece));
            sum.take()
        })
    }

    pub(in super::super) fn pieces(&self) -> &[Bytes] {
        match &self.held {
            Held::Nothing => &[],
            Held::One(bytes) => std::slice::from_ref(bytes),
            Held::Several(pieces) => pieces,
        }
    }

    pub(in super::super) fn len(&self) -> u64 {
        self.pieces().iter().map(|piece| piece.len() as u64).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self.held, Held::Nothing)
    }

    pub(super) fn into_body(self) -> SdkBody {
        match self.held {
            Held::Nothing => SdkBody::empty(),
            Held::One(bytes) => SdkBody::from(bytes),
            Held::Several(pieces) => SdkBody::from_body_1_x(Pieces { pieces, sent: 0 }),
        }
    }
}

/// A CRC-32C of bytes as they come. <https://www.rfc-editor.org/rfc/rfc3720#appendix-B.4>
#[derive(Clone, Debug)]
pub(in super::super) struct Crc32c(Digest);

impl Default for Crc32c {
    fn default() -> Self {
        Self(Digest::new(CrcAlgorithm::Crc32Iscsi))
    }
}

impl Crc32c {
    pub(in super::super) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// That of all bytes so far, and begins anew.
    pub(in super::super) fn take(&mut self) -> u32 {
        // Of 32 bits.
        self.0.finalize_reset() as u32
    }
}

/// One piece after the other, of a length that is known from the start.
struct Pieces {
    pieces: Arc<[Bytes]>,
    sent: usize,
}

impl Pieces {
    fn left(&self) -> &[Bytes] {
        self.pieces.get(self.sent..).unwrap_or_default()
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.left().first().cloned();
        self.sent += 1;
        Poll::Ready(next.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left().is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left().iter().map(|piece| piece.len() as u64).sum())
    }
}

#[cfg(test)]
mod tests;
