//! Whether those who changed the folder ended in order: a mark for each process from its first
//! change to its end. A mark that is found by a process that is alone is of one that was killed,
//! and what that had changed last may not be durable. After a power cut marks may be missing, and
//! what there is then is durable.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};

use cap_std::fs::Dir;
use uuid::Uuid;

/// The mark of this process.
#[derive(Debug)]
pub(super) struct Changing {
    folder: Dir,
    name: String,
    is_made: AtomicBool,
    stays: AtomicBool,
}

impl Changing {
    /// No mark yet; it will be in `folder`.
    pub(super) fn new(folder: Dir) -> Self {
        let name = Uuid::new_v4().simple().to_string();
        Self { folder, name, is_made: AtomicBool::new(false), stays: AtomicBool::new(false) }
    }

    /// Makes the mark. To be called before any change.
    pub(super) fn begin(&self) -> io::Result<()> {
        if self.is_made.load(Ordering::Acquire) {
            return Ok(());
        }
        self.folder.create(&self.name)?;
        self.is_made.store(true, Ordering::Release);
        Ok(())
    }

    /// Lets the mark stay for whoever comes next: a change may not be durable.
    pub(super) fn stay(&self) {
        self.stays.store(true, Ordering::Release);
    }
}

impl Drop for Changing {
    fn drop(&mut self) {
        if !self.is_made.load(Ordering::Acquire) || self.stays.load(Ordering::Acquire) {
            return;
        }
        match self.folder.remove_file(&self.name) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::warn!(%error, "the next start of this store will take longer");
            }
            _ => {}
        }
    }
}

/// The marks of others.
pub(super) fn marks(folder: &Dir) -> io::Result<Vec<String>> {
    let names = folder.entries()?.map(|entry| Ok(entry?.file_name()));
    let names = names.collect::<io::Result<Vec<_>>>()?;
    Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
}
