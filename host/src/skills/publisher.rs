use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use sha2::Digest as _;

use super::frontmatter::{About, PAGE};
use crate::catalog::{Catalog, CatalogError, Made, NewVersion, SkillVersion, VersionId};
use crate::limits::{SKILL_FILE_BYTES_MAX, SKILL_FILES_MAX};
use crate::scope::{Sha256, Skill, SkillFile, Slug, WorkspaceId};
use crate::space::{Error, Storage};

/// Contents that are claimed and stored together, in bytes and in files.
const TOGETHER_BYTES: usize = 8 << 20;
const TOGETHER_FILES: usize = 64;

/// Publishes one version of a skill: takes its files as they come, and makes the version of them.
/// Nothing names what is stored before that, and what nothing names is removed after a while; so
/// dropping it leaves no version.
#[derive(Debug)]
pub struct Publisher {
    catalog: Catalog,
    storage: Arc<Storage>,
    owner: WorkspaceId,
    files: BTreeMap<String, SkillFile>,
    about: Option<About>,
    /// What was taken and not stored yet.
    due: BTreeMap<Sha256, Bytes>,
    due_bytes: usize,
}

/// Why a version was not published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// It is no skill; a sentence that says why.
    #[error("{0}")]
    Unfit(String),
    /// It has too many files, or one that is too large; a sentence that says the bound.
    #[error("{0}")]
    TooLarge(String),
    /// Of the store or a path.
    #[error(transparent)]
    Storage(#[from] Error),
    /// Of the catalog.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

impl Publisher {
    /// For a skill of a workspace's.
    pub fn new(catalog: Catalog, storage: Arc<Storage>, owner: WorkspaceId) -> Self {
        let (files, due) = (BTreeMap::new(), BTreeMap::new());
        Self { catalog, storage, owner, files, about: None, due, due_bytes: 0 }
    }

    /// Takes a file, at a path below the skill. Now and then waits until some are stored.
    ///
    /// # Errors
    /// If the path is not legal or there already; if it is the page of the skill and not as that
    /// must be; if there are too many files, or this one is too large; as storing them fails.
    pub async fn add(&mut self, path: String, bytes: Bytes) -> Result<(), PublishError> {
        self.check(&path, &bytes)?;
        if path == PAGE {
            self.about = Some(About::read(&bytes).map_err(PublishError::Unfit)?);
        }
        let sha256 = Sha256(sha2::Sha256::digest(&bytes).into());
        let (size, modified_ms) = (bytes.len() as u64, self.storage.clock().now_ms());
        self.files.insert(path, SkillFile { sha256, size, modified_ms });
        self.due_bytes += bytes.len();
        self.due.insert(sha256, bytes);
        if self.due_bytes >= TOGETHER_BYTES || self.due.len() >= TOGETHER_FILES {
            self.store().await?;
        }
        Ok(())
    }

    fn check(&self, path: &str, bytes: &Bytes) -> Result<(), PublishError> {
        Skill::check_path(path).map_err(Error::from)?;
        if self.files.contains_key(path) {
            return Err(PublishError::Unfit(format!("`{path}` is there twice")));
        }
        if self.files.len() >= SKILL_FILES_MAX {
            let bound = format!("a skill is at most {SKILL_FILES_MAX} files");
            return Err(PublishError::TooLarge(bound));
        }
        if bytes.len() > SKILL_FILE_BYTES_MAX {
            let bound = format!(
                "`{path}` is larger than {SKILL_FILE_BYTES_MAX} bytes, the most that a file of a skill has"
            );
            return Err(PublishError::TooLarge(bound));
        }
        Ok(())
    }

    /// Claims come first: what is found in the store afterwards stays there.
    async fn store(&mut self) -> Result<(), PublishError> {
        let (due, _) = (std::mem::take(&mut self.due), std::mem::take(&mut self.due_bytes));
        let contents: BTreeSet<Sha256> = due.keys().copied().collect();
        self.catalog.claim_blobs(self.owner, &contents).await?;
        Ok(self.storage.keep_blobs(self.owner, due.into_values()).await?)
    }

    /// Makes the version, once all of its files are stored.
    ///
    /// # Errors
    /// If it has no page, or one that gives it another name; as [`Catalog::publish`].
    pub async fn finish(mut self, slug: &Slug) -> Result<Made<SkillVersion>, PublishError> {
        let about = self.about.take().ok_or_else(|| {
            PublishError::Unfit(format!("a skill has a page, {PAGE}, which says what it is"))
        })?;
        if about.name != *slug {
            let name = about.name;
            return Err(PublishError::Unfit(format!(
                "{PAGE} says that this skill is called `{name}`, and not `{slug}`"
            )));
        }
        self.store().await?;
        let skill = Skill::new(self.owner, self.files).map_err(Error::from)?;
        let version = NewVersion { slug, description: &about.description, skill: &skill };
        Ok(self.catalog.publish(version).await?)
    }

    /// Makes a version that no skill lists, for a turn that is about to begin; it needs no page.
    ///
    /// # Errors
    /// If it has no files; as [`Catalog::keep_unlisted`].
    pub async fn finish_unlisted(mut self, slug: &Slug) -> Result<VersionId, PublishError> {
        if self.files.is_empty() {
            return Err(PublishError::Unfit(format!("the skill `{slug}` has no files")));
        }
        self.store().await?;
        let description = self.about.take().map(|about| about.description).unwrap_or_default();
        let skill = Skill::new(self.owner, self.files).map_err(Error::from)?;
        let version = NewVersion { slug, description: &description, skill: &skill };
        Ok(self.catalog.keep_unlisted(version).await?)
    }
}
