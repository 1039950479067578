//! Folders, for a door that shows a scope as a tree: whether they are there, and keeping them
//! though they are empty. And what else only such a door asks for.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::files::Chunk;
use super::{Error, ErrorCode, Space};
use crate::limits::PAGE_FILES_MAX;
use crate::scope::{Folder, FolderPath, KeyPrefix, Need};
use crate::store::{Depth, Effect, ListToken, Listing, Precondition, Revision};

/// What is in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderState {
    /// It is not there.
    Missing,
    /// It is kept, and nothing is in it.
    Empty,
    /// Something is in it: a file, or a folder.
    Filled,
}

/// What stands below a folder, at every depth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Paths of files.
    pub files: Vec<String>,
    /// Folders that are kept though they may be empty, each ending in `/`; the folder itself may be
    /// among them.
    pub kept: BTreeSet<String>,
}

impl Space {
    /// Whether the caller may change a file there. No store is asked.
    ///
    /// # Errors
    /// `denied` if not; as ever for what is no path of a file.
    pub fn check_writable(&self, path: &str) -> Result<(), Error> {
        self.resolve(path, Need::Write).map(|_| ())
    }

    /// As [`Space::read`], of one content alone.
    ///
    /// # Errors
    /// `conflict` if the file was replaced or deleted since.
    pub async fn read_revision(
        &self,
        path: &str,
        offset: u64,
        length: u32,
        revision: &Revision,
    ) -> Result<Bytes, Error> {
        let read = self.read_pinned(path, offset, length, Some(revision)).await;
        let Chunk { bytes, .. } = read.map_err(|error| match error.code {
            ErrorCode::NotFound => Error::conflict(path),
            _ => error,
        })?;
        Ok(bytes)
    }

    /// What is in a folder. A scope in reach is always there.
    ///
    /// # Errors
    /// As [`Space::list`].
    pub async fn folder_state(&self, folder: &str) -> Result<FolderState, Error> {
        let path = self.folder_path(folder)?;
        let is_scope = matches!(&path, FolderPath::Below { rest, .. } if rest.is_empty());
        let state = match self.0.table.resolve_folder(&path)? {
            Folder::Root | Folder::Skills => return Ok(FolderState::Filled),
            Folder::Skill { slug, rest } => {
                let files = self.0.table.bound(&slug)?.files();
                let mut below = files.range(rest.clone()..).map(|(name, _)| name);
                match below.next() {
                    Some(name) if name.starts_with(&rest) => FolderState::Filled,
                    _ => FolderState::Missing,
                }
            }
            Folder::Stored(prefix) => self.stored_state(folder, &prefix).await?,
        };
        Ok(if is_scope && state == FolderState::Missing { FolderState::Empty } else { state })
    }

    async fn stored_state(&self, folder: &str, prefix: &KeyPrefix) -> Result<FolderState, Error> {
        let own = format!("{}/", folder.strip_suffix('/').unwrap_or(folder));
        let (mut state, mut after) = (FolderState::Missing, None);
        loop {
            // Its own marker, and whatever else there is.
            let page = self.raw_page(prefix, after.as_ref(), 2).await?;
            for (key, _) in &page.objects {
                if self.0.table.marked_by(key).as_ref() != Some(&own) {
                    return Ok(FolderState::Filled);
                }
                state = FolderState::Empty;
            }
            let Some(next) = page.next else { return Ok(state) };
            after = Some(next);
        }
    }

    async fn raw_page(
        &self,
        prefix: &KeyPrefix,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Listing, Error> {
        let list = self.store().list(prefix, Depth::All, after, limit);
        self.operate("the folder", Effect::None, list).await
    }

    /// All that stands below a folder; `None` if that is more than `most` files and kept folders.
    ///
    /// # Errors
    /// As [`Space::list`]; `invalid` for what no file can be moved out of.
    pub async fn tree(&self, folder: &str, most: usize) -> Result<Option<Tree>, Error> {
        let path = self.folder_path(folder)?;
        let Folder::Stored(prefix) = self.0.table.resolve_folder(&path)? else {
            return Err(Error::invalid("no-folder", "that is no folder of files in a store"));
        };
        let (mut tree, mut after) = (Tree::default(), None);
        loop {
            let page = self.raw_page(&prefix, after.as_ref(), PAGE_FILES_MAX as usize).await?;
            for (key, _) in &page.objects {
                if let Some(folder) = self.0.table.marked_by(key) {
                    tree.kept.insert(folder);
                } else if let Some(file) = self.0.table.path_of(key) {
                    tree.files.push(file.spelled());
                }
            }
            if tree.files.len() + tree.kept.len() > most {
                return Ok(None);
            }
            let Some(next) = page.next else { return Ok(Some(tree)) };
            after = Some(next);
        }
    }

    /// Keeps a folder, though it may be empty.
    ///
    /// # Errors
    /// `denied`; `invalid` for a scope.
    pub async fn keep_folder(&self, folder: &str) -> Result<(), Error> {
        let marker = self.0.table.resolve_marker(&self.folder_path(folder)?, Need::Write)?;
        let put = self.store().put(&marker, Bytes::new(), &Precondition::Always);
        self.operate("the folder", Effect::Unknown, put).await?;
        Ok(())
    }

    /// Keeps a folder no longer: it is there for as long as something is in it.
    ///
    /// # Errors
    /// As [`Space::keep_folder`].
    pub async fn forget_folder(&self, folder: &str) -> Result<(), Error> {
        let marker = self.0.table.resolve_marker(&self.folder_path(folder)?, Need::Write)?;
        let delete = self.store().delete(&marker, &Precondition::Always);
        self.operate("the folder", Effect::Unknown, delete)
            .await
            .or_else(|error| if error.code == ErrorCode::NotFound { Ok(()) } else { Err(error) })
    }

    /// A number that tells the file or folder at a path from all others, the same for everybody
    /// who reaches it by this host, and by others with the same key. It says nothing of where that
    /// is.
    ///
    /// # Errors
    /// As for any path that the caller cannot reach.
    pub fn identity(&self, path: &str) -> Result<u128, Error> {
        let path = self.folder_path(path)?;
        Ok(self.0.storage.seal.fingerprint(&self.0.table.identity(&path)?))
    }

    /// Milliseconds since the Unix epoch, UTC, by the clock in force.
    pub fn now_ms(&self) -> u64 {
        self.0.storage.clock.now_ms()
    }

    fn folder_path<'p>(&self, folder: &'p str) -> Result<FolderPath<'p>, Error> {
        self.check_alive()?;
        let path = FolderPath::parse(folder);
        path.map_err(|refusal| self.0.table.explain(folder, refusal).into())
    }
}
