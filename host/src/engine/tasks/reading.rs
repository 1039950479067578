//! A file as a stream that a guest reads.

use std::pin::Pin;
use std::pin::pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use futures::FutureExt;
use tokio::sync::oneshot;
use wasmtime::StoreContextMut;
use wasmtime::component::{
    ComponentType, Destination, FutureReader, Lower, StreamProducer, StreamReader, StreamResult,
};

use super::calls::Calls;
use super::files::{Turn, begin, count, received};
use crate::engine::bindings::bailiwick::storage::types;
use crate::engine::convert::refusal;
use crate::engine::files::FileAnswer;
use crate::engine::invocations::Called;
use crate::engine::limiter::HeldMemory;
use crate::engine::state::TurnState;
use crate::limits::STREAM_PIECE_BYTES;
use crate::space::{Error, ErrorCode, Reader};

/// The record `reading`.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct Reading {
    file: FileAnswer,
    data: StreamReader<u8>,
    outcome: FutureReader<Outcome>,
}

/// Opens a file as a stream. What is read of it later is no call of its own.
pub(super) async fn open(
    turn: &Turn,
    path: String,
    offset: u64,
) -> wasmtime::Result<Result<Reading, types::Error>> {
    let mut called = Called::of("async-files.read-stream", &path);
    let opened = called.during(pin!(opened(turn, path, offset))).await?;
    count(turn, called, &opened, 0);
    Ok(opened.map_err(refusal))
}

async fn opened(
    turn: &Turn,
    path: String,
    offset: u64,
) -> wasmtime::Result<Result<Reading, Error>> {
    let begun = begin(turn, path.len(), 0, |space| async move { space.open_reader(&path).await })?;
    let (calls, answered) = match begun {
        Ok(begun) => begun,
        Err(error) => return Ok(Err(error)),
    };
    let opened = received(answered).await?.result;
    let held = opened.and_then(|reader| Ok((reader, calls.hold(STREAM_PIECE_BYTES)?)));
    match held {
        Ok((reader, held)) => offer(turn, Producer::new(calls, reader, offset, held)).map(Ok),
        Err(error) => Ok(Err(error)),
    }
}

/// Hands the guest its end of the stream.
fn offer(turn: &Turn, (file, producer, outcome): Offer) -> wasmtime::Result<Reading> {
    turn.with(|mut access| {
        let data = StreamReader::new(&mut access, producer)?;
        // A stream that is dropped before its end has nothing to report.
        let outcome = async { Ok::<_, wasmtime::Error>(outcome.await.unwrap_or(Ok(()))) };
        Ok(Reading { file, data, outcome: FutureReader::new(&mut access, outcome)? })
    })
}

type Outcome = Result<(), types::Error>;
/// What a guest gets of an open file, and how the host makes it.
type Offer = (FileAnswer, Producer, oneshot::Receiver<Outcome>);

/// Makes the stream, a piece at a time, as it is read. What is left of a piece is all that is
/// held between two reads.
struct Producer {
    calls: Calls,
    source: Source,
    /// Bytes of the file that were not fetched yet.
    left: u64,
    piece: Bytes,
    outcome: Option<oneshot::Sender<Outcome>>,
    _held: HeldMemory,
}

enum Source {
    Idle(Reader),
    Fetching(oneshot::Receiver<(Reader, Result<Bytes, Error>)>),
    Over,
}

impl Producer {
    fn new(calls: Calls, mut reader: Reader, offset: u64, held: HeldMemory) -> Offer {
        let file = reader.file().clone();
        reader.seek(offset);
        let (sender, outcome) = oneshot::channel();
        let producer = Self {
            calls,
            source: Source::Idle(reader),
            left: file.size.saturating_sub(offset),
            piece: Bytes::new(),
            outcome: Some(sender),
            _held: held,
        };
        (file.into(), producer, outcome)
    }

    /// The next piece; empty at the end.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Result<Bytes, Error>> {
        if self.left == 0 {
            self.source = Source::Over;
        }
        loop {
            match std::mem::replace(&mut self.source, Source::Over) {
                Source::Idle(reader) => self.source = Source::Fetching(self.fetch(reader)),
                Source::Fetching(mut fetched) => match fetched.poll_unpin(context) {
                    Poll::Ready(fetched) => return Poll::Ready(self.fetched(fetched)),
                    Poll::Pending => {
                        self.source = Source::Fetching(fetched);
                        return Poll::Pending;
                    }
                },
                Source::Over => return Poll::Ready(Ok(Bytes::new())),
            }
        }
    }

    fn fetch(&self, mut reader: Reader) -> oneshot::Receiver<(Reader, Result<Bytes, Error>)> {
        self.calls.run_part(async move {
            let piece = reader.read(STREAM_PIECE_BYTES as u32).await;
            (reader, piece)
        })
    }

    fn fetched(
        &mut self,
        fetched: Result<(Reader, Result<Bytes, Error>), oneshot::error::RecvError>,
    ) -> Result<Bytes, Error> {
        // Work is dropped unanswered only together with the turn.
        let over = |_| Error::new(ErrorCode::Closed, "turn-over", "this turn is over");
        let (reader, piece) = fetched.map_err(over)?;
        let piece = piece?;
        if piece.is_empty() {
            return Err(Error::new(ErrorCode::Conflict, "shorter", "the file has become shorter"));
        }
        self.left = self.left.saturating_sub(piece.len() as u64);
        self.source = Source::Idle(reader);
        Ok(piece)
    }

    /// The end of the stream, and why.
    fn end(&mut self, outcome: Outcome) -> StreamResult {
        self.source = Source::Over;
        if let Some(sender) = self.outcome.take() {
            // Nobody has to ask.
            let _ = sender.send(outcome);
        }
        StreamResult::Dropped
    }
}

impl StreamProducer<TurnState> for Producer {
    type Item = u8;
    type Buffer = Bytes;

    fn poll_produce<'a>(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut store: StoreContextMut<'a, TurnState>,
        destination: Destination<'a, u8, Bytes>,
        finish: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        if destination.remaining(&mut store) == Some(0) {
            return Poll::Ready(Ok(StreamResult::Completed));
        }
        if self.piece.is_empty() {
            self.piece = match self.poll_piece(context) {
                Poll::Ready(Ok(piece)) => piece,
                Poll::Ready(Err(error)) => return Poll::Ready(Ok(self.end(Err(refusal(error))))),
                Poll::Pending if finish => return Poll::Ready(Ok(StreamResult::Cancelled)),
                Poll::Pending => return Poll::Pending,
            };
        }
        let mut destination = destination.as_direct(store, self.piece.len());
        let room = destination.remaining();
        let taken = room.len().min(self.piece.len());
        room[..taken].copy_from_slice(&self.piece[..taken]);
        destination.mark_written(taken);
        self.piece.advance(taken);
        let is_over = self.piece.is_empty() && self.left == 0;
        Poll::Ready(Ok(if is_over { self.end(Ok(())) } else { StreamResult::Completed }))
    }
}
