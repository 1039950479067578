//! A file being read, pinned to the revision it was opened at.

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;

use super::{Error, File, Space};

/// A file being read. Dropping it frees its place.
#[derive(Debug)]
pub struct Reader {
    space: Space,
    file: File,
    offset: u64,
    _place: OwnedSemaphorePermit,
}

impl Space {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// `not-found`; `too-large` over the turn's bound of open readers.
    pub async fn open_reader(&self, path: &str) -> Result<Reader, Error> {
        let place = self.0.readers.clone().try_acquire_owned().map_err(|_| {
            let bound = self.limits().turn_readers_max;
            Error::too_large(
                "readers",
                format!("at most {bound} readers are open at once: close one"),
            )
        })?;
        let file = self.stat(path).await?;
        Ok(Reader { space: self.clone(), file, offset: 0, _place: place })
    }
}

impl Reader {
    /// The file, as it was opened.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Up to `length` bytes, at most [`crate::limits::READ_BYTES_MAX`]; empty at the end.
    ///
    /// # Errors
    /// `conflict` if the file was replaced or deleted since it was opened.
    pub async fn read(&mut self, length: u32) -> Result<Bytes, Error> {
        let File { path, revision, .. } = &self.file;
        let read = self.space.read_pinned(path, self.offset, length, Some(revision)).await;
        let chunk = read.map_err(|error| match error.code {
            super::ErrorCode::NotFound => Error::conflict(path),
            _ => error,
        })?;
        self.offset += chunk.bytes.len() as u64;
        Ok(chunk.bytes)
    }

    /// Goes on from `offset`, which may be past the end.
    pub fn seek(&mut self, offset: u64) {
        self.offset = offset;
    }
}
