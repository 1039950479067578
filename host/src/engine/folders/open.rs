//! Opening.

use std::sync::Arc;

use super::Folders;
use super::bindings::wasi::filesystem::types::{DescriptorFlags, OpenFlags};
use super::descriptor::{Descriptor, FileHandle, FolderHandle};
use super::error::{Answer, ErrorCode};
use super::file::OpenFile;
use super::look::{Follow, Found, is_nowhere};
use super::path::{Place, is_root};
use crate::space::{ErrorCode as Refused, File, Reader};

/// How a place is to be opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct How {
    pub(super) follow: Follow,
    pub(super) open: OpenFlags,
    pub(super) flags: DescriptorFlags,
}

impl How {
    fn is(&self, flag: OpenFlags) -> bool {
        self.open.contains(flag)
    }

    /// Whether it is a change, or leads to one: truncating is one without that anything is written.
    fn writes(&self) -> bool {
        self.flags.contains(DescriptorFlags::WRITE) || self.is(OpenFlags::TRUNCATE)
    }
}

impl Folders {
    /// Opens what is at a place, or makes a file there.
    pub(super) async fn open_at(&mut self, place: &Place, how: How) -> Answer<Descriptor> {
        if place.is_link && how.follow == Follow::No {
            return Err(ErrorCode::Loop.into());
        }
        if how.is(OpenFlags::DIRECTORY) {
            return self.open_folder(place, how).await;
        }
        if how.writes() && !is_root(&place.path) {
            // First of all: the answer is the same whether or not anything is there.
            self.space.check_writable(&place.path)?;
        }
        let file = match self.find_to_open(place, how).await? {
            (Found::Folder, _) => return folder_instead(place, how),
            (Found::Missing, _) if how.is(OpenFlags::CREATE) => self.create(place).await?,
            (Found::Missing, _) => return Err(ErrorCode::NoEntry.into()),
            (Found::Open(_) | Found::Stored(_), _) if place.is_folder => {
                return Err(ErrorCode::NotDirectory.into());
            }
            (Found::Open(_) | Found::Stored(_), _)
                if how.is(OpenFlags::CREATE) && how.is(OpenFlags::EXCLUSIVE) =>
            {
                return Err(ErrorCode::Exist.into());
            }
            (Found::Open(file), _) => file,
            (Found::Stored(file), reader) => self.opened(file, reader)?,
        };
        if how.is(OpenFlags::TRUNCATE) {
            self.truncate(&place.path, &file).await?;
        }
        file.open();
        Ok(Descriptor::File(FileHandle { file, flags: how.flags }))
    }

    async fn open_folder(&self, place: &Place, how: How) -> Answer<Descriptor> {
        if how.open.intersects(OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE) {
            return Err(ErrorCode::Invalid.into());
        }
        let place = Place { is_folder: true, ..place.clone() };
        match self.find(&place).await? {
            Found::Folder => folder_instead(&place, how),
            Found::Missing => Err(ErrorCode::NoEntry.into()),
            Found::Open(_) | Found::Stored(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    /// As [`Self::find`]. Of a file that is to be read the first bytes come in the same request.
    async fn find_to_open(&self, place: &Place, how: How) -> Answer<(Found, Option<Reader>)> {
        let is_read = how.flags.contains(DescriptorFlags::READ) && !how.is(OpenFlags::TRUNCATE);
        let path = &place.path;
        if !is_read || place.is_folder || is_root(path) || self.files.contains_key(path) {
            return Ok((self.find(place).await?, None));
        }
        match self.space.open_reader(path).await {
            Ok(reader) => Ok((Found::Stored(reader.file().clone()), Some(reader))),
            // More readers than a turn may have: each read finds its own way.
            Err(error) if error.code == Refused::TooLarge => Ok((self.find(place).await?, None)),
            Err(error) if is_nowhere(&error) => {
                let is_folder = self.has_folder(path).await?;
                Ok((if is_folder { Found::Folder } else { Found::Missing }, None))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn create(&mut self, place: &Place) -> Answer<Arc<OpenFile>> {
        if place.is_folder {
            return Err(ErrorCode::IsDirectory.into());
        }
        self.space.check_writable(&place.path)?;
        self.check_parent(&place.path).await?;
        let file = OpenFile::created(&self.space, &self.gathering, &place.path)?;
        self.files.insert(place.path.clone(), file.clone());
        Ok(file)
    }

    fn opened(&mut self, file: File, reader: Option<Reader>) -> Answer<Arc<OpenFile>> {
        let path = file.path.clone();
        let file = OpenFile::stored(&self.space, &self.gathering, file, reader)?;
        self.files.insert(path, file.clone());
        Ok(file)
    }

    async fn truncate(&mut self, path: &str, file: &OpenFile) -> Answer<()> {
        file.lock().await.resize(0).await?;
        self.times.remove(path);
        Ok(())
    }
}

/// A folder, where it was not a file.
fn folder_instead(place: &Place, how: How) -> Answer<Descriptor> {
    if how.is(OpenFlags::CREATE) && how.is(OpenFlags::EXCLUSIVE) {
        return Err(ErrorCode::Exist.into());
    }
    if how.writes() || how.is(OpenFlags::CREATE) {
        return Err(ErrorCode::IsDirectory.into());
    }
    Ok(Descriptor::Folder(FolderHandle { path: place.path.clone(), flags: how.flags }))
}
