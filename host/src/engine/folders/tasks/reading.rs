//! A file as a stream that a guest reads.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::FutureExt;
use tokio::sync::oneshot;
use wasmtime::StoreContextMut;
use wasmtime::component::{
    Access, Destination, FutureReader, StreamProducer, StreamReader, StreamResult,
};

use super::{Asked, Handle, Outcome, Tasks, checked, over, told};
use crate::engine::folders::error::{Answer, Failure};
use crate::engine::folders::file::OpenFile;
use crate::engine::state::TurnState;
use crate::engine::tasks::{Calls, Done, HeldAnswer};
use crate::limits::STREAM_PIECE_BYTES;

/// What is fetched for who does not say how much it takes, in bytes.
const PIECE_BYTES: usize = 64 << 10;

/// Begins to read a file from an offset on. What speaks against it is told beside the stream.
pub(super) fn open(
    mut store: Access<'_, TurnState, Tasks>,
    handle: &Handle,
    offset: u64,
) -> wasmtime::Result<(StreamReader<u8>, FutureReader<Outcome>)> {
    let (outcome, said) = oneshot::channel();
    let data = match opened(store.get(), handle, offset) {
        Ok((file, calls)) => {
            let outcome = Some(outcome);
            let reading = Reading { file, calls, offset, fetching: None, outcome };
            StreamReader::new(&mut store, reading)?
        }
        Err(failure) => {
            // The other end is here.
            let _ = outcome.send(Err(failure));
            StreamReader::new(&mut store, std::iter::empty())?
        }
    };
    Ok((data, FutureReader::new(&mut store, told(said))?))
}

fn opened(state: &mut TurnState, handle: &Handle, offset: u64) -> Answer<(Arc<OpenFile>, Calls)> {
    let asked = Asked::of(state, handle)?;
    let file = asked.descriptor.to_read()?.clone();
    checked(offset)?;
    Ok((file, asked.calls))
}

/// Makes the stream, a piece at a time, as it is read: nothing of it is held between two reads.
struct Reading {
    file: Arc<OpenFile>,
    calls: Calls,
    offset: u64,
    fetching: Option<Fetching>,
    outcome: Option<oneshot::Sender<Answer<()>>>,
}

type Fetching = oneshot::Receiver<Done<Bytes, Failure>>;

impl Reading {
    /// Each piece is one of the turn's calls.
    fn fetch(&self, room: Option<usize>) -> Answer<Fetching> {
        let length = room.unwrap_or(PIECE_BYTES).min(STREAM_PIECE_BYTES);
        let started = self.calls.start(0)?;
        let (file, offset) = (self.file.clone(), self.offset);
        let read = async move { file.lock().await.read(offset, length as u64).await };
        // To read what was written may move it to where it is read from: not half.
        Ok(self.calls.carry_out(started, length, read))
    }

    /// The next piece, for so much room; empty at the end.
    fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
        room: Option<usize>,
    ) -> Poll<Answer<(Bytes, HeldAnswer)>> {
        let fetching = match self.fetching.take() {
            Some(fetching) => fetching,
            None => self.fetch(room)?,
        };
        let fetched = ready!(self.fetching.insert(fetching).poll_unpin(context));
        self.fetching = None;
        let (piece, held) = fetched.map_err(over)?.parts();
        Poll::Ready(piece.map(|piece| (piece, held)))
    }

    /// The end of the stream, and why.
    fn end(&mut self, outcome: Answer<()>) -> StreamResult {
        if let Some(sender) = self.outcome.take() {
            // Nobody has to ask.
            let _ = sender.send(outcome);
        }
        StreamResult::Dropped
    }
}

impl StreamProducer<TurnState> for Reading {
    type Item = u8;
    type Buffer = Bytes;

    fn poll_produce<'a>(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut store: StoreContextMut<'a, TurnState>,
        destination: Destination<'a, u8, Bytes>,
        finish: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        let room = destination.remaining(&mut store);
        if room == Some(0) {
            return Poll::Ready(Ok(StreamResult::Completed));
        }
        let (piece, _held) = match self.poll_piece(context, room) {
            Poll::Ready(Ok(piece)) => piece,
            Poll::Ready(Err(failure)) => return Poll::Ready(Ok(self.end(Err(failure)))),
            Poll::Pending if finish => {
                // It can be read again.
                self.fetching = None;
                return Poll::Ready(Ok(StreamResult::Cancelled));
            }
            Poll::Pending => return Poll::Pending,
        };
        if piece.is_empty() {
            return Poll::Ready(Ok(self.end(Ok(()))));
        }
        let mut destination = destination.as_direct(store, piece.len());
        let room = destination.remaining();
        let taken = room.len().min(piece.len());
        room[..taken].copy_from_slice(&piece[..taken]);
        destination.mark_written(taken);
        self.offset = self.offset.saturating_add(taken as u64);
        Poll::Ready(Ok(StreamResult::Completed))
    }
}
