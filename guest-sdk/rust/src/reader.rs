//! Reading a file of any size.

use std::fmt;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use crate::bindings::bailiwick::storage::files as host;
use crate::{File, Result};

/// Most bytes of one host call.
pub(crate) const READ_BYTES_MAX: u32 = 4 << 20;
const BUFFER_BYTES: usize = 256 << 10;

/// A file being read, pinned to the revision it was opened at. Each `read` is a call of the
/// host: read large pieces, or take [`Reader::buffered`].
pub struct Reader {
    host: host::Reader,
    file: File,
    position: u64,
}

impl Reader {
    /// Opens a file.
    ///
    /// # Errors
    /// [`crate::ErrorCode::TooLarge`] with too many readers open (64, by default); as
    /// [`crate::files::read`].
    pub fn open(path: &str) -> Result<Self> {
        let host = host::open_reader(path)?;
        let file = host.file();
        Ok(Self { host, file, position: 0 })
    }

    /// The file, as it was when it was opened.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// With a buffer of 256 KiB, for `lines` and other small reads.
    #[must_use]
    pub fn buffered(self) -> BufReader<Self> {
        BufReader::with_capacity(BUFFER_BYTES, self)
    }

    /// Up to `length` bytes, at most 4 MiB; empty at the end.
    ///
    /// # Errors
    /// [`crate::ErrorCode::Conflict`] if the file was replaced or deleted and its pinned bytes
    /// are gone.
    pub fn chunk(&mut self, length: u32) -> Result<Vec<u8>> {
        let bytes = self.host.read(length)?;
        self.position += bytes.len() as u64;
        Ok(bytes)
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let length = u32::try_from(buffer.len()).unwrap_or(u32::MAX).min(READ_BYTES_MAX);
        let bytes = self.chunk(length)?;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    fn read_to_end(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let start = buffer.len();
        while self.position < self.file.size {
            let bytes = self.chunk(READ_BYTES_MAX)?;
            if bytes.is_empty() {
                break;
            }
            buffer.extend_from_slice(&bytes);
        }
        Ok(buffer.len() - start)
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(delta) => self.position.checked_add_signed(delta),
            SeekFrom::End(delta) => self.file.size.checked_add_signed(delta),
        };
        let Some(target) = target else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "seek before the first byte"));
        };
        self.host.seek(target);
        self.position = target;
        Ok(target)
    }

    fn stream_position(&mut self) -> io::Result<u64> {
        Ok(self.position)
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("file", &self.file)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
