//! Files being written: in a folder of their own on the same filesystem, under names that
//! nobody looks for, until they are moved into place whole.

use std::fs::{File, FileTimes};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use cap_std::fs::{Dir, OpenOptions};
use uuid::Uuid;

use super::errors::unchanged;
use super::{Disk, read};
use crate::store::{Object, StoreError};

/// A file that is gone when it is dropped, unless it was moved into place.
#[derive(Debug)]
pub(super) struct TemporaryFile {
    disk: Arc<Disk>,
    name: String,
    file: File,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Temporary,
    Moved,
}

impl TemporaryFile {
    /// An empty one.
    pub(super) fn create(disk: &Arc<Disk>) -> Result<Self, StoreError> {
        let name = Uuid::new_v4().simple().to_string();
        let options = OpenOptions::new().write(true).create_new(true).to_owned();
        let file = disk.temporary.open_with(&name, &options);
        let file = file.map_err(unchanged("creating a temporary file"))?.into_std();
        Ok(Self { disk: Arc::clone(disk), name, file, state: State::Temporary })
    }

    /// What it belongs to.
    pub(super) fn disk(&self) -> &Arc<Disk> {
        &self.disk
    }

    /// To be written to.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Gives it the time that its revision is made of, and returns once all of it is durable.
    pub(super) fn seal(&self) -> Result<Object, StoreError> {
        let stamp = self.disk.stamps.next().map_err(unchanged("asking the store's clock"))?;
        set_time(&self.file, stamp).map_err(unchanged("stamping a file"))?;
        self.file.sync_all().map_err(unchanged("syncing a file"))?;
        read::object_of(&self.file).map_err(unchanged("reading a file's size"))
    }

    /// Moves it into place, over whatever file is there.
    pub(super) fn move_to(mut self, folder: &Dir, name: &str) -> io::Result<()> {
        self.disk.temporary.rename(&self.name, folder, name)?;
        self.state = State::Moved;
        Ok(())
    }
}

/// Sets a file's time, in nanoseconds since the Unix epoch. Some filesystems take both times or none.
pub(super) fn set_time(file: &File, ns: u64) -> io::Result<()> {
    let time = UNIX_EPOCH + Duration::from_nanos(ns);
    file.set_times(FileTimes::new().set_accessed(time).set_modified(time))
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if self.state == State::Moved {
            return;
        }
        match self.disk.temporary.remove_file(&self.name) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::warn!(%error, "a temporary file is left for the next start to sweep");
            }
            _ => {}
        }
    }
}
