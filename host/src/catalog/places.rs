use uuid::Uuid;

use super::turn::TurnState;
use super::turns::give_up_dead;
use super::{Catalog, CatalogError, Name, new_id, parse_id, unsigned};
use crate::scope::{AgentId, SessionId, WorkspaceId};

/// What kind of thing a person gave a name to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    /// Agents and what they share.
    Workspace,
    /// One agent of a workspace.
    Agent,
    /// One conversation with an agent.
    Session,
}

/// What was asked for by name: there already, or made for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made<I> {
    /// It was there.
    Found(I),
    /// It was made.
    New(I),
}

impl<I> Made<I> {
    /// Which one it is.
    pub fn id(self) -> I {
        match self {
            Self::Found(id) | Self::New(id) => id,
        }
    }

    fn map<J>(self, make: impl FnOnce(I) -> J) -> Made<J> {
        match self {
            Self::Found(id) => Made::Found(make(id)),
            Self::New(id) => Made::New(make(id)),
        }
    }
}

/// A workspace or an agent, as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What people call it.
    pub name: String,
    /// When it was made, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// How many agents a workspace has, or how many sessions an agent.
    pub children: u64,
}

/// A session, as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPlace {
    /// What people call it.
    pub name: String,
    /// When it was made, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// When a turn last began or ended in it, in milliseconds since the Unix epoch.
    pub active_ms: u64,
    /// How many turns it had.
    pub turns: u64,
    /// What became of the latest one.
    pub latest: Option<TurnState>,
    /// What it waits to be answered.
    pub question: Option<String>,
}

/// One table of named things, in SQL: `$1` is the parent's id.
struct Table {
    find: &'static str,
    insert: &'static str,
    delete: &'static str,
    running: &'static str,
}

const WORKSPACES: Table = Table {
    find: "select id from workspaces where store_id = $1 and name = $2",
    insert: "insert into workspaces (store_id, name, id, created_ms) values ($1, $2, $3, $4)
        on conflict (store_id, name) do nothing",
    delete: "delete from workspaces where id = $1",
    running: "select max(turns.lease_until_ms) from turns
        join sessions on sessions.id = turns.session_id
        join agents on agents.id = sessions.agent_id
        where agents.workspace_id = $1 and turns.state = 'running'",
};

const AGENTS: Table = Table {
    find: "select id from agents where workspace_id = $1 and name = $2",
    insert: "insert into agents (workspace_id, name, id, created_ms) values ($1, $2, $3, $4)
        on conflict (workspace_id, name) do nothing",
    delete: "delete from agents where id = $1",
    running: "select max(turns.lease_until_ms) from turns
        join sessions on sessions.id = turns.session_id
        where sessions.agent_id = $1 and turns.state = 'running'",
};

const SESSIONS: Table = Table {
    find: "select id from sessions where agent_id = $1 and name = $2",
    insert: "insert into sessions (agent_id, name, id, created_ms, active_ms)
        values ($1, $2, $3, $4, $4) on conflict (agent_id, name) do nothing",
    delete: "delete from sessions where id = $1",
    running: "select max(lease_until_ms) from turns
        where session_id = $1 and state = 'running'",
};

impl Catalog {
    /// The workspace of that name in this store.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn workspace(&self, name: &Name) -> Result<Option<WorkspaceId>, CatalogError> {
        Ok(self.find(&WORKSPACES, self.store, name).await?.map(WorkspaceId))
    }

    /// The agent of that name in a workspace.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn agent(
        &self,
        workspace: WorkspaceId,
        name: &Name,
    ) -> Result<Option<AgentId>, CatalogError> {
        Ok(self.find(&AGENTS, workspace.0, name).await?.map(AgentId))
    }

    /// The session of that name of an agent.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn session(
        &self,
        agent: AgentId,
        name: &Name,
    ) -> Result<Option<SessionId>, CatalogError> {
        Ok(self.find(&SESSIONS, agent.0, name).await?.map(SessionId))
    }

    /// The workspace of that name, made if there is none.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn make_workspace(&self, name: &Name) -> Result<Made<WorkspaceId>, CatalogError> {
        Ok(self.make(&WORKSPACES, self.store, name).await?.map(WorkspaceId))
    }

    /// The agent of that name, made if there is none.
    ///
    /// # Errors
    /// [`CatalogError::Deleted`] if the workspace is gone; [`CatalogError::Unavailable`].
    pub async fn make_agent(
        &self,
        workspace: WorkspaceId,
        name: &Name,
    ) -> Result<Made<AgentId>, CatalogError> {
        Ok(self.make(&AGENTS, workspace.0, name).await?.map(AgentId))
    }

    /// The session of that name, made if there is none.
    ///
    /// # Errors
    /// [`CatalogError::Deleted`] if the agent is gone; [`CatalogError::Unavailable`].
    pub async fn make_session(
        &self,
        agent: AgentId,
        name: &Name,
    ) -> Result<Made<SessionId>, CatalogError> {
        Ok(self.make(&SESSIONS, agent.0, name).await?.map(SessionId))
    }

    /// Every workspace of this store, by name.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn workspaces(&self) -> Result<Vec<Place>, CatalogError> {
        let sql = "select name, created_ms,
                (select count(*) from agents where workspace_id = workspaces.id)
            from workspaces where store_id = $1 order by name";
        self.list(sql, self.store).await
    }

    /// Every agent of a workspace, by name.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn agents(&self, workspace: WorkspaceId) -> Result<Vec<Place>, CatalogError> {
        let sql = "select name, created_ms,
                (select count(*) from sessions where agent_id = agents.id)
            from agents where workspace_id = $1 order by name";
        self.list(sql, workspace.0).await
    }

    /// Every session of an agent, by name.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn sessions(&self, agent: AgentId) -> Result<Vec<SessionPlace>, CatalogError> {
        type Row = (String, i64, i64, i64, Option<String>, Option<String>);
        let rows: Vec<Row> = sqlx::query_as(
            "select name, created_ms, active_ms,
                (select count(*) from turns where session_id = sessions.id),
                (select state from turns where session_id = sessions.id
                    order by queued_ms desc, id desc limit 1),
                (select question from turns where session_id = sessions.id and state = 'parked')
            from sessions where agent_id = $1 order by name",
        )
        .bind(agent.to_string())
        .fetch_all(&self.pool)
        .await?;
        let place = |(name, created, active, turns, latest, question): Row| {
            let latest = latest.as_deref().map(TurnState::parse).transpose()?;
            let (created_ms, active_ms) = (unsigned(created), unsigned(active));
            let turns = unsigned(turns);
            Ok(SessionPlace { name, created_ms, active_ms, turns, latest, question })
        };
        rows.into_iter().map(place).collect()
    }

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

    async fn find(
        &self,
        table: &Table,
        parent: Uuid,
        name: &Name,
    ) -> Result<Option<Uuid>, CatalogError> {
        let found: Option<(String,)> = sqlx::query_as(table.find)
            .bind(parent.to_string())
            .bind(name.as_str())
            .fetch_optional(&self.pool)
            .await?;
        found.map(|(id,)| parse_id(&id)).transpose()
    }

    async fn make(
        &self,
        table: &Table,
        parent: Uuid,
        name: &Name,
    ) -> Result<Made<Uuid>, CatalogError> {
        // Mostly it is there, and nothing has to be written.
        if let Some(id) = self.find(table, parent, name).await? {
            return Ok(Made::Found(id));
        }
        let id = new_id();
        let inserted = sqlx::query(table.insert)
            .bind(parent.to_string())
            .bind(name.as_str())
            .bind(id.to_string())
            .bind(self.now())
            .execute(&self.pool)
            .await
            .map_err(parent_gone)?;
        if inserted.rows_affected() == 1 {
            return Ok(Made::New(id));
        }
        self.find(table, parent, name).await?.map(Made::Found).ok_or(CatalogError::Deleted)
    }

    async fn list(&self, sql: &'static str, parent: Uuid) -> Result<Vec<Place>, CatalogError> {
        let rows: Vec<(String, i64, i64)> =
            sqlx::query_as(sql).bind(parent.to_string()).fetch_all(&self.pool).await?;
        let place = |(name, created, children)| Place {
            name,
            created_ms: unsigned(created),
            children: unsigned(children),
        };
        Ok(rows.into_iter().map(place).collect())
    }

    async fn remove(&self, table: &Table, id: Uuid) -> Result<(), CatalogError> {
        let mut transaction = self.begin().await?;
        let now = self.now();
        give_up_dead(&mut transaction, now).await?;
        let (running,): (Option<i64>,) =
            sqlx::query_as(table.running).bind(id.to_string()).fetch_one(&mut *transaction).await?;
        if let Some(until) = running {
            return Err(CatalogError::InUse { given_up_in_ms: unsigned(until - now) });
        }
        let deleted =
            sqlx::query(table.delete).bind(id.to_string()).execute(&mut *transaction).await?;
        if deleted.rows_affected() == 0 {
            return Err(CatalogError::Deleted);
        }
        transaction.commit().await?;
        Ok(())
    }
}

/// A row whose parent is not there was made for one that another process deleted meanwhile.
pub(super) fn parent_gone(error: sqlx::Error) -> CatalogError {
    match error.as_database_error() {
        Some(database) if database.is_foreign_key_violation() => CatalogError::Deleted,
        _ => error.into(),
    }
}
