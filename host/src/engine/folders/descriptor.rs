//! `wasi:filesystem/types` and `preopens`: what a program holds, and its calls.

use std::sync::Arc;

use bytes::Bytes;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream};

use super::bindings::wasi::filesystem::preopens;
use super::bindings::wasi::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode,
    MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use super::entries::Entries;
use super::error::{Answer, Failure};
use super::file::OpenFile;
use super::look::Follow;
use super::open::How;
use super::path::{Link, Place, resolve};
use super::streams::{At, Cause, FileReading, FileWriting};
use crate::engine::state::TurnState;
use crate::limits::PAGE_FILES_MAX;

/// What a program holds: a folder or a file.
#[derive(Clone, Debug)]
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub enum Descriptor {
    /// A folder.
    Folder(FolderHandle),
    /// A file.
    File(FileHandle),
}

/// A folder, and what it was opened for. What may be done in it says the grant.
#[derive(Clone, Debug)]
#[expect(unreachable_pub, reason = "part of the above")]
pub struct FolderHandle {
    /// As a space knows it.
    pub(super) path: String,
    pub(super) flags: DescriptorFlags,
}

/// A file, and what may be done with it by this handle.
#[derive(Clone, Debug)]
#[expect(unreachable_pub, reason = "part of the above")]
pub struct FileHandle {
    pub(super) file: Arc<OpenFile>,
    pub(super) flags: DescriptorFlags,
}

type Handle = Resource<Descriptor>;

impl Descriptor {
    pub(super) fn file(self) -> Answer<FileHandle> {
        match self {
            Self::File(file) => Ok(file),
            Self::Folder(_) => Err(ErrorCode::BadDescriptor.into()),
        }
    }

    pub(super) fn folder(self) -> Answer<String> {
        match self {
            Self::Folder(folder) => Ok(folder.path),
            Self::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    /// The file that it is to be read from.
    pub(super) fn to_read(&self) -> Answer<&Arc<OpenFile>> {
        match self {
            Self::File(file) => file.to_read(),
            Self::Folder(_) => Err(ErrorCode::IsDirectory.into()),
        }
    }

    /// Where a path leads from it.
    pub(super) fn place(self, path: &str, link: Link) -> Answer<Place> {
        resolve(&self.folder()?, path, link)
    }

    pub(super) fn kind(&self) -> DescriptorType {
        match self {
            Self::File(_) => DescriptorType::RegularFile,
            Self::Folder(_) => DescriptorType::Directory,
        }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(one), Self::File(two)) => Arc::ptr_eq(&one.file, &two.file),
            (Self::Folder(one), Self::Folder(two)) => one.path == two.path,
            (Self::File(_), Self::Folder(_)) | (Self::Folder(_), Self::File(_)) => false,
        }
    }
}

impl FileHandle {
    fn to_read(&self) -> Answer<&Arc<OpenFile>> {
        self.having(DescriptorFlags::READ)
    }

    pub(super) fn to_write(&self) -> Answer<&Arc<OpenFile>> {
        self.having(DescriptorFlags::WRITE)
    }

    fn having(&self, right: DescriptorFlags) -> Answer<&Arc<OpenFile>> {
        if self.flags.contains(right) {
            Ok(&self.file)
        } else {
            Err(ErrorCode::BadDescriptor.into())
        }
    }
}

impl TurnState {
    fn descriptor(&mut self, handle: &Handle) -> Answer<Descriptor> {
        self.count_call();
        Ok(self.table.get(handle)?.clone())
    }

    fn file(&mut self, handle: &Handle) -> Answer<FileHandle> {
        self.descriptor(handle)?.file()
    }

    fn place(&mut self, folder: &Handle, path: &str) -> Answer<Place> {
        let folder = self.descriptor(folder)?;
        folder.place(path, self.folders.shared().link())
    }

    /// The folders that a program finds, as it is handed them.
    pub(super) fn roots(&mut self) -> wasmtime::Result<Vec<(Handle, String)>> {
        let flags = DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY;
        let mounted = self.folders.mounted();
        let pushed = mounted.into_iter().map(|(name, path)| {
            let folder = FolderHandle { path: path.to_owned(), flags };
            Ok((self.table.push(Descriptor::Folder(folder))?, name.to_owned()))
        });
        pushed.collect()
    }
}

fn follow(flags: PathFlags) -> Follow {
    if flags.contains(PathFlags::SYMLINK_FOLLOW) { Follow::Yes } else { Follow::No }
}

impl preopens::Host for TurnState {
    async fn get_directories(&mut self) -> wasmtime::Result<Vec<(Handle, String)>> {
        self.roots()
    }
}

impl types::Host for TurnState {
    fn convert_error_code(&mut self, failure: Failure) -> wasmtime::Result<ErrorCode> {
        failure.told()
    }

    async fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        let error = self.table.get(&error)?;
        Ok(error.downcast_ref::<Cause>().map(|cause| cause.0))
    }
}

impl types::HostDirectoryEntryStream for TurnState {
    async fn read_directory_entry(
        &mut self,
        entries: Resource<Entries>,
    ) -> Answer<Option<DirectoryEntry>> {
        self.count_call();
        self.table.get_mut(&entries)?.next().await
    }

    async fn drop(&mut self, entries: Resource<Entries>) -> wasmtime::Result<()> {
        self.table.delete(entries)?;
        Ok(())
    }
}

impl types::HostDescriptor for TurnState {
    async fn read_via_stream(
        &mut self,
        handle: Handle,
        offset: u64,
    ) -> Answer<Resource<DynInputStream>> {
        let file = self.descriptor(&handle)?.to_read()?.clone();
        let stream: DynInputStream = Box::new(FileReading::new(file, offset));
        Ok(self.table.push(stream)?)
    }

    async fn write_via_stream(
        &mut self,
        handle: Handle,
        offset: u64,
    ) -> Answer<Resource<DynOutputStream>> {
        self.writing(&handle, At::Offset(offset)).await
    }

    async fn append_via_stream(&mut self, handle: Handle) -> Answer<Resource<DynOutputStream>> {
        self.writing(&handle, At::End).await
    }

    async fn advise(&mut self, handle: Handle, _: u64, _: u64, _: Advice) -> Answer<()> {
        // What goes on is read ahead for as it is.
        self.file(&handle).map(|_| ())
    }

    async fn sync_data(&mut self, handle: Handle) -> Answer<()> {
        self.store(&handle).await
    }

    async fn sync(&mut self, handle: Handle) -> Answer<()> {
        self.store(&handle).await
    }

    async fn get_flags(&mut self, handle: Handle) -> Answer<DescriptorFlags> {
        Ok(match self.descriptor(&handle)? {
            Descriptor::File(handle) => handle.flags,
            Descriptor::Folder(_) => DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY,
        })
    }

    async fn get_type(&mut self, handle: Handle) -> Answer<DescriptorType> {
        self.descriptor(&handle).map(|descriptor| descriptor.kind())
    }

    async fn set_size(&mut self, handle: Handle, size: u64) -> Answer<()> {
        let handle = self.file(&handle)?;
        handle.to_write()?.lock().await.resize(size).await?;
        self.folders.shared().written(&handle.file).await;
        Ok(())
    }

    async fn set_times(
        &mut self,
        handle: Handle,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> Answer<()> {
        let descriptor = self.descriptor(&handle)?;
        let mut folders = self.folders.shared().change().await;
        folders.set_times_of(&descriptor, accessed, modified).await
    }

    async fn read(&mut self, handle: Handle, length: u64, offset: u64) -> Answer<(Vec<u8>, bool)> {
        let handle = self.file(&handle)?;
        let bytes = handle.to_read()?.lock().await.read(offset, length).await?;
        let is_end = bytes.is_empty();
        Ok((bytes.into(), is_end))
    }

    async fn write(&mut self, handle: Handle, bytes: Vec<u8>, offset: u64) -> Answer<u64> {
        let handle = self.file(&handle)?;
        let written = handle.to_write()?.lock().await.write(offset, Bytes::from(bytes)).await?;
        self.folders.shared().written(&handle.file).await;
        Ok(written)
    }

    async fn read_directory(&mut self, handle: Handle) -> Answer<Resource<Entries>> {
        let folder = self.descriptor(&handle)?.folder()?;
        let entries = self.folders.shared().look().await.entries(&folder, PAGE_FILES_MAX).await?;
        Ok(self.table.push(entries)?)
    }

    async fn create_directory_at(&mut self, handle: Handle, path: String) -> Answer<()> {
        let place = self.place(&handle, &path)?;
        self.folders.shared().change().await.make_folder(&place).await
    }

    async fn stat(&mut self, handle: Handle) -> Answer<DescriptorStat> {
        let descriptor = self.descriptor(&handle)?;
        Ok(self.folders.shared().look().await.stat_of(&descriptor).await)
    }

    async fn stat_at(
        &mut self,
        handle: Handle,
        flags: PathFlags,
        path: String,
    ) -> Answer<DescriptorStat> {
        let place = self.place(&handle, &path)?;
        self.folders.shared().look().await.stat_at(&place, follow(flags)).await
    }

    async fn set_times_at(
        &mut self,
        handle: Handle,
        _: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> Answer<()> {
        let place = self.place(&handle, &path)?;
        self.folders.shared().change().await.set_times_at(&place, accessed, modified).await
    }

    async fn link_at(
        &mut self,
        handle: Handle,
        _: PathFlags,
        path: String,
        new_handle: Handle,
        new_path: String,
    ) -> Answer<()> {
        self.place(&handle, &path)?;
        self.place(&new_handle, &new_path)?;
        Err(ErrorCode::Unsupported.into())
    }

    async fn open_at(
        &mut self,
        handle: Handle,
        path_flags: PathFlags,
        path: String,
        open: OpenFlags,
        flags: DescriptorFlags,
    ) -> Answer<Handle> {
        let place = self.place(&handle, &path)?;
        let how = How { follow: follow(path_flags), open, flags };
        let descriptor = self.folders.shared().change().await.open_at(&place, how).await?;
        // Where there is no room for it the turn ends, and what was opened was never closed.
        Ok(self.table.push(descriptor)?)
    }

    async fn readlink_at(&mut self, handle: Handle, path: String) -> Answer<String> {
        let place = self.place(&handle, &path)?;
        self.folders.shared().look().await.read_link(&place).await
    }

    async fn remove_directory_at(&mut self, handle: Handle, path: String) -> Answer<()> {
        let place = self.place(&handle, &path)?;
        self.folders.shared().change().await.remove_folder(&place).await
    }

    async fn rename_at(
        &mut self,
        handle: Handle,
        path: String,
        new_handle: Handle,
        new_path: String,
    ) -> Answer<()> {
        let from = self.place(&handle, &path)?;
        let to = self.place(&new_handle, &new_path)?;
        self.folders.shared().change().await.rename(&from, &to).await
    }

    async fn symlink_at(&mut self, handle: Handle, _: String, path: String) -> Answer<()> {
        self.place(&handle, &path)?;
        Err(ErrorCode::Unsupported.into())
    }

    async fn unlink_file_at(&mut self, handle: Handle, path: String) -> Answer<()> {
        let place = self.place(&handle, &path)?;
        self.folders.shared().change().await.remove_file(&place).await
    }

    async fn is_same_object(&mut self, one: Handle, two: Handle) -> wasmtime::Result<bool> {
        self.count_call();
        Ok(self.table.get(&one)?.is_same(self.table.get(&two)?))
    }

    async fn metadata_hash(&mut self, handle: Handle) -> Answer<MetadataHashValue> {
        let descriptor = self.descriptor(&handle)?;
        self.folders.shared().look().await.hash_of(&descriptor)
    }

    async fn metadata_hash_at(
        &mut self,
        handle: Handle,
        flags: PathFlags,
        path: String,
    ) -> Answer<MetadataHashValue> {
        let place = self.place(&handle, &path)?;
        self.folders.shared().look().await.hash_at(&place, follow(flags)).await
    }

    async fn drop(&mut self, handle: Handle) -> wasmtime::Result<()> {
        self.close(handle).await
    }
}

impl TurnState {
    async fn writing(&mut self, handle: &Handle, at: At) -> Answer<Resource<DynOutputStream>> {
        let handle = self.file(handle)?;
        let file = handle.to_write()?.clone();
        // What cannot be changed is told here, where an answer has a word for it.
        file.lock().await.prepare_to_write().await?;
        self.folders.shared().written(&file).await;
        let stream: DynOutputStream = Box::new(FileWriting::new(file, at));
        Ok(self.table.push(stream)?)
    }

    async fn store(&mut self, handle: &Handle) -> Answer<()> {
        let descriptor = self.descriptor(handle)?;
        self.folders.shared().change().await.store_now(&descriptor).await
    }

    /// The program has it no longer.
    pub(super) async fn close(&mut self, handle: Handle) -> wasmtime::Result<()> {
        let Descriptor::File(handle) = self.table.delete(handle)? else { return Ok(()) };
        match self.folders.shared().change().await.close(&handle.file).await {
            // A close has no answer: the end of the turn tries again, and tells.
            Ok(()) | Err(Failure::Code(_)) => Ok(()),
            Err(Failure::Fatal(error)) => Err(error),
        }
    }
}
