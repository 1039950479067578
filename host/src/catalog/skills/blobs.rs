//! Which contents of files of skills are kept, and how those go that nobody needs.
//!
//! Whoever publishes claims a content before looking for it in the store, and whoever removes one
//! condemns it before it is gone there. Both change the same row: a content that was claimed is
//! not condemned for as long as the claim holds, and one that was condemned cannot be claimed
//! until it is gone. A version locks the rows of its contents before it names them, so one whose
//! claim was over is refused, and never without its files.

use std::collections::BTreeSet;

use tokio::time::Instant;

use super::super::database::{Changes, places, sql};
use super::super::{Catalog, CatalogError, integer};
use super::kept_until;
use crate::limits::SKILL_REMOVAL_AGAIN_MS;
use crate::scope::{Sha256, Skill, WorkspaceId};

/// A content that is to be removed from the store, and whose removal is then to be settled.
#[derive(Clone, Copy, Debug)]
pub struct Condemned {
    /// Whose it is.
    pub workspace: WorkspaceId,
    /// Which one.
    pub sha256: Sha256,
    since_ms: i64,
    since: Instant,
}

impl Condemned {
    /// Whether it may still be removed by whoever condemned it: later, others may have done so,
    /// and somebody may have stored it again.
    pub fn is_current(&self) -> bool {
        let elapsed = self.since.elapsed().as_millis();
        elapsed < u128::from(SKILL_REMOVAL_AGAIN_MS / 2)
    }
}

impl Catalog {
    /// Claims contents of files for a version that is about to be published: for six hours nobody
    /// removes them. At most 1,000 at a time.
    ///
    /// # Errors
    /// [`CatalogError::BeingRemoved`] if one is being removed right now;
    /// [`CatalogError::Unavailable`].
    pub async fn claim_blobs(
        &self,
        workspace: WorkspaceId,
        contents: &BTreeSet<Sha256>,
    ) -> Result<(), CatalogError> {
        if contents.is_empty() {
            return Ok(());
        }
        self.undone.retried(|| self.try_claim_blobs(workspace, contents)).await
    }

    async fn try_claim_blobs(
        &self,
        workspace: WorkspaceId,
        contents: &BTreeSet<Sha256>,
    ) -> Result<(), CatalogError> {
        let mut changes = self.begin().await?;
        let values = places(contents.len(), 4);
        // In one order, so that two who claim the same do not wait for one another.
        let claim = sql(format!(
            "insert into skill_blobs (store_id, workspace_id, sha256, kept_until_ms)
            values {values} on conflict (workspace_id, sha256) do update
                set kept_until_ms = excluded.kept_until_ms
                where skill_blobs.condemned_ms is null"
        ));
        let until = kept_until(self.now());
        let claim = contents.iter().fold(claim, |claim, sha256| {
            claim.bind(self.store).bind(workspace).bind(*sha256).bind(until)
        });
        if changes.execute(claim).await? != contents.len() as u64 {
            return Err(CatalogError::BeingRemoved);
        }
        self.commit(changes).await
    }

    /// Condemns contents that no version needs and nobody has claimed: from now on nobody can
    /// claim them until they are gone. Those as well whose removal was begun long ago and not
    /// settled. At most `limit`.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn condemn_blobs(&self, limit: u32) -> Result<Vec<Condemned>, CatalogError> {
        self.undone.retried(|| self.try_condemn(limit)).await
    }

    async fn try_condemn(&self, limit: u32) -> Result<Vec<Condemned>, CatalogError> {
        let (now, since) = (self.now(), Instant::now());
        let long_ago = now.saturating_sub(integer(SKILL_REMOVAL_AGAIN_MS));
        let mut changes = self.begin().await?;
        let unneeded = "select workspace_id, sha256 from skill_blobs
            where store_id = $1 and kept_until_ms < $2
                and (condemned_ms is null or condemned_ms < $3)
                and not exists (select 1 from skill_version_files as needed
                    where needed.workspace_id = skill_blobs.workspace_id
                        and needed.sha256 = skill_blobs.sha256)
            order by kept_until_ms limit $4 for update skip locked";
        let unneeded = sql(unneeded).bind(self.store).bind(now).bind(long_ago).bind(limit);
        let unneeded: Vec<(WorkspaceId, Sha256)> = changes.rows(unneeded).await?.all()?;
        let mut condemned = Vec::new();
        for (workspace, sha256) in unneeded {
            // Once it is locked, it is looked at again: who needs it has to lock it too.
            let condemn = "update skill_blobs set condemned_ms = $3
                where workspace_id = $1 and sha256 = $2 and kept_until_ms < $3
                    and not exists (select 1 from skill_version_files as needed
                        where needed.workspace_id = $1 and needed.sha256 = $2)";
            let condemn = sql(condemn).bind(workspace).bind(sha256).bind(now);
            if changes.execute(condemn).await? == 1 {
                condemned.push(Condemned { workspace, sha256, since_ms: now, since });
            }
        }
        self.commit(changes).await?;
        Ok(condemned)
    }

    /// Strikes out contents that are gone from the store.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`]; they are removed again then.
    pub async fn settle_blobs(&self, gone: &[Condemned]) -> Result<(), CatalogError> {
        self.undone.retried(|| self.try_settle_blobs(gone)).await
    }

    async fn try_settle_blobs(&self, gone: &[Condemned]) -> Result<(), CatalogError> {
        let mut changes = self.begin().await?;
        for Condemned { workspace, sha256, since_ms, .. } in gone {
            let strike = "delete from skill_blobs
                where workspace_id = $1 and sha256 = $2 and condemned_ms = $3";
            changes.execute(sql(strike).bind(*workspace).bind(*sha256).bind(*since_ms)).await?;
        }
        self.commit(changes).await
    }

    /// Drops versions that no skill lists and no turn needs that has not ended: at most `limit`,
    /// and how many. Their contents are then needed by nobody else's sake.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn drop_unlisted_versions(&self, limit: u32) -> Result<u64, CatalogError> {
        self.undone.retried(|| self.try_drop_unlisted(limit)).await
    }

    async fn try_drop_unlisted(&self, limit: u32) -> Result<u64, CatalogError> {
        let mut changes = self.begin().await?;
        let unneeded = "select id from skill_versions
            where skill_id is null and kept_until_ms < $1
                and workspace_id in (select id from workspaces where store_id = $2)
                and not exists (select 1 from turn_skills
                    join turns on turns.id = turn_skills.turn_id
                    where version_id = skill_versions.id
                        and turns.state in ('queued', 'running', 'parked'))
            order by kept_until_ms limit $3 for update skip locked";
        let unneeded = sql(unneeded).bind(self.now()).bind(self.store).bind(limit);
        let unneeded: Vec<(super::VersionId,)> = changes.rows(unneeded).await?.all()?;
        let mut dropped = 0;
        for (version,) in unneeded {
            // Once it is locked, it is looked at again: who sends it has to lock it too.
            let delete = "delete from skill_versions
                where id = $1 and skill_id is null and kept_until_ms < $2
                    and not exists (select 1 from turn_skills
                        join turns on turns.id = turn_skills.turn_id
                        where version_id = $1
                            and turns.state in ('queued', 'running', 'parked'))";
            dropped += changes.execute(sql(delete).bind(version).bind(self.now())).await?;
        }
        self.commit(changes).await?;
        Ok(dropped)
    }
}

/// Locks the contents of a version that is about to name them.
pub(super) async fn lock(changes: &mut Changes, skill: &Skill) -> Result<(), CatalogError> {
    let contents: BTreeSet<Sha256> = skill.files().values().map(|file| file.sha256).collect();
    let places: Vec<_> = (0..contents.len()).map(|at| format!("${}", at + 2)).collect();
    let lock = sql(format!(
        "select sha256 from skill_blobs
        where workspace_id = $1 and condemned_ms is null and sha256 in ({})
        order by sha256 for update",
        places.join(", ")
    ));
    let lock = contents.iter().fold(lock.bind(skill.owner()), |lock, sha256| lock.bind(*sha256));
    let locked: Vec<(Sha256,)> = changes.rows(lock).await?.all()?;
    match locked.len() == contents.len() {
        true => Ok(()),
        false => Err(CatalogError::BeingRemoved),
    }
}
