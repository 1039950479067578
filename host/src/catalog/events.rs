use super::database::{Changes, Statement, places, sql};
use super::event::{COLUMNS_BOUND, Columns, Recorded};
use super::turn::{Lease, TurnId};
use super::watch::Topic;
use super::{Catalog, CatalogError, Event};
use crate::limits::EVENTS_PAGE_MAX;
use crate::scope::SessionId;

impl Catalog {
    /// Events of a session after one, in order: at most `limit`, and at most 256. Events are
    /// numbered without gaps, and none comes to be seen before an earlier one; so a reader goes on
    /// from the last number that it saw, or from 0.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn events(
        &self,
        session: SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Recorded>, CatalogError> {
        let events =
            "select number, turn_id, attempt, at_ms, kind, path, target, size, level, message,
                revision
            from events where session_id = $1 and number > $2 order by number limit $3";
        self.page(sql(events).bind(session), after, limit).await
    }

    /// Events of one turn, as [`Self::events`]; their numbers are those of its session.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn events_of_turn(
        &self,
        turn: TurnId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Recorded>, CatalogError> {
        let events =
            "select number, turn_id, attempt, at_ms, kind, path, target, size, level, message,
                revision
            from events where turn_id = $1 and number > $2 order by number limit $3";
        self.page(sql(events).bind(turn), after, limit).await
    }

    async fn page(
        &self,
        events: Statement<'_>,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Recorded>, CatalogError> {
        let page = events.bind(after).bind(limit.min(EVENTS_PAGE_MAX));
        self.database.rows(page).await?.map(Recorded::of)
    }
}

/// What happened in an attempt at a turn.
pub(super) type Entry<'a> = (Lease, &'a Event);

/// Since when a turn of the session may be claimed: its first queued one, unless another runs;
/// while a question is open, the one with the answer.
const NOTE: &str = "update sessions set active_ms = $2, events = events + $3, ready_ms = case
        when sweeping_ms is not null or exists (select 1 from turns
            where session_id = sessions.id and state = 'running') then null
        else (select due_ms from turns where session_id = sessions.id and state = 'queued'
            and not exists (select 1 from turns as asking where asking.session_id = sessions.id
                and asking.state = 'parked'
                and (turns.resumes_id is null or turns.resumes_id <> asking.id))
            order by position limit 1) end
    where id = (select session_id from turns where id = $1) returning id, events, ready_ms";

/// Notes what happened in the session of a turn, in order, and which turn of it is next. The end
/// of whatever changes turns; whoever watches is told.
pub(super) async fn record(
    changes: &mut Changes,
    of: TurnId,
    entries: &[Entry<'_>],
    now: i64,
) -> Result<(), CatalogError> {
    let rows: Vec<_> = entries
        .iter()
        .flat_map(|(by, event)| Columns::of(event).into_iter().map(|row| (*by, row)))
        .collect();
    let count = rows.len() as u64;
    let found = changes.rows(sql(NOTE).bind(of).bind(now).bind(count)).await?.first()?;
    let (session, latest, ready): (SessionId, u64, Option<i64>) =
        found.ok_or(CatalogError::Deleted)?;
    let mut next = latest - count + 1;
    for rows in rows.chunks(EVENTS_AT_ONCE) {
        changes.execute(insert(session, next, rows, now)).await?;
        next += rows.len() as u64;
    }
    changes.tell(Topic::Session(session));
    if ready.is_some() {
        changes.tell(Topic::Work);
    }
    Ok(())
}

/// Rows of one statement: twelve values each, where SQLite binds 32,766 and PostgreSQL 65,535.
const EVENTS_AT_ONCE: usize = 1_000;
/// Values of a row that come before those of [`Columns`].
const LEADING: usize = 5;

const INSERT: &str = "insert into events (session_id, number, turn_id, attempt, at_ms, kind, path,
    target, size, level, message, revision) values ";
const INSERT_ONE: &str = "insert into events (session_id, number, turn_id, attempt, at_ms, kind,
    path, target, size, level, message, revision)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";

fn insert<'a>(
    session: SessionId,
    first: u64,
    rows: &'a [(Lease, Columns<'a>)],
    now: i64,
) -> Statement<'a> {
    let insert = match rows.len() {
        1 => sql(INSERT_ONE),
        count => sql([INSERT, &places(count, LEADING + COLUMNS_BOUND)].concat()),
    };
    rows.iter().zip(first..).fold(insert, |statement, ((by, columns), number)| {
        let statement = statement.bind(session).bind(number).bind(by.turn);
        columns.bind_to(statement.bind(by.attempt).bind(now))
    })
}

/// What an attempt at a turn said.
pub(super) async fn said(changes: &mut Changes, by: Lease) -> Result<String, CatalogError> {
    let pieces = sql("select message from events
        where turn_id = $1 and attempt = $2 and kind = 'said' order by number")
    .bind(by.turn)
    .bind(by.attempt);
    let pieces: Vec<(String,)> = changes.rows(pieces).await?.all()?;
    Ok(pieces.into_iter().map(|(piece,)| piece).collect())
}
