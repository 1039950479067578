//! Opening a directory: who else is here, what a crash left, what the filesystem can do.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt, OpenOptions};
use uuid::Uuid;

use super::changing::{self, Changing};
use super::errors::{at_open, foreign_error};
use super::locks::{LockFile, retry};
use super::stamps::Stamps;
use super::temporary::set_time;
use super::{Disk, LocalStore, tree};
use crate::clock::Clock;
use crate::scope::ObjectKey;
use crate::store::layout;

/// Files being written.
const TEMPORARY: &str = ".bailiwick-tmp";
/// Where processes that change the store say so.
const CHANGING: &str = ".bailiwick-changing";
/// Locked, shared, by every process that has the store open.
const ALIVE: &str = ".bailiwick-alive";
/// Locked by whoever makes a change take effect.
const COMMIT: &str = ".bailiwick-commit";
/// The last time that was stamped on a file.
const CLOCK: &str = ".bailiwick-clock";

/// Longest marker that is read, in bytes.
const MARKER_BYTES_MAX: u64 = 64;

impl LocalStore {
    /// Opens a directory as a store, or makes it one. The path is looked up with all the rights
    /// of this process, links in it followed; below it, no link is.
    ///
    /// # Errors
    /// In words for whoever named the directory: it is none, cannot be written, holds another
    /// layout, or is on a filesystem that lacks locks or times.
    pub fn open_ambient(path: &Path, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        open(path, clock).with_context(|| format!("`{}` cannot be used as a store", path.display()))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Company {
    Alone,
    Shared,
}

fn open(path: &Path, clock: Arc<dyn Clock>) -> anyhow::Result<LocalStore> {
    let root = open_root(path).map_err(|error| at_open(error, "the directory"))?;
    let marker = read_marker(&root)?;
    let alive = own(&root, ALIVE)?;
    let company = look_around(&alive).map_err(|error| at_open(error, "locking the directory"))?;
    let (temporary, _) = open_own_folder(&root, TEMPORARY)
        .map_err(|error| at_open(error, "its folder `.bailiwick-tmp`"))?;
    let (changing, was_known) = open_own_folder(&root, CHANGING)
        .map_err(|error| at_open(error, "its folder `.bailiwick-changing`"))?;
    if company == Company::Alone {
        sweep(&temporary).map_err(|error| at_open(error, "sweeping what a crash left"))?;
    }
    let abilities =
        probe(&temporary).map_err(|error| at_open(error, "trying out the filesystem"))?;
    let stamps = Stamps::new(clock, own(&root, CLOCK)?, abilities.step_ns);
    let commits = LockFile::new(own(&root, COMMIT)?);
    if company == Company::Alone {
        stamps.recover().map_err(|error| at_open(error, "its clock"))?;
        settle_after_the_dead(&root, &changing, was_known)
            .map_err(|error| at_open(error, "syncing the filesystem"))?;
    }
    if marker == Marker::Absent {
        write_marker(&root, &temporary).map_err(|error| at_open(error, "writing its marker"))?;
    }
    // From here on, others may come in.
    retry(|| alive.lock_shared()).map_err(|error| at_open(error, "locking the directory"))?;
    let (folds, changing) = (abilities.folds, Changing::new(changing));
    let disk = Disk { root, temporary, commits, stamps, folds, changing, _alive: alive };
    Ok(LocalStore { disk: Arc::new(disk) })
}

fn open_root(path: &Path) -> io::Result<Dir> {
    match Dir::create_ambient_dir_all(path, ambient_authority()) {
        // There, and no folder.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(ErrorKind::NotADirectory.into());
        }
        answer => answer?,
    }
    Dir::open_ambient_dir(path, ambient_authority())
}

fn own(root: &Dir, name: &'static str) -> anyhow::Result<File> {
    let what = format!("its file `{name}`");
    tree::open_own(root, name).map_err(|error| at_open(error, "opening it")).context(what)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Marker {
    Absent,
    Ours,
}

fn read_marker(root: &Dir) -> anyhow::Result<Marker> {
    let key = ObjectKey::layout_marker();
    let options = OpenOptions::new().read(true).follow(FollowSymlinks::No).to_owned();
    let mut marker = Vec::new();
    let read = match root.symlink_metadata(key.as_str()) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Marker::Absent),
        Ok(metadata) if !metadata.is_file() => Err(foreign_error()),
        Ok(_) => root
            .open_with(key.as_str(), &options)
            .and_then(|file| file.take(MARKER_BYTES_MAX).read_to_end(&mut marker)),
        Err(error) => Err(error),
    };
    read.map_err(|error| at_open(error, "its marker `.bailiwick-layout`"))?;
    layout::check_marker(&marker)?;
    Ok(Marker::Ours)
}

fn write_marker(root: &Dir, temporary: &Dir) -> io::Result<()> {
    let name = Uuid::new_v4().simple().to_string();
    let mut file = temporary.create(&name)?;
    file.write_all(layout::marker_text().as_bytes())?;
    file.sync_all()?;
    temporary.rename(&name, root, ObjectKey::layout_marker().as_str())?;
    tree::sync(root)
}

/// Whether anybody else has the store open; if nobody has, nobody comes in until this lock is
/// shared.
fn look_around(alive: &File) -> io::Result<Company> {
    match alive.try_lock() {
        Ok(()) => Ok(Company::Alone),
        Err(TryLockError::WouldBlock) => {
            retry(|| alive.lock_shared())?;
            Ok(Company::Shared)
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether a folder of the store's own was there when it was opened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Before,
    New,
}

/// Opens a folder of the store's own, making it if it is missing. A link is an error.
fn open_own_folder(root: &Dir, name: &str) -> io::Result<(Dir, Known)> {
    let mut known = Known::Before;
    match root.symlink_metadata(name) {
        Ok(metadata) if metadata.is_symlink() => return Err(foreign_error()),
        Err(error) if error.kind() == ErrorKind::NotFound => match root.create_dir(name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            answer => {
                answer?;
                known = Known::New;
            }
        },
        Ok(_) => {}
        Err(error) => return Err(error),
    }
    Ok((root.open_dir_nofollow(name)?, known))
}

/// Removes what processes that are gone were writing.
fn sweep(temporary: &Dir) -> io::Result<()> {
    let mut swept = 0_u64;
    for entry in temporary.entries()? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            continue;
        }
        temporary.remove_file(entry.file_name())?;
        swept += 1;
    }
    if swept > 0 {
        tracing::info!(swept, "removed unfinished files of a process that was ended");
    }
    Ok(())
}

/// Makes durable what a process that was killed had changed and not synced: others go on from it.
/// Where all ended in order, all is. For a process that is alone.
fn settle_after_the_dead(root: &Dir, changing: &Dir, known: Known) -> io::Result<()> {
    let marks = changing::marks(changing)?;
    if known == Known::Before && marks.is_empty() {
        return Ok(());
    }
    settle(root)?;
    marks.iter().try_for_each(|mark| changing.remove_file(mark))
}

#[cfg(target_os = "linux")]
fn settle(root: &Dir) -> io::Result<()> {
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
    let root = rustix::fs::openat(root, ".", flags, rustix::fs::Mode::empty())?;
    Ok(rustix::fs::syncfs(&root)?)
}

#[cfg(not(target_os = "linux"))]
fn settle(root: &Dir) -> io::Result<()> {
    tree::sync(root)
}

struct Abilities {
    step_ns: u64,
    folds: bool,
}

fn probe(temporary: &Dir) -> io::Result<Abilities> {
    // In capitals, and with an accent in one piece.
    let name = format!("PROBE-\u{c9}-{}", Uuid::new_v4().simple());
    let file = temporary.create(&name)?.into_std();
    let abilities = step_ns(&file).and_then(|step_ns| {
        if !tree::lists(temporary, &name)? {
            let advice =
                "it does not keep names as they are written: name a folder on a local disk";
            return Err(io::Error::new(ErrorKind::Unsupported, advice));
        }
        let folds = is_there(temporary, &name.to_lowercase())?
            || is_there(temporary, &name.replace('\u{c9}', "E\u{301}"))?;
        Ok(Abilities { step_ns, folds })
    });
    temporary.remove_file(&name)?;
    abilities
}

fn is_there(folder: &Dir, name: &str) -> io::Result<bool> {
    match folder.symlink_metadata(name) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// How finely the filesystem keeps a file's time.
fn step_ns(file: &File) -> io::Result<u64> {
    const TIME_NS: u64 = 1_234_567_891_123_456_789;
    const STEPS_NS: [u64; 7] = [1, 100, 1_000, 1_000_000, 10_000_000, 1_000_000_000, 2_000_000_000];
    set_time(file, TIME_NS)?;
    let metadata = cap_std::fs::Metadata::from_file(file)?;
    let kept = metadata.mtime().saturating_mul(1_000_000_000) + metadata.mtime_nsec();
    let step = STEPS_NS.into_iter().find(|step| u64::try_from(kept) == Ok(TIME_NS / step * step));
    step.ok_or_else(|| ErrorKind::Unsupported.into())
}
