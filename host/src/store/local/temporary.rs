//! Files being written: in a folder of their own on the same filesystem, under names that
//! nobody looks for, until they are moved into place whole. A name says under which prefixes the
//! file will stand, so that what a killed process left goes with what was deleted.

use std::fs::{File, FileTimes};
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use cap_std::fs::{Dir, OpenOptions};
use uuid::Uuid;

use super::errors::unchanged;
use super::{Disk, read};
use crate::limits::PATH_SEGMENT_BYTES_MAX;
use crate::scope::{DELETION_PREFIX_BYTES_MAX, KeyPrefix, ObjectKey};
use crate::store::{Object, StoreError};

/// A file that is gone when it is dropped, unless it was moved into place.
#[derive(Debug)]
pub(super) struct TemporaryFile {
    disk: Arc<Disk>,
    name: String,
    file: Arc<File>,
    /// How much was appended, in bytes.
    length: u64,
    /// How much of that was sent to the disk.
    sent: u64,
    state: State,
}

/// A large file is sent to the disk by so many bytes at a time, while more of it comes: a sync at
/// its end that found all of it in memory would take longer than all the writing did.
const SENT_BYTES_MIN: u64 = 8 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Temporary,
    Moved,
}

/// How much of a key the name of its temporary file holds, in bytes: with the rest of the name
/// it is one that every filesystem takes.
const LEAD_BYTES_MAX: usize = 150;
const _: () = assert!(DELETION_PREFIX_BYTES_MAX <= LEAD_BYTES_MAX);
const _: () = assert!(LEAD_BYTES_MAX.div_ceil(3) * 4 + 1 + 32 <= PATH_SEGMENT_BYTES_MAX);

/// Whose a temporary file is: the start of a key.
#[derive(Clone, Debug)]
pub(super) struct Lead(String);

impl Lead {
    pub(super) fn of(key: &ObjectKey) -> Self {
        let key = key.as_str().as_bytes();
        Self(BASE64_URL_SAFE_NO_PAD.encode(&key[..key.len().min(LEAD_BYTES_MAX)]))
    }
}

/// Whether a temporary file is of a key under a prefix.
pub(super) fn is_under(prefix: &KeyPrefix, name: &str) -> bool {
    let lead = name.split_once('.').and_then(|(lead, _)| BASE64_URL_SAFE_NO_PAD.decode(lead).ok());
    lead.is_some_and(|lead| lead.starts_with(prefix.as_str().as_bytes()))
}

impl TemporaryFile {
    /// An empty one.
    pub(super) fn create(disk: &Arc<Disk>, lead: &Lead) -> Result<Self, StoreError> {
        let name = format!("{}.{}", lead.0, Uuid::new_v4().simple());
        let options = OpenOptions::new().read(true).write(true).create_new(true).to_owned();
        let file = disk.temporary.open_with(&name, &options);
        let file = file.map_err(unchanged("creating a temporary file"))?.into_std();
        let file = Arc::new(file);
        let (disk, state) = (Arc::clone(disk), State::Temporary);
        Ok(Self { disk, name, file, length: 0, sent: 0, state })
    }

    /// What it belongs to.
    pub(super) fn disk(&self) -> &Arc<Disk> {
        &self.disk
    }

    /// Writes where the last bytes ended.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.length += bytes.len() as u64;
        let unsent = self.length - self.sent;
        if unsent >= SENT_BYTES_MIN {
            send(&self.file, self.sent, unsent);
            self.sent = self.length;
        }
        Ok(())
    }

    /// To be written to.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// To be written to by somebody else.
    pub(super) fn shared(&self) -> Arc<File> {
        Arc::clone(&self.file)
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

/// Lets the kernel begin to write a range, and waits for nothing. The advice is to forget the
/// range; what is still on its way to the disk when it is given stays in memory none the less.
#[cfg(target_os = "linux")]
fn send(file: &File, offset: u64, length: u64) {
    use rustix::fs::{Advice, fadvise};
    // Whatever it answers, the sync at the end decides.
    _ = fadvise(file, offset, std::num::NonZeroU64::new(length), Advice::DontNeed);
}

#[cfg(not(target_os = "linux"))]
fn send(_: &File, _: u64, _: u64) {}

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
