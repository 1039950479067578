//! Objects as answers showed them lately. What is known here may be old: whoever acts on it says
//! so to the server, and asks again when that disagrees.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use crate::scope::ObjectKey;
use crate::store::Object;

/// The newest answer about each of the objects asked for last.
#[derive(Debug)]
pub(super) struct KnownObjects(Mutex<LruCache<ObjectKey, Object>>);

/// Some pages of a listing; at most a few megabytes.
const OBJECTS_MAX: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4095);

impl KnownObjects {
    pub(super) fn new() -> Self {
        Self(Mutex::new(LruCache::new(OBJECTS_MAX)))
    }

    fn known(&self) -> MutexGuard<'_, LruCache<ObjectKey, Object>> {
        // Whatever panicked has left answers that were given, each by itself.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn saw(&self, key: &ObjectKey, object: &Object) {
        let mut known = self.known();
        if let Some(known) = known.get_mut(key) {
            known.clone_from(object);
        } else {
            known.put(key.clone(), object.clone());
        }
    }

    pub(super) fn saw_all(&self, objects: &[(ObjectKey, Object)]) {
        let mut known = self.known();
        for (key, object) in objects {
            known.put(key.clone(), object.clone());
        }
    }

    pub(super) fn of(&self, key: &ObjectKey) -> Option<Object> {
        self.known().get(key).cloned()
    }

    pub(super) fn forget(&self, key: &ObjectKey) {
        self.known().pop(key);
    }

    pub(super) fn forget_all<'k>(&self, keys: impl IntoIterator<Item = &'k ObjectKey>) {
        let mut known = self.known();
        for key in keys {
            known.pop(key);
        }
    }
}
