//! Publishing a skill: its files by content, before anything names them.

use std::sync::Arc;

use bytes::Bytes;
use sha2::Digest;

use super::{Error, Storage};
use crate::scope::{Sha256, Skill, SkillFile, WorkspaceId, skill_blob};
use crate::store::{Precondition, StoreError};

impl Storage {
    /// Stores the files of a skill's version, each under its hash, and returns the version.
    /// Publishing the same content again stores nothing new.
    ///
    /// # Errors
    /// `invalid` if a path is not legal; `unavailable` if storage fails, and then nothing names
    /// what was stored.
    pub async fn publish_skill(
        self: &Arc<Self>,
        owner: WorkspaceId,
        files: impl IntoIterator<Item = (String, Bytes)> + Send,
    ) -> Result<Skill, Error> {
        let modified_ms = self.clock.now_ms();
        let mut contents = Vec::new();
        let mut table = Vec::new();
        for (path, bytes) in files {
            let sha256 = Sha256(sha2::Sha256::digest(&bytes).into());
            table.push((path, SkillFile { sha256, size: bytes.len() as u64, modified_ms }));
            contents.push((sha256, bytes));
        }
        let skill = Skill::new(owner, table)?;
        for (sha256, bytes) in contents {
            match self.store.put(&skill_blob(owner, sha256), bytes, &Precondition::IfAbsent).await {
                Ok(_) | Err(StoreError::PreconditionFailed) => {}
                Err(error) => return Err(Error::from_store(error, "the skill")),
            }
        }
        Ok(skill)
    }
}
