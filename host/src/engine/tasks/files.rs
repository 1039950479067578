//! `bailiwick:storage/async-files` over a space.

use std::pin::pin;

use bytes::Bytes;
use tokio::sync::oneshot;
use wasmtime::component::{Access, Accessor, Linker, LinkerInstance, WasmList};

use super::calls::{Calls, Done};
use super::{reading, writing};
use crate::engine::bindings::bailiwick::storage::files::Depth;
use crate::engine::bindings::bailiwick::storage::types;
use crate::engine::convert::refusal;
use crate::engine::files::{ChunkAnswer, FileAnswer, PageAnswer};
use crate::engine::invocations::{Called, Moved, outcome_of_verb};
use crate::engine::state::TurnState;
use crate::limits::{PAGE_FILES_MAX, PATH_REST_BYTES_MAX, READ_BYTES_MAX};
use crate::space::{Error, Space};

/// Where a call gets at its turn.
pub(super) type Turn = Accessor<TurnState>;
/// The answer of a call: what it is for, or a refusal; or the end of the turn.
type Answer<T> = wasmtime::Result<(Result<T, types::Error>,)>;

/// Most bytes of what is said of one file: its path, revision and media type.
const FILE_BYTES: usize = PATH_REST_BYTES_MAX + 512;

/// Adds the interface to what a guest may import. Linked by hand, as `files` is.
pub(in crate::engine) fn add_to_linker(linker: &mut Linker<TurnState>) -> wasmtime::Result<()> {
    let mut files = linker.instance("bailiwick:storage/async-files@0.1.0")?;
    add_content(&mut files)?;
    add_names(&mut files)?;
    files.func_wrap_concurrent("read-stream", |turn: &Turn, (path, offset)| {
        Box::pin(async move { Ok((reading::open(turn, path, offset).await?,)) })
    })?;
    files.func_wrap_concurrent("write-stream", |turn: &Turn, (path, when, data, size)| {
        Box::pin(async move { Ok((writing::write(turn, path, when, data, size).await?,)) })
    })
}

/// Verbs that move bytes.
fn add_content(files: &mut LinkerInstance<'_, TurnState>) -> wasmtime::Result<()> {
    files.func_wrap_concurrent(
        "read",
        |turn: &Turn, (path, offset, length): (String, _, u32)| {
            let answer_bytes = length.min(READ_BYTES_MAX) as usize + FILE_BYTES;
            let called = Called::of("async-files.read", &path);
            Box::pin(call::<_, ChunkAnswer, _>(
                turn,
                called,
                path.len(),
                answer_bytes,
                move |space| async move { space.read(&path, offset, length).await },
            ))
        },
    )?;
    files.func_wrap_concurrent("write", |turn: &Turn, (path, list, when): WriteArguments| {
        let arguments = path.len() + list.len() + size(&when);
        let called = Called::of("async-files.write", &path);
        Box::pin(call::<_, FileAnswer, _>(turn, called, arguments, FILE_BYTES, move |space| {
            // Copied once the call is let in: one that is refused costs nothing.
            let bytes =
                |store: Access<'_, TurnState>| Bytes::copy_from_slice(list.as_le_slice(&store));
            let bytes = turn.with(bytes);
            async move { space.write(path, bytes, when.into()).await }
        }))
    })
}

/// Verbs that move none.
fn add_names(files: &mut LinkerInstance<'_, TurnState>) -> wasmtime::Result<()> {
    files.func_wrap_concurrent("delete", |turn: &Turn, (path, when): (String, _)| {
        let arguments = path.len() + size(&when);
        let called = Called::of("async-files.delete", &path);
        Box::pin(call::<_, (), _>(turn, called, arguments, 0, move |space| async move {
            space.delete(&path, when.into()).await
        }))
    })?;
    files.func_wrap_concurrent("stat", |turn: &Turn, (path,): (String,)| {
        let called = Called::of("async-files.stat", &path);
        let arguments = path.len();
        Box::pin(call::<_, FileAnswer, _>(
            turn,
            called,
            arguments,
            FILE_BYTES,
            move |space| async move { space.stat(path).await },
        ))
    })?;
    files.func_wrap_concurrent("list-files", |turn: &Turn, list: ListArguments| {
        let (folder, depth, after, limit) = list;
        let arguments = folder.len() + after.as_ref().map_or(0, String::len);
        let answer_bytes = limit.min(PAGE_FILES_MAX) as usize * FILE_BYTES;
        let called = Called::of("async-files.list-files", &folder);
        Box::pin(call::<_, PageAnswer, _>(turn, called, arguments, answer_bytes, move |space| async move {
            space.list(&folder, depth.into(), after.as_deref(), limit).await
        }))
    })?;
    files.func_wrap_concurrent("copy", |turn: &Turn, (source, target, when): CopyArguments| {
        let arguments = source.len() + target.len() + size(&when);
        let called = Called::of("async-files.copy", &source);
        Box::pin(call::<_, FileAnswer, _>(
            turn,
            called,
            arguments,
            FILE_BYTES,
            move |space| async move { space.copy(&source, &target, when.into()).await },
        ))
    })?;
    files.func_wrap_concurrent("move", |turn: &Turn, (source, target, when): CopyArguments| {
        let arguments = source.len() + target.len() + size(&when);
        let called = Called::of("async-files.move", &source);
        Box::pin(call::<_, FileAnswer, _>(
            turn,
            called,
            arguments,
            FILE_BYTES,
            move |space| async move { space.relocate(&source, &target, when.into()).await },
        ))
    })
}

type WriteArguments = (String, WasmList<u8>, types::Precondition);
type ListArguments = (String, Depth, Option<String>, u32);
type CopyArguments = (String, String, types::Precondition);

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
    mut called: Called,
    argument_bytes: usize,
    answer_bytes: usize,
    verb: impl FnOnce(Space) -> W,
) -> Answer<U>
where
    T: Into<U> + Send + 'static,
    U: Moved,
    W: Future<Output = Result<T, Error>> + Send + 'static,
{
    let (done, _held) = match begin(turn, argument_bytes, answer_bytes, verb)? {
        Ok((_, answered)) => called.during(pin!(received(answered))).await?.parts(),
        Err(error) => (Err(error), None),
    };
    let done: Result<U, Error> = done.map(Into::into);
    count(turn, called, &done, done.as_ref().map_or(0, Moved::bytes));
    Ok((done.map_err(refusal),))
}

/// Notes what came of a call.
pub(super) fn count<T>(turn: &Turn, called: Called, done: &Result<T, Error>, bytes: u64) {
    let outcome = outcome_of_verb(done);
    turn.with(|mut access| access.get().invocations.count(called, outcome, bytes));
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
