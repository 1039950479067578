use super::database::{Changes, Row, sql};
use super::events::{Entry, record};
use super::expiry::{Why, give_up};
use super::keeping::open_for_turns;
use super::session::{Ahead, lock};
use super::skills::Sending;
use super::turn::{Lease, Question, Start, Turn, TurnId, TurnState};
use super::{Catalog, CatalogError, Event, integer, new_id, unsigned};
use crate::limits::{LISTED_TEXT_CHARACTERS_MAX, TURNS_PAGE_MAX};
use crate::scope::{SessionId, Sha256};

impl Catalog {
    /// Begins a turn at once: one at a time in a session, after those that are queued, and only
    /// with the answer while it waits for one. A turn whose host is dead does not stand in the
    /// way: it is sealed as failed. For a process that runs the turn itself and holds the session
    /// by a lock of its own; if it dies, the turn is not tried again. It is sent the skills that it
    /// is given, and then those of its agent, or of the turn that it answers.
    ///
    /// # Errors
    /// [`CatalogError::TurnRunning`], [`CatalogError::TurnsQueued`],
    /// [`CatalogError::QuestionOpen`], [`CatalogError::NoQuestion`] if the question was answered
    /// meanwhile, [`CatalogError::AlreadyAnswered`], [`CatalogError::NoSkill`] if a version that it
    /// is given is not kept, [`CatalogError::Closed`], [`CatalogError::Swept`] or
    /// [`CatalogError::Deleted`] if the session is gone, [`CatalogError::Unavailable`].
    pub async fn start_turn(&self, start: Start<'_>) -> Result<Lease, CatalogError> {
        self.undone.retried(|| self.try_start(start)).await
    }

    async fn try_start(&self, start: Start<'_>) -> Result<Lease, CatalogError> {
        let mut changes = self.begin().await?;
        lock(&mut changes, start.session).await?;
        let now = self.now();
        open_for_turns(&mut changes, start.session).await?;
        let ahead = Ahead::of(&mut changes, start.session).await?;
        refuse_second(&mut changes, &ahead, now).await?;
        let attempt = match start.answer {
            None => refuse_what_comes_first(ahead)?,
            Some(answer) => attempt_at(&mut changes, start.session, answer.question).await?,
        };
        let lease = Lease { turn: TurnId(new_id()), attempt };
        let insert = "insert into turns (id, session_id, resumes_id, state, attempt, component,
                input, answer, queued_ms, started_ms, lease_until_ms, position)
            values ($1, $2, $3, 'running', $4, $5, $6, $7, $8, $8, $9,
                (select coalesce(max(position), 0) + 1 from turns where session_id = $2))";
        let insert = sql(insert)
            .bind(lease.turn)
            .bind(start.session)
            .bind(start.answer.map(|answer| answer.question))
            .bind(attempt)
            .bind(start.component)
            .bind(start.input)
            .bind(start.answer.map(|answer| answer.text))
            .bind(now)
            .bind(now.saturating_add(integer(self.lease_ms)));
        changes.execute(insert).await?;
        let Start { session, skills: given, .. } = start;
        let resumes = start.answer.map(|answer| answer.question);
        let sending = Sending { session, store: self.store, given, resumes };
        let told = sending.send(&mut changes, lease.turn).await?;
        let running = Event::State(TurnState::Running);
        let entries: Vec<Entry<'_>> =
            std::iter::once(&running).chain(&told).map(|event| (lease, event)).collect();
        record(&mut changes, lease.turn, &entries, now).await?;
        self.commit(changes).await?;
        Ok(lease)
    }

    /// The sessions of all stores in which a process of its own runs a turn, or seems to: one that
    /// was begun by [`Self::start_turn`].
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn running_sessions(&self) -> Result<Vec<SessionId>, CatalogError> {
        let running = "select session_id from turns where state = 'running' and host is null";
        let found: Vec<(SessionId,)> = self.database.rows(sql(running)).await?.all()?;
        Ok(found.into_iter().map(|(session,)| session).collect())
    }

    /// Seals the turn that a process of its own seems to run in a session. For a caller who knows
    /// that the process is dead; others wait for the end of its lease.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn abandon(&self, session: SessionId) -> Result<(), CatalogError> {
        let mut changes = self.begin().await?;
        lock(&mut changes, session).await?;
        let running = "select id from turns
            where session_id = $1 and state = 'running' and host is null";
        if let Some((turn,)) = changes.rows(sql(running).bind(session)).await?.first()? {
            give_up(&mut changes, turn, Why::ProcessIsGone, self.now()).await?;
        }
        self.commit(changes).await
    }

    /// What a session waits to be answered.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn question(&self, session: SessionId) -> Result<Option<Question>, CatalogError> {
        let question = "select id, question, input, component from turns
            where session_id = $1 and state = 'parked'";
        let found = self.database.rows(sql(question).bind(session)).await?.first()?;
        Ok(found.map(|(turn, text, input, component)| Question { turn, text, input, component }))
    }

    /// The bytes of a component that is kept: for a question that waits, for a turn that is
    /// queued, or under a name.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn component(&self, sha256: Sha256) -> Result<Option<Vec<u8>>, CatalogError> {
        let bytes = sql("select bytes from components where sha256 = $1").bind(sha256);
        Ok(self.database.rows(bytes).await?.first()?.map(|(bytes,)| bytes))
    }

    /// Turns of a session in order, those after a position (0 for all): at most `limit`, and at
    /// most 100. Of each text the first 16,384 characters; [`Self::turn`] has all of it.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn turns(
        &self,
        session: SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Turn>, CatalogError> {
        let turns = "select id, session_id, position, state, attempt, resumes_id,
                substr(input, 1, cast($4 as integer)), substr(answer, 1, cast($4 as integer)), substr(said, 1, cast($4 as integer)),
                substr(reply, 1, cast($4 as integer)), substr(question, 1, cast($4 as integer)), failure, substr(error, 1, cast($4 as integer)),
                queued_ms, started_ms, ended_ms
            from turns where session_id = $1 and position > $2 order by position limit $3";
        let turns = sql(turns).bind(session).bind(after).bind(limit.min(TURNS_PAGE_MAX));
        self.database.rows(turns.bind(LISTED_TEXT_CHARACTERS_MAX)).await?.map(turn)
    }

    /// One turn, of this store.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn turn(&self, id: TurnId) -> Result<Option<Turn>, CatalogError> {
        let found = "select id, session_id, position, state, attempt, resumes_id, input, answer,
                said, reply, question, failure, error, queued_ms, started_ms, ended_ms
            from turns where id = $1 and session_id in (select sessions.id from sessions
                join agents on agents.id = sessions.agent_id
                join workspaces on workspaces.id = agents.workspace_id
                where workspaces.store_id = $2)";
        self.database.rows(sql(found).bind(id).bind(self.store)).await?.first_by(turn)
    }
}

fn turn(row: &Row) -> Result<Turn, CatalogError> {
    Ok(Turn {
        id: row.at(0)?,
        session: row.at(1)?,
        position: row.at(2)?,
        state: TurnState::parse(&row.at::<String>(3)?)?,
        attempt: row.at(4)?,
        resumes: row.at(5)?,
        input: row.at(6)?,
        answer: row.at(7)?,
        said: row.at(8)?,
        reply: row.at(9)?,
        question: row.at(10)?,
        failure: row.at(11)?,
        error: row.at(12)?,
        queued_ms: row.at(13)?,
        started_ms: row.at(14)?,
        ended_ms: row.at(15)?,
    })
}

/// A turn that runs, unless its host is dead.
async fn refuse_second(changes: &mut Changes, ahead: &Ahead, now: i64) -> Result<(), CatalogError> {
    match ahead.running {
        None => Ok(()),
        Some((_, until)) if until >= now => {
            Err(CatalogError::TurnRunning { given_up_in_ms: unsigned(until - now) })
        }
        Some((turn, _)) => match give_up(changes, turn, Why::LeaseIsOver, now).await? {
            TurnState::Queued => Err(CatalogError::TurnsQueued),
            _ => Ok(()),
        },
    }
}

fn refuse_what_comes_first(ahead: Ahead) -> Result<u32, CatalogError> {
    match (ahead.question, ahead.queued) {
        (Some(question), _) => Err(CatalogError::QuestionOpen(question)),
        (None, Some(_)) => Err(CatalogError::TurnsQueued),
        (None, None) => Ok(1),
    }
}

/// Which attempt at answering the question the next turn is.
pub(super) async fn attempt_at(
    changes: &mut Changes,
    session: SessionId,
    question: TurnId,
) -> Result<u32, CatalogError> {
    let attempts = "select (select count(*) from turns as earlier
            where earlier.resumes_id = turns.id and earlier.failure = 'abandoned'),
            (select count(*) from turns as answer
            where answer.resumes_id = turns.id and answer.state in ('queued', 'running'))
        from turns where id = $1 and session_id = $2 and state = 'parked'";
    let found = changes.rows(sql(attempts).bind(question).bind(session)).await?.first()?;
    let (died, under_way): (u32, u32) = found.ok_or(CatalogError::NoQuestion)?;
    if under_way > 0 {
        return Err(CatalogError::AlreadyAnswered);
    }
    Ok(died.saturating_add(1))
}
