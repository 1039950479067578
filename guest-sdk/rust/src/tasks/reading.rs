//! Reading a file of any size as a stream.

use std::fmt;

use wit_bindgen::{FutureReader, StreamReader};

use super::bindings::bailiwick::storage::async_files as host;
use crate::bindings::bailiwick::storage::types;
use crate::{File, Result};

/// Bytes that [`Reading::rest`] asks for at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// A file being read, pinned to the revision it was opened at. Dropping it frees its place.
pub struct Reading {
    file: File,
    data: StreamReader<u8>,
    outcome: Option<FutureReader<std::result::Result<(), types::Error>>>,
}

impl Reading {
    /// Opens a file at its start.
    ///
    /// # Errors
    /// [`crate::ErrorCode::TooLarge`] with too many readers open (64, by default); as
    /// [`super::files::read`].
    pub async fn open(path: &str) -> Result<Self> {
        Self::open_at(path, 0).await
    }

    /// Opens a file at an offset, which may be past its end.
    ///
    /// # Errors
    /// As [`Reading::open`].
    pub async fn open_at(path: &str, offset: u64) -> Result<Self> {
        let host::Reading { file, data, outcome } =
            host::read_stream(path.to_owned(), offset).await?;
        Ok(Self { file, data, outcome: Some(outcome) })
    }

    /// The file, as it was when it was opened.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Some more bytes, at most `length`, which is at least 1; empty at the end.
    ///
    /// # Errors
    /// [`crate::ErrorCode::Conflict`] if the file was replaced or deleted and its pinned bytes
    /// are gone.
    pub async fn chunk(&mut self, length: usize) -> Result<Vec<u8>> {
        let (_, bytes) = self.data.read(Vec::with_capacity(length.max(1))).await;
        if !bytes.is_empty() {
            return Ok(bytes);
        }
        if let Some(outcome) = self.outcome.take() {
            outcome.await?;
        }
        Ok(bytes)
    }

    /// All bytes that are left.
    ///
    /// # Errors
    /// As [`Reading::chunk`].
    pub async fn rest(mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        loop {
            let mut chunk = self.chunk(CHUNK_BYTES).await?;
            if chunk.is_empty() {
                return Ok(bytes);
            }
            bytes.append(&mut chunk);
        }
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").field("file", &self.file).finish_non_exhaustive()
    }
}
