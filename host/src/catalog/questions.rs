//! Questions that were settled, with their answers: what an audit reads. They stay when their
//! session goes, and go with their workspace.

use super::database::{Changes, Row, sql};
use super::rows::left;
use super::sweeping::Left;
use super::turn::TurnId;
use super::{Catalog, CatalogError, Label};
use crate::limits::{LISTED_TEXT_CHARACTERS_MAX, ROWS_SWEPT_MAX, TURNS_PAGE_MAX};
use crate::scope::{AgentId, SessionId, WorkspaceId};

/// A question that was answered, or taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettledQuestion {
    /// The turn that asked.
    pub turn: TurnId,
    /// Of which agent.
    pub agent: AgentId,
    /// In which session, whether or not that is still there.
    pub session: SessionId,
    /// What was asked.
    pub question: String,
    /// What was answered; `None` if the question was taken back.
    pub answer: Option<String>,
    /// When it was asked, in milliseconds since the Unix epoch.
    pub asked_ms: u64,
    /// When it was settled, in milliseconds since the Unix epoch.
    pub settled_ms: u64,
}

impl Catalog {
    /// Settled questions of a workspace, the latest first, those before one: at most `limit`, and at
    /// most 100. Of each text the first 16,384 characters.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn settled_questions(
        &self,
        workspace: WorkspaceId,
        before: Option<TurnId>,
        limit: u32,
    ) -> Result<Vec<SettledQuestion>, CatalogError> {
        let list = "select turn_id, agent_id, session_id, substr(question, 1, cast($4 as integer)),
                substr(answer, 1, cast($4 as integer)), asked_ms, settled_ms
            from settled_questions where workspace_id = $1 and turn_id < $2
            order by turn_id desc limit $3";
        let last = before.unwrap_or(TurnId(uuid::Uuid::max()));
        let list = sql(list).bind(workspace).bind(last).bind(limit.min(TURNS_PAGE_MAX));
        self.database.rows(list.bind(LISTED_TEXT_CHARACTERS_MAX)).await?.map(settled)
    }

    /// Agents with settled questions of sessions that a subject opened and that are gone.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn agents_with_questions_of(
        &self,
        workspace: WorkspaceId,
        opener: &Label,
    ) -> Result<Vec<AgentId>, CatalogError> {
        let list = sql(["select distinct agent_id ", OF_GONE].concat());
        let list = list.bind(workspace).bind(opener.as_str());
        let agents: Vec<(AgentId,)> = self.database.rows(list).await?.all()?;
        Ok(agents.into_iter().map(|(agent,)| agent).collect())
    }

    /// Forgets settled questions of sessions of an agent that a subject opened and that are gone;
    /// those of the others go with them. A thousand at a time.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn forget_questions_of(
        &self,
        (workspace, agent): (WorkspaceId, AgentId),
        opener: &Label,
    ) -> Result<Left, CatalogError> {
        let forget = "delete from settled_questions where turn_id in (select turn_id ";
        let forget = sql([forget, OF_GONE, " and agent_id = $3 limit $4)"].concat());
        let forget = forget.bind(workspace).bind(opener.as_str()).bind(agent);
        Ok(left(self.database.execute(forget.bind(ROWS_SWEPT_MAX)).await?))
    }
}

const OF_GONE: &str = "from settled_questions where workspace_id = $1 and opened_by = $2
    and not exists (select 1 from sessions where sessions.id = settled_questions.session_id)";

/// Keeps a question that was just settled, with what the turn that settled it was told.
pub(super) async fn keep_question(
    changes: &mut Changes,
    question: TurnId,
    answered_by: Option<TurnId>,
    now: i64,
) -> Result<(), CatalogError> {
    let keep =
        "insert into settled_questions (turn_id, workspace_id, agent_id, session_id, question,
            answer, asked_ms, settled_ms, opened_by)
        select asked.id, agents.workspace_id, agents.id, sessions.id, asked.question,
            (select answer from turns where turns.id = $2),
            coalesce(asked.ended_ms, asked.queued_ms), $3, sessions.opened_by
        from turns as asked join sessions on sessions.id = asked.session_id
        join agents on agents.id = sessions.agent_id
        where asked.id = $1 and asked.question is not null
        on conflict (turn_id) do nothing";
    changes.execute(sql(keep).bind(question).bind(answered_by).bind(now)).await?;
    Ok(())
}

fn settled(row: &Row) -> Result<SettledQuestion, CatalogError> {
    Ok(SettledQuestion {
        turn: row.at(0)?,
        agent: row.at(1)?,
        session: row.at(2)?,
        question: row.at(3)?,
        answer: row.at(4)?,
        asked_ms: row.at(5)?,
        settled_ms: row.at(6)?,
    })
}
