//! What a request carries: bytes in one piece or in several, which are sent as they are.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The bytes of a request. Clones share them.
#[derive(Clone, Debug, Default)]
pub(in super::super) enum Content {
    /// None.
    #[default]
    Nothing,
    One(Bytes),
    Several(Arc<[Bytes]>),
}

impl From<Bytes> for Content {
    fn from(bytes: Bytes) -> Self {
        if bytes.is_empty() { Self::Nothing } else { Self::One(bytes) }
    }
}

impl From<Vec<Bytes>> for Content {
    fn from(mut pieces: Vec<Bytes>) -> Self {
        pieces.retain(|piece| !piece.is_empty());
        match pieces.len() {
            0 | 1 => pieces.pop().map_or(Self::Nothing, Self::One),
            _ => Self::Several(pieces.into()),
        }
    }
}

impl Content {
    pub(in super::super) fn pieces(&self) -> &[Bytes] {
        match self {
            Self::Nothing => &[],
            Self::One(bytes) => std::slice::from_ref(bytes),
            Self::Several(pieces) => pieces,
        }
    }

    pub(in super::super) fn len(&self) -> u64 {
        self.pieces().iter().map(|piece| piece.len() as u64).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    pub(super) fn into_body(self) -> SdkBody {
        match self {
            Self::Nothing => SdkBody::empty(),
            Self::One(bytes) => SdkBody::from(bytes),
            Self::Several(pieces) => SdkBody::from_body_1_x(Pieces { pieces, sent: 0 }),
        }
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
