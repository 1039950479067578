//! `bailiwick:storage/files` over a space.

use wasmtime::component::Resource;

use super::bindings::bailiwick::storage::{files, types};
use super::convert::Failure;
use super::state::TurnState;
use crate::space::{Error, ErrorCode, File, Reader, Writer};

/// A guest's reader. The file stays known when the reader is closed.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct ReaderHandle {
    file: File,
    open: Option<Reader>,
}

/// A guest's writer; it knows itself when it is over.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct WriterHandle(Writer);

impl files::Host for TurnState {
    async fn mounts(&mut self) -> wasmtime::Result<Vec<types::Mount>> {
        Ok(self.space().mounts().into_iter().map(Into::into).collect())
    }

    async fn read(
        &mut self,
        path: String,
        offset: u64,
        length: u32,
    ) -> Result<files::Chunk, Failure> {
        Ok(self.space().read(&path, offset, length).await?.into())
    }

    async fn write(
        &mut self,
        path: String,
        bytes: Vec<u8>,
        precondition: types::Precondition,
    ) -> Result<types::File, Failure> {
        Ok(self.space().write(&path, bytes.into(), precondition.into()).await?.into())
    }

    async fn delete(
        &mut self,
        path: String,
        precondition: types::Precondition,
    ) -> Result<(), Failure> {
        Ok(self.space().delete(&path, precondition.into()).await?)
    }

    async fn stat(&mut self, path: String) -> Result<types::File, Failure> {
        Ok(self.space().stat(&path).await?.into())
    }

    async fn list_files(
        &mut self,
        folder: String,
        depth: files::Depth,
        after: Option<String>,
        limit: u32,
    ) -> Result<files::Page, Failure> {
        Ok(self.space().list(&folder, depth.into(), after.as_deref(), limit).await?.into())
    }

    async fn copy(
        &mut self,
        source: String,
        target: String,
        precondition: types::Precondition,
    ) -> Result<types::File, Failure> {
        Ok(self.space().copy(&source, &target, precondition.into()).await?.into())
    }

    async fn move_(
        &mut self,
        source: String,
        target: String,
        precondition: types::Precondition,
    ) -> Result<types::File, Failure> {
        Ok(self.space().relocate(&source, &target, precondition.into()).await?.into())
    }

    async fn open_reader(&mut self, path: String) -> Result<Resource<ReaderHandle>, Failure> {
        let reader = self.space().open_reader(&path).await?;
        let handle = ReaderHandle { file: reader.file().clone(), open: Some(reader) };
        Ok(self.table.push(handle)?)
    }

    async fn open_writer(
        &mut self,
        path: String,
        precondition: types::Precondition,
    ) -> Result<Resource<WriterHandle>, Failure> {
        let writer = self.space().open_writer(&path, precondition.into()).await?;
        Ok(self.table.push(WriterHandle(writer))?)
    }
}

impl files::HostReader for TurnState {
    async fn file(&mut self, reader: Resource<ReaderHandle>) -> wasmtime::Result<types::File> {
        self.count_call();
        Ok(self.table.get(&reader)?.file.clone().into())
    }

    async fn read(
        &mut self,
        reader: Resource<ReaderHandle>,
        length: u32,
    ) -> Result<Vec<u8>, Failure> {
        self.count_call();
        let Some(reader) = &mut self.table.get_mut(&reader)?.open else {
            return Err(Error::new(ErrorCode::Closed, "closed", "this reader is closed").into());
        };
        Ok(reader.read(length).await?.into())
    }

    async fn seek(&mut self, reader: Resource<ReaderHandle>, offset: u64) -> wasmtime::Result<()> {
        self.count_call();
        if let Some(reader) = &mut self.table.get_mut(&reader)?.open {
            reader.seek(offset);
        }
        Ok(())
    }

    async fn close(&mut self, reader: Resource<ReaderHandle>) -> wasmtime::Result<()> {
        self.count_call();
        self.table.get_mut(&reader)?.open = None;
        Ok(())
    }

    async fn drop(&mut self, reader: Resource<ReaderHandle>) -> wasmtime::Result<()> {
        self.table.delete(reader)?;
        Ok(())
    }
}

impl files::HostWriter for TurnState {
    async fn write(
        &mut self,
        writer: Resource<WriterHandle>,
        bytes: Vec<u8>,
    ) -> Result<(), Failure> {
        self.count_call();
        Ok(self.table.get_mut(&writer)?.0.write(bytes.into()).await?)
    }

    async fn finish(&mut self, writer: Resource<WriterHandle>) -> Result<types::File, Failure> {
        self.count_call();
        Ok(self.table.get_mut(&writer)?.0.finish().await?.into())
    }

    async fn abort(&mut self, writer: Resource<WriterHandle>) -> wasmtime::Result<()> {
        self.count_call();
        self.table.get_mut(&writer)?.0.abort().await;
        Ok(())
    }

    async fn drop(&mut self, writer: Resource<WriterHandle>) -> wasmtime::Result<()> {
        self.table.delete(writer)?;
        Ok(())
    }
}
