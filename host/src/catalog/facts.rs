//! What is known of sessions, for whoever decides how long they are kept.

use std::fmt;

use super::database::{Changes, Row, Statement, sql};
use super::settings::cascade_of;
use super::{Cascade, Catalog, CatalogError, Reason};
use crate::limits::SESSIONS_WALKED_MAX;
use crate::scope::{AgentId, Coordinates, SessionId, WorkspaceId};

/// What is still to happen in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToCome {
    /// A turn runs, or seems to.
    Running,
    /// Turns are queued.
    Queued,
    /// A question waits for its answer.
    Question,
    /// Something will wake it.
    Wakeup,
}

impl ToCome {
    const ALL: [Self; 4] = [Self::Running, Self::Queued, Self::Question, Self::Wakeup];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Queued => "queued",
            Self::Question => "question",
            Self::Wakeup => "wakeup",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }
}

impl fmt::Display for ToCome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "a turn of this session is running",
            Self::Queued => "turns are queued in this session",
            Self::Question => "this session waits for an answer",
            Self::Wakeup => "this session is to be woken",
        })
    }
}

/// What is known of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFacts {
    /// Which one it is.
    pub session: SessionId,
    /// Of which agent.
    pub agent: AgentId,
    /// Of which workspace.
    pub workspace: WorkspaceId,
    /// What people call it.
    pub name: String,
    /// When something last happened in it, in milliseconds since the Unix epoch; files that were
    /// written from outside of turns up to [`crate::limits::ACTIVITY_KNOWN_MS`] later.
    pub active_ms: u64,
    /// When it was closed, in milliseconds since the Unix epoch, if it is.
    pub closed_ms: Option<u64>,
    /// Since when it is held, in milliseconds since the Unix epoch, if it is.
    pub held_ms: Option<u64>,
    /// What is still to happen in it.
    pub to_come: Option<ToCome>,
    /// How many sessions of its agent were active later, counted no further than it matters.
    pub newer: u64,
}

impl SessionFacts {
    /// Where it is.
    pub fn coordinates(&self) -> Coordinates {
        let Self { workspace, agent, session, .. } = *self;
        Coordinates { workspace, agent, session: Some(session) }
    }
}

/// Who decides how long sessions are kept.
pub trait Judge: Send + Sync {
    /// How many sessions of an agent are kept where these settings hold, if not all are.
    fn kept(&self, settings: &Cascade) -> Option<u64>;

    /// Why a session is to go, if it is.
    fn sentence(&self, facts: &SessionFacts, settings: &Cascade) -> Option<Reason>;
}

/// Where a walk through sessions goes on: behind one, by its agent and its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// The id of an agent, or nothing.
    pub agent: String,
    /// The name of a session of it, or nothing.
    pub name: String,
}

impl Walk {
    /// Behind a session.
    pub fn behind(facts: &SessionFacts) -> Self {
        Self { agent: facts.agent.to_string(), name: facts.name.clone() }
    }
}

/// The tables of a session, those that say what is to come found by indexes of their own.
const FACTS: &str = "select sessions.id, sessions.agent_id, agents.workspace_id, sessions.name,
        sessions.active_ms, closed_ms, held_ms,
        case when exists (select 1 from turns
                where session_id = sessions.id and state = 'running') then 'running'
            when exists (select 1 from turns
                where session_id = sessions.id and state = 'queued') then 'queued'
            when exists (select 1 from turns
                where session_id = sessions.id and state = 'parked') then 'question'
            when exists (select 1 from wakeups where wakeups.session_id = sessions.id)
                then 'wakeup' end
    from sessions join agents on agents.id = sessions.agent_id
    join workspaces on workspaces.id = agents.workspace_id
    where store_id = $1 and sweeping_ms is null and ";

impl Catalog {
    /// Sessions of this store, or of one workspace of it, behind a place of the walk, in its order:
    /// at most 500. How many are newer is not counted: see [`Self::newer_sessions`].
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn walk_sessions(
        &self,
        of: Option<WorkspaceId>,
        behind: &Walk,
        limit: u32,
    ) -> Result<Vec<SessionFacts>, CatalogError> {
        let page = "($2 is null or agents.workspace_id = $2)
            and (sessions.agent_id, sessions.name) > ($3, $4)
            order by sessions.agent_id, sessions.name limit $5";
        let page = sql([FACTS, page].concat()).bind(self.store).bind(of);
        let page = page.bind(&behind.agent).bind(&behind.name);
        self.database.rows(page.bind(limit.min(SESSIONS_WALKED_MAX))).await?.map(facts)
    }

    /// How many sessions of the same agent were active later, counted up to `most`.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn newer_sessions(
        &self,
        facts: &SessionFacts,
        most: u64,
    ) -> Result<u64, CatalogError> {
        let (newer,) = self.database.rows(newer(facts, most)).await?.one()?;
        Ok(newer)
    }

    /// What is known of a session that is locked, and which settings hold for it; `None` if it is
    /// gone or being swept.
    pub(super) async fn facts(
        &self,
        changes: &mut Changes,
        session: SessionId,
        judge: &dyn Judge,
    ) -> Result<Option<(SessionFacts, Cascade)>, CatalogError> {
        let find = sql([FACTS, "sessions.id = $2"].concat()).bind(self.store).bind(session);
        let Some(mut facts) = changes.rows(find).await?.first_by(facts)? else { return Ok(None) };
        let settings = self.cascade_rows(facts.workspace, Some(facts.agent));
        let settings = changes.rows(settings).await?;
        let settings = cascade_of(settings, self.store, facts.workspace)?;
        if let Some(kept) = judge.kept(&settings) {
            (facts.newer,) = changes.rows(newer(&facts, kept)).await?.one()?;
        }
        Ok(Some((facts, settings)))
    }
}

/// Those that are equally late are in the order of their ids.
fn newer(facts: &SessionFacts, most: u64) -> Statement<'static> {
    sql("select count(*) from (select id from sessions
            where agent_id = $1 and (active_ms, id) > ($2, $3) and sweeping_ms is null
            order by active_ms, id limit $4) as newer")
    .bind(facts.agent)
    .bind(facts.active_ms)
    .bind(facts.session)
    .bind(most)
}

fn facts(row: &Row) -> Result<SessionFacts, CatalogError> {
    let to_come: Option<String> = row.at(7)?;
    Ok(SessionFacts {
        session: row.at(0)?,
        agent: row.at(1)?,
        workspace: row.at(2)?,
        name: row.at(3)?,
        active_ms: row.at(4)?,
        closed_ms: row.at(5)?,
        held_ms: row.at(6)?,
        to_come: to_come.as_deref().and_then(ToCome::parse),
        newer: 0,
    })
}
