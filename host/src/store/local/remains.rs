//! What is left on the disk beside what a listing shows: files being written, or left by a
//! process that was killed.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};

use super::caller::Caller;
use super::errors::{ambiguous, unchanged};
use super::{Disk, commit, list, temporary, tree};
use crate::scope::KeyPrefix;
use crate::store::{Depth, Layer, ListToken, Remain, RemainKind, Remains, StoreError};

/// A page of what one layer holds.
pub(super) fn page(
    disk: &Disk,
    prefix: &KeyPrefix,
    layer: Layer,
    after: Option<&ListToken>,
    limit: usize,
) -> Result<Remains, StoreError> {
    match layer {
        Layer::Uploads => {
            let names = unfinished(disk, prefix, after, limit + 1);
            let names = names.map_err(unchanged("reading the folder of unfinished files"))?;
            Ok(uploads(disk, prefix, names, limit))
        }
        Layer::Versions => Ok(Remains::default()),
        Layer::Objects => {
            let page = list::page(disk, prefix, Depth::All, after, limit)?;
            let object = |(key, object): (_, crate::store::Object)| {
                let (kind, id) = (RemainKind::Object, String::new());
                Remain { key, kind, id, size: object.size }
            };
            let left = page.objects.into_iter().map(object).collect();
            Ok(Remains { left, next: page.next, ..Remains::default() })
        }
    }
}

/// The first names of unfinished files under a prefix, in byte order.
fn unfinished(
    disk: &Disk,
    prefix: &KeyPrefix,
    after: Option<&ListToken>,
    limit: usize,
) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in disk.temporary.entries()? {
        let Ok(name) = entry?.file_name().into_string() else { continue };
        if after.is_some_and(|after| name <= after.0) || !temporary::is_under(prefix, &name) {
            continue;
        }
        names.insert(name);
        if names.len() > limit {
            names.pop_last();
        }
    }
    Ok(names)
}

/// All of them but one more than a page holds.
fn uploads(disk: &Disk, prefix: &KeyPrefix, names: BTreeSet<String>, limit: usize) -> Remains {
    let next = (names.len() > limit).then(|| names.iter().nth(limit - 1)).flatten();
    let next = next.map(|last| ListToken(last.clone()));
    let upload = |id: String| {
        let key = prefix.remnant(format!("{}{id}", prefix.as_str()))?;
        let size = disk.temporary.symlink_metadata(&id).map_or(0, |metadata| metadata.len());
        Some(Remain { key, kind: RemainKind::Upload, id, size })
    };
    let left = names.into_iter().take(limit).filter_map(upload).collect();
    Remains { left, next, ..Remains::default() }
}

/// Removes all of them, and returns once that is durable.
pub(super) fn destroy(disk: &Disk, remains: &[Remain], caller: &Caller) -> Result<(), StoreError> {
    let (unfinished, objects): (Vec<_>, Vec<_>) =
        remains.iter().partition(|remain| remain.kind == RemainKind::Upload);
    if !unfinished.is_empty() {
        caller.check()?;
        for upload in unfinished {
            remove(disk, &upload.id).map_err(ambiguous("removing an unfinished file"))?;
        }
        tree::sync(&disk.temporary).map_err(ambiguous("syncing the folder of unfinished files"))?;
    }
    let keys: Vec<_> = objects.into_iter().map(|object| object.key.clone()).collect();
    commit::delete_many(disk, &keys, caller)
}

fn remove(disk: &Disk, name: &str) -> io::Result<()> {
    match disk.temporary.remove_file(name) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        answer => answer,
    }
}
