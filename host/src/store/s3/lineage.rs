//! Which write made an object, and which ones before it: what tells a writer whose answer was
//! lost whether its write took effect.
//!
//! Every object carries the ids of the writes that led to it, newest first, as far back as each
//! was made on condition of the one before. So a write is found again even when others have
//! built upon it meanwhile, and is known not to have happened when it is missing between what
//! its writer had seen and what is there now. The write that found nothing there is named however
//! many came after: no other of its kind can have been made since.

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lru::LruCache;

use crate::scope::ObjectKey;
use crate::store::Revision;

/// The name, in an object's metadata, of its lineage.
pub(super) const METADATA_NAME: &str = "bailiwick-writes";
/// The field of a request or an answer that has it.
pub(super) const METADATA_FIELD: &str = "x-amz-meta-bailiwick-writes";

/// Stands for one write, however often it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WriteId([u8; ID_BYTES]);

/// Among the few hundred writes of a lineage, no two are alike.
const ID_BYTES: usize = 6;
/// Characters of an id in metadata.
const ID_CHARS: usize = 8;

impl WriteId {
    pub(super) fn random() -> Self {
        Self(rand::random())
    }

    fn parse(text: impl AsRef<[u8]>) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }
}

impl fmt::Display for WriteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

/// The writes that led to an object, newest first. Empty for an object of another's making.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lineage {
    writes: Vec<WriteId>,
    /// The one that found nothing there, if all since then were made on condition of the one
    /// before. It is the oldest of `writes`, unless they were too many to name.
    first: Option<WriteId>,
}

/// Most writes that a lineage names: a writer may be so many behind when it asks what became of
/// its own. With the first, 1,609 of the 2,048 bytes that metadata may have.
const WRITES_MAX: usize = 200;
/// Stands before the first write, the one that found nothing there.
const NOTHING: char = '.';

impl Lineage {
    /// Of a write that was made whatever was there.
    pub(super) fn unconditional(write: WriteId) -> Self {
        Self { writes: vec![write], first: None }
    }

    /// Of a write that was made where nothing was.
    pub(super) fn from_nothing(write: WriteId) -> Self {
        Self { writes: vec![write], first: Some(write) }
    }

    /// Of a write that was made on condition that `self` was there.
    pub(super) fn followed_by(&self, write: WriteId) -> Self {
        let mut writes = vec![write];
        writes.extend(self.writes.iter().take(WRITES_MAX - 1));
        Self { writes, first: self.first }
    }

    pub(super) fn newest(&self) -> Option<WriteId> {
        self.writes.first().copied()
    }

    /// The write that found nothing there, and led to what is there now.
    pub(super) fn first(&self) -> Option<WriteId> {
        self.first
    }

    pub(super) fn contains(&self, write: WriteId) -> bool {
        self.writes.contains(&write) || self.first == Some(write)
    }

    /// Whether every write since nothing was there is named.
    pub(super) fn is_complete(&self) -> bool {
        self.first.is_some() && self.first.as_ref() == self.writes.last()
    }

    /// The lineage that ended in `write`, if that is part of this one.
    fn back_to(&self, write: WriteId) -> Option<Self> {
        let at = self.writes.iter().position(|other| *other == write)?;
        Some(Self { writes: self.writes[at..].to_vec(), first: self.first })
    }

    /// Reads what [`fmt::Display`] wrote; anything else is a lineage of which nothing is known.
    pub(super) fn parse(text: &str) -> Self {
        Self::try_parse(text).unwrap_or_default()
    }

    fn try_parse(text: &str) -> Option<Self> {
        let (writes, first) = match text.split_once(NOTHING) {
            Some((writes, first)) => (writes, Some(WriteId::parse(first)?)),
            None => (text, None),
        };
        let (ids, rest) = writes.as_bytes().as_chunks::<ID_CHARS>();
        let writes = ids.iter().map(WriteId::parse).collect::<Option<Vec<_>>>()?;
        let fits = rest.is_empty() && (1..=WRITES_MAX).contains(&writes.len());
        fits.then_some(Self { writes, first })
    }
}

impl fmt::Display for Lineage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.writes.iter().try_for_each(|write| write.fmt(f))?;
        self.first.map_or(Ok(()), |first| write!(f, "{NOTHING}{first}"))
    }
}

/// What this process has seen of lineages lately. Forgetting is safe: what is not known here
/// only makes an outcome harder to tell.
#[derive(Debug)]
pub(super) struct Lineages(Mutex<LruCache<ObjectKey, Known>>);

#[derive(Debug, Default)]
struct Known {
    latest: Lineage,
    writes: VecDeque<(Revision, WriteId)>,
}

const KEYS_MAX: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1023);
const REVISIONS_MAX: usize = 64;

impl Lineages {
    pub(super) fn new() -> Self {
        Self(Mutex::new(LruCache::new(KEYS_MAX)))
    }

    fn known(&self) -> MutexGuard<'_, LruCache<ObjectKey, Known>> {
        // Whatever panicked has left entries that are true, each by itself.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes down what an answer said.
    pub(super) fn saw(&self, key: &ObjectKey, revision: &Revision, lineage: &Lineage) {
        let Some(write) = lineage.newest() else { return };
        let mut known = self.known();
        let known = known.get_or_insert_mut(key.clone(), Known::default);
        if !known.latest.contains(write) {
            known.latest = lineage.clone();
        }
        if known.writes.iter().any(|seen| *seen == (revision.clone(), write)) {
            return;
        }
        known.writes.push_front((revision.clone(), write));
        known.writes.truncate(REVISIONS_MAX);
    }

    /// The write that made a revision.
    pub(super) fn write_of(&self, key: &ObjectKey, revision: &Revision) -> Option<WriteId> {
        let mut known = self.known();
        let writes = &known.get(key)?.writes;
        writes.iter().find(|(seen, _)| seen == revision).map(|(_, write)| *write)
    }

    /// The newest write that was seen.
    pub(super) fn newest(&self, key: &ObjectKey) -> Option<WriteId> {
        self.known().get(key)?.latest.newest()
    }

    /// The lineage of a revision.
    pub(super) fn of(&self, key: &ObjectKey, revision: &Revision) -> Option<Lineage> {
        let write = self.write_of(key, revision)?;
        self.known().get(key)?.latest.back_to(write)
    }
}

#[cfg(test)]
mod tests;
