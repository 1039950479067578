//! Writing a file of any size.

use std::fmt;
use std::io::{self, Write};

use crate::bindings::bailiwick::storage::files as host;
use crate::{File, Precondition, Result};

/// Most bytes of one host call.
const CALL_BYTES_MAX: usize = 4 << 20;
/// Small writes are gathered up to this many bytes.
const BUFFER_BYTES: usize = 256 << 10;

/// A file being written. Nothing exists at its path until [`Writer::finish`]; a writer that is
/// dropped leaves what was there before.
pub struct Writer {
    host: host::Writer,
    buffer: Vec<u8>,
}

impl Writer {
    /// Starts a file, which replaces what stands at `path` once it is finished.
    ///
    /// # Errors
    /// [`crate::ErrorCode::TooLarge`] with too many writers open (16, by default);
    /// [`crate::ErrorCode::Denied`] where the turn may not write.
    pub fn create(path: &str) -> Result<Self> {
        Self::create_if(path, &Precondition::Always)
    }

    /// [`Writer::create`], under a precondition that holds for [`Writer::finish`].
    ///
    /// # Errors
    /// As [`Writer::create`]; [`crate::ErrorCode::Conflict`] if the precondition fails already.
    pub fn create_if(path: &str, precondition: &Precondition) -> Result<Self> {
        let host = host::open_writer(path, precondition)?;
        Ok(Self { host, buffer: Vec::new() })
    }

    /// Makes the file: from here on it is at its path, whole.
    ///
    /// # Errors
    /// [`crate::ErrorCode::Conflict`] if the precondition fails, [`crate::ErrorCode::Closed`]
    /// after an error of an earlier write. Nothing is at the path then but what was before.
    pub fn finish(mut self) -> Result<File> {
        self.send_buffer()?;
        Ok(self.host.finish()?)
    }

    /// Gives the file up. Dropping the writer does so too.
    pub fn abort(self) {
        self.host.abort();
    }

    fn send_buffer(&mut self) -> Result<()> {
        let bytes = std::mem::take(&mut self.buffer);
        if !bytes.is_empty() {
            self.host.write(&bytes)?;
        }
        Ok(())
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() <= BUFFER_BYTES {
            self.buffer.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        self.send_buffer()?;
        let sent = bytes.len().min(CALL_BYTES_MAX);
        self.host.write(&bytes[..sent]).map_err(crate::Error::from)?;
        Ok(sent)
    }

    /// Hands on to the host what was gathered. The file is made by [`Writer::finish`] alone.
    fn flush(&mut self) -> io::Result<()> {
        Ok(self.send_buffer()?)
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("gathered", &self.buffer.len()).finish_non_exhaustive()
    }
}
