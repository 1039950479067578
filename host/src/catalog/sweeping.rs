//! Sweeping: from the moment at which a session is found to be idle nothing happens in it any more,
//! as when something is deleted by hand; then its rows go, a bounded number at a time, and last
//! itself, which leaves its files owed.

use uuid::Uuid;

use super::database::{Changes, sql};
use super::deletions::say_why;
use super::ending::{UNUSED, drop_unused};
use super::facts::Judge;
use super::places::SESSIONS;
use super::session::lock;
use super::watch::Topic;
use super::{Catalog, CatalogError, Reason, Removable, Walk};
use crate::limits::{CATALOG_PAGE_ROWS_MAX, PLACE_SWEPT_ROWS, ROWS_SWEPT_MAX, TURNS_SWEPT_MAX};
use crate::scope::{AgentId, SessionId, WorkspaceId};

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
        for hide in SESSIONS.hide {
            changes.execute(sql(*hide).bind(session).bind(now)).await?;
        }
        changes.tell(Topic::Session(session));
        self.commit(changes).await?;
        Ok(Some(why))
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
        self.undone.retried(|| self.try_sweep_going(what)).await
    }

    async fn try_sweep_going(&self, what: Removable) -> Result<Left, CatalogError> {
        let mut changes = self.begin().await?;
        let (table, id) = what.table();
        changes.lock(sql(table.locks[0]).bind(id)).await?;
        let gone = changes.rows(sql(table.gone_ms).bind(id)).await?.first()?;
        if !matches!(gone, Some((Some::<i64>(_),))) {
            return Ok(Left::Nothing(0));
        }
        let mut piece = Piece::new();
        let is_all = piece.take(&mut changes, what).await?;
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

const GOING_SESSIONS: &str =
    "select sessions.id from sessions join agents on agents.id = sessions.agent_id
        join workspaces on workspaces.id = agents.workspace_id
    where sweeping_ms is not null and store_id = $1 and agents.gone_ms is null
    order by sweeping_ms limit $2";
const GOING_AGENTS: &str =
    "select agents.id from agents join workspaces on workspaces.id = agents.workspace_id
    where agents.gone_ms is not null and store_id = $1 and workspaces.gone_ms is null
    order by agents.gone_ms limit $2";
const GOING_WORKSPACES: &str = "select id from workspaces
    where gone_ms is not null and store_id = $1 order by gone_ms limit $2";

/// What one transaction removes.
struct Piece {
    removed: u64,
    /// How many rows it may still remove, and how many turns: those are large.
    rows: u64,
    turns: u64,
}

impl Piece {
    fn new() -> Self {
        Self { removed: 0, rows: ROWS_SWEPT_MAX, turns: TURNS_SWEPT_MAX }
    }

    /// Removes something with what belongs to it, if there is room for all; whether there was.
    async fn take(&mut self, changes: &mut Changes, what: Removable) -> Result<bool, CatalogError> {
        let (table, id) = what.table();
        match what {
            Removable::Session(_) => {
                for some in [SOME_EVENTS, SOME_FIRINGS] {
                    if !self.rows_of(changes, some, id).await? {
                        return Ok(false);
                    }
                }
                // How many rows a cascade takes along, SQLite does not say.
                let turns = sql(COUNT_TURNS).bind(id).bind(self.turns);
                let (turns,): (u64,) = changes.rows(turns).await?.one()?;
                changes.execute(sql(SOME_TURNS).bind(id).bind(self.turns)).await?;
                self.removed += turns;
                self.turns -= turns;
                if self.turns == 0 {
                    return Ok(false);
                }
            }
            Removable::Agent(_) => {
                let below = |id| Removable::Session(SessionId(id));
                if !Box::pin(self.all_below(changes, SESSIONS_BELOW, id, below)).await? {
                    return Ok(false);
                }
            }
            Removable::Workspace(_) => {
                let below = |id| Removable::Agent(AgentId(id));
                if !Box::pin(self.all_below(changes, AGENTS_BELOW, id, below)).await? {
                    return Ok(false);
                }
                for some in [SOME_RECEIPTS, SOME_QUESTIONS, SOME_SKILL_FILES] {
                    if !self.rows_of(changes, some, id).await? {
                        return Ok(false);
                    }
                }
            }
        }
        let removed = changes.execute(sql(table.delete).bind(id)).await?;
        self.removed += removed;
        self.rows = self.rows.saturating_sub(PLACE_SWEPT_ROWS);
        Ok(true)
    }

    /// Removes rows of something; whether there was room for all of them.
    async fn rows_of(
        &mut self,
        changes: &mut Changes,
        some: &'static str,
        id: Uuid,
    ) -> Result<bool, CatalogError> {
        let removed = changes.execute(sql(some).bind(id).bind(self.rows)).await?;
        self.removed += removed;
        self.rows -= removed;
        Ok(self.rows > 0)
    }

    /// Removes what is below something, one after the other; whether that was all.
    async fn all_below(
        &mut self,
        changes: &mut Changes,
        below: &'static str,
        id: Uuid,
        what: fn(Uuid) -> Removable,
    ) -> Result<bool, CatalogError> {
        while self.rows > 0 {
            let next = changes.rows(sql(below).bind(id)).await?.first()?;
            let Some((next,)) = next else { return Ok(true) };
            if !self.take(changes, what(next)).await? {
                return Ok(false);
            }
        }
        Ok(false)
    }
}

const SOME_EVENTS: &str = "delete from events where session_id = $1 and number in
    (select number from events where session_id = $1 order by number limit $2)";
const SOME_FIRINGS: &str = "delete from trigger_firings where (wakeup_id, due_ms) in
    (select wakeup_id, due_ms from trigger_firings where session_id = $1 limit $2)";
const COUNT_TURNS: &str = "select count(*) from
    (select id from turns where session_id = $1 limit $2) as counted";
/// With what belongs to them. The last ones first: an answer goes with its question, and answers that
/// ask again may be more than a cascade is deep.
const SOME_TURNS: &str = "delete from turns where id in
    (select id from turns where session_id = $1 order by position desc limit $2)";
const SOME_RECEIPTS: &str = "delete from promotions where id in
    (select id from promotions where workspace_id = $1 order by id limit $2)";
const SOME_QUESTIONS: &str = "delete from settled_questions where turn_id in
    (select turn_id from settled_questions where workspace_id = $1 order by turn_id limit $2)";
const SOME_SKILL_FILES: &str = "delete from skill_version_files where (version_id, path) in
    (select version_id, path from skill_version_files
    where version_id in (select id from skill_versions where workspace_id = $1) limit $2)";
/// In the order of an index: to sort all of them for each one would take the square of their number.
const SESSIONS_BELOW: &str =
    "select id from sessions where agent_id = $1 order by name limit 1 for update";
const AGENTS_BELOW: &str =
    "select id from agents where workspace_id = $1 order by name limit 1 for update";
