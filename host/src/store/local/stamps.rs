//! The clock that stamps files: it never goes back and never says the same twice, across
//! processes, crashes and corrections of the machine's time. Revisions rest on it.

use std::fs::File;
use std::io::{self, Error, ErrorKind};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::locks::LockFile;
use crate::clock::Clock;

/// How far ahead stamps are reserved on disk, in nanoseconds: what a crash may skip, and how
/// seldom the reservation costs an fsync.
const RESERVED_NS: u64 = 1_000_000_000;

/// The clock of a store's folder. Its file holds the last stamp, for other processes, and a
/// mark that is durable before any stamp up to it is given out, for what a power cut forgets.
#[derive(Debug)]
pub(super) struct Stamps {
    clock: Arc<dyn Clock>,
    file: LockFile,
    /// What the filesystem keeps of a time, in nanoseconds.
    step_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Marks {
    last: u64,
    reserved: u64,
}

impl Stamps {
    /// The clock whose marks are in `file`.
    pub(super) fn new(clock: Arc<dyn Clock>, file: File, step_ns: u64) -> Self {
        Self { clock, file: LockFile::new(file), step_ns }
    }

    /// What the filesystem keeps of a time, in nanoseconds.
    pub(super) fn step_ns(&self) -> u64 {
        self.step_ns
    }

    /// Goes on behind whatever was given out before a crash. For a process that is alone.
    pub(super) fn recover(&self) -> io::Result<()> {
        let file = self.file.hold()?;
        let marks = Marks::read(&file)?;
        Marks { last: marks.last.max(marks.reserved), ..marks }.write(&file)
    }

    /// What the clock says, in milliseconds since the Unix epoch.
    pub(super) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// The next stamp, in nanoseconds since the Unix epoch.
    pub(super) fn next(&self) -> io::Result<u64> {
        let file = self.file.hold()?;
        let Marks { last, reserved } = Marks::read(&file)?;
        let now = self.clock.now_ms().saturating_mul(1_000_000);
        let (next, later) = self.after(now, last).ok_or_else(damaged)?;
        if next < reserved {
            Marks { last: next, reserved }.write(&file)?;
            return Ok(next);
        }
        Marks { last: next, reserved: later }.write(&file)?;
        file.sync_data()?;
        Ok(next)
    }

    /// A stamp behind `last`, and how far to reserve with it; `None` at the end of time.
    fn after(&self, now: u64, last: u64) -> Option<(u64, u64)> {
        let next = now.max(last.checked_add(1)?);
        let next = next.div_ceil(self.step_ns).checked_mul(self.step_ns)?;
        Some((next, next.checked_add(RESERVED_NS)?))
    }

    /// Gives back what was reserved and not used. If the disk never hears of it, no harm is done.
    fn release(&self) -> io::Result<()> {
        let file = self.file.hold()?;
        let marks = Marks::read(&file)?;
        Marks { reserved: marks.last, ..marks }.write(&file)
    }
}

impl Drop for Stamps {
    fn drop(&mut self) {
        if let Err(error) = self.release() {
            tracing::warn!(%error, "the store's clock will start a second late");
        }
    }
}

impl Marks {
    /// Two numbers of twenty digits: all that 64 bits hold.
    const BYTES: usize = 42;

    fn read(file: &File) -> io::Result<Self> {
        let mut bytes = [0; Self::BYTES];
        match file.read_at(&mut bytes, 0)? {
            0 => Ok(Self { last: 0, reserved: 0 }),
            Self::BYTES => Self::parse(&bytes).ok_or_else(damaged),
            _ => Err(damaged()),
        }
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (last, reserved) = std::str::from_utf8(bytes).ok()?.trim_end().split_once(' ')?;
        Some(Self { last: last.parse().ok()?, reserved: reserved.parse().ok()? })
    }

    fn write(self, file: &File) -> io::Result<()> {
        file.write_all_at(format!("{:020} {:020}\n", self.last, self.reserved).as_bytes(), 0)
    }
}

fn damaged() -> Error {
    let advice = "the store's clock file `.bailiwick-clock` is damaged: once nothing uses the store, delete it";
    Error::new(ErrorKind::InvalidData, advice)
}

#[cfg(test)]
mod tests;
