//! Which skills an agent is given.

use anyhow::anyhow;

use super::super::database::{Changes, Row, sql};
use super::super::{Catalog, CatalogError};
use super::SkillId;
use crate::limits::AGENT_SKILLS_MAX;
use crate::scope::{AgentId, Slug, WorkspaceId};

/// Whose skill is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillOf {
    /// Of the agent's own workspace.
    Workspace,
    /// Of the platform's workspace: see [`Catalog::set_platform_workspace`].
    Platform,
}

impl SkillOf {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Platform => "platform",
        }
    }
}

/// A skill to be given to an agent.
#[derive(Clone, Copy, Debug)]
pub struct Bind<'a> {
    /// What it is called.
    pub slug: &'a Slug,
    /// Whose it is.
    pub of: SkillOf,
    /// Which version; `None` for the newest there is when a turn is queued.
    pub version: Option<u64>,
}

/// A skill that an agent is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// What it is called.
    pub slug: String,
    /// Whose it is.
    pub of: SkillOf,
    /// Which version; `None` for the newest there is when a turn is queued.
    pub version: Option<u64>,
    /// The version that a turn would be sent if it was queued now; `None` if it would be sent none:
    /// the skill is not the platform's any more, or one of that slug was bound before.
    pub sent: Option<u64>,
}

impl Catalog {
    /// Says whose skills agents of all workspaces may be given; `None` for nobody's. Agents that
    /// were given skills of another one are not sent them any more.
    ///
    /// # Errors
    /// [`CatalogError::Deleted`] if this store has no such workspace;
    /// [`CatalogError::Unavailable`].
    pub async fn set_platform_workspace(
        &self,
        workspace: Option<WorkspaceId>,
    ) -> Result<(), CatalogError> {
        let set = "update stores set platform_workspace_id = $2 where id = $1 and ($2 is null
            or exists (select 1 from workspaces
                where id = $2 and store_id = $1 and gone_ms is null))";
        match self.database.execute(sql(set).bind(self.store).bind(workspace)).await? {
            0 => Err(CatalogError::Deleted),
            _ => Ok(()),
        }
    }

    /// Whose skills agents of all workspaces may be given.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn platform_workspace(&self) -> Result<Option<WorkspaceId>, CatalogError> {
        let find = "select platform_workspace_id from stores where id = $1";
        let found: Option<(Option<WorkspaceId>,)> =
            self.database.rows(sql(find).bind(self.store)).await?.first()?;
        Ok(found.and_then(|(workspace,)| workspace))
    }

    /// Gives an agent a skill, after those that it is given already. One that it is given keeps its
    /// place, and is given in this version from now on.
    ///
    /// # Errors
    /// [`CatalogError::NoSkill`] if there is no such skill or no such version;
    /// [`CatalogError::TooMany`] beyond 64; [`CatalogError::Deleted`] if the agent is gone;
    /// [`CatalogError::Unavailable`].
    pub async fn bind_skill(&self, agent: AgentId, bind: Bind<'_>) -> Result<(), CatalogError> {
        self.undone.retried(|| self.try_bind(agent, bind)).await
    }

    async fn try_bind(&self, agent: AgentId, bind: Bind<'_>) -> Result<(), CatalogError> {
        let mut changes = self.begin().await?;
        let lock = "select id from agents where id = $1 for update";
        changes.lock(sql(lock).bind(agent)).await?;
        let owner = match bind.of {
            SkillOf::Workspace => "select workspace_id from agents where id = $1",
            SkillOf::Platform => {
                "select platform_workspace_id from stores
                where id = (select store_id from workspaces
                    where id = (select workspace_id from agents where id = $1))"
            }
        };
        let owner: Option<(Option<WorkspaceId>,)> =
            changes.rows(sql(owner).bind(agent)).await?.first()?;
        let (owner,) = owner.ok_or(CatalogError::Deleted)?;
        let skill = "select id from skills where workspace_id = $1 and slug = $2
                and ($3 is null or exists (select 1 from skill_versions
                    where skill_id = skills.id and number = $3)) for key share";
        let skill = sql(skill).bind(owner).bind(bind.slug.as_str()).bind(bind.version);
        let skill = changes.rows(skill).await?.first()?;
        let (skill,): (SkillId,) = skill.ok_or(CatalogError::NoSkill)?;
        let again = "update agent_skills set number = $3 where agent_id = $1 and skill_id = $2";
        let again = sql(again).bind(agent).bind(skill).bind(bind.version);
        if changes.execute(again).await? == 0 {
            self.append(&mut changes, agent, skill, bind.version).await?;
        }
        self.commit(changes).await
    }

    async fn append(
        &self,
        changes: &mut Changes,
        agent: AgentId,
        skill: SkillId,
        version: Option<u64>,
    ) -> Result<(), CatalogError> {
        let there = "select count(*), coalesce(max(position), 0) from agent_skills
            where agent_id = $1";
        let (count, last): (u64, u64) = changes.rows(sql(there).bind(agent)).await?.one()?;
        if count >= AGENT_SKILLS_MAX {
            return Err(CatalogError::TooMany { count_max: AGENT_SKILLS_MAX });
        }
        let insert = "insert into agent_skills (agent_id, skill_id, number, position, bound_ms)
            values ($1, $2, $3, $4, $5)";
        let insert = sql(insert).bind(agent).bind(skill).bind(version).bind(last + 1);
        changes.execute(insert.bind(self.now())).await?;
        Ok(())
    }

    /// Takes a skill from an agent; whether it was given it. Turns that are queued already are
    /// sent it all the same.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn unbind_skill(
        &self,
        agent: AgentId,
        slug: &Slug,
        of: SkillOf,
    ) -> Result<bool, CatalogError> {
        // Of a workspace that is not the platform's any more as well.
        let unbind = match of {
            SkillOf::Workspace => {
                "delete from agent_skills where agent_id = $1 and skill_id in
                (select id from skills where slug = $2
                    and workspace_id = (select workspace_id from agents where agents.id = $1))"
            }
            SkillOf::Platform => {
                "delete from agent_skills where agent_id = $1 and skill_id in
                (select id from skills where slug = $2
                    and workspace_id <> (select workspace_id from agents where agents.id = $1))"
            }
        };
        let unbind = sql(unbind).bind(agent).bind(slug.as_str());
        Ok(self.database.execute(unbind).await? > 0)
    }

    /// The skills that an agent is given, in the order in which they were bound: at most 64.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn bindings(&self, agent: AgentId) -> Result<Vec<Binding>, CatalogError> {
        let list = "select skills.slug, skills.workspace_id, agent_skills.number,
                coalesce(agent_skills.number, skills.latest),
                (select workspace_id from agents where agents.id = $1),
                (select platform_workspace_id from stores where stores.id = $2)
            from agent_skills join skills on skills.id = agent_skills.skill_id
            where agent_id = $1 order by position";
        let rows = self.database.rows(sql(list).bind(agent).bind(self.store)).await?;
        let mut bindings: Vec<Binding> = Vec::new();
        for found in rows.map(bound)? {
            let is_first =
                bindings.iter().all(|before| before.sent.is_none() || before.slug != found.slug);
            let sent = found.sent.filter(|_| is_first);
            bindings.push(Binding { sent, ..found });
        }
        Ok(bindings)
    }
}

fn bound(row: &Row) -> Result<Binding, CatalogError> {
    let (owner, own): (WorkspaceId, Option<WorkspaceId>) = (row.at(1)?, row.at(4)?);
    let own = own.ok_or_else(|| CatalogError::unavailable(anyhow!("an agent of no workspace")))?;
    let of = if owner == own { SkillOf::Workspace } else { SkillOf::Platform };
    let is_reachable = owner == own || row.at::<Option<WorkspaceId>>(5)? == Some(owner);
    let sent = Some(row.at(3)?).filter(|_| is_reachable);
    Ok(Binding { slug: row.at(0)?, of, version: row.at(2)?, sent })
}
