//! One change at a time per object, within this process. Across processes the store's
//! conditions decide; this only spares them the contest.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;

use crate::scope::ObjectKey;

type Lock = tokio::sync::Mutex<()>;

/// Locks by key, each as long as somebody holds or awaits it.
#[derive(Debug, Default)]
pub(super) struct KeyLocks(Mutex<HashMap<ObjectKey, Weak<Lock>>>);

impl KeyLocks {
    pub(super) async fn lock(&self, key: &ObjectKey) -> OwnedMutexGuard<()> {
        self.of(key).lock_owned().await
    }

    fn of(&self, key: &ObjectKey) -> Arc<Lock> {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = locks.get(key).and_then(Weak::upgrade) {
            return lock;
        }
        if locks.len() == locks.capacity() {
            locks.retain(|_, lock| lock.strong_count() > 0);
        }
        let lock = Arc::new(Lock::default());
        locks.insert(key.clone(), Arc::downgrade(&lock));
        lock
    }
}
