//! Renaming. A file is moved by a copy and a deletion, a folder by moving each file in it: not at
//! once, but nothing is lost, whenever it breaks off.

use std::sync::Arc;

use super::Folders;
use super::error::{Answer, ErrorCode};
use super::file::OpenFile;
use super::look::Found;
use super::path::{Place, is_root, is_within, scope};
use crate::limits::FOLDER_MOVED_MAX;
use crate::store::Precondition;

impl Folders {
    /// Moves a file or a folder within its scope.
    pub(super) async fn rename(&mut self, from: &Place, to: &Place) -> Answer<()> {
        if from.is_link || to.is_link {
            return Err(ErrorCode::NotPermitted.into());
        }
        if scope(&from.path) != scope(&to.path) {
            return Err(ErrorCode::CrossDevice.into());
        }
        if is_root(&from.path) || is_root(&to.path) {
            return Err(ErrorCode::Invalid.into());
        }
        self.space.check_writable(&from.path)?;
        self.space.check_writable(&to.path)?;
        let source = self.find(from).await?;
        match source {
            Found::Missing => Err(ErrorCode::NoEntry.into()),
            Found::Open(_) | Found::Stored(_) if from.is_folder || to.is_folder => {
                Err(ErrorCode::NotDirectory.into())
            }
            _ if from.path == to.path => Ok(()),
            Found::Folder => self.rename_folder(&from.path, to).await,
            Found::Open(_) | Found::Stored(_) => self.rename_file(&from.path, to).await,
        }
    }

    async fn rename_file(&mut self, from: &str, to: &Place) -> Answer<()> {
        match self.find(to).await? {
            Found::Folder => return Err(ErrorCode::IsDirectory.into()),
            Found::Missing => self.check_parent(&to.path).await?,
            Found::Open(replaced) if replaced.is_open() => {
                replaced.lock().await.gather(u64::MAX).await?;
            }
            Found::Open(_) | Found::Stored(_) => {}
        }
        self.move_file(from, &to.path).await?;
        self.note_emptied(from).await
    }

    /// Moves one file, which may be open, onto whatever file is at `to`.
    async fn move_file(&mut self, from: &str, to: &str) -> Answer<()> {
        let moved = self.files.get(from).cloned();
        // Nothing is written to it meanwhile, or that would count as stored.
        let mut state = match &moved {
            Some(file) => Some((file, file.lock().await)),
            None => None,
        };
        if let Some((file, state)) = &mut state {
            self.store_locked(file, state).await?;
        }
        let stored = self.space.relocate(from, to, Precondition::Always).await?;
        if let Some(replaced) = self.files.remove(to) {
            replaced.lock().await.remove().await?;
        }
        if let Some((file, mut state)) = state {
            state.now_stored(stored);
            self.files.remove(from);
            self.files.insert(to.to_owned(), file.clone());
        }
        self.times.remove(to);
        if let Some(times) = self.times.remove(from) {
            self.times.insert(to.to_owned(), times);
        }
        Ok(())
    }

    async fn rename_folder(&mut self, from: &str, to: &Place) -> Answer<()> {
        if is_within(&to.path, from) {
            return Err(ErrorCode::Invalid.into());
        }
        match self.find(to).await? {
            Found::Open(_) | Found::Stored(_) => return Err(ErrorCode::NotDirectory.into()),
            Found::Folder if !self.is_empty(&to.path).await? => {
                return Err(ErrorCode::NotEmpty.into());
            }
            Found::Folder => {}
            Found::Missing => self.check_parent(&to.path).await?,
        }
        for file in self.open_files(from) {
            self.store_in_place(&file).await?;
        }
        // Who is told so copies and removes one by one, as between devices.
        let tree = self.space.tree(from, FOLDER_MOVED_MAX).await?.ok_or(ErrorCode::CrossDevice)?;
        let moved = |path: &str| [to.path.as_str(), &path[from.len()..]].concat();
        // First, so that it is there though it may be empty.
        self.space.keep_folder(&to.path).await?;
        for path in &tree.files {
            self.move_file(path, &moved(path)).await?;
        }
        for folder in &tree.kept {
            self.space.keep_folder(&moved(folder)).await?;
            self.space.forget_folder(folder).await?;
        }
        let emptied = std::mem::take(&mut self.emptied);
        let renamed = |path: String| if is_within(&path, from) { moved(&path) } else { path };
        self.emptied = emptied.into_iter().map(renamed).collect();
        self.note_emptied(from).await
    }

    /// Files in a folder that are open, or still to be stored.
    fn open_files(&self, folder: &str) -> Vec<Arc<OpenFile>> {
        let below = format!("{folder}/");
        let files = self.files.range(below.clone()..);
        let within = files.take_while(|(path, _)| path.starts_with(&below));
        within.map(|(_, file)| file.clone()).collect()
    }
}
