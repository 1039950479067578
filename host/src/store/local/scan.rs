//! Reading the names in a folder. They come in no order, and may be many: a pass keeps the smallest
//! that are wanted, never more than a page of them.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use cap_std::fs::{Dir, DirEntry, MetadataExt};

use super::errors::unchanged;
use super::names::{self, DISPLACED, DiskName, Read};
use super::{Disk, tree};
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
    /// As it is on disk.
    pub(super) name: String,
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
    let metadata = folder.dir_metadata()?;
    let seconds = u64::try_from(metadata.ctime()).unwrap_or(0);
    let nanoseconds = u64::try_from(metadata.ctime_nsec()).unwrap_or(0);
    Ok(seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds))
}

fn pass(folder: &Dir, limit: usize, wanted: impl Fn(&str) -> bool) -> io::Result<Seen> {
    let mut kept: BTreeMap<String, String> = BTreeMap::new();
    let mut rest = Rest::Seen;
    for entry in folder.entries()? {
        let Some(entry) = read(folder, &entry?) else { continue };
        // Twice the same file, which this store never makes: it is found under its plain name.
        let twice = entry.name.ends_with(DISPLACED) && kept.contains_key(&entry.segment);
        if twice || !wanted(&entry.segment) {
            continue;
        }
        kept.insert(entry.segment, entry.name);
        if kept.len() > limit {
            kept.pop_last();
            rest = Rest::Unknown;
        }
    }
    let kept = kept.into_iter().map(|(segment, name)| Entry { segment, name });
    Ok((kept.collect(), rest))
}

/// `None` for what is no file or folder of this store.
fn read(folder: &Dir, entry: &DirEntry) -> Option<Entry> {
    let name = entry.file_name().into_string().ok()?;
    let kind = match entry.file_type().ok()? {
        kind if kind.is_file() || kind.is_dir() || kind.is_symlink() => kind,
        // Some filesystems do not say.
        _ => folder.symlink_metadata(&name).ok()?.file_type(),
    };
    if kind.is_dir() {
        let segment = segment(folder, &name)?;
        return Some(Entry { segment: segment + "/", name });
    }
    if !kind.is_file() {
        return None;
    }
    let segment = segment(folder, name.strip_suffix(DISPLACED).unwrap_or(&name))?;
    Some(Entry { segment, name })
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
