use uuid::Uuid;

use super::database::{Changes, sql};
use super::deletions::{Reason, say_why};
use super::ending::{UNUSED, drop_unused};
use super::places::{AGENTS, SESSIONS, Table, WORKSPACES};
use super::{Catalog, CatalogError, Label, unsigned};
use crate::scope::{AgentId, SessionId, WorkspaceId};

/// What can be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removable {
    /// A workspace with its agents and sessions.
    Workspace(WorkspaceId),
    /// An agent with its sessions.
    Agent(AgentId),
    /// A session with its turns.
    Session(SessionId),
}

impl Removable {
    fn table(self) -> (&'static Table, Uuid) {
        match self {
            Self::Workspace(workspace) => (&WORKSPACES, workspace.0),
            Self::Agent(agent) => (&AGENTS, agent.0),
            Self::Session(session) => (&SESSIONS, session.0),
        }
    }
}

/// Why something is deleted, and for whom.
#[derive(Clone, Copy, Debug, Default)]
pub struct Removal<'a> {
    /// Why.
    pub why: Reason,
    /// The subject who asks for it; `None` for whoever runs the host.
    pub by: Option<&'a Label>,
}

impl Catalog {
    /// Deletes a workspace with its agents and sessions, since whoever runs the host asks for it:
    /// see [`Self::remove`].
    ///
    /// # Errors
    /// As [`Self::remove`].
    pub async fn remove_workspace(&self, workspace: WorkspaceId) -> Result<(), CatalogError> {
        self.remove(Removable::Workspace(workspace), Removal::default()).await
    }

    /// Deletes an agent with its sessions, as [`Self::remove_workspace`] does.
    ///
    /// # Errors
    /// As [`Self::remove`].
    pub async fn remove_agent(&self, agent: AgentId) -> Result<(), CatalogError> {
        self.remove(Removable::Agent(agent), Removal::default()).await
    }

    /// Deletes a session with its turns, as [`Self::remove_workspace`] does.
    ///
    /// # Errors
    /// As [`Self::remove`].
    pub async fn remove_session(&self, session: SessionId) -> Result<(), CatalogError> {
        self.remove(Removable::Session(session), Removal::default()).await
    }

    /// Deletes something with all that is below it. Its files are owed from then on: see
    /// [`Self::claim_deletion`]. Questions that were settled stay with the workspace, unless all is
    /// to be erased.
    ///
    /// # Errors
    /// [`CatalogError::InUse`]; [`CatalogError::Held`]; [`CatalogError::Deleted`] if it is gone;
    /// [`CatalogError::Unavailable`].
    pub async fn remove(&self, what: Removable, removal: Removal<'_>) -> Result<(), CatalogError> {
        self.undone.retried(|| self.try_remove(what, removal)).await
    }

    async fn try_remove(
        &self,
        what: Removable,
        Removal { why, by }: Removal<'_>,
    ) -> Result<(), CatalogError> {
        let (table, id) = what.table();
        let mut changes = self.begin().await?;
        for lock in table.locks {
            changes.lock(sql(*lock).bind(id)).await?;
        }
        refuse_held(&mut changes, table, id).await?;
        refuse_running(&mut changes, table, id, self.now()).await?;
        say_why(&mut changes, table.say_why, id, (why, by), self.now()).await?;
        if why == Reason::Erased {
            changes.execute(sql(table.erase_questions).bind(id)).await?;
        }
        if changes.execute(sql(table.delete).bind(id)).await? == 0 {
            return Err(CatalogError::Deleted);
        }
        drop_unused(&mut changes, sql(UNUSED)).await?;
        self.commit(changes).await
    }
}

/// Nothing of a session that is held may go, with what it hangs from either.
async fn refuse_held(changes: &mut Changes, table: &Table, id: Uuid) -> Result<(), CatalogError> {
    let held: Option<(SessionId,)> = changes.rows(sql(table.held).bind(id)).await?.first()?;
    match held {
        Some(_) => Err(CatalogError::Held),
        None => Ok(()),
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
