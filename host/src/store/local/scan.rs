//! Reading the names in a folder. They come in no order, and may be many: a pass keeps the smallest
//! that are wanted, never more than a page of them.

use std::collections::VecDeque;
use std::io;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, DirEntry, FileType, fstat, statat};

use super::errors::unchanged;
use super::names::{self, DISPLACED, DiskName, Read};
use super::{Disk, read, tree};
use crate::store::StoreError;

/// How long a folder has to have been left alone for its time to tell, in milliseconds. Kernels
/// stamp folders by a clock that ticks every few of them.
const QUIET_MS: u64 = 100;

/// A name in a folder. In byte order of `segment`, which ends in `/` for a folder, so that `a-b`
/// stands between the file `a` and what is in the folder `a`.
#[derive(Debug)]
pub(super) struct Entry {
    /// As keys have it.
    pub(super) segment: String,
    /// As it is on disk, where that is not the segment's own spelling.
    escaped: Option<String>,
}

impl Entry {
    /// As it is on disk.
    pub(super) fn name(&self) -> &str {
        let plain = self.segment.strip_suffix('/').unwrap_or(&self.segment);
        self.escaped.as_deref().unwrap_or(plain)
    }

    fn is_displaced(&self) -> bool {
        self.escaped.as_ref().is_some_and(|name| name.ends_with(DISPLACED))
    }
}

/// Whether a folder may hold more than what was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// It may.
    Unknown,
    /// It holds nothing more that is wanted.
    Seen,
}

type Seen = (VecDeque<Entry>, Rest);

/// The `limit` smallest entries that are wanted.
///
/// A name that is renamed during a pass may be shown neither as it was nor as it is, and every
/// replaced file is renamed. So where the folder was not at rest, it is read once more while
/// nobody may change it.
pub(super) fn smallest(
    disk: &Disk,
    folder: &Dir,
    limit: usize,
    wanted: impl Fn(&str) -> bool,
) -> Result<Seen, StoreError> {
    let failed = || unchanged("reading a folder");
    let before = changed_ns(folder).map_err(failed())?;
    let seen = pass(folder, limit, &wanted).map_err(failed())?;
    let after = changed_ns(folder).map_err(failed())?;
    let quiet = before / 1_000_000 + QUIET_MS < disk.stamps.now_ms();
    if before == after && quiet {
        return Ok(seen);
    }
    let _held = disk.commits.hold().map_err(unchanged("waiting for the commit lock"))?;
    pass(folder, limit, &wanted).map_err(failed())
}

fn changed_ns(folder: &Dir) -> io::Result<u64> {
    let stat = fstat(folder)?;
    Ok(read::nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as u64))
}

fn pass(folder: &Dir, limit: usize, wanted: impl Fn(&str) -> bool) -> io::Result<Seen> {
    let mut smallest = Smallest::new(limit);
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        let Some(kind) = kind(folder, &entry, name) else { continue };
        // Nearly every name in a folder that holds many: looked at before it is kept.
        if kind == FileType::RegularFile && names::is_as_it_is(name) {
            if wanted(name) && smallest.has_room_for(name) {
                smallest.keep(Entry { segment: name.to_owned(), escaped: None });
            }
            continue;
        }
        let Some(entry) = entry_of(folder, name, kind) else { continue };
        if wanted(&entry.segment) && smallest.has_room_for(&entry.segment) {
            smallest.keep(entry);
        }
    }
    Ok(smallest.seen())
}

/// The smallest entries of those that it is handed.
struct Smallest {
    limit: usize,
    kept: Vec<Entry>,
    /// What is not below this is not among them.
    below: Option<String>,
    rest: Rest,
}

impl Smallest {
    fn new(limit: usize) -> Self {
        Self { limit, kept: Vec::new(), below: None, rest: Rest::Seen }
    }

    fn has_room_for(&mut self, segment: &str) -> bool {
        let has_room = self.below.as_ref().is_none_or(|below| segment < below.as_str());
        if !has_room {
            self.rest = Rest::Unknown;
        }
        has_room
    }

    fn keep(&mut self, entry: Entry) {
        self.kept.push(entry);
        // Seldom, so that a pass takes time with the names, and little more.
        if self.kept.len() >= 2 * self.limit + 100 {
            self.trim();
        }
    }

    fn trim(&mut self) {
        let order = |entry: &Entry| entry.is_displaced();
        self.kept.sort_unstable_by(|one, other| {
            one.segment.cmp(&other.segment).then(order(one).cmp(&order(other)))
        });
        // Twice the same file, which this store never makes: it is found under its plain name.
        self.kept.dedup_by(|later, earlier| later.segment == earlier.segment);
        if self.kept.len() > self.limit {
            self.below = self.kept.get(self.limit).map(|entry| entry.segment.clone());
            self.kept.truncate(self.limit);
            self.rest = Rest::Unknown;
        }
    }

    fn seen(mut self) -> Seen {
        self.trim();
        (self.kept.into(), self.rest)
    }
}

/// What kind of thing a name stands for; `None` if it is gone.
fn kind(folder: &Dir, entry: &DirEntry, name: &str) -> Option<FileType> {
    match entry.file_type() {
        // Some filesystems do not say.
        FileType::Unknown => {
            let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            Some(read::kind(&found))
        }
        kind => Some(kind),
    }
}

/// `None` for what is no file or folder of this store.
fn entry_of(folder: &Dir, name: &str, kind: FileType) -> Option<Entry> {
    let segment = match kind {
        FileType::Directory if matches!(name, "." | "..") => return None,
        FileType::Directory => segment(folder, name)? + "/",
        FileType::RegularFile => segment(folder, name.strip_suffix(DISPLACED).unwrap_or(name))?,
        _ => return None,
    };
    let plain = segment.strip_suffix('/').unwrap_or(&segment);
    let escaped = (plain != name).then(|| name.to_owned());
    Some(Entry { segment, escaped })
}

fn segment(folder: &Dir, name: &str) -> Option<String> {
    match names::read(name)? {
        Read::Segment(segment) => Some(segment),
        Read::Beside(beside) => {
            let segment = tree::read_beside(folder, &beside).ok()?;
            (DiskName::of(&segment).plain() == name).then_some(segment)
        }
    }
}
