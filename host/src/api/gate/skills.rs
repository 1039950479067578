//! Skills: publishing and reading them, and giving them to agents.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::desks::Wanted;
use super::{Administering, Desk, OfAgent, OfDeployment, OfWorkspace, Right, Seeing};
use crate::api::authority::Authority;
use crate::api::problem::Problem;
use crate::catalog::{Bind, Binding, CatalogError, Page, SkillOf, SkillVersion};
use crate::scope::{AgentId, Coordinates, Grant, MountTable, Skill, SkillTable, Slug, WorkspaceId};
use crate::skills::Publisher;
use crate::space::Reader;

/// To see skills and what is in them.
#[derive(Debug)]
pub(in crate::api) enum Browsing {}

/// To change them.
#[derive(Debug)]
pub(in crate::api) enum Publishing {}

impl Wanted for Browsing {
    const RIGHT: Right = Right::AnyOf(&[Authority::SkillsRead]);
}

impl Wanted for Publishing {
    const RIGHT: Right = Right::AnyOf(&[Authority::SkillsWrite]);
}

impl Desk<OfWorkspace, Browsing> {
    /// The newest version of each skill: of this workspace, or of the platform's, which its agents
    /// may be given as well.
    pub(in crate::api) async fn skills(
        &self,
        of: SkillOf,
        page: Page<'_>,
    ) -> Result<Vec<SkillVersion>, Problem> {
        let catalog = &self.host.0.catalog;
        let owner = match of {
            SkillOf::Workspace => Some(self.owner.0),
            SkillOf::Platform => catalog.platform_workspace().await?,
        };
        match owner {
            Some(owner) => Ok(catalog.skills(owner, page).await?),
            None => Ok(Vec::new()),
        }
    }

    /// Versions of a skill, the newest first.
    pub(in crate::api) async fn versions(
        &self,
        slug: &Slug,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<SkillVersion>, Problem> {
        let catalog = &self.host.0.catalog;
        let versions = catalog.skill_versions(self.owner.0, slug, before, limit).await?;
        if versions.is_empty() && before.is_none() {
            return Err(CatalogError::NoSkill.into());
        }
        Ok(versions)
    }

    /// One version, and what is in it.
    pub(in crate::api) async fn version(
        &self,
        slug: &Slug,
        number: u64,
    ) -> Result<(SkillVersion, Skill), Problem> {
        let catalog = &self.host.0.catalog;
        let version = catalog.skill_version(self.owner.0, slug, number).await?;
        let version = version.ok_or(CatalogError::NoSkill)?;
        let skill = catalog.skill(version.id).await?.ok_or(CatalogError::NoSkill)?;
        Ok((version, skill))
    }

    /// A file of a version, read as a turn reads it that was sent nothing else.
    pub(in crate::api) async fn open(
        &self,
        slug: &Slug,
        number: u64,
        path: &str,
    ) -> Result<Reader, Problem> {
        let (_, skill) = self.version(slug, number).await?;
        let mut skills = SkillTable::default();
        skills.bind(slug.as_str(), Arc::new(skill)).map_err(crate::space::Error::from)?;
        // An agent that no grant names: never looked at.
        let agent = AgentId(Uuid::nil());
        let coordinates = Coordinates { workspace: self.owner.0, agent, session: None };
        let nothing_else = Grant { agent: None, workspace: None };
        let table = MountTable::new(coordinates, nothing_else, skills);
        let space = self.host.0.storage.space(table);
        Ok(space.open_reader(&format!("skill/{slug}/{path}")).await?)
    }
}

impl Desk<OfWorkspace, Publishing> {
    /// A place among the versions that are published at once.
    pub(in crate::api) fn place_for_version(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.host.0.publishes.clone().try_acquire_owned().map_err(|_| Problem::busy())
    }

    /// Takes the files of a version.
    pub(in crate::api) fn publisher(&self) -> Publisher {
        let shared = &self.host.0;
        Publisher::new(shared.catalog.clone(), shared.storage.clone(), self.owner.0)
    }

    pub(in crate::api) async fn remove(&self, slug: &Slug) -> Result<(), Problem> {
        Ok(self.host.0.catalog.remove_skill(self.owner.0, slug).await?)
    }
}

impl Desk<OfAgent, Seeing> {
    /// What the agent is given.
    pub(in crate::api) async fn bindings(&self) -> Result<Vec<Binding>, Problem> {
        Ok(self.host.0.catalog.bindings(self.owner.0).await?)
    }
}

impl Desk<OfAgent, Administering> {
    pub(in crate::api) async fn bind(&self, bind: Bind<'_>) -> Result<(), Problem> {
        Ok(self.host.0.catalog.bind_skill(self.owner.0, bind).await?)
    }

    pub(in crate::api) async fn unbind(&self, slug: &Slug, of: SkillOf) -> Result<(), Problem> {
        match self.host.0.catalog.unbind_skill(self.owner.0, slug, of).await? {
            true => Ok(()),
            false => Err(CatalogError::NoSkill.into()),
        }
    }
}

impl Desk<OfDeployment, Administering> {
    /// Whose skills all agents may be given.
    pub(in crate::api) async fn platform(&self) -> Result<Option<WorkspaceId>, Problem> {
        Ok(self.host.0.catalog.platform_workspace().await?)
    }

    pub(in crate::api) async fn set_platform(
        &self,
        workspace: Option<WorkspaceId>,
    ) -> Result<(), Problem> {
        let set = self.host.0.catalog.set_platform_workspace(workspace).await;
        set.map_err(|error| match error {
            CatalogError::Deleted => {
                Problem::bad_request("workspace", "there is no such workspace in this deployment")
            }
            error => error.into(),
        })
    }
}
