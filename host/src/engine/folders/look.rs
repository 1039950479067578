//! What is at a path.

use std::sync::Arc;

use super::Folders;
use super::bindings::wasi::filesystem::types::{
    Datetime, DescriptorStat, DescriptorType, MetadataHashValue,
};
use super::descriptor::Descriptor;
use super::error::{Answer, ErrorCode};
use super::file::OpenFile;
use super::path::{Place, is_root};
use crate::space::{Error, ErrorCode as Refused, File};

/// What was found.
pub(super) enum Found {
    Missing,
    Folder,
    /// A file that is open, or still to be stored.
    Open(Arc<OpenFile>),
    Stored(File),
}

/// Whether a program follows the link to the agent's scope where it ends in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follow {
    Yes,
    No,
}

/// Whether it means that nothing is there, and nothing else.
pub(super) fn is_nowhere(error: &Error) -> bool {
    error.code == Refused::NotFound || error.reason == "reserved"
}

impl Folders {
    /// What is at a place. A file is looked for before a folder of its name.
    pub(super) async fn find(&self, place: &Place) -> Answer<Found> {
        let path = &place.path;
        if is_root(path) {
            let is_there = self.has_folder(path).await?;
            return Ok(if is_there { Found::Folder } else { Found::Missing });
        }
        let file = match self.files.get(path) {
            Some(file) => Found::Open(file.clone()),
            None => match self.space.stat(path).await {
                Ok(file) => Found::Stored(file),
                Err(error) if is_nowhere(&error) => Found::Missing,
                Err(error) => return Err(error.into()),
            },
        };
        // What ends in `/` is the folder, also where a file has its name.
        if !matches!(file, Found::Missing) && !place.is_folder {
            return Ok(file);
        }
        Ok(if self.has_folder(path).await? { Found::Folder } else { file })
    }

    /// Whether something can be made at a place: the folder that it stands in is there.
    pub(super) async fn check_parent(&self, path: &str) -> Answer<()> {
        let parent = super::path::parent(path).ok_or(ErrorCode::NotPermitted)?;
        if is_root(parent) || self.has_folder(parent).await? {
            return Ok(());
        }
        let above = Place { path: parent.to_owned(), is_folder: false, is_link: false };
        match self.find(&above).await? {
            Found::Open(_) | Found::Stored(_) => Err(ErrorCode::NotDirectory.into()),
            Found::Missing | Found::Folder => Err(ErrorCode::NoEntry.into()),
        }
    }

    /// What is known of a place.
    pub(super) async fn stat_at(&self, place: &Place, follow: Follow) -> Answer<DescriptorStat> {
        if place.is_link && follow == Follow::No {
            return Ok(self.stat(&place.path, DescriptorType::SymbolicLink, 0, None));
        }
        match self.find(place).await? {
            Found::Missing => Err(ErrorCode::NoEntry.into()),
            Found::Folder => Ok(self.stat_folder(&place.path)),
            Found::Open(_) | Found::Stored(_) if place.is_folder => {
                Err(ErrorCode::NotDirectory.into())
            }
            Found::Open(file) => Ok(self.stat_file(&file).await),
            Found::Stored(file) => Ok(self.stat(
                &file.path,
                DescriptorType::RegularFile,
                file.size,
                Some(file.modified_ms),
            )),
        }
    }

    /// What is known of what a program holds.
    pub(super) async fn stat_of(&self, descriptor: &Descriptor) -> DescriptorStat {
        match descriptor {
            Descriptor::File(handle) => self.stat_file(&handle.file).await,
            Descriptor::Folder(folder) => self.stat_folder(&folder.path),
        }
    }

    /// Where the link at a place leads.
    pub(super) async fn read_link(&self, place: &Place) -> Answer<String> {
        if place.is_link {
            return Ok("/agent".to_owned());
        }
        self.stat_at(place, Follow::No).await?;
        Err(ErrorCode::Invalid.into())
    }

    fn stat_folder(&self, path: &str) -> DescriptorStat {
        self.stat(path, DescriptorType::Directory, 0, None)
    }

    async fn stat_file(&self, file: &OpenFile) -> DescriptorStat {
        let state = file.lock().await;
        let path = state.path.as_deref().unwrap_or_default();
        self.stat(path, DescriptorType::RegularFile, state.size(), Some(state.modified_ms))
    }

    // A store knows when a file was written, and of no folder when.
    fn stat(
        &self,
        path: &str,
        kind: DescriptorType,
        size: u64,
        modified_ms: Option<u64>,
    ) -> DescriptorStat {
        let written = modified_ms.map(time_of);
        let set = self.times.get(path).copied().unwrap_or_default();
        DescriptorStat {
            type_: kind,
            link_count: 1,
            size,
            data_access_timestamp: set.accessed.or(written),
            data_modification_timestamp: set.modified.or(written),
            status_change_timestamp: written,
        }
    }

    /// What tells a place from all others; programs of WASI 0.1 take it for the inode.
    pub(super) async fn hash_at(&self, place: &Place, follow: Follow) -> Answer<MetadataHashValue> {
        if place.is_link && follow == Follow::No {
            return self.hash_of_link();
        }
        match self.find(place).await? {
            Found::Missing => Err(ErrorCode::NoEntry.into()),
            Found::Folder => self.hash_of_folder(&place.path),
            Found::Open(_) | Found::Stored(_) if place.is_folder => {
                Err(ErrorCode::NotDirectory.into())
            }
            Found::Open(file) => Ok(hash(file.identity)),
            Found::Stored(file) => Ok(hash(self.space.identity(&file.path)?)),
        }
    }

    /// The same of what a program holds.
    pub(super) fn hash_of(&self, descriptor: &Descriptor) -> Answer<MetadataHashValue> {
        match descriptor {
            Descriptor::File(handle) => Ok(hash(handle.file.identity)),
            Descriptor::Folder(folder) => self.hash_of_folder(&folder.path),
        }
    }

    fn hash_of_folder(&self, path: &str) -> Answer<MetadataHashValue> {
        // A file may have its name.
        Ok(hash(!self.space.identity(path)?))
    }

    fn hash_of_link(&self) -> Answer<MetadataHashValue> {
        Ok(hash(self.space.identity("session")?))
    }
}

fn hash(identity: u128) -> MetadataHashValue {
    let [lower, upper] = [identity, identity >> 64].map(|half| half as u64);
    MetadataHashValue { lower, upper }
}

pub(super) fn time_of(ms: u64) -> Datetime {
    let nanoseconds = u32::try_from(ms % 1000).unwrap_or_default() * 1_000_000;
    Datetime { seconds: ms / 1000, nanoseconds }
}
