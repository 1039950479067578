//! The folders above a file: made, and removed again. Whoever changes them holds the commit lock.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, OpenOptions};
use rustix::fs::{Mode, OFlags, fsync, openat};
use rustix::io::Errno;

use super::Disk;
use super::errors::{TWINS, foreign, foreign_error, unchanged};
use super::names::{self, DISPLACED, DiskName};
use super::read::{self, Patience};
use super::temporary::{Lead, TemporaryFile};
use crate::limits::PATH_SEGMENT_BYTES_MAX;
use crate::store::StoreError;

/// How deep a tree of empty folders is that a deletion clears away.
const EMPTY_DEPTH: usize = 16;

/// What stands under a name in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Nothing,
    File,
    Folder,
}

fn standing(disk: &Disk, folder: &Dir, name: &str) -> Result<Standing, StoreError> {
    let metadata = match folder.symlink_metadata(name) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Standing::Nothing),
        Err(error) => return Err(unchanged("looking for a name")(error)),
    };
    if disk.folds && !lists(folder, name).map_err(unchanged("looking for a name"))? {
        return Err(TWINS);
    }
    match metadata.file_type() {
        kind if kind.is_file() => Ok(Standing::File),
        kind if kind.is_dir() => Ok(Standing::Folder),
        _ => Err(foreign(name)),
    }
}

/// Where the file of a name stands in its folder, or would stand if it was created now.
pub(super) fn file_name(disk: &Disk, folder: &Dir, name: &DiskName) -> Result<String, StoreError> {
    let displaced = name.displaced();
    match (standing(disk, folder, name.plain())?, standing(disk, folder, &displaced)?) {
        (_, Standing::Folder) => Err(foreign(&displaced)),
        (Standing::File, _) | (Standing::Nothing, Standing::Nothing) => Ok(name.plain().to_owned()),
        (Standing::Folder, _) | (Standing::Nothing, Standing::File) => Ok(displaced),
    }
}

/// The folder in which a key's file belongs, made where it is missing. A file that stands in its
/// way gives way.
pub(super) fn make_parents(
    disk: &Arc<Disk>,
    parents: &[DiskName],
    lead: &Lead,
) -> Result<Dir, StoreError> {
    if !disk.folds
        && let Ok(folder) = open_folder(&disk.root, &joined(parents), Patience::Wait)
    {
        return Ok(folder);
    }
    let mut folder = disk.root.try_clone().map_err(unchanged("opening the root"))?;
    for name in parents {
        folder = enter(disk, &folder, name, lead)?;
    }
    Ok(folder)
}

fn joined(parents: &[DiskName]) -> String {
    parents.iter().map(DiskName::plain).collect::<Vec<_>>().join("/")
}

/// Opens a folder by its path below the root, following no link.
pub(super) fn open_folder(root: &Dir, path: &str, patience: Patience) -> io::Result<Dir> {
    if path.is_empty() {
        return root.try_clone();
    }
    read::open(root, path, OFlags::RDONLY | OFlags::DIRECTORY, patience).map(Dir::from_std_file)
}

fn enter(disk: &Arc<Disk>, folder: &Dir, name: &DiskName, lead: &Lead) -> Result<Dir, StoreError> {
    match standing(disk, folder, name.plain())? {
        Standing::Folder => {}
        Standing::Nothing => make(disk, folder, name, lead)?,
        Standing::File => {
            displace(disk, folder, name)?;
            make(disk, folder, name, lead)?;
        }
    }
    folder.open_dir_nofollow(name.plain()).map_err(unchanged("opening a folder"))
}

/// Durable when it returns: others will put files into the folder, and sync no more than it.
fn make(disk: &Arc<Disk>, folder: &Dir, name: &DiskName, lead: &Lead) -> Result<(), StoreError> {
    write_beside(disk, folder, name, lead)?;
    folder.create_dir(name.plain()).map_err(unchanged("making a folder"))?;
    sync(folder).map_err(unchanged("syncing a folder"))
}

/// Between this and the folder's making, and after a crash there, the file is found as displaced.
fn displace(disk: &Disk, folder: &Dir, name: &DiskName) -> Result<(), StoreError> {
    let displaced = name.displaced();
    if standing(disk, folder, &displaced)? != Standing::Nothing {
        return Err(foreign(&displaced));
    }
    folder
        .rename(name.plain(), folder, &displaced)
        .map_err(unchanged("renaming a file that gives way to a folder"))
}

/// For a name under its hash, sees to it that the name is beside it.
pub(super) fn write_beside(
    disk: &Arc<Disk>,
    folder: &Dir,
    name: &DiskName,
    lead: &Lead,
) -> Result<(), StoreError> {
    let Some((beside, segment)) = name.beside() else { return Ok(()) };
    if read_beside(folder, &beside).is_ok_and(|held| held == segment) {
        return Ok(());
    }
    let mut temporary = TemporaryFile::create(disk, lead)?;
    temporary.append(segment.as_bytes()).map_err(unchanged("writing a long name"))?;
    temporary.file().sync_all().map_err(unchanged("syncing a long name"))?;
    temporary.move_to(folder, &beside).map_err(unchanged("placing a long name"))
}

/// The segment that a file beside a hash holds.
pub(super) fn read_beside(folder: &Dir, beside: &str) -> io::Result<String> {
    let options = OpenOptions::new().read(true).follow(FollowSymlinks::No).to_owned();
    if !folder.symlink_metadata(beside)?.is_file() {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut segment = String::new();
    let file = folder.open_with(beside, &options)?;
    file.take(PATH_SEGMENT_BYTES_MAX as u64 + 1).read_to_string(&mut segment)?;
    Ok(segment)
}

/// After a deletion: removes what only it needed, up to the first folder that holds more.
/// Returns that one, to be synced.
pub(super) fn prune(disk: &Disk, parents: &[DiskName], name: &DiskName) -> io::Result<Dir> {
    let mut folder = open_folder(&disk.root, &joined(parents), Patience::Wait)?;
    forget(&folder, name)?;
    for depth in (0..parents.len()).rev() {
        if !is_empty(&folder, EMPTY_DEPTH)? {
            break;
        }
        let above = open_folder(&disk.root, &joined(&parents[..depth]), Patience::Wait)?;
        match above.remove_dir(parents[depth].plain()) {
            Ok(()) => forget(&above, &parents[depth])?,
            // Somebody who is not the store is at it, or it is a mount: it stays.
            Err(error) => {
                tracing::debug!(%error, "an empty folder stays");
                break;
            }
        }
        folder = above;
    }
    Ok(folder)
}

/// Removes the name beside a hash if nothing has it any more.
fn forget(folder: &Dir, name: &DiskName) -> io::Result<()> {
    match name.beside() {
        Some(_) => remove_orphan(folder, name.plain()).map(drop),
        None => Ok(()),
    }
}

fn not_found(answer: io::Result<()>) -> io::Result<Option<()>> {
    match answer {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        answer => answer.map(Some),
    }
}

/// Whether a folder holds nothing but what a kill may leave, which is removed: folders without
/// files, and names whose files are gone. `depth` bounds how far down it looks.
fn is_empty(folder: &Dir, depth: usize) -> io::Result<bool> {
    for entry in folder.entries()? {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { return Ok(false) };
        let removed = match (names::of_beside(&name), entry.file_type()?.is_dir()) {
            (Some(hashed), false) => remove_orphan(folder, hashed)?,
            (None, true) if depth > 0 => {
                is_empty(&folder.open_dir_nofollow(&name)?, depth - 1)?
                    && folder.remove_dir(&name).is_ok()
            }
            _ => false,
        };
        if !removed {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes the name beside a hash if nothing has it.
fn remove_orphan(folder: &Dir, hashed: &str) -> io::Result<bool> {
    let gone = |name: &str| not_found(folder.symlink_metadata(name).map(drop));
    if gone(hashed)?.is_some() || gone(&format!("{hashed}{DISPLACED}"))?.is_some() {
        return Ok(false);
    }
    not_found(folder.remove_file(names::beside(hashed)))?;
    Ok(true)
}

/// Makes the names in a folder durable.
pub(super) fn sync(folder: &Dir) -> io::Result<()> {
    match fsync(folder) {
        // Opened for looking up alone. Otherwise it may well be gone by now, and is synced no less.
        Err(Errno::BADF) => {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let folder = openat(folder, ".", flags, Mode::empty())?;
            Ok(fsync(&folder)?)
        }
        answer => Ok(answer?),
    }
}

/// Makes the names durable in the lowest folder of a path that is still there.
pub(super) fn sync_nearest(root: &Dir, path: &str) -> io::Result<()> {
    let mut path = path;
    loop {
        match open_folder(root, path, Patience::Wait).and_then(|folder| sync(&folder)) {
            Err(error) if error.kind() == ErrorKind::NotFound && !path.is_empty() => {
                path = path.rsplit_once('/').map_or("", |(above, _)| above);
            }
            answer => return answer,
        }
    }
}

/// Whether every name of a path is on disk in just this spelling, for a filesystem that would
/// find it under another one too.
pub(super) fn is_spelled_so(root: &Dir, path: &str) -> Result<bool, StoreError> {
    let spelled = || {
        let mut folder = root.try_clone()?;
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            if !lists(&folder, name)? {
                return Ok(false);
            }
            if names.peek().is_some() {
                folder = folder.open_dir_nofollow(name)?;
            }
        }
        Ok(true)
    };
    spelled().map_err(unchanged("reading a folder"))
}

/// Whether a folder holds a name in just this spelling.
pub(super) fn lists(folder: &Dir, name: &str) -> io::Result<bool> {
    for entry in folder.entries()? {
        if entry?.file_name() == name {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Opens a file of the store's own, making it if it is missing. A link is an error.
pub(super) fn open_own(folder: &Dir, name: &str) -> io::Result<File> {
    let options = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .follow(FollowSymlinks::No)
        .to_owned();
    let file = folder.open_with(name, &options)?;
    if !file.metadata()?.is_file() {
        return Err(foreign_error());
    }
    Ok(file.into_std())
}
