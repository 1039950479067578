//! Listings in byte order of keys, a page at a time.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType, statat};
use rustix::io::Errno;

use super::errors::{foreign, is_foreign, unchanged};
use super::names::DiskName;
use super::read::{self, Patience};
use super::scan::{self, Entry, Rest};
use super::{Disk, commit, tree};
use crate::scope::{KeyPrefix, ObjectKey};
use crate::store::{Depth, ListToken, Listing, Object, StoreError};

/// Most names that one listing keeps, over all the folders that it is in.
const NAMES_MAX: usize = 4096;

/// A page of a listing; the token is the last key or folder shown.
pub(super) fn page(
    disk: &Disk,
    prefix: &KeyPrefix,
    depth: Depth,
    after: Option<&ListToken>,
    limit: usize,
) -> Result<Listing, StoreError> {
    let other = || StoreError::unchanged(anyhow::anyhow!("a token of another listing"));
    let after = match after {
        Some(token) => token.0.strip_prefix(prefix.as_str()).ok_or_else(other)?,
        None => "",
    };
    let mut walk = Walk::new(disk, prefix, depth, limit, Level::top(prefix, after));
    let mut page = Listing::default();
    let mut last = None;
    for _ in 0..limit {
        match walk.next()? {
            None => return Ok(page),
            Some(Shown::Object(key, object)) => {
                last = Some(key.as_str().to_owned());
                page.objects.push((key, object));
            }
            Some(Shown::Folder(folder)) => {
                last = Some(folder.as_str().to_owned());
                page.folders.push(folder);
            }
        }
    }
    if walk.next()?.is_some() {
        page.next = last.map(ListToken);
    }
    Ok(page)
}

enum Shown {
    Object(ObjectKey, Object),
    Folder(KeyPrefix),
}

/// Goes through a tree in byte order of keys.
struct Walk<'a> {
    disk: &'a Disk,
    prefix: &'a KeyPrefix,
    depth: Depth,
    limit: usize,
    levels: Vec<Level>,
}

/// A folder that the walk is in. Only the innermost one is open: a deep tree is no reason to run
/// out of files.
struct Level {
    /// Below the root, on disk.
    path: String,
    /// As keys have it, `/` included.
    key: String,
    folder: Option<Dir>,
    /// Goes on behind this name (a folder's ends in `/`), or in the folder that starts it.
    after: String,
    due: VecDeque<Entry>,
    rest: Rest,
}

impl Level {
    fn top(prefix: &KeyPrefix, after: &str) -> Self {
        let segments = prefix.as_str().trim_end_matches('/').split('/').map(DiskName::of);
        let names: Vec<_> = segments.map(|name| name.plain().to_owned()).collect();
        Self::new(names.join("/"), prefix.as_str().to_owned(), after.to_owned())
    }

    fn below(&self, entry: &Entry) -> Self {
        let after = self.after.strip_prefix(&entry.segment).unwrap_or_default();
        Self::new(
            format!("{}/{}", self.path, entry.name()),
            format!("{}{}", self.key, entry.segment),
            after.to_owned(),
        )
    }

    fn new(path: String, key: String, after: String) -> Self {
        Self { path, key, folder: None, after, due: VecDeque::new(), rest: Rest::Unknown }
    }

    /// The folder, opened; `None` if it is gone.
    fn folder(&mut self, disk: &Disk) -> Result<Option<&Dir>, StoreError> {
        if self.folder.is_none() {
            self.folder = match tree::open_folder(&disk.root, &self.path, Patience::Wait) {
                Ok(folder) => Some(folder),
                Err(error) => return gone_or(error, &self.path),
            };
        }
        Ok(self.folder.as_ref())
    }

    /// Whether an entry is still to come. The folder in which `after` is, is.
    fn is_due(&self, segment: &str, depth: Depth) -> bool {
        let inside = depth == Depth::All
            && segment.ends_with('/')
            && segment.len() < self.after.len()
            && self.after.starts_with(segment);
        inside || segment > self.after.as_str()
    }

    /// Reads the folder for the next `limit` entries.
    fn fill(&mut self, disk: &Disk, depth: Depth, limit: usize) -> Result<(), StoreError> {
        let Some(folder) = self.folder(disk)? else {
            self.rest = Rest::Seen;
            return Ok(());
        };
        let folder = folder.try_clone().map_err(unchanged("reading a folder"))?;
        let is_due = |segment: &str| self.is_due(segment, depth);
        (self.due, self.rest) = scan::smallest(disk, &folder, limit, is_due)?;
        Ok(())
    }

    fn next(
        &mut self,
        disk: &Disk,
        depth: Depth,
        limit: usize,
    ) -> Result<Option<Entry>, StoreError> {
        if self.due.is_empty() && self.rest == Rest::Unknown {
            self.fill(disk, depth, limit)?;
        }
        Ok(self.due.pop_front())
    }

    /// Keeps no names; they are read again when the walk comes back.
    fn forget(&mut self) {
        self.due.clear();
        self.rest = Rest::Unknown;
    }
}

impl<'a> Walk<'a> {
    fn new(disk: &'a Disk, prefix: &'a KeyPrefix, depth: Depth, limit: usize, top: Level) -> Self {
        Self { disk, prefix, depth, limit, levels: vec![top] }
    }

    fn next(&mut self) -> Result<Option<Shown>, StoreError> {
        while let Some(level) = self.levels.last_mut() {
            let Some(entry) = level.next(self.disk, self.depth, self.limit)? else {
                self.levels.pop();
                continue;
            };
            let shown = match (entry.segment.ends_with('/'), self.depth) {
                (false, _) => self.object(&entry)?,
                (true, Depth::Children) => self.folder(&entry)?,
                (true, Depth::All) => {
                    self.enter(&entry);
                    continue;
                }
            };
            if let Some(level) = self.levels.last_mut() {
                level.after = entry.segment;
            }
            if shown.is_some() {
                return Ok(shown);
            }
        }
        Ok(None)
    }

    fn enter(&mut self, entry: &Entry) {
        let Some(level) = self.levels.last_mut() else { return };
        let below = level.below(entry);
        level.after.clone_from(&entry.segment);
        level.folder = None;
        self.levels.push(below);
        let mut kept: usize = self.levels.iter().map(|level| level.due.len()).sum();
        for level in &mut self.levels {
            if kept <= NAMES_MAX {
                break;
            }
            kept -= level.due.len();
            level.forget();
        }
    }

    /// The object of a file; `None` if it is gone by now, or no legal one.
    fn object(&mut self, entry: &Entry) -> Result<Option<Shown>, StoreError> {
        let (disk, prefix) = (self.disk, self.prefix);
        let Some(level) = self.levels.last_mut() else { return Ok(None) };
        let Some(key) = prefix.key([level.key.as_str(), &entry.segment].concat()) else {
            return Ok(None);
        };
        let Some(folder) = level.folder(disk)? else { return Ok(None) };
        let found = statat(folder, entry.name(), AtFlags::SYMLINK_NOFOLLOW);
        let object = match found.map(|stat| (read::kind(&stat), stat)) {
            Ok((FileType::RegularFile, stat)) => Some(read::object(&stat)),
            // It may have given way to a folder since its name was read.
            Ok((FileType::Directory, _)) | Err(Errno::NOENT) => commit::current(disk, &key)?,
            Ok(_) => None,
            Err(error) => return Err(unchanged("reading a file's size")(error.into())),
        };
        Ok(object.map(|object| Shown::Object(key, object)))
    }

    /// A folder, if there is an object in it.
    fn folder(&mut self, entry: &Entry) -> Result<Option<Shown>, StoreError> {
        let Some(level) = self.levels.last() else { return Ok(None) };
        let below = Level { after: String::new(), ..level.below(entry) };
        let folder = self.prefix.folder(&below.key);
        let mut inside = Walk::new(self.disk, self.prefix, Depth::All, 1, below);
        match inside.next()? {
            Some(_) => Ok(folder.map(Shown::Folder)),
            None => Ok(None),
        }
    }
}

/// A folder that is gone, or was never there, holds nothing.
fn gone_or<T>(error: io::Error, path: &str) -> Result<Option<T>, StoreError> {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(None),
        _ if is_foreign(&error) => Err(foreign(path)),
        _ => Err(unchanged("opening a folder")(error)),
    }
}
