//! The calls on what a guest holds.

use wasmtime::component::{Access, FutureReader, StreamReader};

use super::convert::{descriptor_flags, flags_of, follow, new_time, open_flags};
use super::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry,
    MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use super::{Handle, Outcome, Tasks, Turn, asked, listing, preopens, reading, writing};
use crate::engine::folders::descriptor::Descriptor;
use crate::engine::folders::error::{Answer, ErrorCode, Failure};
use crate::engine::folders::open::How;
use crate::engine::folders::shared::{Opened, Shared};
use crate::engine::folders::streams::At;
use crate::engine::state::TurnState;

type View<'a> = Access<'a, TurnState, Tasks>;

impl preopens::Host for TurnState {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Handle, String)>> {
        self.roots()
    }
}

impl types::Host for TurnState {
    fn convert_error_code(&mut self, failure: Failure) -> wasmtime::Result<types::ErrorCode> {
        failure.told().map(Into::into)
    }
}

impl types::HostDescriptor for TurnState {
    async fn drop(&mut self, handle: Handle) -> wasmtime::Result<()> {
        self.close(handle).await
    }
}

impl types::HostDescriptorWithStore<TurnState> for Tasks {
    fn read_via_stream(
        store: View<'_>,
        handle: Handle,
        offset: u64,
    ) -> wasmtime::Result<(StreamReader<u8>, FutureReader<Outcome>)> {
        reading::open(store, &handle, offset)
    }

    fn write_via_stream(
        store: View<'_>,
        handle: Handle,
        data: StreamReader<u8>,
        offset: u64,
    ) -> wasmtime::Result<FutureReader<Outcome>> {
        writing::open(store, &handle, data, At::Offset(offset))
    }

    fn append_via_stream(
        store: View<'_>,
        handle: Handle,
        data: StreamReader<u8>,
    ) -> wasmtime::Result<FutureReader<Outcome>> {
        writing::open(store, &handle, data, At::End)
    }

    fn read_directory(
        store: View<'_>,
        handle: Handle,
    ) -> wasmtime::Result<(StreamReader<DirectoryEntry>, FutureReader<Outcome>)> {
        listing::open(store, &handle)
    }

    async fn advise(turn: &Turn, handle: Handle, _: u64, _: u64, _: Advice) -> Answer<()> {
        // What goes on is read ahead for as it is.
        asked(turn, &handle)?.descriptor.file().map(|_| ())
    }

    async fn sync_data(turn: &Turn, handle: Handle) -> Answer<()> {
        Self::sync(turn, handle).await
    }

    async fn sync(turn: &Turn, handle: Handle) -> Answer<()> {
        let asked = asked(turn, &handle)?;
        let descriptor = asked.descriptor.clone();
        let store =
            |folders: Shared| async move { folders.change().await.store_now(&descriptor).await };
        asked.change(0, store).await
    }

    async fn get_flags(turn: &Turn, handle: Handle) -> Answer<DescriptorFlags> {
        Ok(flags_of(match asked(turn, &handle)?.descriptor {
            Descriptor::File(handle) => handle.flags,
            Descriptor::Folder(handle) => handle.flags,
        }))
    }

    async fn get_type(turn: &Turn, handle: Handle) -> Answer<DescriptorType> {
        Ok(asked(turn, &handle)?.descriptor.kind().into())
    }

    async fn set_size(turn: &Turn, handle: Handle, size: u64) -> Answer<()> {
        let asked = asked(turn, &handle)?;
        let file = asked.descriptor.clone().file()?.to_write()?.clone();
        let resize = |folders: Shared| async move {
            file.lock().await.resize(size).await?;
            folders.written(&file).await;
            Ok(())
        };
        asked.change(0, resize).await
    }

    async fn set_times(
        turn: &Turn,
        handle: Handle,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> Answer<()> {
        let asked = asked(turn, &handle)?;
        let (accessed, modified) = (new_time(accessed)?, new_time(modified)?);
        let descriptor = asked.descriptor.clone();
        let set = |folders: Shared| async move {
            folders.change().await.set_times_of(&descriptor, accessed, modified).await
        };
        asked.change(0, set).await
    }

    async fn create_directory_at(turn: &Turn, handle: Handle, path: String) -> Answer<()> {
        let asked = asked(turn, &handle)?;
        let place = asked.place(&path)?;
        let make =
            |folders: Shared| async move { folders.change().await.make_folder(&place).await };
        asked.change(path.len(), make).await
    }

    async fn stat(turn: &Turn, handle: Handle) -> Answer<DescriptorStat> {
        let asked = asked(turn, &handle)?;
        let descriptor = asked.descriptor.clone();
        let stat =
            |folders: Shared| async move { Ok(folders.look().await.stat_of(&descriptor).await) };
        asked.look(0, stat).await.map(Into::into)
    }

    async fn stat_at(
        turn: &Turn,
        handle: Handle,
        flags: PathFlags,
        path: String,
    ) -> Answer<DescriptorStat> {
        let asked = asked(turn, &handle)?;
        let place = asked.place(&path)?;
        let stat = |folders: Shared| async move {
            folders.look().await.stat_at(&place, follow(flags)).await
        };
        asked.look(path.len(), stat).await.map(Into::into)
    }

    async fn set_times_at(
        turn: &Turn,
        handle: Handle,
        _: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> Answer<()> {
        let asked = asked(turn, &handle)?;
        let place = asked.place(&path)?;
        let (accessed, modified) = (new_time(accessed)?, new_time(modified)?);
        let set = |folders: Shared| async move {
            folders.change().await.set_times_at(&place, accessed, modified).await
        };
        asked.change(path.len(), set).await
    }

    async fn link_at(
        turn: &Turn,
        handle: Handle,
        _: PathFlags,
        path: String,
        new_handle: Handle,
        new_path: String,
    ) -> Answer<()> {
        asked(turn, &handle)?.place(&path)?;
        asked(turn, &new_handle)?.place(&new_path)?;
        Err(ErrorCode::Unsupported.into())
    }

    async fn open_at(
        turn: &Turn,
        handle: Handle,
        path_flags: PathFlags,
        path: String,
        open: OpenFlags,
        flags: DescriptorFlags,
    ) -> Answer<Handle> {
        let asked = asked(turn, &handle)?;
        let place = asked.place(&path)?;
        let flags = descriptor_flags(flags, open);
        let how = How { follow: follow(path_flags), open: open_flags(open), flags };
        let open = |folders: Shared| async move {
            let descriptor = folders.change().await.open_at(&place, how).await?;
            Ok(Opened::new(descriptor, folders))
        };
        let opened = asked.change(path.len(), open).await?;
        let descriptor = opened.taken().ok_or(ErrorCode::Io)?;
        // Where there is no room for it the turn ends, and what was opened was never closed.
        Ok(turn.with(|mut access| access.get().table.push(descriptor))?)
    }

    async fn readlink_at(turn: &Turn, handle: Handle, path: String) -> Answer<String> {
        let asked = asked(turn, &handle)?;
        let place = asked.place(&path)?;
        let read = |folders: Shared| async move { folders.look().await.read_link(&place).await };
        asked.look(path.len(), read).await
    }

    async fn remove_directory_at(turn: &Turn, handle: Handle, path: String) -> Answer<()> {
        let asked = asked(turn, &handle)?;
        let place = asked.place(&path)?;
        let remove =
            |folders: Shared| async move { folders.change().await.remove_folder(&place).await };
        asked.change(path.len(), remove).await
    }

    async fn rename_at(
        turn: &Turn,
        handle: Handle,
        path: String,
        new_handle: Handle,
        new_path: String,
    ) -> Answer<()> {
        let asked_from = asked(turn, &handle)?;
        let from = asked_from.place(&path)?;
        let to = asked(turn, &new_handle)?.place(&new_path)?;
        let rename =
            |folders: Shared| async move { folders.change().await.rename(&from, &to).await };
        asked_from.change(path.len() + new_path.len(), rename).await
    }

    async fn symlink_at(turn: &Turn, handle: Handle, _: String, path: String) -> Answer<()> {
        asked(turn, &handle)?.place(&path)?;
        Err(ErrorCode::Unsupported.into())
    }

    async fn unlink_file_at(turn: &Turn, handle: Handle, path: String) -> Answer<()> {
        let asked = asked(turn, &handle)?;
        let place = asked.place(&path)?;
        let remove =
            |folders: Shared| async move { folders.change().await.remove_file(&place).await };
        asked.change(path.len(), remove).await
    }

    async fn is_same_object(turn: &Turn, one: Handle, two: Handle) -> wasmtime::Result<bool> {
        turn.with(|mut access| {
            let state = access.get();
            state.count_call();
            Ok(state.table.get(&one)?.is_same(state.table.get(&two)?))
        })
    }

    async fn metadata_hash(turn: &Turn, handle: Handle) -> Answer<MetadataHashValue> {
        let asked = asked(turn, &handle)?;
        let descriptor = asked.descriptor.clone();
        let hash = |folders: Shared| async move { folders.look().await.hash_of(&descriptor) };
        asked.look(0, hash).await.map(Into::into)
    }

    async fn metadata_hash_at(
        turn: &Turn,
        handle: Handle,
        flags: PathFlags,
        path: String,
    ) -> Answer<MetadataHashValue> {
        let asked = asked(turn, &handle)?;
        let place = asked.place(&path)?;
        let hash = |folders: Shared| async move {
            folders.look().await.hash_at(&place, follow(flags)).await
        };
        asked.look(path.len(), hash).await.map(Into::into)
    }
}
