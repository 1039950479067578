//! A store in a directory: a file per object, in a tree that a person can read.
//!
//! An object's file is written under a temporary name, synced, renamed into place, and the folder
//! synced. Processes share the directory: each holds a shared lock for life, so that the first
//! one knows that leftovers are nobody's, and the exclusive commit lock while a change takes
//! effect. Readers hold none: a file in place is never written to again. No link is followed,
//! wherever it stands and wherever it points.

use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use cap_std::fs::Dir;
use tokio::task::spawn_blocking;

use self::caller::Caller;
use self::changing::Changing;
use self::errors::unchanged;
use self::locks::{Held, LockFile};
use self::read::{Missed, Patience, Purpose};
use self::stamps::Stamps;
use self::upload::LocalUpload;
use super::{
    Depth, Layer, ListToken, Listing, Object, ObjectStore, Precondition, Remain, Remains, Revision,
    StoreError, Upload,
};
use crate::scope::{KeyPrefix, ObjectKey};

mod caller;
mod changing;
mod commit;
mod errors;
mod list;
mod locks;
mod names;
mod open;
mod read;
mod remains;
mod report;
mod scan;
mod stamps;
mod temporary;
mod tree;
mod upload;

pub use report::{LocalReport, Twins};

/// Largest range that is read on the caller's thread when it is in memory, in bytes. Copying
/// more takes longer than handing it to another thread.
const INLINE_BYTES_MAX: u64 = 64 << 10;

/// A store in a directory, shared by any number of processes of one machine.
#[derive(Clone)]
pub struct LocalStore {
    disk: Arc<Disk>,
}

/// The open directory.
#[derive(Debug)]
struct Disk {
    root: Dir,
    temporary: Dir,
    commits: LockFile,
    stamps: Stamps,
    /// Whether the filesystem finds a file under other spellings of its name.
    folds: bool,
    changing: Changing,
    /// Holds a shared lock as long as this process has the store open. Last, so that it goes last.
    _alive: File,
}

impl Disk {
    /// The commit lock, for a change.
    fn change(&self) -> Result<Held<'_>, StoreError> {
        self.changing.begin().map_err(unchanged("marking the store as being changed"))?;
        self.commits.hold().map_err(unchanged("waiting for the commit lock"))
    }
}

// The directory's path is for whoever started the host.
impl fmt::Debug for LocalStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalStore")
    }
}

impl LocalStore {
    /// As [`Self::blocking`], for a change: it does not take effect once the caller is gone.
    async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Disk>, &Caller) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let caller = Caller::default();
        let _waits = caller.waits();
        self.blocking(move |disk| work(disk, &caller)).await
    }

    /// Off the caller's thread, which other turns need while a disk is slow. Goes on to its end
    /// even if the caller stops waiting.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Disk>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let disk = Arc::clone(&self.disk);
        let done = spawn_blocking(move || work(&disk)).await;
        done.unwrap_or_else(|panic| Err(StoreError::ambiguous(panic)))
    }
}

fn get(
    disk: &Disk,
    key: &ObjectKey,
    range: Range<u64>,
    pinned: Option<&Revision>,
    patience: Patience,
) -> Result<(Object, Bytes), Missed> {
    let (file, object) = read::find(disk, key, Purpose::Read, patience)?;
    if pinned.is_some_and(|pinned| *pinned != object.revision) {
        return Err(StoreError::PreconditionFailed.into());
    }
    let length = range.end.min(object.size).saturating_sub(range.start);
    if patience == Patience::Cached && length > INLINE_BYTES_MAX {
        return Err(Missed::Cold);
    }
    let bytes = read::range(&file, object.size, range, patience)?;
    Ok((object, bytes))
}

#[async_trait]
impl ObjectStore for LocalStore {
    async fn head(&self, key: &ObjectKey) -> Result<Object, StoreError> {
        match read::find(&self.disk, key, Purpose::Stat, Patience::Cached) {
            Ok((_, object)) => return Ok(object),
            Err(Missed::Failed(error)) => return Err(error),
            Err(Missed::Cold) => {}
        }
        let key = key.clone();
        let find = move |disk: &Arc<Disk>| {
            let found = read::find(disk, &key, Purpose::Stat, Patience::Wait);
            found.map(|(_, object)| object).map_err(Missed::failure)
        };
        self.blocking(find).await
    }

    async fn get(
        &self,
        key: &ObjectKey,
        range: Range<u64>,
        pinned: Option<&Revision>,
    ) -> Result<(Object, Bytes), StoreError> {
        match get(&self.disk, key, range.clone(), pinned, Patience::Cached) {
            Ok(got) => return Ok(got),
            Err(Missed::Failed(error)) => return Err(error),
            Err(Missed::Cold) => {}
        }
        let (key, pinned) = (key.clone(), pinned.cloned());
        let wait = move |disk: &Arc<Disk>| {
            get(disk, &key, range, pinned.as_ref(), Patience::Wait).map_err(Missed::failure)
        };
        self.blocking(wait).await
    }

    async fn put(
        &self,
        key: &ObjectKey,
        bytes: Bytes,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        let (key, when) = (key.clone(), when.clone());
        self.change(move |disk, caller| commit::put(disk, &key, &bytes, &when, caller)).await
    }

    async fn upload(
        &self,
        key: &ObjectKey,
        when: Precondition,
    ) -> Result<Box<dyn Upload>, StoreError> {
        Ok(Box::new(LocalUpload::new(Arc::clone(&self.disk), key.clone(), when)))
    }

    async fn delete(&self, key: &ObjectKey, when: &Precondition) -> Result<(), StoreError> {
        let (key, when) = (key.clone(), when.clone());
        self.change(move |disk, caller| commit::delete(disk, &key, &when, caller)).await
    }

    async fn delete_many(&self, keys: &[ObjectKey]) -> Result<(), StoreError> {
        let keys = keys.to_vec();
        self.change(move |disk, caller| commit::delete_many(disk, &keys, caller)).await
    }

    async fn list(
        &self,
        prefix: &KeyPrefix,
        depth: Depth,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Listing, StoreError> {
        let (prefix, after) = (prefix.clone(), after.cloned());
        let page = move |disk: &Arc<Disk>| list::page(disk, &prefix, depth, after.as_ref(), limit);
        self.blocking(page).await
    }

    async fn copy(
        &self,
        source: &ObjectKey,
        pinned: Option<&Revision>,
        target: &ObjectKey,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        let (source, pinned) = (source.clone(), pinned.cloned());
        let (target, when) = (target.clone(), when.clone());
        let copy = move |disk: &Arc<Disk>, caller: &Caller| {
            commit::copy(disk, (&source, pinned.as_ref()), &target, &when, caller)
        };
        self.change(copy).await
    }

    async fn remains(
        &self,
        prefix: &KeyPrefix,
        layer: Layer,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Remains, StoreError> {
        let (prefix, after) = (prefix.clone(), after.cloned());
        let page =
            move |disk: &Arc<Disk>| remains::page(disk, &prefix, layer, after.as_ref(), limit);
        self.blocking(page).await
    }

    async fn destroy(&self, remains: &[Remain]) -> Result<(), StoreError> {
        let remains = remains.to_vec();
        self.change(move |disk, caller| remains::destroy(disk, &remains, caller)).await
    }
}
