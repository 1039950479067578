//! Paging through sorted names as object stores list them: folders folded, a page at a time,
//! each page at the cost of what it shows.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::ops::Bound;

use crate::store::Depth;

/// One page of names under a prefix.
pub(crate) struct Walk<'a, K, V> {
    pub(crate) entries: Vec<(&'a K, &'a V)>,
    /// Whole names of folders, `/` included.
    pub(crate) folders: Vec<String>,
    /// The last name or folder shown, if there is more.
    pub(crate) next: Option<String>,
}

/// The names under `prefix` (empty, or ending in `/`) after `last`, at most `limit`.
pub(crate) fn walk<'a, K: Borrow<str> + Ord, V>(
    names: &'a BTreeMap<K, V>,
    prefix: &str,
    depth: Depth,
    last: Option<&str>,
    limit: usize,
) -> Walk<'a, K, V> {
    let mut page = Walk { entries: Vec::new(), folders: Vec::new(), next: None };
    let mut last = last.map(str::to_owned);
    for _ in 0..limit {
        let Some((key, value)) = first_after(names, prefix, last.as_deref()) else {
            return page;
        };
        let name: &str = key.borrow();
        match name[prefix.len()..].find('/').filter(|_| depth == Depth::Children) {
            Some(slash) => {
                let folder = name[..=prefix.len() + slash].to_owned();
                page.folders.push(folder.clone());
                last = Some(folder);
            }
            None => {
                page.entries.push((key, value));
                last = Some(name.to_owned());
            }
        }
    }
    page.next = last.filter(|last| first_after(names, prefix, Some(last)).is_some());
    page
}

/// The first name after another, or after all of a folder (`last` ends in `/`).
fn first_after<'a, K: Borrow<str> + Ord, V>(
    names: &'a BTreeMap<K, V>,
    prefix: &str,
    last: Option<&str>,
) -> Option<(&'a K, &'a V)> {
    let past_folder;
    let start = match last.map(|last| (last, last.strip_suffix('/'))) {
        None => Bound::Included(prefix),
        Some((_, Some(folder))) => {
            // `0` is the byte after `/`.
            past_folder = format!("{folder}0");
            Bound::Included(past_folder.as_str())
        }
        Some((last, None)) => Bound::Excluded(last),
    };
    let (key, value) = names.range::<str, _>((start, Bound::Unbounded)).next()?;
    key.borrow().starts_with(prefix).then_some((key, value))
}
