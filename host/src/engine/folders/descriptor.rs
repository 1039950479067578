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
use super::look::{Follow, hash};
use super::open::How;
use super::path::{Place, resolve};
use super::streams::{At, Cause, FileReading, FileWriting};
use crate::engine::state::TurnState;

/// What a program holds: a folder or a file.
#[derive(Clone, Debug)]
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub enum Descriptor {
    /// By its path, as a space knows it.
    Folder(String),
    /// A file.
    File(FileHandle),
}

/// A file, and what may be done with it by this handle.
#[derive(Clone, Debug)]
#[expect(unreachable_pub, reason = "part of the above")]
pub struct FileHandle {
    pub(super) file: Arc<OpenFile>,
    pub(super) flags: DescriptorFlags,
}

type Handle = Resource<Descriptor>;

impl FileHandle {
    fn to_read(&self) -> Answer<&Arc<OpenFile>> {
        self.having(DescriptorFlags::READ)
    }

    fn to_write(&self) -> Answer<&Arc<OpenFile>> {
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
        match self.descriptor(handle)? {
            Descriptor::File(file) => Ok(file),
            Descriptor::Folder(_) => Err(ErrorCode::BadDescriptor.into()),
        }
    }

    fn folder(&mut self, handle: &Handle) -> Answer<String> {
        match self.descriptor(handle)? {
            Descriptor::Folder(folder) => Ok(folder),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    fn place(&mut self, folder: &Handle, path: &str) -> Answer<Place> {
        let folder = self.folder(folder)?;
        resolve(&folder, path, self.folders.link)
    }
}

fn follow(flags: PathFlags) -> Follow {
    if flags.contains(PathFlags::SYMLINK_FOLLOW) { Follow::Yes } else { Follow::No }
}

impl preopens::Host for TurnState {
    async fn get_directories(&mut self) -> wasmtime::Result<Vec<(Handle, String)>> {
        let mounted = self.folders.mounted();
        let pushed = mounted.into_iter().map(|(name, path)| {
            Ok((self.table.push(Descriptor::Folder(path.to_owned()))?, name.to_owned()))
        });
        pushed.collect()
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
        let Descriptor::File(handle) = self.descriptor(&handle)? else {
            return Err(ErrorCode::IsDirectory.into());
        };
        let stream: DynInputStream = Box::new(FileReading::new(handle.to_read()?.clone(), offset));
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
        Ok(match self.descriptor(&handle)? {
            Descriptor::File(_) => DescriptorType::RegularFile,
            Descriptor::Folder(_) => DescriptorType::Directory,
        })
    }

    async fn set_size(&mut self, handle: Handle, size: u64) -> Answer<()> {
        let handle = self.file(&handle)?;
        handle.to_write()?.lock().await.resize(size).await?;
        self.written(&handle.file).await;
        Ok(())
    }

    async fn set_times(
        &mut self,
        handle: Handle,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> Answer<()> {
        match self.descriptor(&handle)? {
            Descriptor::File(handle) => {
                let path = handle.file.lock().await.path.clone();
                // One that was removed has no times that anybody could ask for by its name.
                let Some(path) = path else { return Ok(()) };
                self.folders.space.check_writable(&path)?;
                self.folders.set_times(&path, accessed, modified)
            }
            Descriptor::Folder(path) => {
                let place = Place { path, is_folder: true, is_link: false };
                self.folders.set_times_at(&place, accessed, modified).await
            }
        }
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
        self.written(&handle.file).await;
        Ok(written)
    }

    async fn read_directory(&mut self, handle: Handle) -> Answer<Resource<Entries>> {
        let folder = self.folder(&handle)?;
        let entries = self.folders.entries(&folder).await?;
        Ok(self.table.push(entries)?)
    }

    async fn create_directory_at(&mut self, handle: Handle, path: String) -> Answer<()> {
        let place = self.place(&handle, &path)?;
        self.folders.make_folder(&place).await
    }

    async fn stat(&mut self, handle: Handle) -> Answer<DescriptorStat> {
        match self.descriptor(&handle)? {
            Descriptor::File(handle) => Ok(self.folders.stat_file(&handle.file).await),
            Descriptor::Folder(path) => Ok(self.folders.stat_folder(&path)),
        }
    }

    async fn stat_at(
        &mut self,
        handle: Handle,
        flags: PathFlags,
        path: String,
    ) -> Answer<DescriptorStat> {
        let place = self.place(&handle, &path)?;
        self.folders.stat_at(&place, follow(flags)).await
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
        self.folders.set_times_at(&place, accessed, modified).await
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
        let descriptor = self.folders.open_at(&place, how).await?;
        // Where there is no room for it the turn ends, and what was opened was never closed.
        Ok(self.table.push(descriptor)?)
    }

    async fn readlink_at(&mut self, handle: Handle, path: String) -> Answer<String> {
        let place = self.place(&handle, &path)?;
        if place.is_link {
            return Ok("/agent".to_owned());
        }
        self.folders.stat_at(&place, Follow::No).await?;
        Err(ErrorCode::Invalid.into())
    }

    async fn remove_directory_at(&mut self, handle: Handle, path: String) -> Answer<()> {
        let place = self.place(&handle, &path)?;
        self.folders.remove_folder(&place).await
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
        self.folders.rename(&from, &to).await
    }

    async fn symlink_at(&mut self, handle: Handle, _: String, path: String) -> Answer<()> {
        self.place(&handle, &path)?;
        Err(ErrorCode::Unsupported.into())
    }

    async fn unlink_file_at(&mut self, handle: Handle, path: String) -> Answer<()> {
        let place = self.place(&handle, &path)?;
        self.folders.remove_file(&place).await
    }

    async fn is_same_object(&mut self, one: Handle, two: Handle) -> wasmtime::Result<bool> {
        self.count_call();
        Ok(match (self.table.get(&one)?, self.table.get(&two)?) {
            (Descriptor::File(one), Descriptor::File(two)) => Arc::ptr_eq(&one.file, &two.file),
            (Descriptor::Folder(one), Descriptor::Folder(two)) => one == two,
            (Descriptor::File(_), Descriptor::Folder(_))
            | (Descriptor::Folder(_), Descriptor::File(_)) => false,
        })
    }

    async fn metadata_hash(&mut self, handle: Handle) -> Answer<MetadataHashValue> {
        match self.descriptor(&handle)? {
            Descriptor::File(handle) => Ok(hash(handle.file.identity)),
            Descriptor::Folder(path) => self.folders.hash_of_folder(&path),
        }
    }

    async fn metadata_hash_at(
        &mut self,
        handle: Handle,
        flags: PathFlags,
        path: String,
    ) -> Answer<MetadataHashValue> {
        let place = self.place(&handle, &path)?;
        self.folders.hash_at(&place, follow(flags)).await
    }

    async fn drop(&mut self, handle: Handle) -> wasmtime::Result<()> {
        match self.table.delete(handle)? {
            Descriptor::Folder(_) => Ok(()),
            Descriptor::File(handle) => self.folders.close(&handle.file).await,
        }
    }
}

impl TurnState {
    async fn writing(&mut self, handle: &Handle, at: At) -> Answer<Resource<DynOutputStream>> {
        let handle = self.file(handle)?;
        let file = handle.to_write()?.clone();
        // What cannot be changed is told here, where an answer has a word for it.
        file.lock().await.prepare_to_write().await?;
        self.written(&file).await;
        let stream: DynOutputStream = Box::new(FileWriting::new(file, at));
        Ok(self.table.push(stream)?)
    }

    async fn store(&mut self, handle: &Handle) -> Answer<()> {
        match self.descriptor(handle)? {
            Descriptor::File(handle) => self.folders.store_in_place(&handle.file).await,
            // What a folder holds is there once it was made.
            Descriptor::Folder(_) => Ok(()),
        }
    }

    /// A file is being written: times that were set for it are over.
    async fn written(&mut self, file: &OpenFile) {
        if self.folders.times.is_empty() {
            return;
        }
        if let Some(path) = file.lock().await.path.clone() {
            self.folders.times.remove(&path);
        }
    }
}
