use super::{Catalog, CatalogError, parse_id};
use crate::scope::{AgentId, Deletion, SessionId, WorkspaceId};

impl Catalog {
    /// Files of this store that are owed to deletion, the oldest first.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn owed(&self) -> Result<Vec<Deletion>, CatalogError> {
        let rows: Vec<Row> = sqlx::query_as(
            "select id, kind, workspace_id, agent_id from storage_deletions
            where store_id = $1 order by deleted_ms, id",
        )
        .bind(self.store.to_string())
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(parse).collect()
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
        sqlx::query("delete from storage_deletions where id = $1")
            .bind(id.to_string())
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}

type Row = (String, String, String, Option<String>);

fn parse((id, kind, workspace, agent): &Row) -> Result<Deletion, CatalogError> {
    let workspace = WorkspaceId(parse_id(workspace)?);
    match (kind.as_str(), agent) {
        ("session", Some(agent)) => {
            let session = SessionId(parse_id(id)?);
            Ok(Deletion::Session(workspace, AgentId(parse_id(agent)?), session))
        }
        ("agent", _) => Ok(Deletion::Agent(workspace, AgentId(parse_id(id)?))),
        ("workspace", _) => Ok(Deletion::Workspace(workspace)),
        _ => Err(CatalogError::unavailable(anyhow::anyhow!("a deletion of an unknown kind"))),
    }
}
