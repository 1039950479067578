use uuid::Uuid;

use super::database::{Changes, sql};
use super::ending::{UNUSED, drop_unused};
use super::places::{AGENTS, SESSIONS, Table, WORKSPACES};
use super::{Catalog, CatalogError, unsigned};
use crate::scope::{AgentId, SessionId, WorkspaceId};

impl Catalog {
    /// Deletes a workspace with its agents and sessions. Its files are owed from then on: see
    /// [`Self::owed`].
    ///
    /// # Errors
    /// [`CatalogError::InUse`]; [`CatalogError::Deleted`] if it is gone;
    /// [`CatalogError::Unavailable`].
    pub async fn remove_workspace(&self, workspace: WorkspaceId) -> Result<(), CatalogError> {
        self.remove(&WORKSPACES, workspace.0).await
    }

    /// Deletes an agent with its sessions, as [`Self::remove_workspace`] does.
    ///
    /// # Errors
    /// As [`Self::remove_workspace`].
    pub async fn remove_agent(&self, agent: AgentId) -> Result<(), CatalogError> {
        self.remove(&AGENTS, agent.0).await
    }

    /// Deletes a session with its turns, as [`Self::remove_workspace`] does.
    ///
    /// # Errors
    /// As [`Self::remove_workspace`].
    pub async fn remove_session(&self, session: SessionId) -> Result<(), CatalogError> {
        self.remove(&SESSIONS, session.0).await
    }

    async fn remove(&self, table: &Table, id: Uuid) -> Result<(), CatalogError> {
        self.undone.retried(|| self.try_remove(table, id)).await
    }

    async fn try_remove(&self, table: &Table, id: Uuid) -> Result<(), CatalogError> {
        let mut changes = self.begin().await?;
        for lock in table.locks {
            changes.lock(sql(*lock).bind(id)).await?;
        }
        refuse_running(&mut changes, table, id, self.now()).await?;
        if changes.execute(sql(table.delete).bind(id)).await? == 0 {
            return Err(CatalogError::Deleted);
        }
        drop_unused(&mut changes, sql(UNUSED)).await?;
        self.commit(changes).await
    }
}

/// A turn whose lease is over stands in nobody's way.
async fn refuse_running(
    changes: &mut Changes,
    table: &Table,
    id: Uuid,
    now: i64,
) -> Result<(), CatalogError> {
    let (until,): (Option<i64>,) = changes.rows(sql(table.running).bind(id)).await?.one()?;
    match until {
        Some(until) if until >= now => {
            Err(CatalogError::InUse { given_up_in_ms: unsigned(until - now) })
        }
        _ => Ok(()),
    }
}
