//! Writing a file of any size as a stream.

use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use wit_bindgen::{FutureWriter, StreamWriter};

use super::bindings::bailiwick::storage::async_files as host;
use super::bindings::{wit_future, wit_stream};
use crate::bindings::bailiwick::storage::types;
use crate::{Error, ErrorCode, File, Precondition, Result};

type Answer = std::result::Result<File, types::Error>;

/// A file being written. Nothing exists at its path until [`Writing::finish`]; one that is
/// dropped leaves what was there before.
pub struct Writing {
    // Dropped first: the call is given up before its stream ends.
    call: Pin<Box<dyn Future<Output = Answer>>>,
    answer: Option<Answer>,
    data: StreamWriter<u8>,
    size: FutureWriter<Option<u64>>,
    bytes: u64,
}

impl Writing {
    /// Starts a file, which replaces what stands at `path` once it is finished. What speaks
    /// against it is told by the first [`Writing::write`] or by [`Writing::finish`].
    #[must_use]
    pub fn create(path: &str) -> Self {
        Self::create_if(path, &Precondition::Always)
    }

    /// [`Writing::create`], under a precondition that holds for [`Writing::finish`].
    #[must_use]
    pub fn create_if(path: &str, precondition: &Precondition) -> Self {
        let (data, data_given) = wit_stream::new();
        let (size, size_given) = wit_future::new(|| None);
        let (path, precondition) = (path.to_owned(), precondition.clone());
        let call = Box::pin(host::write_stream(path, precondition, data_given, size_given));
        Self { call, answer: None, data, size, bytes: 0 }
    }

    /// Appends bytes; waits while the host is behind.
    ///
    /// # Errors
    /// [`ErrorCode::TooLarge`] with too many writers open (16, by default);
    /// [`ErrorCode::Denied`] where the turn may not write.
    pub async fn write(&mut self, bytes: impl Into<Vec<u8>>) -> Result<()> {
        let bytes = bytes.into();
        self.bytes += bytes.len() as u64;
        let Self { call, answer, data, .. } = self;
        let mut written = pin!(data.write_all(bytes));
        let is_written = poll_fn(|context| {
            if poll_answer(call, answer, context).is_ready() {
                return Poll::Ready(false);
            }
            written.as_mut().poll(context).map(|left| left.is_empty())
        });
        if is_written.await {
            return Ok(());
        }
        // The host takes no more: it has answered, or is about to.
        poll_fn(|context| poll_answer(call, answer, context)).await;
        match answer.clone() {
            Some(Err(error)) => Err(error.into()),
            _ => Err(Error::new(ErrorCode::Closed, "closed", "This writer is closed.")),
        }
    }

    /// Makes the file: from here on it is at its path, whole.
    ///
    /// # Errors
    /// [`ErrorCode::Conflict`] if the precondition fails; the error of an earlier write. Nothing
    /// is at the path then but what was before.
    pub async fn finish(self) -> Result<File> {
        let Self { mut call, mut answer, data, size, bytes } = self;
        drop(data);
        let mut said = Some(Box::pin(size.write(Some(bytes))));
        poll_fn(|context| {
            if let Some(write) = &mut said
                && write.as_mut().poll(context).is_ready()
            {
                said = None;
            }
            poll_answer(&mut call, &mut answer, context)
        })
        .await;
        match answer {
            Some(answer) => Ok(answer?),
            None => Err(Error::new(ErrorCode::Closed, "closed", "This writer is closed.")),
        }
    }
}

/// Goes on with the call. Once it is answered, the answer stays.
fn poll_answer(
    call: &mut Pin<Box<dyn Future<Output = Answer>>>,
    answer: &mut Option<Answer>,
    context: &mut Context<'_>,
) -> Poll<()> {
    if answer.is_none()
        && let Poll::Ready(answered) = call.as_mut().poll(context)
    {
        *answer = Some(answered);
    }
    if answer.is_some() { Poll::Ready(()) } else { Poll::Pending }
}

impl fmt::Debug for Writing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writing").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
