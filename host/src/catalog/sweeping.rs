//! Sweeping sessions: from the moment at which one is found to be idle nothing happens in it any
//! more; then its rows go, a bounded number at a time, and last itself, which leaves its files owed.

use super::database::sql;
use super::deletions::say_why;
use super::facts::Judge;
use super::places::SESSIONS;
use super::session::lock;
use super::watch::Topic;
use super::{Catalog, CatalogError, Reason, Walk};
use crate::limits::{CATALOG_PAGE_ROWS_MAX, ROWS_SWEPT_MAX, TURNS_SWEPT_MAX};
use crate::scope::SessionId;

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
        self.undone.retried(|| self.try_begin_sweep(session, judge)).await
    }

    async fn try_begin_sweep(
        &self,
        session: SessionId,
        judge: &dyn Judge,
    ) -> Result<Option<Reason>, CatalogError> {
        let mut changes = self.begin().await?;
        lock(&mut changes, session).await?;
        let found = self.facts(&mut changes, session, judge).await?;
        let Some((facts, settings)) = found else { return Ok(None) };
        let Some(why) = judge.sentence(&facts, &settings) else { return Ok(None) };
        let now = self.now();
        say_why(&mut changes, SESSIONS.say_why, session.0, (why, None), now).await?;
        // Nobody can give a name that looks like an id.
        let sweep = "update sessions set sweeping_ms = $2, name = id, ready_ms = null
            where id = $1";
        changes.execute(sql(sweep).bind(session).bind(now)).await?;
        changes.tell(Topic::Session(session));
        self.commit(changes).await?;
        Ok(Some(why))
    }

    /// Sessions of this store that are being swept, those first that have been so for longest: at
    /// most 1,000.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn sweeping_sessions(&self) -> Result<Vec<SessionId>, CatalogError> {
        let sweeping = "select id from sessions where sweeping_ms is not null
                and agent_id in (select agents.id from agents
                    join workspaces on workspaces.id = agents.workspace_id where store_id = $1)
            order by sweeping_ms limit $2";
        let sweeping = sql(sweeping).bind(self.store).bind(CATALOG_PAGE_ROWS_MAX);
        let sweeping: Vec<(SessionId,)> = self.database.rows(sweeping).await?.all()?;
        Ok(sweeping.into_iter().map(|(session,)| session).collect())
    }

    /// Removes some of what belongs to a session that is being swept, in one short transaction; in
    /// the last one the session itself. Any number of hosts may.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn sweep_rows(&self, session: SessionId) -> Result<Left, CatalogError> {
        self.undone.retried(|| self.try_sweep_rows(session)).await
    }

    async fn try_sweep_rows(&self, session: SessionId) -> Result<Left, CatalogError> {
        let mut changes = self.begin().await?;
        lock(&mut changes, session).await?;
        let sweeping = "select id from sessions where id = $1 and sweeping_ms is not null";
        let sweeping: Option<(SessionId,)> =
            changes.rows(sql(sweeping).bind(session)).await?.first()?;
        if sweeping.is_none() {
            return Ok(Left::Nothing(0));
        }
        for (some, at_once) in [(SOME_EVENTS, ROWS_SWEPT_MAX), (SOME_TURNS, TURNS_SWEPT_MAX)] {
            let removed = changes.execute(sql(some).bind(session).bind(at_once)).await?;
            if removed > 0 {
                self.commit(changes).await?;
                return Ok(Left::More(removed));
            }
        }
        changes.execute(sql(SESSIONS.delete).bind(session)).await?;
        self.commit(changes).await?;
        Ok(Left::Nothing(1))
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

const SOME_EVENTS: &str = "delete from events where session_id = $1 and number in
    (select number from events where session_id = $1 order by number limit $2)";
/// With what belongs to them; an answer goes with its question.
const SOME_TURNS: &str = "delete from turns where id in
    (select id from turns where session_id = $1 order by position limit $2)";
