//! Copies: the one way in which bytes move between scopes.

use super::promotion::is_promotion;
use super::{Error, ErrorCode, File, FileEvent, Space};
use crate::scope::{GuestPath, Need, Resolved};
use crate::store::{Effect, Precondition, Revision, StoreError};

impl Space {
    /// Copies a file within what the caller can reach. To a longer-lived scope it is a
    /// promotion: it has a receipt before it is begun, where the space has somebody who keeps
    /// them.
    ///
    /// # Errors
    /// `conflict` if `when`, about the target, does not hold; `unavailable` if there is no
    /// receipt.
    pub async fn copy(
        &self,
        source: &str,
        target: &str,
        when: Precondition,
    ) -> Result<File, Error> {
        let way = self.way((source, Need::Read), target)?;
        self.copy_along(&way, None, &when).await
    }

    /// Copies a file as it is now, then deletes it if it is still the same.
    ///
    /// # Errors
    /// As [`Space::copy`]; `conflict` if the source changed meanwhile, and then both stay.
    pub async fn relocate(
        &self,
        source: &str,
        target: &str,
        when: Precondition,
    ) -> Result<File, Error> {
        let way = self.way((source, Need::Write), target)?;
        let key = &way.from.key;
        let found = self.operate(source, Effect::None, self.store().head(key)).await?;
        let file = self.copy_along(&way, Some(&found.revision), &when).await?;
        let unchanged = Precondition::IfRevision(found.revision);
        let delete = self.store().delete(key, &unchanged);
        self.operate(source, Effect::Unknown, delete).await.map_err(|error| match error.code {
            ErrorCode::Conflict => {
                let message = format!(
                    "`{source}` was changed while it was copied: both it and `{target}` are there"
                );
                Error::new(ErrorCode::Conflict, "source-changed", message)
            }
            _ => error,
        })?;
        self.record(FileEvent::Deleted { path: source.to_owned() });
        Ok(file)
    }

    fn way<'a>(&self, (source, need): (&'a str, Need), target: &'a str) -> Result<Way<'a>, Error> {
        let (source_path, from) = self.resolve(source, need)?;
        let (target_path, to) = self.resolve(target, Need::Write)?;
        if from.key == to.key {
            return Err(Error::invalid(
                "same-file",
                format!("`{source}` cannot be copied onto itself"),
            ));
        }
        Ok(Way { source_path, from, target_path, to })
    }

    async fn copy_along(
        &self,
        way: &Way<'_>,
        pinned: Option<&Revision>,
        when: &Precondition,
    ) -> Result<File, Error> {
        let (source, target) = (way.source_path.to_string(), way.target_path.to_string());
        let (from, to) = (way.source_path.scope(), way.target_path.scope());
        let receipt = self.open_receipt((&source, from), (&target, to)).await?;
        let copied = self.copied(way, pinned, when).await;
        self.close_receipt(receipt, &copied).await?;
        let file = copied?;
        if is_promotion(from, to) {
            self.record(FileEvent::Promoted { source, target, revision: file.revision.clone() });
        }
        Ok(self.written(file))
    }

    async fn copied(
        &self,
        way: &Way<'_>,
        pinned: Option<&Revision>,
        when: &Precondition,
    ) -> Result<File, Error> {
        let target = way.target_path.to_string();
        let copy = self.store().copy(&way.from.key, pinned, &way.to.key, when);
        let copied = self.transfer(&target, copy).await.map_err(|error| {
            // The target's absence is no error: only the source can be missing.
            if error.code == ErrorCode::NotFound {
                Error::from_store(StoreError::NotFound, &way.source_path.to_string())
            } else {
                error
            }
        })?;
        Ok(File::at(target, copied))
    }
}

/// From where to where a file is copied.
struct Way<'a> {
    source_path: GuestPath<'a>,
    from: Resolved,
    target_path: GuestPath<'a>,
    to: Resolved,
}
