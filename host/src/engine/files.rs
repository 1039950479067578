//! `bailiwick:storage/files` over a space. Linked by hand: generated bindings know a list of bytes
//! as a `Vec` and a text as a `String`, so that what a store hands out would be copied once more
//! before it is copied into the guest.

use std::pin::pin;

use bytes::Bytes;
use wasmtime::component::{
    ComponentType, Linker, LinkerInstance, Lower, Resource, ResourceTableError, ResourceType,
    WasmList,
};
use wasmtime::{Result, StoreContextMut};

use super::bindings::bailiwick::storage::files::Depth;
use super::bindings::bailiwick::storage::types;
use super::convert::{Failure, answer};
use super::invocations::{Called, Moved, outcome_of};
use super::state::TurnState;
use crate::buffer::Buffer;
use crate::limits::WRITER_CALL_BYTES_MAX;
use crate::space::{Chunk, Error, ErrorCode, File, Page, Reader, Writer};

const INTERFACE: &str = "bailiwick:storage/files@0.1.0";

/// A guest's reader. The file stays known when the reader is closed.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct ReaderHandle {
    file: File,
    open: Option<Reader>,
}

/// A guest's writer; it knows itself when it is over.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct WriterHandle(Writer);

/// The record `file`.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct FileAnswer {
    path: String,
    size: u64,
    revision: String,
    #[component(name = "modified-ms")]
    modified_ms: u64,
    #[component(name = "media-type")]
    media_type: &'static str,
}

impl From<File> for FileAnswer {
    fn from(file: File) -> Self {
        let File { path, size, revision, modified_ms, media_type } = file;
        Self { path, size, revision: revision.0, modified_ms, media_type }
    }
}

/// The record `chunk`.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct ChunkAnswer {
    bytes: Bytes,
    size: u64,
    revision: String,
}

impl Moved for ChunkAnswer {
    fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }
}

impl From<Chunk> for ChunkAnswer {
    fn from(chunk: Chunk) -> Self {
        let Chunk { bytes, size, revision } = chunk;
        Self { bytes, size, revision: revision.0 }
    }
}

/// The record `page`.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct PageAnswer {
    files: Vec<FileAnswer>,
    folders: Vec<String>,
    next: Option<String>,
}

impl From<Page> for PageAnswer {
    fn from(page: Page) -> Self {
        let Page { files, folders, next } = page;
        Self { files: files.into_iter().map(Into::into).collect(), folders, next }
    }
}

/// Links a function that answers with a `result`; its body may use `?` on errors of a space. Its first
/// argument names what it is about.
macro_rules! verb {
    (
        $files:ident, $name:literal,
        |$state:ident, $named:ident: $first:ty $(, $argument:ident: $kind:ty)*| $body:expr
    ) => {
        $files.func_wrap_async(
            $name,
            |mut store: StoreContextMut<'_, TurnState>,
             ($named, $($argument,)*): ($first, $($kind,)*)| {
                Box::new(async move {
                    let $state = store.data_mut();
                    let mut called = Called::of(concat!("files.", $name), &$named);
                    let done: Result<_, Failure> = called.during(pin!(async { Ok($body) })).await;
                    $state.count_done(called, &done);
                    Ok((answer(done)?,))
                })
            },
        )?
    };
}

/// Adds the interface to what a guest may import.
pub(super) fn add_to_linker(linker: &mut Linker<TurnState>) -> Result<()> {
    let mut files = linker.instance(INTERFACE)?;
    files.func_wrap("mounts", |mut store: StoreContextMut<'_, TurnState>, (): ()| {
        let mounts = store.data_mut().space().mounts().into_iter();
        Ok((mounts.map(Into::into).collect::<Vec<types::Mount>>(),))
    })?;
    add_verbs(&mut files)?;
    add_reader(&mut files)?;
    add_writer(&mut files)
}

fn add_verbs(files: &mut LinkerInstance<'_, TurnState>) -> Result<()> {
    verb!(files, "read", |state, path: String, offset: u64, length: u32| {
        ChunkAnswer::from(state.space().read(&path, offset, length).await?)
    });
    files.func_wrap_async(
        "write",
        |mut store: StoreContextMut<'_, TurnState>, (path, bytes, when): WriteArguments| {
            Box::new(async move {
                let state = store.data_mut();
                let mut called = Called::of("files.write", &path);
                let done = called.during(pin!(state.space().write(path, bytes, when.into()))).await;
                let done: Result<_, Failure> = done.map_err(Into::into);
                let moved = done.as_ref().map_or(0, |file| file.size);
                state.invocations.count(called, outcome_of(&done), moved);
                Ok((answer(done.map(FileAnswer::from))?,))
            })
        },
    )?;
    verb!(files, "delete", |state, path: String, when: types::Precondition| {
        state.space().delete(&path, when.into()).await?
    });
    verb!(files, "stat", |state, path: String| {
        FileAnswer::from(state.space().stat(path).await?)
    });
    verb!(files, "list-files", |state,
                                folder: String,
                                depth: Depth,
                                after: Option<String>,
                                limit: u32| {
        PageAnswer::from(state.space().list(&folder, depth.into(), after.as_deref(), limit).await?)
    });
    verb!(files, "copy", |state, source: String, target: String, when: types::Precondition| {
        FileAnswer::from(state.space().copy(&source, &target, when.into()).await?)
    });
    verb!(files, "move", |state, source: String, target: String, when: types::Precondition| {
        FileAnswer::from(state.space().relocate(&source, &target, when.into()).await?)
    });
    Ok(())
}

type WriteArguments = (String, Bytes, types::Precondition);
type ReaderArgument = Resource<ReaderHandle>;
type WriterArgument = Resource<WriterHandle>;
/// Bytes where the guest has them.
type List = WasmList<u8>;

fn add_reader(files: &mut LinkerInstance<'_, TurnState>) -> Result<()> {
    let kind = ResourceType::host::<ReaderHandle>();
    files.resource("reader", kind, |mut store, index| {
        store.data_mut().table.delete(ReaderArgument::new_own(index))?;
        Ok(())
    })?;
    verb!(files, "open-reader", |state, path: String| {
        let reader = state.space().open_reader(&path).await?;
        let handle = ReaderHandle { file: reader.file().clone(), open: Some(reader) };
        state.table.push(handle)?
    });
    verb!(files, "[method]reader.read", |state, reader: ReaderArgument, length: u32| {
        let reader = state.reader(&reader)?.open.as_mut().ok_or_else(closed)?;
        reader.read(length).await?
    });
    files.func_wrap(
        "[method]reader.file",
        |mut store: StoreContextMut<'_, TurnState>, (reader,): (ReaderArgument,)| {
            Ok((FileAnswer::from(store.data_mut().reader(&reader)?.file.clone()),))
        },
    )?;
    files.func_wrap(
        "[method]reader.seek",
        |mut store: StoreContextMut<'_, TurnState>, (reader, offset): (ReaderArgument, u64)| {
            if let Some(reader) = &mut store.data_mut().reader(&reader)?.open {
                reader.seek(offset);
            }
            Ok(())
        },
    )?;
    files.func_wrap(
        "[method]reader.close",
        |mut store: StoreContextMut<'_, TurnState>, (reader,): (ReaderArgument,)| {
            store.data_mut().reader(&reader)?.open = None;
            Ok(())
        },
    )
}

fn add_writer(files: &mut LinkerInstance<'_, TurnState>) -> Result<()> {
    let kind = ResourceType::host::<WriterHandle>();
    files.resource("writer", kind, |mut store, index| {
        store.data_mut().table.delete(WriterArgument::new_own(index))?;
        Ok(())
    })?;
    verb!(files, "open-writer", |state, path: String, when: types::Precondition| {
        let writer = state.space().open_writer(&path, when.into()).await?;
        state.table.push(WriterHandle(writer))?
    });
    files.func_wrap_async(
        "[method]writer.write",
        |mut store: StoreContextMut<'_, TurnState>, (writer, list): (WriterArgument, List)| {
            let bytes = copied(list.as_le_slice(&store));
            Box::new(async move {
                let state = store.data_mut();
                let mut called = Called::of("files.[method]writer.write", &writer);
                let length = bytes.len() as u64;
                let done: Result<_, Failure> = called
                    .during(pin!(async { Ok(state.writer(&writer)?.write(bytes).await?) }))
                    .await;
                let moved = if done.is_ok() { length } else { 0 };
                state.invocations.count(called, outcome_of(&done), moved);
                Ok((answer(done)?,))
            })
        },
    )?;
    verb!(files, "[method]writer.finish", |state, writer: WriterArgument| {
        FileAnswer::from(state.writer(&writer)?.finish().await?)
    });
    files.func_wrap_async(
        "[method]writer.abort",
        |mut store: StoreContextMut<'_, TurnState>, (writer,): (WriterArgument,)| {
            Box::new(async move {
                store.data_mut().writer(&writer)?.abort().await;
                Ok(())
            })
        },
    )
}

/// A guest's bytes, in a buffer that is used again. Of too many for one call it takes one more
/// than are allowed, which is enough to be refused.
fn copied(bytes: &[u8]) -> Bytes {
    let most = bytes.len().min(WRITER_CALL_BYTES_MAX + 1);
    Buffer::of(&bytes[..most]).freeze()
}

fn closed() -> Error {
    Error::new(ErrorCode::Closed, "closed", "this reader is closed")
}

impl TurnState {
    /// Notes what came of a call.
    fn count_done<T: Moved>(&mut self, called: Called, done: &Result<T, Failure>) {
        let bytes = done.as_ref().map_or(0, Moved::bytes);
        self.invocations.count(called, outcome_of(done), bytes);
    }

    /// A reader, for one call of the guest.
    fn reader(&mut self, reader: &ReaderArgument) -> Result<&mut ReaderHandle, ResourceTableError> {
        self.count_call();
        self.table.get_mut(reader)
    }

    /// A writer, for one call of the guest.
    fn writer(&mut self, writer: &WriterArgument) -> Result<&mut Writer, ResourceTableError> {
        self.count_call();
        self.table.get_mut(writer).map(|handle| &mut handle.0)
    }
}
