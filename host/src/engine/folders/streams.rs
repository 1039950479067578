//! What a file is read and written through, a piece at a time. A flush asks for nothing: only `sync`
//! and the last close store a file.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

use super::error::{Answer, ErrorCode, Failure};
use super::file::OpenFile;
use crate::limits::{FOLDER_READ_BYTES_MAX, GATHERED_PIECE_BYTES};

/// What a program finds as the cause of a failed stream.
#[derive(Debug, thiserror::Error)]
#[error("{0:?}")]
pub(super) struct Cause(pub(super) ErrorCode);

fn failed(failure: Failure) -> StreamError {
    match failure {
        Failure::Code(code) => StreamError::LastOperationFailed(Cause(code).into()),
        Failure::Fatal(error) => StreamError::Trap(error),
    }
}

/// What was found of a file before it was asked for.
enum Found {
    Nothing,
    Bytes(Bytes),
    End,
    Failed(Failure),
}

/// Reads a file from an offset on.
pub(super) struct FileReading {
    file: Arc<OpenFile>,
    offset: u64,
    found: Found,
}

impl FileReading {
    pub(super) fn new(file: Arc<OpenFile>, offset: u64) -> Self {
        Self { file, offset, found: Found::Nothing }
    }

    async fn find(&self, length: usize) -> Found {
        let read: Answer<Bytes> = self.file.lock().await.read(self.offset, length as u64).await;
        match read {
            Ok(bytes) if bytes.is_empty() => Found::End,
            Ok(bytes) => Found::Bytes(bytes),
            Err(failure) => Found::Failed(failure),
        }
    }

    fn take(&mut self, size: usize) -> StreamResult<Bytes> {
        match std::mem::replace(&mut self.found, Found::Nothing) {
            Found::Nothing => Ok(Bytes::new()),
            Found::End => Err(StreamError::Closed),
            Found::Failed(failure) => Err(failed(failure)),
            Found::Bytes(mut bytes) => {
                let taken = bytes.split_to(size.min(bytes.len()));
                self.offset += taken.len() as u64;
                if !bytes.is_empty() {
                    self.found = Found::Bytes(bytes);
                }
                Ok(taken)
            }
        }
    }
}

/// How much is looked for by who only waits for there to be something, in bytes.
const LOOK_BYTES: usize = 64 << 10;

#[async_trait]
impl Pollable for FileReading {
    async fn ready(&mut self) {
        if matches!(self.found, Found::Nothing) {
            self.found = self.find(LOOK_BYTES).await;
        }
    }
}

#[async_trait]
impl InputStream for FileReading {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size == 0 {
            return Ok(Bytes::new());
        }
        self.take(size)
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size == 0 {
            return Ok(Bytes::new());
        }
        if matches!(self.found, Found::Nothing) {
            self.found = self.find(size.min(FOLDER_READ_BYTES_MAX as usize)).await;
        }
        self.take(size)
    }
}

/// Where a stream writes.
#[derive(Clone, Copy, Debug)]
pub(super) enum At {
    /// From here on.
    Offset(u64),
    /// At the end, wherever that is by then.
    End,
}

/// Writes to a file.
pub(super) struct FileWriting {
    file: Arc<OpenFile>,
    at: At,
    failure: Option<Failure>,
}

impl FileWriting {
    pub(super) fn new(file: Arc<OpenFile>, at: At) -> Self {
        Self { file, at, failure: None }
    }

    fn check(&mut self) -> StreamResult<()> {
        if let Some(failure) = self.failure.take() {
            return Err(failed(failure));
        }
        // Nothing would store what comes after the last close.
        if self.file.is_open() { Ok(()) } else { Err(StreamError::Closed) }
    }

    fn put(&mut self, bytes: Bytes) -> Answer<()> {
        let mut state = self.file.lock_now()?;
        match &mut self.at {
            At::End => state.write_now(None, bytes).map(|_| ()),
            At::Offset(offset) => {
                let written = state.write_now(Some(*offset), bytes)?;
                *offset = offset.saturating_add(written);
                Ok(())
            }
        }
    }
}

#[async_trait]
impl Pollable for FileWriting {
    async fn ready(&mut self) {
        let prepared = self.file.lock().await.prepare_to_write().await;
        if let Err(failure) = prepared {
            self.failure = Some(failure);
        }
    }
}

impl OutputStream for FileWriting {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.check()?;
        if bytes.len() > GATHERED_PIECE_BYTES {
            return Err(StreamError::trap("wrote more to a stream than it had permitted"));
        }
        self.put(bytes).map_err(failed)
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.check()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.check()?;
        Ok(self.file.lock_now().map_or(0, |state| state.room()))
    }
}
