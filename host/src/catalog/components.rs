//! Components that were uploaded under a name, for the agents of a workspace.

use anyhow::Context as _;

use super::database::{Changes, Row, sql};
use super::ending::drop_unused;
use super::{Catalog, CatalogError, Name, Page};
use crate::limits::{CATALOG_PAGE_ROWS_MAX, COMPONENT_BYTES_MAX, COMPONENT_SNAPSHOTS_KEPT};
use crate::scope::{AgentId, Sha256, WorkspaceId};

/// The component that the turns of an agent run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentComponent {
    /// The latest one of that name when a turn is queued.
    Latest(Name),
    /// This one, whatever is uploaded later.
    Pinned(Sha256),
}

/// A component as it was uploaded under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The name.
    pub name: String,
    /// Which upload of that name it is, counted from 1.
    pub number: u64,
    /// Its bytes.
    pub sha256: Sha256,
    /// When it was uploaded, in milliseconds since the Unix epoch.
    pub created_ms: u64,
}

impl Catalog {
    /// Keeps a component under a name of a workspace. The caller has checked that it is one, and
    /// that `sha256` is that of its bytes. The bytes that the name stands for already are no new
    /// snapshot. Of the older ones the newest three stay, and any that an agent or a turn needs
    /// that has not ended.
    ///
    /// # Errors
    /// [`CatalogError::TooLarge`] over 128 MiB; [`CatalogError::Deleted`] if the workspace is
    /// gone; [`CatalogError::Unavailable`].
    pub async fn upload_component(
        &self,
        workspace: WorkspaceId,
        name: &Name,
        sha256: Sha256,
        bytes: &[u8],
    ) -> Result<Snapshot, CatalogError> {
        if bytes.len() > COMPONENT_BYTES_MAX {
            return Err(CatalogError::TooLarge { bytes_max: COMPONENT_BYTES_MAX });
        }
        self.undone.retried(|| self.try_upload(workspace, name, sha256, bytes)).await
    }

    async fn try_upload(
        &self,
        workspace: WorkspaceId,
        name: &Name,
        sha256: Sha256,
        bytes: &[u8],
    ) -> Result<Snapshot, CatalogError> {
        let mut changes = self.begin().await?;
        let lock = "select id from workspaces where id = $1 for update";
        changes.lock(sql(lock).bind(workspace)).await?;
        let latest = "select name, number, sha256, created_ms from component_snapshots
            where workspace_id = $1 and name = $2 order by number desc limit 1";
        let latest = sql(latest).bind(workspace).bind(name.as_str());
        let latest = changes.rows(latest).await?.first_by(snapshot)?;
        let number = match latest {
            Some(latest) if latest.sha256 == sha256 => return Ok(latest),
            Some(latest) => latest.number + 1,
            None => 1,
        };
        keep_bytes(&mut changes, sha256, bytes).await?;
        let created_ms = self.now();
        let insert = "insert into component_snapshots
            (workspace_id, name, number, sha256, created_ms) values ($1, $2, $3, $4, $5)";
        let insert = sql(insert).bind(workspace).bind(name.as_str()).bind(number).bind(sha256);
        changes.execute(insert.bind(created_ms)).await?;
        prune(&mut changes, workspace, name, number).await?;
        self.commit(changes).await?;
        let created_ms = super::unsigned(created_ms);
        Ok(Snapshot { name: name.to_string(), number, sha256, created_ms })
    }

    /// The latest component of each name of a workspace, by name.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn components(
        &self,
        workspace: WorkspaceId,
        page: Page<'_>,
    ) -> Result<Vec<Snapshot>, CatalogError> {
        let list = "select name, number, sha256, created_ms from component_snapshots as latest
            where workspace_id = $1 and name > $2 and not exists (select 1
                from component_snapshots as newer where newer.workspace_id = latest.workspace_id
                    and newer.name = latest.name and newer.number > latest.number)
            order by name limit $3";
        let list = page.of(sql(list).bind(workspace));
        self.database.rows(list).await?.map(snapshot)
    }

    /// The snapshots that are kept of a name, the newest first: at most 1,000.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn snapshots(
        &self,
        workspace: WorkspaceId,
        name: &Name,
    ) -> Result<Vec<Snapshot>, CatalogError> {
        let list = "select name, number, sha256, created_ms from component_snapshots
            where workspace_id = $1 and name = $2 order by number desc limit $3";
        let list = sql(list).bind(workspace).bind(name.as_str()).bind(CATALOG_PAGE_ROWS_MAX);
        self.database.rows(list).await?.map(snapshot)
    }

    /// Says which component an agent's turns run, or that it has none any more.
    ///
    /// # Errors
    /// [`CatalogError::NoComponent`] if the workspace keeps no such component;
    /// [`CatalogError::Deleted`] if the agent is gone; [`CatalogError::Unavailable`].
    pub async fn set_agent_component(
        &self,
        agent: AgentId,
        component: Option<&AgentComponent>,
    ) -> Result<(), CatalogError> {
        self.undone.retried(|| self.try_set_component(agent, component)).await
    }

    async fn try_set_component(
        &self,
        agent: AgentId,
        component: Option<&AgentComponent>,
    ) -> Result<(), CatalogError> {
        let mut changes = self.begin().await?;
        let lock = "select id from workspaces
            where id = (select workspace_id from agents where id = $1) for update";
        changes.lock(sql(lock).bind(agent)).await?;
        let (name, sha256) = match component {
            None => (None, None),
            Some(AgentComponent::Latest(name)) => (Some(name.as_str()), None),
            Some(AgentComponent::Pinned(sha256)) => (None, Some(*sha256)),
        };
        let kept = "select count(*) from component_snapshots
            where workspace_id = (select workspace_id from agents where id = $1)
                and (name = $2 or sha256 = $3)";
        let kept = sql(kept).bind(agent).bind(name).bind(sha256);
        let (kept,): (u64,) = changes.rows(kept).await?.one()?;
        let set = "update agents set component_name = $2, component_sha256 = $3 where id = $1";
        if changes.execute(sql(set).bind(agent).bind(name).bind(sha256)).await? == 0 {
            return Err(CatalogError::Deleted);
        }
        if kept == 0 && component.is_some() {
            return Err(CatalogError::NoComponent);
        }
        self.commit(changes).await
    }

    /// The component that a turn of an agent would run if it was queued now.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn component_of(&self, agent: AgentId) -> Result<Option<Sha256>, CatalogError> {
        let find =
            "select coalesce(component_sha256, (select sha256 from component_snapshots as named
                where named.workspace_id = agents.workspace_id
                    and named.name = agents.component_name
                order by number desc limit 1))
            from agents where id = $1";
        let found: Option<(Option<Sha256>,)> =
            self.database.rows(sql(find).bind(agent)).await?.first()?;
        Ok(found.and_then(|(component,)| component))
    }
}

/// What an agent's columns say.
pub(super) fn agent_component(
    name: Option<String>,
    sha256: Option<Sha256>,
) -> Result<Option<AgentComponent>, CatalogError> {
    if let Some(sha256) = sha256 {
        return Ok(Some(AgentComponent::Pinned(sha256)));
    }
    let name = name.map(|name| name.parse().context("the catalog holds what is no name"));
    let name = name.transpose().map_err(CatalogError::unavailable)?;
    Ok(name.map(AgentComponent::Latest))
}

/// Once they are locked, nobody drops them.
async fn keep_bytes(
    changes: &mut Changes,
    sha256: Sha256,
    bytes: &[u8],
) -> Result<(), CatalogError> {
    let there = "select sha256 from components where sha256 = $1 for key share";
    let there: Option<(Sha256,)> = changes.rows(sql(there).bind(sha256)).await?.first()?;
    if there.is_none() {
        let insert = "insert into components (sha256, bytes) values ($1, $2)
            on conflict (sha256) do update set sha256 = excluded.sha256";
        changes.execute(sql(insert).bind(sha256).bind(bytes)).await?;
    }
    Ok(())
}

/// Drops what is older than the newest three of a name and needed by nobody; how many those are.
pub(super) async fn prune(
    changes: &mut Changes,
    workspace: WorkspaceId,
    name: &Name,
    newest: u64,
) -> Result<u64, CatalogError> {
    let prune = "delete from component_snapshots where workspace_id = $1 and name = $2
            and number <= $3
            and not exists (select 1 from agents where agents.workspace_id = $1
                and component_sha256 = component_snapshots.sha256)
            and not exists (select 1 from turns where component = component_snapshots.sha256
                and state in ('queued', 'running', 'parked'))
        returning sha256";
    let old = newest.saturating_sub(COMPONENT_SNAPSHOTS_KEPT);
    let prune = sql(prune).bind(workspace).bind(name.as_str()).bind(old);
    let pruned: Vec<(Sha256,)> = changes.rows(prune).await?.all()?;
    for (sha256,) in &pruned {
        let candidate = "select sha256 from components where sha256 = $1 for update skip locked";
        drop_unused(changes, sql(candidate).bind(*sha256)).await?;
    }
    Ok(pruned.len() as u64)
}

fn snapshot(row: &Row) -> Result<Snapshot, CatalogError> {
    let (name, number) = (row.at(0)?, row.at(1)?);
    Ok(Snapshot { name, number, sha256: row.at(2)?, created_ms: row.at(3)? })
}
