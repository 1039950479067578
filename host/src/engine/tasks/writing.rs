//! A file as a stream that a guest writes.

use std::pin::Pin;
use std::pin::pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::StreamExt;
use futures::channel::mpsc;
use tokio::sync::oneshot;
use wasmtime::StoreContextMut;
use wasmtime::component::{
    FutureConsumer, FutureReader, Source, StreamConsumer, StreamReader, StreamResult,
};

use super::calls::Calls;
use super::files::{Turn, begin, count, received, size};
use crate::buffer::Buffer;
use crate::engine::bindings::bailiwick::storage::types;
use crate::engine::convert::refusal;
use crate::engine::files::FileAnswer;
use crate::engine::invocations::Called;
use crate::engine::state::TurnState;
use crate::limits::STREAM_PIECE_BYTES;
use crate::space::{Error, ErrorCode, File, Writer};

/// Pieces of a stream that the host holds at most: one that is being written, and two that wait.
const PIECES: usize = 3;

/// Writes a file of what the guest hands over, and makes it once all of it is there.
pub(super) async fn write(
    turn: &Turn,
    path: String,
    precondition: types::Precondition,
    data: StreamReader<u8>,
    size_of_all: FutureReader<Option<u64>>,
) -> wasmtime::Result<Result<FileAnswer, types::Error>> {
    // Whatever comes of the call, both of its ends are taken care of.
    let (pieces, given) = mpsc::channel(0);
    let (said, size_said) = oneshot::channel();
    turn.with(|mut access| {
        data.pipe(&mut access, Pieces(pieces))?;
        size_of_all.pipe(&mut access, Size(Some(said)))
    })?;
    let mut called = Called::of("async-files.write-stream", &path);
    let written = written(turn, path, precondition, (given, size_said));
    let written = called.during(pin!(written)).await?;
    count(turn, called, &written, written.as_ref().map_or(0, |file| file.size));
    Ok(written.map(Into::into).map_err(refusal))
}

/// What the guest hands over, and what it says of its size.
type Given = (mpsc::Receiver<Bytes>, oneshot::Receiver<Option<u64>>);

async fn written(
    turn: &Turn,
    path: String,
    precondition: types::Precondition,
    (given, size_said): Given,
) -> wasmtime::Result<Result<File, Error>> {
    let arguments = path.len() + size(&precondition);
    let begun = begin(turn, arguments, 0, |space| async move {
        space.open_writer(&path, precondition.into()).await
    })?;
    let (calls, answered) = match begun {
        Ok(begun) => begun,
        Err(error) => return Ok(Err(error)),
    };
    let opened = received(answered).await?.result;
    let held = opened.and_then(|writer| Ok((writer, calls.hold(PIECES * STREAM_PIECE_BYTES)?)));
    let (writer, _held) = match held {
        Ok(held) => held,
        Err(error) => return Ok(Err(error)),
    };
    Transfer { calls, writer }.run(given, size_said).await
}

/// A writer, and the turn's calls, which do its work.
struct Transfer {
    calls: Calls,
    writer: Writer,
}

impl Transfer {
    async fn run(
        mut self,
        mut given: mpsc::Receiver<Bytes>,
        size_said: oneshot::Receiver<Option<u64>>,
    ) -> wasmtime::Result<Result<File, Error>> {
        let mut bytes = 0_u64;
        while let Some(piece) = given.next().await {
            bytes = bytes.saturating_add(piece.len() as u64);
            self = match self.write(piece).await? {
                Ok(transfer) => transfer,
                Err(error) => return Ok(Err(error)),
            };
        }
        // Without a word the writer is dropped, and the upload with it.
        match size_said.await.ok().flatten() {
            Some(size) if size == bytes => self.finish().await,
            said => Ok(Err(incomplete(said, bytes))),
        }
    }

    async fn write(self, piece: Bytes) -> wasmtime::Result<Result<Self, Error>> {
        let Self { calls, mut writer } = self;
        let written = calls.run_part(async move {
            let result = writer.write(piece).await;
            result.map(|()| writer)
        });
        Ok(received(written).await?.map(|writer| Self { calls, writer }))
    }

    async fn finish(self) -> wasmtime::Result<Result<File, Error>> {
        let Self { calls, mut writer } = self;
        received(calls.run_part(async move { writer.finish().await })).await
    }
}

fn incomplete(said: Option<u64>, bytes: u64) -> Error {
    let message = match said {
        Some(size) => format!("the stream had {bytes} bytes and not {size}: nothing was written"),
        None => "the stream was given up: nothing was written".to_owned(),
    };
    Error::new(ErrorCode::Closed, "incomplete", message)
}

/// Takes a stream, a piece at a time, no faster than it is written.
struct Pieces(mpsc::Sender<Bytes>);

impl StreamConsumer<TurnState> for Pieces {
    type Item = u8;

    fn poll_consume(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        store: StoreContextMut<'_, TurnState>,
        source: Source<'_, u8>,
        finish: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        match self.0.poll_ready(context) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) => return Poll::Ready(Ok(StreamResult::Dropped)),
            Poll::Pending if finish => return Poll::Ready(Ok(StreamResult::Cancelled)),
            Poll::Pending => return Poll::Pending,
        }
        let mut source = source.as_direct(store);
        let bytes = source.remaining();
        let taken = bytes.len().min(STREAM_PIECE_BYTES);
        if taken == 0 {
            return Poll::Ready(Ok(StreamResult::Completed));
        }
        let piece = Buffer::of(&bytes[..taken]).freeze();
        source.mark_read(taken);
        let is_taken = self.0.start_send(piece).is_ok();
        Poll::Ready(Ok(if is_taken { StreamResult::Completed } else { StreamResult::Dropped }))
    }
}

/// Takes the size that the guest says the stream had.
struct Size(Option<oneshot::Sender<Option<u64>>>);

impl FutureConsumer<TurnState> for Size {
    type Item = Option<u64>;

    fn poll_consume(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        store: StoreContextMut<'_, TurnState>,
        mut source: Source<'_, Option<u64>>,
        _: bool,
    ) -> Poll<wasmtime::Result<()>> {
        let mut said = None;
        source.read(store, &mut said)?;
        if let (Some(said), Some(sender)) = (said, self.0.take()) {
            // If the call is over, it is of no use.
            let _ = sender.send(said);
        }
        Poll::Ready(Ok(()))
    }
}
