//! Changes: each takes effect at one rename or unlink, under the commit lock, after its
//! precondition was seen to hold there. Acknowledged once the folder is synced.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use cap_std::fs::Dir;

use super::caller::Caller;
use super::errors::{ambiguous, unchanged};
use super::names::{self, DiskName};
use super::read::{self, Missed, Patience, Purpose};
use super::temporary::{Lead, TemporaryFile};
use super::{Disk, tree};
use crate::scope::ObjectKey;
use crate::store::{Object, Precondition, Revision, StoreError};

/// How many keys are deleted under one hold of the lock.
const BATCH: usize = 100;

/// What is there now.
pub(super) fn current(disk: &Disk, key: &ObjectKey) -> Result<Option<Object>, StoreError> {
    match read::find(disk, key, Purpose::Stat, Patience::Wait).map_err(Missed::failure) {
        Ok((_, object)) => Ok(Some(object)),
        Err(StoreError::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

fn check(disk: &Disk, key: &ObjectKey, when: &Precondition) -> Result<(), StoreError> {
    if *when == Precondition::Always {
        return Ok(());
    }
    let current = current(disk, key)?;
    match when.holds(current.as_ref().map(|object| &object.revision)) {
        true => Ok(()),
        false => Err(StoreError::PreconditionFailed),
    }
}

/// Creates or replaces an object.
pub(super) fn put(
    disk: &Arc<Disk>,
    key: &ObjectKey,
    bytes: &[u8],
    when: &Precondition,
    caller: &Caller,
) -> Result<Object, StoreError> {
    // Decided again under the lock; here it spares a loser of a race two syncs.
    check(disk, key, when)?;
    let mut temporary = TemporaryFile::create(disk, &Lead::of(key))?;
    temporary.append(bytes).map_err(unchanged("writing a file"))?;
    commit(temporary, key, when, caller)
}

/// Makes a written file an object.
pub(super) fn commit(
    temporary: TemporaryFile,
    key: &ObjectKey,
    when: &Precondition,
    caller: &Caller,
) -> Result<Object, StoreError> {
    let object = temporary.seal()?;
    let disk = Arc::clone(temporary.disk());
    let segments = names::segments(key);
    let folder = {
        let _held = disk.change()?;
        check(&disk, key, when)?;
        place(&disk, temporary, (&segments, &Lead::of(key)), caller)?
    };
    // Others may see it by now, and only we wait until it is durable: a sync under the lock
    // would make every commit wait for every other.
    let synced = tree::sync(&folder).inspect_err(|_| disk.changing.stay());
    synced.map_err(ambiguous("syncing the folder of a new file"))?;
    Ok(object)
}

fn place(
    disk: &Arc<Disk>,
    temporary: TemporaryFile,
    (segments, lead): (&[DiskName], &Lead),
    caller: &Caller,
) -> Result<Dir, StoreError> {
    let (name, parents) = last(segments)?;
    let placed = tree::make_parents(disk, parents, lead).and_then(|folder| {
        let file_name = tree::file_name(disk, &folder, name)?;
        tree::write_beside(disk, &folder, name, lead)?;
        caller.check()?;
        temporary.move_to(&folder, &file_name).map_err(unchanged("moving a file into place"))?;
        Ok(folder)
    });
    if placed.is_err() {
        // Folders made for nothing; if they stay after all, no listing shows them.
        let _best_effort = tree::prune(disk, parents, name);
    }
    placed
}

fn last(segments: &[DiskName]) -> Result<(&DiskName, &[DiskName]), StoreError> {
    segments.split_last().ok_or(StoreError::Unrepresentable("an empty key"))
}

/// Removes an object.
pub(super) fn delete(
    disk: &Disk,
    key: &ObjectKey,
    when: &Precondition,
    caller: &Caller,
) -> Result<(), StoreError> {
    let folder = {
        let _held = disk.change()?;
        check(disk, key, when)?;
        remove(disk, key, caller)?
    };
    let Some((path, folder)) = folder else { return Ok(()) };
    sync_deleted(disk, &path, &folder)
}

/// Removes objects; each folder is synced once.
pub(super) fn delete_many(
    disk: &Disk,
    keys: &[ObjectKey],
    caller: &Caller,
) -> Result<(), StoreError> {
    for batch in keys.chunks(BATCH) {
        let mut changed = BTreeMap::new();
        {
            let _held = disk.change()?;
            for key in batch {
                changed.extend(remove(disk, key, caller).map_err(after_some)?);
            }
        }
        for (path, folder) in &changed {
            sync_deleted(disk, path, folder)?;
        }
    }
    Ok(())
}

/// Somebody may have removed the folder since. Its disappearing is what has to be durable then,
/// and not every filesystem syncs a folder that is gone.
fn sync_deleted(disk: &Disk, path: &str, folder: &Dir) -> Result<(), StoreError> {
    let synced = match tree::sync(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => tree::sync_nearest(&disk.root, path),
        answer => answer,
    };
    let synced = synced.inspect_err(|_| disk.changing.stay());
    synced.map_err(ambiguous("syncing the folder of a deleted file"))
}

/// Others of the batch may be gone already.
fn after_some(error: StoreError) -> StoreError {
    match error {
        StoreError::Unavailable { source, .. } => StoreError::ambiguous(source),
        error => error,
    }
}

/// Unlinks the file of a key, if there is one; returns the folder to sync, and its path.
fn remove(
    disk: &Disk,
    key: &ObjectKey,
    caller: &Caller,
) -> Result<Option<(String, Dir)>, StoreError> {
    if current(disk, key)?.is_none() {
        return Ok(None);
    }
    let segments = names::segments(key);
    let (name, parents) = last(&segments)?;
    let path = parents.iter().map(DiskName::plain).collect::<Vec<_>>().join("/");
    let folder = tree::open_folder(&disk.root, &path, Patience::Wait);
    let folder = folder.map_err(unchanged("opening a folder"))?;
    let file_name = tree::file_name(disk, &folder, name)?;
    caller.check()?;
    folder.remove_file(file_name).map_err(unchanged("deleting a file"))?;
    let left = tree::prune(disk, parents, name).inspect_err(|_| disk.changing.stay());
    let left = left.map_err(ambiguous("removing empty folders"))?;
    Ok(Some((path, left)))
}

/// Copies an object, by the filesystem's own means where it has some.
pub(super) fn copy(
    disk: &Arc<Disk>,
    (source, pinned): (&ObjectKey, Option<&Revision>),
    target: &ObjectKey,
    when: &Precondition,
    caller: &Caller,
) -> Result<Object, StoreError> {
    let found = read::find(disk, source, Purpose::Read, Patience::Wait);
    let (file, object) = found.map_err(Missed::failure)?;
    if pinned.is_some_and(|pinned| *pinned != object.revision) {
        return Err(StoreError::PreconditionFailed);
    }
    check(disk, target, when)?;
    let temporary = TemporaryFile::create(disk, &Lead::of(target))?;
    let copied = io::copy(&mut &file, &mut temporary.file());
    if copied.map_err(unchanged("copying a file"))? != object.size {
        return Err(StoreError::unchanged(anyhow::anyhow!("a file changed while it was copied")));
    }
    commit(temporary, target, when, caller)
}
