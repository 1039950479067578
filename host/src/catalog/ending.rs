//! What is recorded when a turn ends; each part within the transaction that ends it.

use super::database::{Changes, Statement, sql};
use super::questions::keep_question;
use super::turn::{Ending, Finish, Lease, TurnId, TurnState, Wake};
use super::{CatalogError, integer, new_id};
use crate::limits::SESSION_WAKEUPS_MAX;
use crate::scope::Sha256;

/// Closes the question that a turn answered, and keeps both for an audit; which one, if it answered
/// one.
pub(super) async fn close_question(
    changes: &mut Changes,
    turn: TurnId,
    now: i64,
) -> Result<Option<Lease>, CatalogError> {
    let close = "update turns set state = 'done' where state = 'parked'
            and id = (select resumes_id from turns where id = $1) returning id, attempt";
    let closed = changes.rows(sql(close).bind(turn)).await?.first()?;
    let Some((question, attempt)) = closed else { return Ok(None) };
    keep_question(changes, question, Some(turn), now).await?;
    Ok(Some(Lease { turn: question, attempt }))
}

/// Keeps as many wakes as the session has room for, so that turns that wake more turns than they
/// are do not become ever more; how many there was none for.
pub(super) async fn keep_wakes(
    changes: &mut Changes,
    turn: TurnId,
    wakes: &[Wake],
    now: i64,
) -> Result<usize, CatalogError> {
    if wakes.is_empty() {
        return Ok(0);
    }
    let count = "select count(*) from wakeups
        where session_id = (select session_id from turns where id = $1)";
    let (count,): (u64,) = changes.rows(sql(count).bind(turn)).await?.one()?;
    let room = usize::try_from(SESSION_WAKEUPS_MAX.saturating_sub(count)).unwrap_or(usize::MAX);
    let kept = wakes.len().min(room);
    for wake in &wakes[..kept] {
        let insert = "insert into wakeups (id, session_id, turn_id, due_ms, input, created_ms)
            select $1, session_id, id, $2, $3, $5 from turns where id = $4";
        let due = now.saturating_add(integer(wake.after_ms));
        let insert = sql(insert).bind(new_id()).bind(due).bind(&wake.input).bind(turn).bind(now);
        changes.execute(insert).await?;
    }
    Ok(wakes.len() - kept)
}

pub(super) async fn keep_component(
    changes: &mut Changes,
    turn: TurnId,
    bytes: &[u8],
) -> Result<(), CatalogError> {
    let insert = "insert into components (sha256, bytes) select component, $2 from turns
        where id = $1 on conflict (sha256) do update set sha256 = excluded.sha256";
    changes.execute(sql(insert).bind(turn).bind(bytes)).await?;
    Ok(())
}

/// Drops the component of a turn that ended, and that of the question that it answered, unless
/// somebody needs it.
pub(super) async fn drop_components_of(
    changes: &mut Changes,
    turn: TurnId,
) -> Result<(), CatalogError> {
    drop_unused(changes, sql(UNUSED_OF_A_TURN).bind(turn)).await
}

/// Found by primary keys, and whoever needs one by an index of his own.
pub(super) const UNUSED_OF_A_TURN: &str = "select sha256 from components
    where sha256 in (select component from turns where id = $1
            or id = (select resumes_id from turns where id = $1))
        and not exists (select 1 from turns where component = sha256
            and state in ('queued', 'running', 'parked'))
        and not exists (select 1 from component_snapshots as named
            where named.sha256 = components.sha256)
    for update skip locked";

/// Whatever nobody needs any more: of workspaces and sessions that were deleted.
pub(super) const UNUSED: &str = "select sha256 from components
    where not exists (select 1 from turns where component = sha256
            and state in ('queued', 'running', 'parked'))
        and not exists (select 1 from component_snapshots as named
            where named.sha256 = components.sha256)
    for update skip locked";

/// Deletes those of some components that are still unused once they are locked: to queue a turn
/// with a component, or to name it, one has to lock it too.
pub(super) async fn drop_unused(
    changes: &mut Changes,
    candidates: Statement<'_>,
) -> Result<(), CatalogError> {
    let candidates: Vec<(Sha256,)> = changes.rows(candidates).await?.all()?;
    for (sha256,) in candidates {
        let delete = "delete from components where sha256 = $1
            and not exists (select 1 from turns where component = $1
                and state in ('queued', 'running', 'parked'))
            and not exists (select 1 from component_snapshots as named where named.sha256 = $1)";
        changes.execute(sql(delete).bind(sha256)).await?;
    }
    Ok(())
}

/// Writes an ending down, and says where the turn stands with it.
pub(super) async fn seal(
    changes: &mut Changes,
    lease: Lease,
    finish: &Finish,
    now: i64,
) -> Result<TurnState, CatalogError> {
    let (mut reply, mut question, mut failure, mut sentence) = (None, None, None, None);
    let state = match &finish.ending {
        Ending::Replied(text) => {
            reply = Some(text.as_str());
            TurnState::Done
        }
        Ending::Asked { question: text, .. } => {
            question = Some(text.as_str());
            TurnState::Parked
        }
        Ending::Failed { failure: kind, error } => {
            (failure, sentence) = (Some(kind.as_str()), Some(error.as_str()));
            TurnState::Failed
        }
    };
    let seal = "update turns set state = $3, said = $4, reply = $5, question = $6, failure = $7,
            error = $8, ended_ms = $9, lease_until_ms = null
        where id = $1 and attempt = $2 and state = 'running'";
    let seal = sql(seal)
        .bind(lease.turn)
        .bind(lease.attempt)
        .bind(state.as_str())
        .bind(&finish.said)
        .bind(reply)
        .bind(question)
        .bind(failure)
        .bind(sentence)
        .bind(now);
    held(changes.execute(seal).await? == 1)?;
    Ok(state)
}

pub(super) fn held(is_held: bool) -> Result<(), CatalogError> {
    if is_held { Ok(()) } else { Err(CatalogError::LeaseLost) }
}
