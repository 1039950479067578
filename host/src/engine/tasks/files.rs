//! `bailiwick:storage/async-files` over a space.

use tokio::sync::oneshot;
use wasmtime::component::{Accessor, FutureReader, HasSelf, StreamReader};

use super::bindings::bailiwick::storage::async_files::{self, Reading};
use super::calls::{Calls, Done};
use super::{reading, writing};
use crate::engine::bindings::bailiwick::storage::{files, types};
use crate::engine::convert::refusal;
use crate::engine::state::TurnState;
use crate::limits::{PAGE_FILES_MAX, PATH_REST_BYTES_MAX, READ_BYTES_MAX};
use crate::space::{Error, Space};

/// Where a call gets at its turn.
pub(super) type Turn = Accessor<TurnState, HasSelf<TurnState>>;
/// The answer of a call: what it is for, or a refusal; or the end of the turn.
type Answer<T> = wasmtime::Result<Result<T, types::Error>>;

/// Most bytes of what is said of one file: its path, revision and media type.
const FILE_BYTES: usize = PATH_REST_BYTES_MAX + 512;

impl async_files::Host for TurnState {}

impl async_files::HostWithStore<TurnState> for HasSelf<TurnState> {
    async fn read(turn: &Turn, path: String, offset: u64, length: u32) -> Answer<files::Chunk> {
        let answer_bytes = length.min(READ_BYTES_MAX) as usize + FILE_BYTES;
        call(turn, path.len(), answer_bytes, |space| async move {
            space.read(&path, offset, length).await
        })
        .await
    }

    async fn write(
        turn: &Turn,
        path: String,
        bytes: Vec<u8>,
        precondition: types::Precondition,
    ) -> Answer<types::File> {
        let arguments = path.len() + bytes.len() + size(&precondition);
        call(turn, arguments, FILE_BYTES, |space| async move {
            space.write(&path, bytes.into(), precondition.into()).await
        })
        .await
    }

    async fn delete(turn: &Turn, path: String, precondition: types::Precondition) -> Answer<()> {
        let arguments = path.len() + size(&precondition);
        call(
            turn,
            arguments,
            0,
            |space| async move { space.delete(&path, precondition.into()).await },
        )
        .await
    }

    async fn stat(turn: &Turn, path: String) -> Answer<types::File> {
        call(turn, path.len(), FILE_BYTES, |space| async move { space.stat(&path).await }).await
    }

    async fn list_files(
        turn: &Turn,
        folder: String,
        depth: files::Depth,
        after: Option<String>,
        limit: u32,
    ) -> Answer<files::Page> {
        let arguments = folder.len() + after.as_ref().map_or(0, String::len);
        let answer_bytes = limit.min(PAGE_FILES_MAX) as usize * FILE_BYTES;
        call(turn, arguments, answer_bytes, |space| async move {
            space.list(&folder, depth.into(), after.as_deref(), limit).await
        })
        .await
    }

    async fn copy(
        turn: &Turn,
        source: String,
        target: String,
        precondition: types::Precondition,
    ) -> Answer<types::File> {
        let arguments = source.len() + target.len() + size(&precondition);
        call(turn, arguments, FILE_BYTES, |space| async move {
            space.copy(&source, &target, precondition.into()).await
        })
        .await
    }

    async fn move_(
        turn: &Turn,
        source: String,
        target: String,
        precondition: types::Precondition,
    ) -> Answer<types::File> {
        let arguments = source.len() + target.len() + size(&precondition);
        call(turn, arguments, FILE_BYTES, |space| async move {
            space.relocate(&source, &target, precondition.into()).await
        })
        .await
    }

    async fn read_stream(turn: &Turn, path: String, offset: u64) -> Answer<Reading> {
        reading::open(turn, path, offset).await
    }

    async fn write_stream(
        turn: &Turn,
        path: String,
        precondition: types::Precondition,
        data: StreamReader<u8>,
        size: FutureReader<Option<u64>>,
    ) -> Answer<types::File> {
        writing::write(turn, path, precondition, data, size).await
    }
}

/// Bytes of a precondition that the guest chose.
pub(super) fn size(precondition: &types::Precondition) -> usize {
    match precondition {
        types::Precondition::Always | types::Precondition::IfAbsent => 0,
        types::Precondition::IfRevision(revision) => revision.len(),
    }
}

/// Runs a verb of the turn's space as one of its calls.
async fn call<T, U, W>(
    turn: &Turn,
    argument_bytes: usize,
    answer_bytes: usize,
    verb: impl FnOnce(Space) -> W,
) -> Answer<U>
where
    T: Into<U> + Send + 'static,
    W: Future<Output = Result<T, Error>> + Send + 'static,
{
    let done = match begin(turn, argument_bytes, answer_bytes, verb)? {
        Ok((_, answered)) => received(answered).await?,
        Err(error) => return Ok(Err(refusal(error))),
    };
    Ok(done.result.map(Into::into).map_err(refusal))
}

/// A call that was begun, among the turn's others.
type Begun<T> = (Calls, oneshot::Receiver<Done<T>>);

/// Begins a call; or says why it is not let in.
pub(super) fn begin<T, W>(
    turn: &Turn,
    argument_bytes: usize,
    answer_bytes: usize,
    verb: impl FnOnce(Space) -> W,
) -> wasmtime::Result<Result<Begun<T>, Error>>
where
    T: Send + 'static,
    W: Future<Output = Result<T, Error>> + Send + 'static,
{
    let (space, calls) = turn.with(|mut access| {
        let state = access.get();
        (state.space().clone(), state.calls.clone())
    });
    let calls = calls.ok_or_else(|| wasmtime::format_err!("this turn has no overlapping calls"))?;
    Ok(calls.start(argument_bytes).map(|started| {
        let answered = calls.run(started, answer_bytes, verb(space));
        (calls, answered)
    }))
}

/// What came of work that was begun.
pub(super) async fn received<T>(answered: oneshot::Receiver<T>) -> wasmtime::Result<T> {
    // It is dropped unanswered only together with the turn.
    answered.await.map_err(|_| wasmtime::format_err!("the turn is over"))
}
