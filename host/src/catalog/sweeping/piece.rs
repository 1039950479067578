//! What one transaction of a sweep removes: rows of many sessions by each statement, so that it is
//! their rows that cost, and not their number.

use uuid::Uuid;

use crate::catalog::CatalogError;
use crate::catalog::database::{Changes, Statement, sql};
use crate::limits::{ROWS_SWEPT_MAX, SWEPT_AT_ONCE_MAX, TURN_BYTES_SWEPT_MAX};

/// What one transaction removes.
pub(super) struct Piece {
    pub(super) removed: u64,
    /// How many rows it may still remove, and turns of how many bytes.
    rows: u64,
    bytes: u64,
}

/// A session that is locked, and how many turns it has at most: the position of its last one.
#[derive(Clone, Copy)]
pub(super) struct Going {
    id: Uuid,
    turns: u64,
}

impl Piece {
    pub(super) fn new() -> Self {
        Self { removed: 0, rows: ROWS_SWEPT_MAX, bytes: TURN_BYTES_SWEPT_MAX }
    }

    /// Removes a workspace with what belongs to it; whether there was room for all.
    pub(super) async fn workspace(
        &mut self,
        changes: &mut Changes,
        id: Uuid,
    ) -> Result<bool, CatalogError> {
        loop {
            let agents = below(changes, AGENTS_BELOW, id).await?;
            if agents.is_empty() {
                break;
            }
            if !self.agents(changes, &agents).await? {
                return Ok(false);
            }
        }
        loop {
            let versions = below(changes, SKILL_VERSIONS_BELOW, id).await?;
            if versions.is_empty() {
                break;
            }
            if !self.some(changes, SOME_SKILL_FILES, &versions).await?
                || !self.all_of(changes, SKILL_VERSIONS, &versions).await?
            {
                return Ok(false);
            }
        }
        Ok(self.some(changes, SOME_RECEIPTS, &[id]).await?
            && self.some(changes, SOME_QUESTIONS, &[id]).await?
            && self.all_of(changes, WORKSPACES, &[id]).await?)
    }

    /// Removes agents with what belongs to them; whether there was room for all.
    pub(super) async fn agents(
        &mut self,
        changes: &mut Changes,
        ids: &[Uuid],
    ) -> Result<bool, CatalogError> {
        loop {
            let sessions = sql(SESSIONS_BELOW).bind(SWEPT_AT_ONCE_MAX).bind_all(ids);
            let sessions = going(changes, sessions).await?;
            if sessions.is_empty() {
                break;
            }
            if !self.sessions(changes, &sessions).await? {
                return Ok(false);
            }
        }
        Ok(self.some(changes, SOME_BINDINGS, ids).await?
            && self.all_of(changes, AGENTS, ids).await?)
    }

    /// Removes sessions with what belongs to them; whether there was room for all.
    pub(super) async fn sessions(
        &mut self,
        changes: &mut Changes,
        mut sessions: &[Going],
    ) -> Result<bool, CatalogError> {
        while !sessions.is_empty() {
            let (batch, rest) = sessions.split_at(whole(sessions));
            if !self.batch(changes, batch).await? {
                return Ok(false);
            }
            sessions = rest;
        }
        Ok(true)
    }

    /// Removes sessions whose turns are few enough for one statement, or a part of a single one.
    async fn batch(
        &mut self,
        changes: &mut Changes,
        batch: &[Going],
    ) -> Result<bool, CatalogError> {
        let ids: Vec<_> = batch.iter().map(|session| session.id).collect();
        for some in [SOME_EVENTS, SOME_FIRINGS, SOME_PARTICIPANTS] {
            if !self.some(changes, some, &ids).await? {
                return Ok(false);
            }
        }
        let turns = batch.iter().map(|session| session.turns).sum::<u64>();
        let left_out = turns.saturating_sub(SWEPT_AT_ONCE_MAX.into());
        Ok(self.turns(changes, &ids, left_out).await?
            && left_out == 0
            && self.all_of(changes, SESSIONS, &ids).await?)
    }

    /// Removes turns of sessions, the last ones first: an answer goes with its question, and answers
    /// that ask again may be more than a cascade is deep. The first `left_out` positions stay.
    async fn turns(
        &mut self,
        changes: &mut Changes,
        sessions: &[Uuid],
        left_out: u64,
    ) -> Result<bool, CatalogError> {
        let found = sql(TURNS_BEHIND).bind(left_out).bind_all(sessions);
        let found: Vec<(Uuid, u64)> = changes.rows(found).await?.all()?;
        let count = found.len();
        let mut ids = Vec::with_capacity(count);
        for (id, bytes) in found {
            // The one that is too large goes, or none would.
            if self.bytes == 0 || ids.len() as u64 >= self.rows {
                break;
            }
            self.bytes = self.bytes.saturating_sub(bytes);
            ids.push(id);
        }
        for some in [SOME_INVOCATIONS, SOME_SENT_SKILLS] {
            if !self.some(changes, some, &ids).await? {
                return Ok(false);
            }
        }
        Ok(self.all_of(changes, TURNS, &ids).await? && ids.len() == count)
    }

    /// Removes rows of things; whether there was room for all of them.
    async fn some(
        &mut self,
        changes: &mut Changes,
        some: &'static str,
        of: &[Uuid],
    ) -> Result<bool, CatalogError> {
        if !of.is_empty() {
            self.count(changes.execute(sql(some).bind(self.rows).bind_all(of)).await?);
        }
        Ok(self.rows > 0)
    }

    /// Removes things to which nothing belongs any more, if there is room for all; whether there was.
    async fn all_of(
        &mut self,
        changes: &mut Changes,
        delete: &'static str,
        ids: &[Uuid],
    ) -> Result<bool, CatalogError> {
        if ids.is_empty() {
            return Ok(true);
        }
        if self.rows < ids.len() as u64 {
            return Ok(false);
        }
        changes.execute(sql(delete).bind_all(ids)).await?;
        // Of those that a cascade took along SQLite says nothing.
        self.count(ids.len() as u64);
        Ok(true)
    }

    fn count(&mut self, removed: u64) {
        self.removed += removed;
        self.rows = self.rows.saturating_sub(removed);
    }
}

/// How many of the first of some sessions have turns for no more than one statement: one at least.
fn whole(sessions: &[Going]) -> usize {
    let mut turns = 0_u64;
    let fits = |session: &&Going| {
        turns = turns.saturating_add(session.turns);
        turns <= u64::from(SWEPT_AT_ONCE_MAX)
    };
    sessions.iter().take_while(fits).count().max(1)
}

/// The first of what is below a workspace.
async fn below(
    changes: &mut Changes,
    below: &'static str,
    workspace: Uuid,
) -> Result<Vec<Uuid>, CatalogError> {
    let below = sql(below).bind(workspace).bind(SWEPT_AT_ONCE_MAX);
    let ids: Vec<(Uuid,)> = changes.rows(below).await?.all()?;
    Ok(ids.into_iter().map(|(id,)| id).collect())
}

/// Locks sessions, and says what is known of each.
pub(super) async fn going(
    changes: &mut Changes,
    sessions: Statement<'_>,
) -> Result<Vec<Going>, CatalogError> {
    let sessions: Vec<(Uuid, u64)> = changes.rows(sessions).await?.all()?;
    Ok(sessions.into_iter().map(|(id, turns)| Going { id, turns }).collect())
}

/// Those of some sessions that are going, with the positions of their last turns.
pub(super) const SESSIONS_GOING: &str =
    "select id, (select coalesce(max(position), 0) from turns where session_id = sessions.id)
    from sessions where id in ({ids}) and sweeping_ms is not null order by id for update";
const SESSIONS_BELOW: &str =
    "select id, (select coalesce(max(position), 0) from turns where session_id = sessions.id)
    from sessions where agent_id in ({ids}) limit $1 for update";
/// In the order of an index: to sort all of them each time would take the square of their number.
const AGENTS_BELOW: &str =
    "select id from agents where workspace_id = $1 order by name limit $2 for update";
const SKILL_VERSIONS_BELOW: &str =
    "select id from skill_versions where workspace_id = $1 order by digest limit $2 for update";

const SOME_EVENTS: &str = "delete from events where (session_id, number) in
    (select session_id, number from events where session_id in ({ids}) limit $1)";
const SOME_FIRINGS: &str = "delete from trigger_firings where (wakeup_id, due_ms) in
    (select wakeup_id, due_ms from trigger_firings where session_id in ({ids}) limit $1)";
const SOME_PARTICIPANTS: &str = "delete from participants where (session_id, subject) in
    (select session_id, subject from participants where session_id in ({ids}) limit $1)";
const SOME_INVOCATIONS: &str =
    "delete from tool_invocations where (turn_id, attempt, verb, scope, outcome) in
    (select turn_id, attempt, verb, scope, outcome from tool_invocations
        where turn_id in ({ids}) limit $1)";
const SOME_SENT_SKILLS: &str = "delete from turn_skills where (turn_id, position) in
    (select turn_id, position from turn_skills where turn_id in ({ids}) limit $1)";
const SOME_BINDINGS: &str = "delete from agent_skills where (agent_id, skill_id) in
    (select agent_id, skill_id from agent_skills where agent_id in ({ids}) limit $1)";
const SOME_RECEIPTS: &str = "delete from promotions where id in
    (select id from promotions where workspace_id in ({ids}) limit $1)";
const SOME_QUESTIONS: &str = "delete from settled_questions where turn_id in
    (select turn_id from settled_questions where workspace_id in ({ids}) limit $1)";
const SOME_SKILL_FILES: &str = "delete from skill_version_files where (version_id, path) in
    (select version_id, path from skill_version_files where version_id in ({ids}) limit $1)";

/// How many bytes each has, is told without that they are read.
const TURNS_BEHIND: &str = "select id, cast(octet_length(input) + octet_length(said)
        + coalesce(octet_length(answer), 0) + coalesce(octet_length(reply), 0)
        + coalesce(octet_length(question), 0) + coalesce(octet_length(error), 0) as bigint)
    from turns where session_id in ({ids}) and position > $1 order by position desc";
const TURNS: &str = "delete from turns where id in ({ids})";
const SESSIONS: &str = "delete from sessions where id in ({ids})";
const AGENTS: &str = "delete from agents where id in ({ids})";
const SKILL_VERSIONS: &str = "delete from skill_versions where id in ({ids})";
const WORKSPACES: &str = "delete from workspaces where id in ({ids})";

/// All of them, for tests.
#[cfg(test)]
pub(in crate::catalog) const STATEMENTS: [&str; 19] = [
    SESSIONS_GOING,
    SESSIONS_BELOW,
    AGENTS_BELOW,
    SKILL_VERSIONS_BELOW,
    SOME_EVENTS,
    SOME_FIRINGS,
    SOME_PARTICIPANTS,
    SOME_INVOCATIONS,
    SOME_SENT_SKILLS,
    SOME_BINDINGS,
    SOME_RECEIPTS,
    SOME_QUESTIONS,
    SOME_SKILL_FILES,
    TURNS_BEHIND,
    TURNS,
    SESSIONS,
    AGENTS,
    SKILL_VERSIONS,
    WORKSPACES,
];
