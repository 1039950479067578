//! Skills: packages of files in versions. A version never changes. One that no skill lists any
//! more stays for as long as a turn needs it that has not ended.

use std::fmt;

use sha2::{Digest as _, Sha256 as Hasher};
use uuid::Uuid;

use super::database::{Changes, Row, places, sql};
use super::{Catalog, CatalogError, Made, Page, integer, new_id, unsigned};
use crate::limits::{CATALOG_PAGE_ROWS_MAX, SKILL_GRACE_MS};
use crate::scope::{Sha256, Skill, SkillFile, Slug, WorkspaceId};

mod bindings;
mod blobs;
mod sending;

pub use bindings::{Bind, Binding, SkillOf};
pub use blobs::Condemned;
pub(super) use sending::Sending;

/// A skill, as the catalog made it; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SkillId(pub(super) Uuid);

/// A version of a skill, as the catalog made it; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionId(pub Uuid);

macro_rules! shown {
    ($($kind:ident),*) => {$(
        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }
    )*};
}
shown!(SkillId, VersionId);

/// A version to be kept.
#[derive(Clone, Copy, Debug)]
pub struct NewVersion<'a> {
    /// What it is called.
    pub slug: &'a Slug,
    /// What it is for.
    pub description: &'a str,
    /// Whose it is, and its files: claimed by [`Catalog::claim_blobs`] and then stored.
    pub skill: &'a Skill,
}

/// A version of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillVersion {
    /// Which one it is.
    pub id: VersionId,
    /// What its skill is called.
    pub slug: String,
    /// Which version of its skill it is, counted from 1.
    pub number: u64,
    /// What it is for.
    pub description: String,
    /// How many files it has.
    pub files: u64,
    /// Their bytes, all together.
    pub size: u64,
    /// When it was published, in milliseconds since the Unix epoch.
    pub created_ms: u64,
}

impl Catalog {
    /// Publishes a version of a skill, and makes the skill if there is none of that slug. The
    /// files that the newest version has already are no new version: that one is found.
    ///
    /// # Errors
    /// [`CatalogError::BeingRemoved`] if a file was not claimed, or so long ago that it was
    /// removed; [`CatalogError::Deleted`] if the workspace is gone; [`CatalogError::Unavailable`].
    pub async fn publish(
        &self,
        version: NewVersion<'_>,
    ) -> Result<Made<SkillVersion>, CatalogError> {
        self.undone.retried(|| self.try_publish(version)).await
    }

    async fn try_publish(
        &self,
        version: NewVersion<'_>,
    ) -> Result<Made<SkillVersion>, CatalogError> {
        let workspace = version.skill.owner();
        let mut changes = self.begin().await?;
        lock(&mut changes, workspace).await?;
        let digest = digest(version.skill);
        let found = "select id, latest from skills where workspace_id = $1 and slug = $2";
        let found = sql(found).bind(workspace).bind(version.slug.as_str());
        let found: Option<(SkillId, u64)> = changes.rows(found).await?.first()?;
        if let Some((skill, latest)) = found
            && let Some(same) = same_as(&mut changes, skill, latest, digest).await?
        {
            return Ok(Made::Found(same));
        }
        let now = self.now();
        let (skill, number) = match found {
            Some((skill, latest)) => (skill, latest + 1),
            None => (SkillId(new_id()), 1),
        };
        let note = "insert into skills (id, workspace_id, slug, latest, created_ms)
            values ($1, $2, $3, $4, $5) on conflict (id) do update set latest = excluded.latest";
        let note = sql(note).bind(skill).bind(workspace).bind(version.slug.as_str());
        changes.execute(note.bind(number).bind(now)).await?;
        let kept = Kept { version, skill: Some(skill), number, digest, now };
        let id = kept.insert(&mut changes).await?;
        self.commit(changes).await?;
        Ok(Made::New(kept.told(id)))
    }

    /// Keeps a version that no skill lists, for a turn that is about to begin. The same files under
    /// the same slug are one.
    ///
    /// # Errors
    /// As [`Self::publish`].
    pub async fn keep_unlisted(&self, version: NewVersion<'_>) -> Result<VersionId, CatalogError> {
        self.undone.retried(|| self.try_keep_unlisted(version)).await
    }

    async fn try_keep_unlisted(&self, version: NewVersion<'_>) -> Result<VersionId, CatalogError> {
        let workspace = version.skill.owner();
        let mut changes = self.begin().await?;
        lock(&mut changes, workspace).await?;
        let (digest, now) = (digest(version.skill), self.now());
        let again = "update skill_versions set kept_until_ms = $4
            where workspace_id = $1 and slug = $2 and digest = $3 and skill_id is null
            returning id";
        let again = sql(again).bind(workspace).bind(version.slug.as_str()).bind(digest);
        let again = changes.rows(again.bind(kept_until(now))).await?.first()?;
        let id = match again {
            Some((id,)) => id,
            None => {
                Kept { version, skill: None, number: 1, digest, now }.insert(&mut changes).await?
            }
        };
        self.commit(changes).await?;
        Ok(id)
    }

    /// The newest version of each skill of a workspace, by slug.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn skills(
        &self,
        workspace: WorkspaceId,
        page: Page<'_>,
    ) -> Result<Vec<SkillVersion>, CatalogError> {
        let list = "select versions.id, skills.slug, versions.number, description, files, size,
                versions.created_ms
            from skills join skill_versions as versions
                on versions.skill_id = skills.id and versions.number = skills.latest
            where skills.workspace_id = $1 and skills.slug > $2 order by skills.slug limit $3";
        let list = page.of(sql(list).bind(workspace));
        self.database.rows(list).await?.map(told)
    }

    /// Versions of a skill, the newest first, those before a number: at most `limit`, and at most
    /// 1,000. None if there is no such skill.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn skill_versions(
        &self,
        workspace: WorkspaceId,
        slug: &Slug,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<SkillVersion>, CatalogError> {
        let list = "select id, slug, number, description, files, size, created_ms
            from skill_versions where number < $3 and skill_id =
                (select id from skills where workspace_id = $1 and slug = $2)
            order by number desc limit $4";
        let list = sql(list).bind(workspace).bind(slug.as_str());
        let list = list.bind(before.unwrap_or(u64::MAX)).bind(limit.min(CATALOG_PAGE_ROWS_MAX));
        self.database.rows(list).await?.map(told)
    }

    /// One version of a skill.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn skill_version(
        &self,
        workspace: WorkspaceId,
        slug: &Slug,
        number: u64,
    ) -> Result<Option<SkillVersion>, CatalogError> {
        let find = "select id, slug, number, description, files, size, created_ms
            from skill_versions where number = $3 and skill_id =
                (select id from skills where workspace_id = $1 and slug = $2)";
        let find = sql(find).bind(workspace).bind(slug.as_str()).bind(number);
        self.database.rows(find).await?.first_by(told)
    }

    /// What is in a version: whose it is, and its files.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn skill(&self, version: VersionId) -> Result<Option<Skill>, CatalogError> {
        let whose = "select workspace_id, created_ms from skill_versions where id = $1";
        let whose = self.database.rows(sql(whose).bind(version)).await?.first()?;
        let Some((owner, modified_ms)) = whose else { return Ok(None) };
        let files = "select path, sha256, size from skill_version_files where version_id = $1";
        let files: Vec<(String, Sha256, u64)> =
            self.database.rows(sql(files).bind(version)).await?.all()?;
        let file = |(path, sha256, size)| (path, SkillFile { sha256, size, modified_ms });
        let skill = Skill::new(owner, files.into_iter().map(file));
        skill.map(Some).map_err(CatalogError::unavailable)
    }

    /// Deletes a skill: nobody can be given it any more. What turns need that have not ended stays
    /// for them.
    ///
    /// # Errors
    /// [`CatalogError::NoSkill`] if there is none; [`CatalogError::Unavailable`].
    pub async fn remove_skill(
        &self,
        workspace: WorkspaceId,
        slug: &Slug,
    ) -> Result<(), CatalogError> {
        self.undone.retried(|| self.try_remove_skill(workspace, slug)).await
    }

    async fn try_remove_skill(
        &self,
        workspace: WorkspaceId,
        slug: &Slug,
    ) -> Result<(), CatalogError> {
        let mut changes = self.begin().await?;
        lock(&mut changes, workspace).await?;
        let remove = "delete from skills where workspace_id = $1 and slug = $2";
        let remove = sql(remove).bind(workspace).bind(slug.as_str());
        if changes.execute(remove).await? == 0 {
            return Err(CatalogError::NoSkill);
        }
        self.commit(changes).await
    }
}

/// Nothing is published into a workspace, and nothing of it is deleted, meanwhile.
async fn lock(changes: &mut Changes, workspace: WorkspaceId) -> Result<(), CatalogError> {
    let lock = "select id from workspaces where id = $1 for update";
    changes.lock(sql(lock).bind(workspace)).await
}

async fn same_as(
    changes: &mut Changes,
    skill: SkillId,
    number: u64,
    digest: Sha256,
) -> Result<Option<SkillVersion>, CatalogError> {
    let same = "select id, slug, number, description, files, size, created_ms
        from skill_versions where skill_id = $1 and number = $2 and digest = $3";
    let same = sql(same).bind(skill).bind(number).bind(digest);
    changes.rows(same).await?.first_by(told)
}

fn told(row: &Row) -> Result<SkillVersion, CatalogError> {
    Ok(SkillVersion {
        id: row.at(0)?,
        slug: row.at(1)?,
        number: row.at(2)?,
        description: row.at(3)?,
        files: row.at(4)?,
        size: row.at(5)?,
        created_ms: row.at(6)?,
    })
}

/// Stands for all paths and contents of a version, and for nothing else: no path has a NUL.
fn digest(skill: &Skill) -> Sha256 {
    let mut hasher = Hasher::new();
    for (path, file) in skill.files() {
        hasher.update(path.as_bytes());
        hasher.update([0]);
        hasher.update(file.sha256.0);
    }
    Sha256(hasher.finalize().into())
}

fn kept_until(now: i64) -> i64 {
    now.saturating_add(integer(SKILL_GRACE_MS))
}

/// A version as it is written down.
struct Kept<'a> {
    version: NewVersion<'a>,
    skill: Option<SkillId>,
    number: u64,
    digest: Sha256,
    now: i64,
}

impl Kept<'_> {
    /// Once its files are locked, nobody removes them.
    async fn insert(&self, changes: &mut Changes) -> Result<VersionId, CatalogError> {
        let NewVersion { slug, description, skill } = self.version;
        blobs::lock(changes, skill).await?;
        let id = VersionId(new_id());
        let insert = "insert into skill_versions (id, workspace_id, skill_id, slug, number,
                description, digest, files, size, created_ms, kept_until_ms)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
        let insert = sql(insert)
            .bind(id)
            .bind(skill.owner())
            .bind(self.skill)
            .bind(slug.as_str())
            .bind(self.number)
            .bind(description)
            .bind(self.digest)
            .bind(skill.files().len() as u64)
            .bind(size(skill))
            .bind(self.now)
            .bind(kept_until(self.now));
        changes.execute(insert).await?;
        let files = "insert into skill_version_files (version_id, path, workspace_id, sha256, size)
            values ";
        let files = sql([files, &places(skill.files().len(), 5)].concat());
        let files = skill.files().iter().fold(files, |files, (path, file)| {
            let files = files.bind(id).bind(path).bind(skill.owner());
            files.bind(file.sha256).bind(file.size)
        });
        changes.execute(files).await?;
        Ok(id)
    }

    fn told(&self, id: VersionId) -> SkillVersion {
        let NewVersion { slug, description, skill } = self.version;
        SkillVersion {
            id,
            slug: slug.to_string(),
            number: self.number,
            description: description.to_owned(),
            files: skill.files().len() as u64,
            size: size(skill),
            created_ms: unsigned(self.now),
        }
    }
}

fn size(skill: &Skill) -> u64 {
    skill.files().values().map(|file| file.size).sum()
}
