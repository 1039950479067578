//! Whether anybody still waits for a change. A thread that works for a caller goes on when the
//! caller is gone, and what it then did would be done by a turn that is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;

use crate::store::StoreError;

/// Who waits for a change, as the thread that makes it knows them.
#[derive(Clone, Debug, Default)]
pub(super) struct Caller(Arc<AtomicBool>);

/// The caller's own end: gone once this is dropped.
#[derive(Debug)]
pub(super) struct Waits(Caller);

impl Caller {
    /// To be held for as long as the caller waits.
    pub(super) fn waits(&self) -> Waits {
        Waits(self.clone())
    }

    /// Asked at the last moment, with the commit lock held: what takes effect all the same does
    /// so before any change that begins after the caller was gone.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if self.0.load(Ordering::SeqCst) {
            return Err(StoreError::unchanged(anyhow!("nobody waits for this change any more")));
        }
        Ok(())
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::SeqCst);
    }
}
