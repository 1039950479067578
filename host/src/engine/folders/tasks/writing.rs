//! A file as a stream that a guest writes. A stream is a handle of its file: who drops the
//! descriptor before has not closed it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::FutureExt;
use tokio::sync::oneshot;
use wasmtime::StoreContextMut;
use wasmtime::component::{
    Access, FutureReader, Source, StreamConsumer, StreamReader, StreamResult,
};

use super::{Asked, Handle, Outcome, Tasks, checked, over, told};
use crate::engine::folders::error::{Answer, Failure};
use crate::engine::folders::file::{OpenFile, State};
use crate::engine::folders::shared::Shared;
use crate::engine::folders::streams::At;
use crate::engine::state::TurnState;
use crate::engine::tasks::{Calls, Done};
use crate::limits::GATHERED_PIECE_BYTES;

/// Begins to write a file. What speaks against it, and what became of it, is told in the end.
pub(super) fn open(
    mut store: Access<'_, TurnState, Tasks>,
    handle: &Handle,
    mut data: StreamReader<u8>,
    at: At,
) -> wasmtime::Result<FutureReader<Outcome>> {
    let (outcome, said) = oneshot::channel();
    match opened(store.get(), handle, at) {
        Ok((asked, file)) => {
            file.open();
            let Asked { folders, calls, .. } = asked;
            let (next, outcome) = (Next::Prepare, Some(outcome));
            data.pipe(&mut store, Writing { file, folders, calls, at, next, outcome })?;
        }
        Err(failure) => {
            data.close(&mut store)?;
            // The other end is here.
            let _ = outcome.send(Err(failure));
        }
    }
    FutureReader::new(&mut store, told(said))
}

fn opened(state: &mut TurnState, handle: &Handle, at: At) -> Answer<(Asked, Arc<OpenFile>)> {
    let asked = Asked::of(state, handle)?;
    let file = asked.descriptor.clone().file()?.to_write()?.clone();
    if let At::Offset(offset) = at {
        checked(offset)?;
    }
    Ok((asked, file))
}

/// Takes the stream, as much at a time as its file takes at once: nothing of it waits here.
struct Writing {
    file: Arc<OpenFile>,
    folders: Shared,
    calls: Calls,
    at: At,
    next: Next,
    outcome: Option<oneshot::Sender<Answer<()>>>,
}

/// What has to happen before bytes are taken.
enum Next {
    /// The file has to be made one that can be written.
    Prepare,
    Preparing(oneshot::Receiver<Done<(), Failure>>),
    /// Nothing, unless somebody else has the file in hand, or it has no room.
    Take,
}

impl Writing {
    /// Each time it is one of the turn's calls.
    fn prepare(&self) -> Answer<oneshot::Receiver<Done<(), Failure>>> {
        let started = self.calls.start(0)?;
        let (file, folders) = (self.file.clone(), self.folders.clone());
        let prepare = async move {
            file.lock().await.prepare_to_write().await?;
            folders.written(&file).await;
            Ok(())
        };
        Ok(self.calls.carry_out(started, 0, prepare))
    }

    fn poll_prepared(&mut self, context: &mut Context<'_>) -> Poll<Answer<()>> {
        if let Next::Prepare = self.next {
            self.next = Next::Preparing(self.prepare()?);
        }
        if let Next::Preparing(prepared) = &mut self.next {
            let prepared = ready!(prepared.poll_unpin(context));
            self.next = Next::Take;
            prepared.map_err(over)?.parts().0?;
        }
        Poll::Ready(Ok(()))
    }

    /// Takes as many of the bytes as there is room for; none where that has to be made first.
    fn take(&mut self, bytes: &[u8]) -> Answer<Option<usize>> {
        let Ok(mut state) = self.file.lock_now() else { return Ok(None) };
        let taken = bytes.len().min(state.room()).min(GATHERED_PIECE_BYTES);
        if taken == 0 {
            // Who hands over nothing asks whether there is room.
            return Ok((bytes.is_empty() && state.room() > 0).then_some(0));
        }
        put(&mut state, &mut self.at, Bytes::copy_from_slice(&bytes[..taken]))?;
        Ok(Some(taken))
    }

    /// The end of the stream, for a reason.
    fn fail(&mut self, failure: Failure) -> StreamResult {
        if let Some(sender) = self.outcome.take() {
            // Nobody has to ask.
            let _ = sender.send(Err(failure));
        }
        StreamResult::Dropped
    }
}

fn put(state: &mut State, at: &mut At, bytes: Bytes) -> Answer<()> {
    match at {
        At::End => state.write_now(None, bytes).map(|_| ()),
        At::Offset(offset) => {
            let written = state.write_now(Some(*offset), bytes)?;
            *offset = offset.saturating_add(written);
            Ok(())
        }
    }
}

impl StreamConsumer<TurnState> for Writing {
    type Item = u8;

    fn poll_consume(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        store: StoreContextMut<'_, TurnState>,
        source: Source<'_, u8>,
        finish: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        let mut source = source.as_direct(store);
        loop {
            match self.poll_prepared(context) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(failure)) => return Poll::Ready(Ok(self.fail(failure))),
                Poll::Pending if finish => return Poll::Ready(Ok(StreamResult::Cancelled)),
                Poll::Pending => return Poll::Pending,
            }
            match self.take(source.remaining()) {
                Ok(Some(taken)) => {
                    source.mark_read(taken);
                    return Poll::Ready(Ok(StreamResult::Completed));
                }
                Ok(None) => self.next = Next::Prepare,
                Err(failure) => return Poll::Ready(Ok(self.fail(failure))),
            }
        }
    }
}

/// The stream is over: its handle is closed, and what comes of that is told.
impl Drop for Writing {
    fn drop(&mut self) {
        let outcome = self.outcome.take();
        self.folders.let_go(self.file.clone(), outcome, &self.calls);
    }
}
