//! Making and removing.

use super::Folders;
use super::error::{Answer, ErrorCode};
use super::file::OpenFile;
use super::look::Found;
use super::path::{Place, is_root, parent};
use crate::limits::FOLDER_NOTES_MAX;
use crate::space::{ErrorCode as Refused, FolderState};
use crate::store::Precondition;

impl Folders {
    /// Makes a folder.
    pub(super) async fn make_folder(&mut self, place: &Place) -> Answer<()> {
        if place.is_link || is_root(&place.path) {
            return Err(ErrorCode::Exist.into());
        }
        self.space.check_writable(&place.path)?;
        let anything = Place { is_folder: false, ..place.clone() };
        if !matches!(self.find(&anything).await?, Found::Missing) {
            return Err(ErrorCode::Exist.into());
        }
        self.check_parent(&place.path).await?;
        Ok(self.space.keep_folder(&place.path).await?)
    }

    /// Removes an empty folder.
    pub(super) async fn remove_folder(&mut self, place: &Place) -> Answer<()> {
        if place.is_link {
            return Err(ErrorCode::NotDirectory.into());
        }
        if is_root(&place.path) {
            return Err(ErrorCode::Invalid.into());
        }
        self.space.check_writable(&place.path)?;
        let folder = Place { is_folder: true, ..place.clone() };
        match self.find(&folder).await? {
            Found::Folder => {}
            Found::Missing => return Err(ErrorCode::NoEntry.into()),
            Found::Open(_) | Found::Stored(_) => return Err(ErrorCode::NotDirectory.into()),
        }
        if !self.is_empty(&place.path).await? {
            return Err(ErrorCode::NotEmpty.into());
        }
        self.space.forget_folder(&place.path).await?;
        self.emptied.remove(&place.path);
        self.times.remove(&place.path);
        self.note_emptied(&place.path).await
    }

    /// Whether nothing is in a folder that is there.
    pub(super) async fn is_empty(&self, path: &str) -> Answer<bool> {
        let below = format!("{path}/");
        let first = self.emptied.range(below.clone()..).next();
        let has_folders = first.is_some_and(|folder| folder.starts_with(&below));
        if has_folders || self.has_open_files(path) {
            return Ok(false);
        }
        Ok(self.stored_state(path).await? != FolderState::Filled)
    }

    /// Removes a file. Who has it open keeps it.
    pub(super) async fn remove_file(&mut self, place: &Place) -> Answer<()> {
        let path = &place.path;
        if place.is_link {
            return Err(ErrorCode::NotPermitted.into());
        }
        if is_root(path) {
            return Err(ErrorCode::IsDirectory.into());
        }
        self.space.check_writable(path)?;
        if place.is_folder {
            let is_folder = matches!(self.find(place).await?, Found::Folder);
            let code = if is_folder { ErrorCode::IsDirectory } else { ErrorCode::NotDirectory };
            return Err(code.into());
        }
        match self.files.get(path).cloned() {
            Some(file) => self.remove_open(path, &file).await?,
            None => self.remove_stored(path).await?,
        }
        self.times.remove(path);
        self.note_emptied(path).await
    }

    async fn remove_open(&mut self, path: &str, file: &OpenFile) -> Answer<()> {
        let mut state = file.lock().await;
        if file.is_open() {
            // Its bytes go with it.
            state.gather(u64::MAX).await?;
        }
        if state.stored.is_some() {
            match self.space.delete(path, Precondition::Always).await {
                Ok(()) => {}
                // Somebody else was faster.
                Err(error) if error.code == Refused::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        state.remove().await?;
        self.files.remove(path);
        Ok(())
    }

    async fn remove_stored(&self, path: &str) -> Answer<()> {
        let Err(error) = self.space.delete(path, Precondition::Always).await else {
            return Ok(());
        };
        if error.code != Refused::NotFound {
            return Err(error.into());
        }
        let is_folder = self.has_folder(path).await?;
        Err(if is_folder { ErrorCode::IsDirectory } else { ErrorCode::NoEntry }.into())
    }

    /// Something went from a path: the folder that it was in stays, until it is removed.
    pub(super) async fn note_emptied(&mut self, path: &str) -> Answer<()> {
        let Some(folder) = parent(path).filter(|folder| !is_root(folder)) else { return Ok(()) };
        if self.emptied.len() < FOLDER_NOTES_MAX {
            self.emptied.insert(folder.to_owned());
            return Ok(());
        }
        self.keep_if_missing(folder).await
    }

    pub(super) async fn keep_if_missing(&self, folder: &str) -> Answer<()> {
        if self.stored_state(folder).await? == FolderState::Missing {
            self.space.keep_folder(folder).await?;
        }
        Ok(())
    }
}
