//! Finding and reading files below the root, no link ever followed.

use std::fs::File;
use std::io::{self, Error, ErrorKind};
use std::ops::Range;

use bytes::Bytes;
use cap_fs_ext::DirExt;
use cap_std::fs::Dir;
use rustix::buffer::spare_capacity;
use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::{Errno, pread};

use super::errors::{foreign, is_foreign, unchanged};
use super::locks::retry;
use super::names::{self, DISPLACED};
use super::{Disk, tree};
use crate::buffer::Buffer;
use crate::scope::ObjectKey;
use crate::store::{Object, Revision, StoreError};

/// Whether a call may wait for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// Only what the kernel has in memory; anything else is [`Missed::Cold`].
    Cached,
    /// As long as it takes.
    Wait,
}

/// Why something was not had.
#[derive(Debug)]
pub(super) enum Missed {
    /// The kernel would have to ask the disk.
    Cold,
    /// A plain answer or failure.
    Failed(StoreError),
}

impl From<StoreError> for Missed {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl Missed {
    fn translate(error: Error, doing: &'static str) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock => Self::Cold,
            _ => Self::Failed(unchanged(doing)(error)),
        }
    }

    /// The failure, for a call that waited.
    pub(super) fn failure(self) -> StoreError {
        match self {
            Self::Failed(error) => error,
            Self::Cold => unchanged("waiting for the disk")(ErrorKind::WouldBlock.into()),
        }
    }
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Its size and revision alone.
    Stat,
    /// Its bytes.
    Read,
}

impl Purpose {
    fn flags(self) -> OFlags {
        match self {
            #[cfg(target_os = "linux")]
            Self::Stat => OFlags::PATH,
            // A pipe that stands where a file should must not stop us.
            _ => OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY,
        }
    }
}

/// The object of a key, and its file.
pub(super) fn find(
    disk: &Disk,
    key: &ObjectKey,
    purpose: Purpose,
    patience: Patience,
) -> Result<(File, Object), Missed> {
    if disk.folds && patience == Patience::Cached {
        return Err(Missed::Cold);
    }
    let mut path = names::path(key);
    let (file, stat) = match stand(disk, &path, purpose, patience)? {
        Some(found) if kind(&found.1) != FileType::Directory => found,
        _ => {
            path.push(DISPLACED);
            stand(disk, &path, purpose, patience)?.ok_or(StoreError::NotFound)?
        }
    };
    if kind(&stat) != FileType::RegularFile {
        return Err(foreign(&path).into());
    }
    if disk.folds && !tree::is_spelled_so(&disk.root, &path)? {
        return Err(StoreError::NotFound.into());
    }
    Ok((file, object(&stat)))
}

/// What stands at a path, if anything.
fn stand(
    disk: &Disk,
    path: &str,
    purpose: Purpose,
    patience: Patience,
) -> Result<Option<(File, Stat)>, Missed> {
    let file = match open(&disk.root, path, purpose.flags(), patience) {
        Ok(file) => file,
        Err(error) => return nothing_or(error, path),
    };
    match fstat(&file) {
        Ok(stat) => Ok(Some((file, stat))),
        Err(error) => Err(Missed::translate(error.into(), "reading a file's size")),
    }
}

fn nothing_or<T>(error: Error, path: &str) -> Result<Option<T>, Missed> {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(None),
        _ if is_foreign(&error) => Err(foreign(path).into()),
        _ => Err(Missed::translate(error, "opening a file")),
    }
}

/// What a name stands for.
pub(super) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// What a regular file is as an object.
pub(super) fn object(stat: &Stat) -> Object {
    let stamp = nanoseconds(stat.st_mtime, stat.st_mtime_nsec);
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let revision = format!("{stamp:x}-{:x}-{size:x}", stat.st_ino);
    Object { revision: Revision(revision), size, modified_ms: stamp / 1_000_000 }
}

/// Since the Unix epoch.
pub(super) fn nanoseconds(seconds: i64, rest: u64) -> u64 {
    u64::try_from(seconds).unwrap_or(0).saturating_mul(1_000_000_000).saturating_add(rest)
}

/// The same, of an open file.
pub(super) fn object_of(file: &File) -> io::Result<Object> {
    Ok(object(&fstat(file)?))
}

/// The bytes of a range, as far as they exist.
pub(super) fn range(
    file: &File,
    size: u64,
    range: Range<u64>,
    patience: Patience,
) -> Result<Bytes, Missed> {
    let start = range.start.min(size);
    let length = range.end.min(size).saturating_sub(start);
    if length == 0 {
        return Ok(Bytes::new());
    }
    let length = usize::try_from(length).map_err(StoreError::unchanged)?;
    let translate = |error| Missed::translate(error, "reading a file");
    if patience == Patience::Cached {
        let mut bytes = vec![0; length];
        read_cached(file, &mut bytes, start).map_err(translate)?;
        return Ok(bytes.into());
    }
    let mut buffer = Buffer::try_with_room(length).map_err(StoreError::unchanged)?;
    read_whole(file, (buffer.room(), length), start).map_err(translate)?;
    Ok(buffer.freeze())
}

/// Reads so many bytes into room that need not be cleared before.
fn read_whole(file: &File, (bytes, length): (&mut Vec<u8>, usize), start: u64) -> io::Result<()> {
    while bytes.len() < length {
        let at = start + bytes.len() as u64;
        if retry(|| Ok(pread(file, spare_capacity(bytes), at)?))? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    bytes.truncate(length);
    Ok(())
}

#[cfg(target_os = "linux")]
fn read_cached(file: &File, bytes: &mut [u8], start: u64) -> io::Result<()> {
    use std::io::IoSliceMut;

    use rustix::io::{ReadWriteFlags, preadv2};

    let wanted = bytes.len();
    match preadv2(file, &mut [IoSliceMut::new(bytes)], start, ReadWriteFlags::NOWAIT) {
        Ok(read) if read == wanted => Ok(()),
        // Short: the rest is not in memory. Not supported: the filesystem cannot tell.
        Ok(_) | Err(Errno::AGAIN | Errno::OPNOTSUPP) => Err(ErrorKind::WouldBlock.into()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn read_cached(_file: &File, _bytes: &mut [u8], _start: u64) -> io::Result<()> {
    Err(ErrorKind::WouldBlock.into())
}

/// Opens what stands at a path of segments. A link, in whatever place, is an error.
pub(super) fn open(root: &Dir, path: &str, flags: OFlags, patience: Patience) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    if let Some(answer) = open_at_once(root, path, flags, patience) {
        return answer;
    }
    match patience {
        Patience::Cached => Err(ErrorKind::WouldBlock.into()),
        Patience::Wait => walk(root, path, flags),
    }
}

/// The whole path in one call; `None` where the kernel does not have it, or does not let us.
#[cfg(target_os = "linux")]
fn open_at_once(
    root: &Dir,
    path: &str,
    flags: OFlags,
    patience: Patience,
) -> Option<io::Result<File>> {
    use rustix::fs::{ResolveFlags, openat2};
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    if patience == Patience::Cached {
        resolve |= ResolveFlags::CACHED;
    }
    match openat2(root, path, flags, Mode::empty(), resolve) {
        Err(Errno::NOSYS | Errno::PERM) => None,
        answer => Some(answer.map(File::from).map_err(Error::from)),
    }
}

/// Folder by folder.
fn walk(root: &Dir, path: &str, flags: OFlags) -> io::Result<File> {
    let Some((parents, name)) = path.rsplit_once('/') else {
        return Ok(openat(root, path, flags, Mode::empty())?.into());
    };
    let mut segments = parents.split('/');
    let mut folder = root.open_dir_nofollow(segments.next().unwrap_or_default())?;
    for segment in segments {
        folder = folder.open_dir_nofollow(segment)?;
    }
    Ok(openat(&folder, name, flags, Mode::empty())?.into())
}

#[cfg(test)]
mod tests;
