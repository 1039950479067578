//! What an id stands for, to whoever has to decide what may be done with it. What is of another
//! store is not there.

use super::components::{AgentComponent, agent_component};
use super::database::{Row, sql};
use super::deletions::as_error;
use super::{Catalog, CatalogError};
use crate::scope::{AgentId, Coordinates, SessionId, WorkspaceId};

/// A workspace, by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceRecord {
    /// Which one it is.
    pub id: WorkspaceId,
    /// What people call it.
    pub name: String,
    /// When it was made, in milliseconds since the Unix epoch.
    pub created_ms: u64,
}

/// An agent, by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRecord {
    /// Which one it is, and of which workspace.
    pub coordinates: Coordinates,
    /// What people call it.
    pub name: String,
    /// When it was made, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// The component that its turns run.
    pub component: Option<AgentComponent>,
}

/// A session, by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    /// Which one it is, of which agent and workspace.
    pub coordinates: Coordinates,
    /// What people call it.
    pub name: String,
    /// When it was made, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// When something last happened in it, in milliseconds since the Unix epoch: files that are
    /// written from outside of turns are noted every few minutes.
    pub active_ms: u64,
    /// When it was closed, in milliseconds since the Unix epoch, if it is.
    pub closed_ms: Option<u64>,
    /// Since when nothing of it may be removed, in milliseconds since the Unix epoch.
    pub held_ms: Option<u64>,
}

impl Catalog {
    /// The workspace with an id.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn workspace_by_id(
        &self,
        id: WorkspaceId,
    ) -> Result<Option<WorkspaceRecord>, CatalogError> {
        let find = "select id, name, created_ms from workspaces
            where id = $1 and store_id = $2 and gone_ms is null";
        let found = self.database.rows(sql(find).bind(id).bind(self.store)).await?.first()?;
        Ok(found.map(|(id, name, created_ms)| WorkspaceRecord { id, name, created_ms }))
    }

    /// The agent with an id.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn agent_by_id(&self, id: AgentId) -> Result<Option<AgentRecord>, CatalogError> {
        let find = "select agents.id, workspace_id, agents.name, agents.created_ms,
                component_name, component_sha256
            from agents join workspaces on workspaces.id = agents.workspace_id
            where agents.id = $1 and store_id = $2 and agents.gone_ms is null
                and workspaces.gone_ms is null";
        self.database.rows(sql(find).bind(id).bind(self.store)).await?.first_by(agent)
    }

    /// The session with an id, unless it is being swept.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn session_by_id(
        &self,
        id: SessionId,
    ) -> Result<Option<SessionRecord>, CatalogError> {
        let find = "select sessions.id, agent_id, workspace_id, sessions.name,
                sessions.created_ms, active_ms, closed_ms, held_ms
            from sessions join agents on agents.id = agent_id
            join workspaces on workspaces.id = workspace_id
            where sessions.id = $1 and store_id = $2 and sweeping_ms is null
                and agents.gone_ms is null and workspaces.gone_ms is null";
        self.database.rows(sql(find).bind(id).bind(self.store)).await?.first_by(session)
    }

    /// Where a session is that goes for its age, as long as it does.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn swept_session(&self, id: SessionId) -> Result<Option<Coordinates>, CatalogError> {
        let find = "select agent_id, workspace_id, sessions.gone_why
            from sessions join agents on agents.id = agent_id
            join workspaces on workspaces.id = workspace_id
            where sessions.id = $1 and store_id = $2 and sweeping_ms is not null
                and agents.gone_ms is null and workspaces.gone_ms is null";
        let found = self.database.rows(sql(find).bind(id).bind(self.store)).await?.first()?;
        let Some((agent, workspace, why)) = found else { return Ok(None) };
        let is_swept = matches!(as_error(why), CatalogError::Swept);
        Ok(is_swept.then_some(Coordinates { workspace, agent, session: Some(id) }))
    }
}

fn agent(row: &Row) -> Result<AgentRecord, CatalogError> {
    let coordinates = Coordinates { agent: row.at(0)?, workspace: row.at(1)?, session: None };
    let component = agent_component(row.at(4)?, row.at(5)?)?;
    Ok(AgentRecord { coordinates, name: row.at(2)?, created_ms: row.at(3)?, component })
}

fn session(row: &Row) -> Result<SessionRecord, CatalogError> {
    let session = Some(row.at(0)?);
    let coordinates = Coordinates { agent: row.at(1)?, workspace: row.at(2)?, session };
    let (created_ms, active_ms) = (row.at(4)?, row.at(5)?);
    let (closed_ms, held_ms) = (row.at(6)?, row.at(7)?);
    Ok(SessionRecord { coordinates, name: row.at(3)?, created_ms, active_ms, closed_ms, held_ms })
}
