use crate::catalog::{Catalog, CatalogError, ErasureId};
use crate::scope::{AgentId, Coordinates, SessionId, WorkspaceId};

/// What the path of a request names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::api) enum Found {
    /// No thing of a workspace's.
    Deployment,
    Workspace {
        workspace: WorkspaceId,
    },
    Agent {
        workspace: WorkspaceId,
        agent: AgentId,
    },
    Session {
        workspace: WorkspaceId,
        agent: AgentId,
        session: SessionId,
    },
}

impl Found {
    pub(super) fn workspace(self) -> Option<WorkspaceId> {
        match self {
            Self::Deployment => None,
            Self::Workspace { workspace }
            | Self::Agent { workspace, .. }
            | Self::Session { workspace, .. } => Some(workspace),
        }
    }

    pub(super) fn agent(self) -> Option<AgentId> {
        match self {
            Self::Deployment | Self::Workspace { .. } => None,
            Self::Agent { agent, .. } | Self::Session { agent, .. } => Some(agent),
        }
    }

    pub(super) fn session(self) -> Option<SessionId> {
        match self {
            Self::Session { session, .. } => Some(session),
            Self::Deployment | Self::Workspace { .. } | Self::Agent { .. } => None,
        }
    }

    /// As it is now: what was deleted meanwhile is not found again, whatever has its name.
    pub(super) async fn is_still_there(self, catalog: &Catalog) -> Result<bool, CatalogError> {
        let found = match self {
            Self::Deployment => Some(self),
            Self::Workspace { workspace: id } => workspace(catalog, id).await?,
            Self::Agent { agent: id, .. } => agent(catalog, id).await?,
            Self::Session { session: id, .. } => session(catalog, id).await?,
        };
        Ok(found == Some(self))
    }
}

pub(super) async fn workspace(
    catalog: &Catalog,
    id: WorkspaceId,
) -> Result<Option<Found>, CatalogError> {
    let found = catalog.workspace_by_id(id).await?;
    Ok(found.map(|record| Found::Workspace { workspace: record.id }))
}

/// The workspace that an erasure was asked for in; it may be gone.
pub(super) async fn erased(
    catalog: &Catalog,
    workspace: WorkspaceId,
    id: ErasureId,
) -> Result<Option<Found>, CatalogError> {
    let found = catalog.erasure(id).await?.filter(|erasure| erasure.workspace == workspace);
    Ok(found.map(|_| Found::Workspace { workspace }))
}

pub(super) async fn agent(catalog: &Catalog, id: AgentId) -> Result<Option<Found>, CatalogError> {
    let found = catalog.agent_by_id(id).await?;
    Ok(found.map(|record| {
        let Coordinates { workspace, agent, .. } = record.coordinates;
        Found::Agent { workspace, agent }
    }))
}

/// A session that goes for its age.
pub(super) async fn swept(catalog: &Catalog, id: SessionId) -> Result<Option<Found>, CatalogError> {
    let swept = catalog.swept_session(id).await?;
    Ok(swept.map(|Coordinates { workspace, agent, .. }| Found::Session {
        workspace,
        agent,
        session: id,
    }))
}

pub(super) async fn session(
    catalog: &Catalog,
    id: SessionId,
) -> Result<Option<Found>, CatalogError> {
    let found = catalog.session_by_id(id).await?;
    Ok(found.map(|record| {
        let Coordinates { workspace, agent, .. } = record.coordinates;
        Found::Session { workspace, agent, session: id }
    }))
}
