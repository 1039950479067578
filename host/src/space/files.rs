//! Whole files and ranges of them.

use bytes::Bytes;

use super::blobs::kept_size;
use super::{Error, ErrorCode, File, FileEvent, Space};
use crate::limits::{READ_BYTES_MAX, WRITE_BYTES_MAX};
use crate::scope::{Need, SkillFile};
use crate::store::{Effect, Object, Precondition, Revision};

/// A range of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The bytes of the range that exist.
    pub bytes: Bytes,
    /// Bytes of the whole file.
    pub size: u64,
    /// Which content they are of.
    pub revision: Revision,
}

impl Space {
    /// Up to `length` bytes from `offset`; fewer only at the end, none at or past it.
    ///
    /// # Errors
    /// `too-large` over [`READ_BYTES_MAX`]; `not-found`.
    pub async fn read(&self, path: &str, offset: u64, length: u32) -> Result<Chunk, Error> {
        self.read_pinned(path, offset, length, None).await
    }

    pub(super) async fn read_pinned(
        &self,
        path: &str,
        offset: u64,
        length: u32,
        pinned: Option<&Revision>,
    ) -> Result<Chunk, Error> {
        check_read_length(length)?;
        let (_, resolved) = self.resolve(path, Need::Read)?;
        if let (Some(size), Some(file)) = (kept_size(&resolved), &resolved.skill_file) {
            let whole = self.blob(path, &resolved.key, size).await?;
            let Object { revision, size, .. } = skill_object(file);
            return Ok(Chunk { bytes: part(&whole, offset, length), size, revision });
        }
        let _room = self.hold(length as usize).await?;
        let range = offset..offset.saturating_add(u64::from(length));
        // A skill's content is named by its hash: it has no other revision to be pinned to.
        let stored_pin = pinned.filter(|_| resolved.skill_file.is_none());
        let get = self.store().get(&resolved.key, range, stored_pin);
        let (object, bytes) = self.operate(path, Effect::None, get).await?;
        let Object { revision, size, .. } = as_seen(object, resolved.skill_file);
        Ok(Chunk { bytes, size, revision })
    }

    /// Creates or replaces a file, whole: a reader sees the old bytes or the new ones.
    ///
    /// # Errors
    /// `too-large` over [`WRITE_BYTES_MAX`]; `conflict` if `when` does not hold.
    pub async fn write(
        &self,
        path: impl Into<String>,
        bytes: Bytes,
        when: Precondition,
    ) -> Result<File, Error> {
        let path = path.into();
        if bytes.len() > WRITE_BYTES_MAX {
            let message =
                format!("one write takes at most {WRITE_BYTES_MAX} bytes: use a writer for more");
            return Err(Error::too_large("write", message));
        }
        let (_, resolved) = self.resolve(&path, Need::Write)?;
        let _room = self.hold(bytes.len()).await?;
        let put = self.store().put(&resolved.key, bytes, &when);
        let object = self.operate(&path, Effect::Unknown, put).await?;
        Ok(self.written(File::at(path, object)))
    }

    pub(super) fn written(&self, file: File) -> File {
        self.record(FileEvent::Written { path: file.path.clone(), size: file.size });
        file
    }

    /// Removes a file.
    ///
    /// # Errors
    /// `not-found`, so that a mistyped path is noticed; `conflict` if `when` does not hold.
    pub async fn delete(&self, path: &str, when: Precondition) -> Result<(), Error> {
        let (_, resolved) = self.resolve(path, Need::Write)?;
        let found = self.operate(path, Effect::None, self.store().head(&resolved.key)).await?;
        if !when.holds(Some(&found.revision)) {
            return Err(Error::conflict(path));
        }
        let delete = self.store().delete(&resolved.key, &when);
        self.operate(path, Effect::Unknown, delete).await?;
        self.record(FileEvent::Deleted { path: path.to_owned() });
        Ok(())
    }

    /// What is there, without its bytes.
    ///
    /// # Errors
    /// `not-found`.
    pub async fn stat(&self, path: impl Into<String>) -> Result<File, Error> {
        let path = path.into();
        let (_, resolved) = self.resolve(&path, Need::Read)?;
        let object = match resolved.skill_file {
            Some(file) => skill_object(&file),
            None => self.operate(&path, Effect::None, self.store().head(&resolved.key)).await?,
        };
        Ok(File::at(path, object))
    }
}

pub(super) fn check_read_length(length: u32) -> Result<(), Error> {
    if length <= READ_BYTES_MAX {
        return Ok(());
    }
    let message =
        format!("one read returns at most {READ_BYTES_MAX} bytes: read on from where it ends");
    Err(Error::too_large("read", message))
}

/// What there is of a range.
fn part(whole: &Bytes, offset: u64, length: u32) -> Bytes {
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(whole.len());
    let end = start.saturating_add(length as usize).min(whole.len());
    whole.slice(start..end)
}

/// The object as the caller knows it: a skill's file is what its table says.
pub(super) fn as_seen(object: Object, skill_file: Option<SkillFile>) -> Object {
    skill_file.map_or(object, |file| skill_object(&file))
}

pub(super) fn skill_object(file: &SkillFile) -> Object {
    let revision = Revision(file.sha256.to_string());
    Object { revision, size: file.size, modified_ms: file.modified_ms }
}

impl Error {
    /// Whether a change lost a race that it may run again.
    pub(super) fn is_conflict(&self) -> bool {
        self.code == ErrorCode::Conflict
    }
}
