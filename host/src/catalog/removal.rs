//! Deleting by hand: in one short transaction nobody sees it any more, and its rows go by and by, in
//! pieces, so that no lock is held for as long as a large one takes.

use uuid::Uuid;

use super::database::{Changes, sql};
use super::deletions::{Reason, say_why};
use super::places::{AGENTS, SESSIONS, Table, WORKSPACES};
use super::sweeping::Left;
use super::{Catalog, CatalogError, Label, unsigned};
use crate::limits::PIECES_REMOVED_AT_ONCE;
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
    pub(super) fn table(self) -> (&'static Table, Uuid) {
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

    /// Deletes something with all that is below it: nobody sees it from then on. The rows of what is
    /// small are gone at once, what is left of a larger one is for [`Self::sweep_going`]; once all
    /// are, its files are owed: see [`Self::claim_deletion`]. Questions that were settled stay with
    /// the workspace, unless all is to be erased.
    ///
    /// # Errors
    /// [`CatalogError::InUse`]; [`CatalogError::Held`]; [`CatalogError::Deleted`] if it is gone;
    /// [`CatalogError::Unavailable`].
    pub async fn remove(&self, what: Removable, removal: Removal<'_>) -> Result<(), CatalogError> {
        self.begin_removal(what, removal).await?;
        for _ in 0..PIECES_REMOVED_AT_ONCE {
            match self.sweep_going(what).await {
                Ok(Left::More(_)) => {}
                Ok(Left::Nothing(_)) => break,
                Err(error) => {
                    // It is deleted, and whoever sweeps goes on.
                    let error = format!("{:#}", anyhow::Error::from(error));
                    tracing::warn!(error, "rows of what was deleted are still there");
                    break;
                }
            }
        }
        Ok(())
    }

    /// Deletes something: nobody sees it from then on, and nothing happens in it. All of its rows are
    /// for [`Self::sweep_going`].
    ///
    /// # Errors
    /// As [`Self::remove`].
    pub async fn begin_removal(
        &self,
        what: Removable,
        removal: Removal<'_>,
    ) -> Result<(), CatalogError> {
        self.undone.retried(|| self.try_begin_removal(what, removal)).await
    }

    async fn try_begin_removal(
        &self,
        what: Removable,
        Removal { why, by }: Removal<'_>,
    ) -> Result<(), CatalogError> {
        let (table, id) = what.table();
        let mut changes = self.begin().await?;
        for lock in table.locks {
            changes.lock(sql(*lock).bind(id)).await?;
        }
        let gone = changes.rows(sql(table.gone_ms).bind(id)).await?.first()?;
        let (gone,): (Option<i64>,) = gone.ok_or(CatalogError::Deleted)?;
        if gone.is_some() && why != Reason::Erased {
            return Err(CatalogError::Deleted);
        }
        refuse_held(&mut changes, table, id).await?;
        let now = self.now();
        refuse_running(&mut changes, table, id, now).await?;
        if gone.is_none() {
            hide(&mut changes, table, id, now).await?;
        }
        say_why(&mut changes, table.say_why, id, (why, by), now).await?;
        if let (Reason::Erased, Some(erase)) = (why, table.erase_questions) {
            changes.execute(sql(erase).bind(id)).await?;
        }
        self.commit(changes).await
    }
}

/// From now on nothing happens there: no turn is left that could go on, and nothing wakes one.
async fn hide(
    changes: &mut Changes,
    table: &Table,
    id: Uuid,
    now: i64,
) -> Result<(), CatalogError> {
    for hide in table.hide {
        changes.execute(sql(*hide).bind(id).bind(now)).await?;
    }
    for end in [
        // Their leases are over: whoever has one still finds out when he renews it.
        "update turns set state = 'failed', failure = 'abandoned', lease_until_ms = null
            where state = 'running' and session_id in (",
        "delete from wakeups where session_id in (",
    ] {
        changes.execute(sql([end, table.sessions, ")"].concat()).bind(id)).await?;
    }
    Ok(())
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
