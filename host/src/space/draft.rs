//! A file being written where the store will have it.

use std::fmt;
use std::fs::File;
use std::sync::Arc;

use super::{self as space, Error, Space};
use crate::scope::Need;
use crate::store::{Effect, Precondition, Upload};

/// A file of this machine that becomes the one at its path, as it is, when it is finished. Nothing
/// is at the path until then; dropping it leaves what was there before.
pub(crate) struct Draft {
    space: Space,
    path: String,
    when: Precondition,
    upload: Box<dyn Upload>,
    file: Arc<File>,
}

impl fmt::Debug for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Draft").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Space {
    /// An empty one; `when` is decided when it is finished. None where the store keeps no files of
    /// this machine.
    ///
    /// # Errors
    /// As [`Space::open_writer`].
    pub(crate) async fn draft(
        &self,
        path: &str,
        when: Precondition,
    ) -> Result<Option<Draft>, Error> {
        let (_, resolved) = self.resolve(path, Need::Write)?;
        let upload = self.store().upload(&resolved.key, when.clone());
        let mut upload = self.operate(path, Effect::None, upload).await?;
        let Some(file) = self.operate(path, Effect::None, upload.file()).await? else {
            return Ok(None);
        };
        let (space, path) = (self.clone(), path.to_owned());
        Ok(Some(Draft { space, path, when, upload, file }))
    }
}

impl Draft {
    /// To be written to, and read, at any place, but by nobody once it is being finished.
    pub(crate) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Whether it becomes the file at a path under a condition.
    pub(crate) fn is_of(&self, path: &str, when: &Precondition) -> bool {
        self.path == path && self.when == *when
    }

    /// Makes the file appear, whole.
    ///
    /// # Errors
    /// As [`super::Writer::finish`].
    pub(crate) async fn finish(self) -> Result<space::File, Error> {
        let object = self.space.transfer(&self.path, self.upload.complete()).await?;
        Ok(self.space.written(space::File::new(&self.path, object)))
    }
}
