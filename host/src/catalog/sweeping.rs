//! Sweeping: from the moment at which a session is found to be idle nothing happens in it any more,
//! as when something is deleted by hand; then its rows go, a bounded number at a time, and last
//! itself, which leaves its files owed.

use std::time::{Duration, Instant};

use uuid::Uuid;

use super::database::{Changes, sql};
use super::deletions::say_why;
use super::ending::{UNUSED, drop_unused};
use super::facts::Judge;
use super::places::SESSIONS;
use super::watch::Topic;
use super::{Catalog, CatalogError, Reason, Removable, Walk};
use crate::limits::{CATALOG_PAGE_ROWS_MAX, SWEEP_PAUSE_MS_MAX};
use crate::scope::{AgentId, SessionId, WorkspaceId};

mod piece;

#[cfg(test)]
pub(super) use piece::STATEMENTS;
use piece::{Piece, SESSIONS_GOING, going};

/// What a sweep of rows left to be swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// So many rows were removed, and there may be more.
    More(u64),
    /// So many rows were removed, and there are no more.
    Nothing(u64),
}

impl Left {
    /// How many rows were removed.
    pub fn removed(self) -> u64 {
        match self {
            Self::More(rows) | Self::Nothing(rows) => rows,
        }
    }
}

impl Catalog {
    /// Begins to sweep a session, if `judge` says that it is to go: asked in the transaction that
    /// sets it, of what is known then. From then on nothing happens in it, and its name is free.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn begin_sweep(
        &self,
        session: SessionId,
        judge: &dyn Judge,
    ) -> Result<Option<Reason>, CatalogError> {
        let begun = self.begin_sweeps(&[session], judge).await?;
        Ok(begun.first().map(|(_, why)| *why))
    }

    /// Begins to sweep those of some sessions that are to go, as [`Self::begin_sweep`] does, in one
    /// transaction; which, and why.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn begin_sweeps(
        &self,
        sessions: &[SessionId],
        judge: &dyn Judge,
    ) -> Result<Vec<(SessionId, Reason)>, CatalogError> {
        let began = Instant::now();
        let begun = self.undone.retried(|| self.try_begin_sweeps(sessions, judge)).await?;
        self.give_way(began).await;
        Ok(begun)
    }

    async fn try_begin_sweeps(
        &self,
        sessions: &[SessionId],
        judge: &dyn Judge,
    ) -> Result<Vec<(SessionId, Reason)>, CatalogError> {
        let mut changes = self.begin().await?;
        let lock = sql("select id from sessions where id in ({ids}) order by id for update");
        changes.lock(lock.bind_all(sessions)).await?;
        let mut begun = Vec::new();
        for session in sessions {
            let found = self.facts(&mut changes, *session, judge).await?;
            let Some((facts, settings)) = found else { continue };
            let Some(why) = judge.sentence(&facts, &settings) else { continue };
            let now = self.now();
            say_why(&mut changes, SESSIONS.say_why, session.0, (why, None), now).await?;
            for hide in SESSIONS.hide {
                changes.execute(sql(*hide).bind(*session).bind(now)).await?;
            }
            changes.tell(Topic::Session(*session));
            begun.push((*session, why));
        }
        self.commit(changes).await?;
        Ok(begun)
    }

    /// What of this store is going, sessions first, and those first that have been so for longest: at
    /// most 1,000 of each kind. What goes with something else is not among it.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn going(&self) -> Result<Vec<Removable>, CatalogError> {
        let sessions = self.going_of(GOING_SESSIONS, |id| Removable::Session(SessionId(id)));
        let agents = self.going_of(GOING_AGENTS, |id| Removable::Agent(AgentId(id)));
        let workspaces =
            self.going_of(GOING_WORKSPACES, |id| Removable::Workspace(WorkspaceId(id)));
        Ok([sessions.await?, agents.await?, workspaces.await?].concat())
    }

    async fn going_of(
        &self,
        list: &'static str,
        of: fn(Uuid) -> Removable,
    ) -> Result<Vec<Removable>, CatalogError> {
        let list = sql(list).bind(self.store).bind(CATALOG_PAGE_ROWS_MAX);
        let ids: Vec<(Uuid,)> = self.database.rows(list).await?.all()?;
        Ok(ids.into_iter().map(|(id,)| of(id)).collect())
    }

    /// Removes some of what belongs to something that is going, in one short transaction; in the last
    /// one the thing itself. Any number of hosts may.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn sweep_going(&self, what: Removable) -> Result<Left, CatalogError> {
        self.giving_way(|| self.try_sweep_going(what)).await
    }

    async fn try_sweep_going(&self, what: Removable) -> Result<Left, CatalogError> {
        if let Removable::Session(session) = what {
            return self.try_sweep_sessions(&[session]).await;
        }
        let mut changes = self.begin().await?;
        let (table, id) = what.table();
        changes.lock(sql(table.locks[0]).bind(id)).await?;
        let gone = changes.rows(sql(table.gone_ms).bind(id)).await?.first()?;
        if !matches!(gone, Some((Some::<i64>(_),))) {
            return Ok(Left::Nothing(0));
        }
        let mut piece = Piece::new();
        let is_all = match what {
            Removable::Workspace(_) => piece.workspace(&mut changes, id).await?,
            _ => piece.agents(&mut changes, &[id]).await?,
        };
        self.end_piece(changes, &piece, is_all).await
    }

    /// Removes some of what belongs to sessions that are going, as [`Self::sweep_going`] does: of as
    /// many as there is room for. At most [`crate::limits::SWEPT_AT_ONCE_MAX`].
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn sweep_sessions(&self, sessions: &[SessionId]) -> Result<Left, CatalogError> {
        self.giving_way(|| self.try_sweep_sessions(sessions)).await
    }

    /// Does a piece; then others write for as long as it took, if there is more.
    async fn giving_way<F>(&self, piece: impl Fn() -> F) -> Result<Left, CatalogError>
    where
        F: Future<Output = Result<Left, CatalogError>>,
    {
        let began = Instant::now();
        let left = self.undone.retried(piece).await?;
        if let Left::More(_) = left {
            self.give_way(began).await;
        }
        Ok(left)
    }

    async fn give_way(&self, began: Instant) {
        let pause = began.elapsed().min(Duration::from_millis(SWEEP_PAUSE_MS_MAX));
        self.database.give_way(pause).await;
    }

    async fn try_sweep_sessions(&self, sessions: &[SessionId]) -> Result<Left, CatalogError> {
        let mut changes = self.begin().await?;
        let sessions = going(&mut changes, sql(SESSIONS_GOING).bind_all(sessions)).await?;
        if sessions.is_empty() {
            return Ok(Left::Nothing(0));
        }
        let mut piece = Piece::new();
        let is_all = piece.sessions(&mut changes, &sessions).await?;
        self.end_piece(changes, &piece, is_all).await
    }

    async fn end_piece(
        &self,
        mut changes: Changes,
        piece: &Piece,
        is_all: bool,
    ) -> Result<Left, CatalogError> {
        if is_all {
            drop_unused(&mut changes, sql(UNUSED)).await?;
        }
        self.commit(changes).await?;
        Ok(if is_all { Left::Nothing(piece.removed) } else { Left::More(piece.removed) })
    }

    /// Where the last look at sessions of this store ended, whichever host it was.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn swept_up_to(&self) -> Result<Walk, CatalogError> {
        let find = sql("select swept_agent, swept_name from stores where id = $1").bind(self.store);
        let (agent, name) = self.database.rows(find).await?.one()?;
        Ok(Walk { agent, name })
    }

    /// Says where a look at sessions ended.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn note_swept_up_to(&self, walk: &Walk) -> Result<(), CatalogError> {
        let note = "update stores set swept_agent = $2, swept_name = $3 where id = $1
            and (swept_agent <> $2 or swept_name <> $3)";
        let note = sql(note).bind(self.store).bind(&walk.agent).bind(&walk.name);
        self.database.execute(note).await?;
        Ok(())
    }
}

/// From what is going, in its order, however much is there that is not; what goes with its agent or
/// its workspace has no reason of its own, and is not found.
pub(super) const GOING_SESSIONS: &str = "select sessions.id
    from sessions cross join agents cross join workspaces
    where sessions.gone_ms is not null and agents.id = sessions.agent_id
        and workspaces.id = agents.workspace_id and store_id = $1 and agents.gone_ms is null
    order by sessions.gone_ms limit $2";
pub(super) const GOING_AGENTS: &str = "select agents.id from agents cross join workspaces
    where agents.gone_why is not null and workspaces.id = agents.workspace_id
        and store_id = $1 and workspaces.gone_ms is null
    order by agents.gone_ms limit $2";
pub(super) const GOING_WORKSPACES: &str = "select id from workspaces
    where store_id = $1 and gone_ms is not null order by gone_ms limit $2";
