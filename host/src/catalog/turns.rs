use anyhow::anyhow;
use sqlx::{Sqlite, Transaction};

use super::ending::{
    close_question, drop_components, keep_component, keep_events, keep_wakes, seal,
};
use super::places::parent_gone;
use super::turn::{Ending, Finish, Lease, Question, Start, Turn, TurnId, TurnState};
use super::{Catalog, CatalogError, integer, new_id, parse_id, unsigned};
use crate::scope::{SessionId, Sha256};

const ABANDONED: &str = "the process that ran this turn ended without a word";

/// Seals the turns whose hosts fell silent. What their guests said stays as a partial reply.
pub(super) async fn give_up_dead(
    transaction: &mut Transaction<'static, Sqlite>,
    now: i64,
) -> Result<(), CatalogError> {
    sqlx::query(
        "update turns set state = 'failed', failure = 'abandoned', error = $1, ended_ms = $2,
            lease_until_ms = null
        where state = 'running' and lease_until_ms < $2",
    )
    .bind(ABANDONED)
    .bind(now)
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

impl Catalog {
    /// Begins a turn: one at a time in a session, and only with the answer while it waits for
    /// one. A turn whose host is dead does not stand in the way: it is sealed as failed.
    ///
    /// # Errors
    /// [`CatalogError::TurnRunning`], [`CatalogError::QuestionOpen`],
    /// [`CatalogError::NoQuestion`] if the question was answered meanwhile,
    /// [`CatalogError::Deleted`] if the session is gone, [`CatalogError::Unavailable`].
    pub async fn start_turn(&self, start: Start<'_>) -> Result<Lease, CatalogError> {
        let mut transaction = self.begin().await?;
        let now = self.now();
        give_up_dead(&mut transaction, now).await?;
        refuse_second(&mut transaction, start.session, now).await?;
        let attempt = match start.answer {
            None => refuse_open_question(&mut transaction, start.session).await?,
            Some(answer) => attempt_at(&mut transaction, start.session, answer.question).await?,
        };
        let turn = TurnId(new_id());
        sqlx::query(
            "insert into turns (id, session_id, resumes_id, state, attempt, component, input,
                answer, queued_ms, started_ms, lease_until_ms)
            values ($1, $2, $3, 'running', $4, $5, $6, $7, $8, $8, $9)",
        )
        .bind(turn.to_string())
        .bind(start.session.to_string())
        .bind(start.answer.map(|answer| answer.question.to_string()))
        .bind(i64::from(attempt))
        .bind(start.component.to_string())
        .bind(start.input)
        .bind(start.answer.map(|answer| answer.text))
        .bind(now)
        .bind(now.saturating_add(integer(self.lease_ms)))
        .execute(&mut *transaction)
        .await
        .map_err(parent_gone)?;
        touch(&mut transaction, turn, now).await?;
        transaction.commit().await?;
        Ok(Lease { turn, attempt })
    }

    /// The sessions of all stores in which a turn runs, or seems to.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn running_sessions(&self) -> Result<Vec<SessionId>, CatalogError> {
        let rows: Vec<(String,)> =
            sqlx::query_as("select session_id from turns where state = 'running'")
                .fetch_all(&self.pool)
                .await?;
        rows.iter().map(|(id,)| Ok(SessionId(parse_id(id)?))).collect()
    }

    /// Seals the turn that seems to run in a session. For a caller who knows that its host is
    /// dead; others wait for the end of its lease.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn abandon(&self, session: SessionId) -> Result<(), CatalogError> {
        sqlx::query(
            "update turns set state = 'failed', failure = 'abandoned', error = $1, ended_ms = $2,
                lease_until_ms = null
            where state = 'running' and session_id = $3",
        )
        .bind(ABANDONED)
        .bind(self.now())
        .bind(session.to_string())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Keeps a lease for another while, with what the guest said since the last time.
    ///
    /// # Errors
    /// [`CatalogError::LeaseLost`] if the turn was given up; [`CatalogError::Unavailable`].
    pub async fn renew(&self, turn: TurnId, said_since: &str) -> Result<(), CatalogError> {
        let renewed = sqlx::query(
            "update turns set lease_until_ms = $2, said = said || $3
            where id = $1 and state = 'running'",
        )
        .bind(turn.to_string())
        .bind(self.now().saturating_add(integer(self.lease_ms)))
        .bind(said_since)
        .execute(&self.pool)
        .await?;
        held(renewed.rows_affected())
    }

    /// Ends a turn: its outcome, what it said, its wakes and its events, all or nothing. The
    /// question that it answered is closed, unless it failed; then the question stays open.
    ///
    /// # Errors
    /// [`CatalogError::LeaseLost`] if the turn was given up; [`CatalogError::Unavailable`].
    pub async fn finish_turn(&self, turn: TurnId, finish: &Finish) -> Result<(), CatalogError> {
        let mut transaction = self.begin().await?;
        let now = self.now();
        if !matches!(finish.ending, Ending::Failed { .. }) {
            close_question(&mut transaction, turn).await?;
            keep_wakes(&mut transaction, turn, &finish.wakes, now).await?;
        }
        if let Ending::Asked { component, .. } = &finish.ending {
            keep_component(&mut transaction, turn, component).await?;
        }
        seal(&mut transaction, turn, finish, now).await?;
        keep_events(&mut transaction, turn, &finish.events).await?;
        drop_components(&mut transaction).await?;
        touch(&mut transaction, turn, now).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// What a session waits to be answered.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn question(&self, session: SessionId) -> Result<Option<Question>, CatalogError> {
        let found: Option<(String, String, String, String)> = sqlx::query_as(
            "select id, question, input, component from turns
            where session_id = $1 and state = 'parked'",
        )
        .bind(session.to_string())
        .fetch_optional(&self.pool)
        .await?;
        let Some((id, text, input, component)) = found else { return Ok(None) };
        let (turn, component) = (TurnId(parse_id(&id)?), parse_sha256(&component)?);
        Ok(Some(Question { turn, text, input, component }))
    }

    /// The bytes of a component that an open question waits to go on with.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn component(&self, sha256: Sha256) -> Result<Option<Vec<u8>>, CatalogError> {
        let found: Option<(Vec<u8>,)> =
            sqlx::query_as("select bytes from components where sha256 = $1")
                .bind(sha256.to_string())
                .fetch_optional(&self.pool)
                .await?;
        Ok(found.map(|(bytes,)| bytes))
    }

    /// The turns of a session, the oldest first.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn turns(&self, session: SessionId) -> Result<Vec<Turn>, CatalogError> {
        type Text = Option<String>;
        type Row = (String, String, i64, String, Text, Text, Text, Text);
        let rows: Vec<Row> = sqlx::query_as(
            "select id, state, attempt, said, reply, question, failure, error from turns
            where session_id = $1 order by queued_ms, id",
        )
        .bind(session.to_string())
        .fetch_all(&self.pool)
        .await?;
        let turn = |(id, state, attempt, said, reply, question, failure, error): Row| {
            let id = TurnId(parse_id(&id)?);
            let state = TurnState::parse(&state)?;
            let attempt = u32::try_from(attempt).unwrap_or(u32::MAX);
            Ok(Turn { id, state, attempt, said, reply, question, failure, error })
        };
        rows.into_iter().map(turn).collect()
    }
}

type Changes = Transaction<'static, Sqlite>;

async fn refuse_second(
    transaction: &mut Changes,
    session: SessionId,
    now: i64,
) -> Result<(), CatalogError> {
    let running: Option<(i64,)> = sqlx::query_as(
        "select lease_until_ms from turns where session_id = $1 and state = 'running'",
    )
    .bind(session.to_string())
    .fetch_optional(&mut **transaction)
    .await?;
    match running {
        None => Ok(()),
        Some((until,)) => Err(CatalogError::TurnRunning { given_up_in_ms: unsigned(until - now) }),
    }
}

async fn refuse_open_question(
    transaction: &mut Changes,
    session: SessionId,
) -> Result<u32, CatalogError> {
    let open: Option<(String,)> =
        sqlx::query_as("select question from turns where session_id = $1 and state = 'parked'")
            .bind(session.to_string())
            .fetch_optional(&mut **transaction)
            .await?;
    match open {
        None => Ok(1),
        Some((question,)) => Err(CatalogError::QuestionOpen(question)),
    }
}

/// Which attempt at answering the question the next turn is.
async fn attempt_at(
    transaction: &mut Changes,
    session: SessionId,
    question: TurnId,
) -> Result<u32, CatalogError> {
    let found: Option<(i64,)> = sqlx::query_as(
        "select (select count(*) from turns as earlier
            where earlier.resumes_id = turns.id and earlier.failure = 'abandoned')
        from turns where id = $1 and session_id = $2 and state = 'parked'",
    )
    .bind(question.to_string())
    .bind(session.to_string())
    .fetch_optional(&mut **transaction)
    .await?;
    let (died,) = found.ok_or(CatalogError::NoQuestion)?;
    Ok(u32::try_from(died).unwrap_or(u32::MAX).saturating_add(1))
}

/// Notes that something happened in the turn's session.
async fn touch(transaction: &mut Changes, turn: TurnId, now: i64) -> Result<(), CatalogError> {
    sqlx::query(
        "update sessions set active_ms = $2
        where id = (select session_id from turns where id = $1)",
    )
    .bind(turn.to_string())
    .bind(now)
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

pub(super) fn held(rows: u64) -> Result<(), CatalogError> {
    if rows == 1 { Ok(()) } else { Err(CatalogError::LeaseLost) }
}

fn parse_sha256(hexadecimal: &str) -> Result<Sha256, CatalogError> {
    let damaged = || CatalogError::unavailable(anyhow!("the catalog holds what is no SHA-256"));
    let mut bytes = [0; 32];
    if hexadecimal.len() != 64 || !hexadecimal.is_ascii() {
        return Err(damaged());
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        let digits = hexadecimal.get(2 * at..2 * at + 2).ok_or_else(damaged)?;
        *byte = u8::from_str_radix(digits, 16).map_err(|_| damaged())?;
    }
    Ok(Sha256(bytes))
}
