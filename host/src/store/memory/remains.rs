//! What is left in memory beside what a listing shows.

use std::ops::Bound;

use bytes::Bytes;

use super::State;
use crate::scope::{KeyPrefix, ObjectKey};
use crate::store::{Layer, ListToken, Object, Remain, RemainKind, Remains, StoreError};

type Left<'a> = Box<dyn Iterator<Item = Remain> + 'a>;

/// What becomes of content that is replaced or deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kept {
    /// It is gone.
    #[default]
    Nothing,
    /// It is kept, and so is the mark of each deletion.
    Everything,
}

/// Something of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Past {
    Version { size: u64 },
    Marker,
}

impl State {
    /// Makes room for new content of a key.
    pub(super) fn supersede(&mut self, key: &ObjectKey) {
        self.changes += 1;
        let Some((object, _)) = self.objects.remove(key) else { return };
        if self.kept == Kept::Everything {
            let past = Past::Version { size: object.size };
            self.past.insert((key.clone(), self.changes), past);
            self.changes += 1;
        }
    }

    /// Deletes as a store does that knows nothing of a version.
    pub(super) fn delete(&mut self, key: &ObjectKey) {
        self.supersede(key);
        if self.kept == Kept::Everything {
            self.past.insert((key.clone(), self.changes), Past::Marker);
        }
    }

    pub(super) fn remains(
        &self,
        prefix: &KeyPrefix,
        layer: Layer,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Remains, StoreError> {
        let skipped = match after {
            Some(token) => token.0.parse::<usize>().map_err(StoreError::unchanged)?,
            None => 0,
        };
        let mut due = match layer {
            Layer::Uploads => self.unfinished(prefix),
            Layer::Versions if self.kept == Kept::Nothing => Box::new(std::iter::empty()),
            Layer::Versions => self.versions(prefix),
            Layer::Objects => self.listed(prefix),
        }
        .skip(skipped)
        .peekable();
        let left = due.by_ref().take(limit).collect();
        let next = due.peek().map(|_| ListToken((skipped + limit).to_string()));
        Ok(Remains { left, next, ..Remains::default() })
    }

    fn unfinished<'a>(&'a self, prefix: &'a KeyPrefix) -> Left<'a> {
        let uploads = self.uploads.iter().filter(|(_, key)| is_under(prefix, key));
        Box::new(uploads.map(|(number, key)| remain(key, RemainKind::Upload, number, 0)))
    }

    fn versions<'a>(&'a self, prefix: &'a KeyPrefix) -> Left<'a> {
        let past = self.past.iter().filter(|((key, _), _)| is_under(prefix, key));
        let past = past.map(|((key, number), past)| match past {
            Past::Version { size } => remain(key, RemainKind::Version, number, *size),
            Past::Marker => remain(key, RemainKind::Marker, number, 0),
        });
        let listed = self.listed(prefix).map(|now| {
            let id = self.revision(&now.key).map(ToString::to_string).unwrap_or_default();
            Remain { id, ..now }
        });
        Box::new(past.chain(listed))
    }

    fn listed<'a>(&'a self, prefix: &'a KeyPrefix) -> Left<'a> {
        let from = (Bound::Included(prefix.as_str()), Bound::Unbounded);
        let objects = self.objects.range::<str, _>(from);
        let objects = objects.take_while(|(key, _)| is_under(prefix, key));
        let listed = |(key, (object, _)): (&ObjectKey, &(Object, Bytes))| {
            remain(key, RemainKind::Object, &"", object.size)
        };
        Box::new(objects.map(listed))
    }

    pub(super) fn destroy(&mut self, remain: &Remain) {
        let number = remain.id.parse().unwrap_or(0);
        match remain.kind {
            RemainKind::Upload => _ = self.uploads.remove(&number),
            RemainKind::Version | RemainKind::Marker => {
                self.past.remove(&(remain.key.clone(), number));
            }
            RemainKind::Object if remain.id.is_empty() => self.delete(&remain.key),
            RemainKind::Object => {
                if self.revision(&remain.key).is_some_and(|revision| revision.0 == remain.id) {
                    self.objects.remove(&remain.key);
                }
            }
        }
    }
}

fn remain(key: &ObjectKey, kind: RemainKind, id: &impl ToString, size: u64) -> Remain {
    Remain { key: key.clone(), kind, id: id.to_string(), size }
}

fn is_under(prefix: &KeyPrefix, key: &ObjectKey) -> bool {
    key.as_str().starts_with(prefix.as_str())
}
