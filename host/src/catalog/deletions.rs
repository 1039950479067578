use anyhow::anyhow;
use uuid::Uuid;

use super::database::{Row, sql};
use super::{Catalog, CatalogError};
use crate::scope::{AgentId, Deletion, SessionId, WorkspaceId};

impl Catalog {
    /// Files of this store that are owed to deletion, the oldest first.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn owed(&self) -> Result<Vec<Deletion>, CatalogError> {
        let owed = "select id, kind, workspace_id, agent_id from storage_deletions
            where store_id = $1 order by deleted_ms, id";
        self.database.rows(sql(owed).bind(self.store)).await?.map(deletion)
    }

    /// Strikes a deletion out, once nothing of it is left in the store.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn settle(&self, deletion: Deletion) -> Result<(), CatalogError> {
        let id = match deletion {
            Deletion::Session(_, _, session) => session.0,
            Deletion::Agent(_, agent) => agent.0,
            Deletion::Workspace(workspace) => workspace.0,
        };
        self.database.execute(sql("delete from storage_deletions where id = $1").bind(id)).await?;
        Ok(())
    }
}

fn deletion(row: &Row) -> Result<Deletion, CatalogError> {
    let (id, kind): (Uuid, String) = (row.at(0)?, row.at(1)?);
    let (workspace, agent): (WorkspaceId, Option<AgentId>) = (row.at(2)?, row.at(3)?);
    match (kind.as_str(), agent) {
        ("session", Some(agent)) => Ok(Deletion::Session(workspace, agent, SessionId(id))),
        ("agent", _) => Ok(Deletion::Agent(workspace, AgentId(id))),
        ("workspace", _) => Ok(Deletion::Workspace(workspace)),
        _ => Err(CatalogError::unavailable(anyhow!("a deletion of an unknown kind"))),
    }
}
