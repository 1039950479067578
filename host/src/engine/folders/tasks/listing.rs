//! What is in a folder, as a stream of names.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt;
use tokio::sync::oneshot;
use wasmtime::StoreContextMut;
use wasmtime::component::{
    Access, Destination, FutureReader, StreamProducer, StreamReader, StreamResult, VecBuffer,
};

use super::types::DirectoryEntry;
use super::{Asked, Handle, Outcome, Tasks, over, told};
use crate::engine::folders::entries::Entries;
use crate::engine::folders::error::Answer;
use crate::engine::folders::shared::Shared;
use crate::engine::limiter::{HeldMemory, HostMemory};
use crate::engine::state::TurnState;
use crate::engine::tasks::Calls;
use crate::limits::LISTING_PAGE_FILES;
use crate::space::Error;

/// Names that are handed over at once, at most.
const NAMES: usize = 128;

/// Begins to read a folder. What speaks against it is told beside the stream.
pub(super) fn open(
    mut store: Access<'_, TurnState, Tasks>,
    handle: &Handle,
) -> wasmtime::Result<(StreamReader<DirectoryEntry>, FutureReader<Outcome>)> {
    let (outcome, said) = oneshot::channel();
    let names = match Asked::of(store.get(), handle).and_then(Place::of) {
        Ok((place, calls)) => {
            let (next, outcome) = (Next::Names(Box::new(Source::Unopened(place))), Some(outcome));
            StreamReader::new(&mut store, Listing { calls, next, outcome })?
        }
        Err(failure) => {
            // The other end is here.
            let _ = outcome.send(Err(failure));
            StreamReader::new(&mut store, std::iter::empty())?
        }
    };
    Ok((names, FutureReader::new(&mut store, told(said))?))
}

/// A folder that is to be read.
struct Place {
    folder: String,
    folders: Shared,
    memory: Arc<HostMemory>,
}

impl Place {
    fn of(asked: Asked) -> Answer<(Self, Calls)> {
        let Asked { descriptor, folders, calls } = asked;
        let memory = calls.memory();
        Ok((Self { folder: descriptor.folder()?, folders, memory }, calls))
    }

    /// What is held of it counts with the memories of all guests.
    async fn open(self) -> Answer<(Entries, HeldMemory)> {
        let listed = self.folders.look().await.entries(&self.folder, LISTING_PAGE_FILES).await?;
        let held = self.memory.hold(listed.bytes_held_max()).ok_or_else(Error::busy)?;
        Ok((listed, held))
    }
}

enum Source {
    Unopened(Place),
    Open(Entries, HeldMemory),
}

impl Source {
    /// Some more names; none after the last.
    async fn names(self: Box<Self>, most: usize) -> Answer<(Box<Self>, Vec<DirectoryEntry>)> {
        let (mut entries, held) = match *self {
            Self::Unopened(place) => place.open().await?,
            Self::Open(entries, held) => (entries, held),
        };
        let mut names = Vec::new();
        while names.len() < most
            && let Some(entry) = entries.next().await?
        {
            names.push(entry.into());
        }
        Ok((Box::new(Self::Open(entries, held)), names))
    }
}

type Named = Answer<(Box<Source>, Vec<DirectoryEntry>)>;

/// Makes the stream, some names at a time, as they are asked for.
struct Listing {
    calls: Calls,
    next: Next,
    outcome: Option<oneshot::Sender<Answer<()>>>,
}

enum Next {
    Names(Box<Source>),
    /// A read that is given up leaves them to the next one.
    Fetching(oneshot::Receiver<Named>),
    Over,
}

impl Listing {
    fn poll_names(
        &mut self,
        context: &mut Context<'_>,
        most: usize,
    ) -> Poll<Answer<Vec<DirectoryEntry>>> {
        let mut fetching = match std::mem::replace(&mut self.next, Next::Over) {
            Next::Names(source) => self.calls.run_part(source.names(most)),
            Next::Fetching(fetching) => fetching,
            Next::Over => return Poll::Ready(Ok(Vec::new())),
        };
        let Poll::Ready(fetched) = fetching.poll_unpin(context) else {
            self.next = Next::Fetching(fetching);
            return Poll::Pending;
        };
        let (source, names) = fetched.map_err(over)??;
        self.next = Next::Names(source);
        Poll::Ready(Ok(names))
    }

    /// The end of the stream, and why.
    fn end(&mut self, outcome: Answer<()>) -> StreamResult {
        self.next = Next::Over;
        if let Some(sender) = self.outcome.take() {
            // Nobody has to ask.
            let _ = sender.send(outcome);
        }
        StreamResult::Dropped
    }
}

impl StreamProducer<TurnState> for Listing {
    type Item = DirectoryEntry;
    type Buffer = VecBuffer<DirectoryEntry>;

    fn poll_produce<'a>(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut store: StoreContextMut<'a, TurnState>,
        mut destination: Destination<'a, DirectoryEntry, VecBuffer<DirectoryEntry>>,
        finish: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        let room = destination.remaining(&mut store);
        if room == Some(0) {
            return Poll::Ready(Ok(StreamResult::Completed));
        }
        let most = room.unwrap_or(NAMES).min(NAMES);
        let names = match self.poll_names(context, most) {
            Poll::Ready(Ok(names)) => names,
            Poll::Ready(Err(failure)) => return Poll::Ready(Ok(self.end(Err(failure)))),
            Poll::Pending if finish => return Poll::Ready(Ok(StreamResult::Cancelled)),
            Poll::Pending => return Poll::Pending,
        };
        if names.is_empty() {
            return Poll::Ready(Ok(self.end(Ok(()))));
        }
        destination.set_buffer(names.into());
        Poll::Ready(Ok(StreamResult::Completed))
    }
}
