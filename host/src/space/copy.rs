//! Copies: the one way in which bytes move between scopes.

use super::files::skill_object;
use super::{Error, ErrorCode, File, FileEvent, Space};
use crate::scope::{Need, Resolved, Scope};
use crate::store::{Effect, Object, Precondition, StoreError};

impl Space {
    /// Copies a file within what the caller can reach. To a longer-lived scope it is a
    /// promotion, and recorded as one.
    ///
    /// # Errors
    /// `conflict` if `when`, about the target, does not hold, or the source changed meanwhile.
    pub async fn copy(
        &self,
        source: &str,
        target: &str,
        when: Precondition,
    ) -> Result<File, Error> {
        self.copy_revision(source, target, when, Need::Read).await.map(|(file, _, _)| file)
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
        let (file, from, copied) = self.copy_revision(source, target, when, Need::Write).await?;
        let unchanged = Precondition::IfRevision(copied.revision);
        let delete = self.store().delete(&from.key, &unchanged);
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

    /// The copy, and the source's place and content that it was made of.
    async fn copy_revision(
        &self,
        source: &str,
        target: &str,
        when: Precondition,
        need: Need,
    ) -> Result<(File, Resolved, Object), Error> {
        let (source_path, from) = self.resolve(source, need)?;
        let (target_path, to) = self.resolve(target, Need::Write)?;
        if from.key == to.key {
            return Err(Error::invalid(
                "same-file",
                format!("`{source}` cannot be copied onto itself"),
            ));
        }
        let (found, pinned) = match &from.skill_file {
            Some(file) => (skill_object(file), None),
            None => {
                let found =
                    self.operate(source, Effect::None, self.store().head(&from.key)).await?;
                (found.clone(), Some(found.revision))
            }
        };
        let copy = self.store().copy(&from.key, pinned.as_ref(), &to.key, &when);
        let copied = self.transfer(target, copy).await.map_err(|error| {
            // The target's absence is no error: only the source can be missing.
            if error.code == ErrorCode::NotFound {
                Error::from_store(StoreError::NotFound, source)
            } else {
                error
            }
        })?;
        if lifetime(target_path.scope()) > lifetime(source_path.scope()) {
            self.record(FileEvent::Promoted {
                source: source_path.to_string(),
                target: target_path.to_string(),
                revision: copied.revision.clone(),
            });
        }
        let file = self.written(File::new(target_path.to_string(), copied));
        Ok((file, from, found))
    }
}

fn lifetime(scope: &Scope) -> u8 {
    match scope {
        Scope::Session => 0,
        Scope::Agent => 1,
        Scope::Workspace => 2,
        Scope::Skill(_) => 3,
    }
}
