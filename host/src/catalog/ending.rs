//! What is recorded when a turn ends; each part within the transaction that ends it.

use sqlx::{QueryBuilder, Sqlite, Transaction};

use super::turn::{Ending, Event, Finish, TurnId, TurnState, Wake};
use super::turns::held;
use super::{CatalogError, integer, new_id};

type Changes = Transaction<'static, Sqlite>;

pub(super) async fn close_question(
    transaction: &mut Changes,
    turn: TurnId,
) -> Result<(), CatalogError> {
    sqlx::query(
        "update turns set state = 'done' where state = 'parked'
            and id = (select resumes_id from turns where id = $1)",
    )
    .bind(turn.to_string())
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

pub(super) async fn keep_wakes(
    transaction: &mut Changes,
    turn: TurnId,
    wakes: &[Wake],
    now: i64,
) -> Result<(), CatalogError> {
    for wake in wakes {
        sqlx::query(
            "insert into wakeups (id, session_id, turn_id, due_ms, input)
            select $1, session_id, id, $2, $3 from turns where id = $4",
        )
        .bind(new_id().to_string())
        .bind(now.saturating_add(integer(wake.after_ms)))
        .bind(&wake.input)
        .bind(turn.to_string())
        .execute(&mut **transaction)
        .await?;
    }
    Ok(())
}

pub(super) async fn keep_component(
    transaction: &mut Changes,
    turn: TurnId,
    bytes: &[u8],
) -> Result<(), CatalogError> {
    sqlx::query(
        "insert into components (sha256, bytes) select component, $2 from turns where id = $1
        on conflict (sha256) do nothing",
    )
    .bind(turn.to_string())
    .bind(bytes)
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

pub(super) async fn drop_components(transaction: &mut Changes) -> Result<(), CatalogError> {
    sqlx::query(DROP_COMPONENTS).execute(&mut **transaction).await?;
    Ok(())
}

/// Asked for each component that is kept, and not for each question that is open.
pub(super) const DROP_COMPONENTS: &str = "delete from components where not exists
    (select 1 from turns where state = 'parked' and component = sha256)";

pub(super) async fn seal(
    transaction: &mut Changes,
    turn: TurnId,
    finish: &Finish,
    now: i64,
) -> Result<(), CatalogError> {
    let (mut reply, mut question, mut failure, mut sentence) = (None, None, None, None);
    let state = match &finish.ending {
        Ending::Replied(text) => {
            reply = Some(text);
            TurnState::Done
        }
        Ending::Asked { question: text, .. } => {
            question = Some(text);
            TurnState::Parked
        }
        Ending::Failed { failure: kind, error } => {
            (failure, sentence) = (Some(kind.as_str()), Some(error));
            TurnState::Failed
        }
    };
    let sealed = sqlx::query(
        "update turns set state = $2, said = $3, reply = $4, question = $5, failure = $6,
            error = $7, ended_ms = $8, lease_until_ms = null
        where id = $1 and state = 'running'",
    )
    .bind(turn.to_string())
    .bind(state.as_str())
    .bind(&finish.said)
    .bind(reply)
    .bind(question)
    .bind(failure)
    .bind(sentence)
    .bind(now)
    .execute(&mut **transaction)
    .await?;
    held(sealed.rows_affected())
}

pub(super) async fn keep_events(
    transaction: &mut Changes,
    turn: TurnId,
    events: &[Event],
) -> Result<(), CatalogError> {
    let turn = turn.to_string();
    let rows: Vec<_> = (0_i64..).zip(events.iter().map(EventRow::from)).collect();
    for rows in rows.chunks(EVENTS_AT_ONCE) {
        let mut insert = QueryBuilder::<Sqlite>::new(
            "insert into events (turn_id, number, kind, path, target, size, level, message) ",
        );
        insert.push_values(rows, |mut values, (number, row)| {
            values.push_bind(&turn).push_bind(number).push_bind(row.kind).push_bind(row.path);
            values.push_bind(row.target).push_bind(row.size.map(integer));
            values.push_bind(row.level).push_bind(row.message);
        });
        insert.build().execute(&mut **transaction).await?;
    }
    Ok(())
}

/// Rows of one statement: eight values each, where SQLite binds 32,766.
const EVENTS_AT_ONCE: usize = 1_000;

#[derive(Default)]
struct EventRow<'a> {
    kind: &'static str,
    path: Option<&'a str>,
    target: Option<&'a str>,
    size: Option<u64>,
    level: Option<&'static str>,
    message: Option<&'a str>,
}

impl<'a> From<&'a Event> for EventRow<'a> {
    fn from(event: &'a Event) -> Self {
        let row = Self::default();
        match event {
            Event::Written { path, size } => {
                Self { kind: "written", path: Some(path), size: Some(*size), ..row }
            }
            Event::Deleted { path } => Self { kind: "deleted", path: Some(path), ..row },
            Event::Promoted { source, target } => {
                Self { kind: "promoted", path: Some(source), target: Some(target), ..row }
            }
            Event::Spilled { path } => Self { kind: "spilled", path: Some(path), ..row },
            Event::Logged { level, message } => {
                Self { kind: "logged", level: Some(level), message: Some(message), ..row }
            }
        }
    }
}
