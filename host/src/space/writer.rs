//! A file being written, of any size.

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;

use super::room::Held;
use super::{Error, File, Space};
use crate::limits::{UPLOAD_HELD_BYTES_MAX, WRITER_CALL_BYTES_MAX};
use crate::scope::Need;
use crate::store::{Effect, Precondition, Upload};

/// A file being written. Nothing is at its path until [`Writer::finish`]; dropping it leaves
/// what was there before.
pub struct Writer {
    space: Space,
    path: String,
    upload: Option<Box<dyn Upload>>,
    /// Room for the bytes that the store may still hold.
    held: Vec<Held>,
    held_bytes: usize,
    _place: OwnedSemaphorePermit,
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
        let (parsed, resolved) = self.resolve(path, Need::Write)?;
        let place = self.0.writers.clone().try_acquire_owned().map_err(|_| {
            let bound = self.limits().turn_writers_max;
            Error::too_large(
                "writers",
                format!("at most {bound} writers are open at once: finish one"),
            )
        })?;
        let upload = self.store().upload(&resolved.key, when);
        let upload = self.operate(path, Effect::None, upload).await?;
        let path = parsed.to_string();
        let (held, held_bytes) = (Vec::new(), 0);
        Ok(Writer {
            space: self.clone(),
            path,
            upload: Some(upload),
            held,
            held_bytes,
            _place: place,
        })
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
        let mut upload = self.upload.take().ok_or_else(|| Error::closed("writer"))?;
        if bytes.len() > WRITER_CALL_BYTES_MAX {
            let message =
                format!("one call of a writer takes at most {WRITER_CALL_BYTES_MAX} bytes");
            return Err(Error::too_large("write", message));
        }
        self.hold(bytes.len()).await?;
        self.space.operate(&self.path, Effect::None, upload.write(bytes)).await?;
        self.upload = Some(upload);
        Ok(())
    }

    async fn hold(&mut self, bytes: usize) -> Result<(), Error> {
        let more = bytes.min(UPLOAD_HELD_BYTES_MAX - self.held_bytes);
        if more > 0 {
            self.held.push(self.space.0.buffer.take(more).await?);
            self.held_bytes += more;
        }
        Ok(())
    }

    /// Makes the file appear, whole.
    ///
    /// # Errors
    /// `conflict` if the precondition does not hold now; `closed` after an earlier error.
    pub async fn finish(&mut self) -> Result<File, Error> {
        let upload = self.upload.take().ok_or_else(|| Error::closed("writer"))?;
        let object = self.space.transfer(&self.path, upload.complete()).await?;
        self.held.clear();
        Ok(self.space.written(File::new(self.path.clone(), object)))
    }

    /// Gives it up: what was at the path stays.
    pub async fn abort(&mut self) {
        let Some(upload) = self.upload.take() else { return };
        if let Err(error) = upload.abort().await {
            tracing::warn!(
                error = format!("{error:#}"),
                "an upload was not aborted; it will be swept"
            );
        }
        self.held.clear();
    }
}
