//! Standard output and error of a guest: lines of the log, or the reply of a command. A guest
//! that writes too much is never trapped for it.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

use super::journal::Journal;
use super::turn::Level;

/// Most bytes that a guest hands over in one write.
const WRITE_BYTES_MAX: usize = 64 << 10;

/// Where bytes of a stream go. Never waits.
pub(super) trait Sink: Send + Sync + 'static {
    /// Takes the bytes; `false` once it takes no more, ever.
    fn accept(&self, bytes: &[u8]) -> bool;
}

/// A stream of a guest into a sink.
pub(super) struct Output<S>(pub(super) Arc<S>);

impl<S> Clone for Output<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: Sink> IsTerminal for Output<S> {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl<S: Sink> StdoutStream for Output<S> {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait::async_trait]
impl<S: Sink> Pollable for Output<S> {
    async fn ready(&mut self) {}
}

impl<S: Sink> OutputStream for Output<S> {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if bytes.len() > WRITE_BYTES_MAX {
            return Err(StreamError::trap("wrote more to a stream than it had permitted"));
        }
        if self.0.accept(&bytes) { Ok(()) } else { Err(StreamError::Closed) }
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_BYTES_MAX)
    }
}

impl<S: Sink> AsyncWrite for Output<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // A guest of WASI 0.3 may hand over all of its memory.
        let bytes = &bytes[..bytes.len().min(WRITE_BYTES_MAX)];
        let taken = self.0.accept(bytes);
        Poll::Ready(if taken { Ok(bytes.len()) } else { Err(io::ErrorKind::BrokenPipe.into()) })
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Lines into the log of the turn.
pub(super) struct LogLines {
    journal: Arc<Journal>,
    level: Level,
    unfinished: Mutex<Vec<u8>>,
}

impl LogLines {
    pub(super) fn new(journal: Arc<Journal>, level: Level) -> Arc<Self> {
        Arc::new(Self { journal, level, unfinished: Mutex::default() })
    }

    /// Logs a last line that lacks its end.
    pub(super) fn finish(&self) {
        let rest =
            std::mem::take(&mut *self.unfinished.lock().unwrap_or_else(PoisonError::into_inner));
        if !rest.is_empty() {
            self.log(&rest);
        }
    }

    fn log(&self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.journal.log(self.level, &String::from_utf8_lossy(line));
    }
}

impl Sink for LogLines {
    fn accept(&self, bytes: &[u8]) -> bool {
        let mut unfinished = self.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
        // One byte over the bound is held, so that the journal sees that it has to cut.
        let held_max = self.journal.line_bytes_max().saturating_add(1);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            let room = held_max.saturating_sub(unfinished.len());
            unfinished.extend_from_slice(&text[..text.len().min(room)]);
            if text.len() < piece.len() {
                self.log(&unfinished);
                unfinished.clear();
            }
        }
        true
    }
}

/// The whole of a stream, up to a bound.
pub(super) struct Collected {
    bytes_max: usize,
    held: Mutex<Vec<u8>>,
}

/// A stream had more bytes than it may have.
#[derive(Debug)]
pub(super) struct Overflowed;

impl Collected {
    pub(super) fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self { bytes_max, held: Mutex::default() })
    }

    /// All of it.
    pub(super) fn take(&self) -> Result<Vec<u8>, Overflowed> {
        let held = std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
        if held.len() > self.bytes_max { Err(Overflowed) } else { Ok(held) }
    }
}

impl Sink for Collected {
    fn accept(&self, bytes: &[u8]) -> bool {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() > self.bytes_max {
            return false;
        }
        held.extend_from_slice(bytes);
        held.len() <= self.bytes_max
    }
}

#[cfg(test)]
mod tests;
