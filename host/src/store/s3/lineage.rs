//! Which write made an object, and which ones before it: what tells a writer whose answer was
//! lost whether its write took effect.
//!
//! Every object carries the ids of the writes that led to it, newest first, as far back as each
//! was made on condition of the one before. So a write is found again even when others have
//! built upon it meanwhile, and is known not to have happened when it is missing between what
//! its writer had seen and what is there now.

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
    /// Whether the oldest of them found nothing there.
    from_nothing: bool,
}

/// Most writes that a lineage names: a writer may be so many behind when it asks what became of
/// its own. 1,601 of the 2,048 bytes that metadata may have.
const WRITES_MAX: usize = 200;
/// What a lineage ends in that begins where nothing was.
const NOTHING: char = '.';

impl Lineage {
    /// Of a write that was made whatever was there.
    pub(super) fn unconditional(write: WriteId) -> Self {
        Self { writes: vec![write], from_nothing: false }
    }

    /// Of a write that was made where nothing was.
    pub(super) fn from_nothing(write: WriteId) -> Self {
        Self { writes: vec![write], from_nothing: true }
    }

    /// Of a write that was made on condition that `self` was there.
    pub(super) fn followed_by(&self, write: WriteId) -> Self {
        let mut writes = vec![write];
        writes.extend(self.writes.iter().take(WRITES_MAX - 1));
        let from_nothing = self.from_nothing && self.writes.len() < WRITES_MAX;
        Self { writes, from_nothing }
    }

    pub(super) fn newest(&self) -> Option<WriteId> {
        self.writes.first().copied()
    }

    pub(super) fn contains(&self, write: WriteId) -> bool {
        self.writes.contains(&write)
    }

    /// Whether every write since nothing was there is named.
    pub(super) fn is_complete(&self) -> bool {
        self.from_nothing
    }

    /// The lineage that ended in `write`, if that is part of this one.
    fn back_to(&self, write: WriteId) -> Option<Self> {
        let at = self.writes.iter().position(|other| *other == write)?;
        Some(Self { writes: self.writes[at..].to_vec(), from_nothing: self.from_nothing })
    }

    /// Reads what [`fmt::Display`] wrote; anything else is a lineage of which nothing is known.
    pub(super) fn parse(text: &str) -> Self {
        let (text, from_nothing) = match text.strip_suffix(NOTHING) {
            Some(text) => (text, true),
            None => (text, false),
        };
        let (ids, rest) = text.as_bytes().as_chunks::<ID_CHARS>();
        let id = |id| URL_SAFE_NO_PAD.decode(id).ok()?.try_into().ok().map(WriteId);
        match ids.iter().map(id).collect::<Option<Vec<_>>>() {
            Some(writes) if rest.is_empty() && (1..=WRITES_MAX).contains(&writes.len()) => {
                Self { writes, from_nothing }
            }
            _ => Self::default(),
        }
    }
}

impl fmt::Display for Lineage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.writes.iter().try_for_each(|write| write.fmt(f))?;
        if self.from_nothing { write!(f, "{NOTHING}") } else { Ok(()) }
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
