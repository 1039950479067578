//! A file being written, of any size.

use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;

use super::room::Held;
use super::{Error, File, Space};
use crate::limits::{WRITER_CALL_BYTES_MAX, WRITER_SMALL_BYTES_MAX};
use crate::scope::Need;
use crate::store::{Effect, Precondition, Upload};

/// A file being written. Nothing is at its path until [`Writer::finish`]; dropping it leaves
/// what was there before.
pub struct Writer {
    space: Space,
    path: String,
    open: Option<Open>,
    _place: OwnedSemaphorePermit,
}

/// An upload, and the room for the bytes that the store may still hold of it, but for those that
/// it borrowed spare room for. Dropping it gives
/// the upload up, and the room back once nothing of it is left.
struct Open {
    upload: Option<Box<dyn Upload>>,
    held: Vec<Held>,
    held_bytes: usize,
    /// Most that the store holds without asking for spare room.
    held_bytes_max: usize,
    give_up_within: Duration,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Space {
    /// Opens a file for writing; `when` is decided when it is finished.
    ///
    /// # Errors
    /// `too-large` over the turn's bound of open writers.
    pub async fn open_writer(&self, path: &str, when: Precondition) -> Result<Writer, Error> {
        let (_, resolved) = self.resolve(path, Need::Write)?;
        let place = self.0.writers.clone().try_acquire_owned().map_err(|_| {
            let bound = self.limits().turn_writers_max;
            Error::too_large(
                "writers",
                format!("at most {bound} writers are open at once: finish one"),
            )
        })?;
        let upload = self.store().upload(&resolved.key, when);
        let mut upload = self.operate(path, Effect::None, upload).await?;
        upload.lend(self.0.spare.clone());
        let path = path.to_owned();
        let give_up_within = Duration::from_millis(self.limits().transfer_ms_max);
        let held_bytes_max = upload.held_bytes_max();
        let (upload, held, held_bytes) = (Some(upload), Vec::new(), 0);
        let open = Open { upload, held, held_bytes, held_bytes_max, give_up_within };
        Ok(Writer { space: self.clone(), path, open: Some(open), _place: place })
    }
}

impl Writer {
    /// Appends bytes; waits while the store is behind.
    ///
    /// # Errors
    /// `too-large` over [`WRITER_CALL_BYTES_MAX`]. After any error the writer is `closed`, and
    /// nothing will come of it.
    pub async fn write(&mut self, bytes: Bytes) -> Result<(), Error> {
        // Out of its place until it has succeeded: an error, or a call that is dropped, ends it.
        let mut open = self.open.take().ok_or_else(|| Error::closed("writer"))?;
        if bytes.len() > WRITER_CALL_BYTES_MAX {
            let message =
                format!("one call of a writer takes at most {WRITER_CALL_BYTES_MAX} bytes");
            return Err(Error::too_large("write", message));
        }
        open.hold(&self.space, bytes.len()).await?;
        let Some(upload) = &mut open.upload else { return Err(Error::closed("writer")) };
        self.space.operate(&self.path, Effect::None, upload.write(bytes)).await?;
        self.open = Some(open);
        Ok(())
    }

    /// Makes the file appear, whole.
    ///
    /// # Errors
    /// `conflict` if the precondition does not hold now; `closed` after an earlier error.
    pub async fn finish(&mut self) -> Result<File, Error> {
        let open = self.open.take();
        let upload = open.and_then(|mut open| open.upload.take().map(|upload| (upload, open)));
        let (upload, _held) = upload.ok_or_else(|| Error::closed("writer"))?;
        let object = self.space.transfer(&self.path, upload.complete()).await?;
        Ok(self.space.written(File::new(&self.path, object)))
    }

    /// Gives it up: what was at the path stays.
    pub async fn abort(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        // Goes on if the caller does not wait for it.
        if let Err(error) = tokio::spawn(open.give_up()).await {
            tracing::warn!(%error, "an upload was not aborted; it will be swept");
        }
    }
}

impl Open {
    async fn hold(&mut self, space: &Space, bytes: usize) -> Result<(), Error> {
        // Many that each had a part of what they need, and waited for the rest, would wait for
        // one another: beyond what is small, a file takes all that it will need at once.
        let wanted = self.held_bytes.saturating_add(bytes);
        let is_small = wanted <= WRITER_SMALL_BYTES_MAX;
        let all = if is_small { wanted } else { self.held_bytes_max };
        let more = all.min(self.held_bytes_max) - self.held_bytes;
        if more > 0 {
            self.held.push(space.hold(more).await?);
            self.held_bytes += more;
        }
        Ok(())
    }

    /// Gives the upload up and then the room back. Holds parts of `self`: an unfinished future
    /// that is dropped must not begin anew.
    fn give_up(&mut self) -> impl Future<Output = ()> + Send + use<> {
        let (upload, held) = (self.upload.take(), std::mem::take(&mut self.held));
        let within = self.give_up_within;
        async move {
            let _held = held;
            let Some(upload) = upload else { return };
            match tokio::time::timeout(within, upload.abort()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    let error = format!("{error:#}");
                    tracing::warn!(error, "an upload was not aborted; it will be swept");
                }
                Err(_) => tracing::warn!("an upload was not aborted in time; it will be swept"),
            }
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.upload.is_none() {
            return;
        }
        // Without a runtime the process is at its end.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(self.give_up());
        }
    }
}
