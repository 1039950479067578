//! What becomes of turns whose hosts fell silent.

use super::database::{Changes, sql};
use super::ending::drop_components_of;
use super::events::{record, said};
use super::session::lock_of;
use super::turn::{Failure, Lease, TurnId, TurnState};
use super::{Catalog, CatalogError, Event};
use crate::limits::TURN_RETRY_PAUSE_MS;

const ABANDONED: &str = "the process that ran this turn ended without a word";
const CANCELLED: &str = "the turn was cancelled";

/// How many are looked for at a time.
const PAGE: u32 = 64;

/// Why a turn is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// Its lease is over, if it is.
    LeaseIsOver,
    /// Somebody knows it.
    ProcessIsGone,
}

impl Catalog {
    /// Gives up the turns of this store whose leases are over.
    pub(super) async fn give_up_dead(&self) -> Result<(), CatalogError> {
        let dead = "select turns.id from turns
            join sessions on sessions.id = turns.session_id
            join agents on agents.id = sessions.agent_id
            join workspaces on workspaces.id = agents.workspace_id
            where turns.state = 'running' and turns.lease_until_ms < $1
                and workspaces.store_id = $2
            order by turns.lease_until_ms limit $3";
        let dead = sql(dead).bind(self.now()).bind(self.store).bind(PAGE);
        let dead: Vec<(TurnId,)> = self.database.rows(dead).await?.all()?;
        for (turn,) in dead {
            let mut changes = self.begin().await?;
            lock_of(&mut changes, turn).await?;
            match give_up(&mut changes, turn, Why::LeaseIsOver, self.now()).await {
                Ok(_) => self.commit(changes).await?,
                // It was deleted, ended or renewed meanwhile.
                Err(CatalogError::Deleted) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Takes a turn from a dead host: it is queued again, if it may be tried again and nobody asked to
/// stop it, and else sealed with what its guest had said. The session is locked.
///
/// # Errors
/// [`CatalogError::Deleted`] if it does not run, or not without a host.
pub(super) async fn give_up(
    changes: &mut Changes,
    turn: TurnId,
    why: Why,
    now: i64,
) -> Result<TurnState, CatalogError> {
    let bound = if why == Why::LeaseIsOver { now } else { i64::MAX };
    let running = "select attempt, retries, cancel_ms from turns
        where id = $1 and state = 'running' and lease_until_ms < $2 for update";
    let found = changes.rows(sql(running).bind(turn).bind(bound)).await?.first()?;
    let (attempt, retries, cancelled): (_, i64, Option<i64>) =
        found.ok_or(CatalogError::Deleted)?;
    let held = Lease { turn, attempt };
    let next = match (cancelled, retries) {
        (Some(_), _) => seal(changes, held, Failure::Cancelled, CANCELLED, now).await?,
        (None, 0) => seal(changes, held, Failure::Abandoned, ABANDONED, now).await?,
        (None, _) => queue_again(changes, held, now).await?,
    };
    record(changes, turn, &[(next.0, &Event::State(next.1))], now).await?;
    if next.1 == TurnState::Failed {
        drop_components_of(changes, turn).await?;
    }
    Ok(next.1)
}

/// Ends a turn that no worker will end, with what its guest said in that attempt, unless that is
/// known already.
pub(super) async fn seal(
    changes: &mut Changes,
    of: Lease,
    failure: Failure,
    sentence: &str,
    now: i64,
) -> Result<(Lease, TurnState), CatalogError> {
    let partial = said(changes, of).await?;
    let seal = "update turns set state = 'failed', failure = $2, error = $3,
            said = case when said = '' then $4 else said end, ended_ms = $5, lease_until_ms = null
        where id = $1 and state in ('queued', 'running', 'parked')";
    let seal = sql(seal).bind(of.turn).bind(failure.as_str()).bind(sentence).bind(&partial);
    changes.execute(seal.bind(now)).await?;
    Ok((of, TurnState::Failed))
}

/// The next attempt is numbered now, so that whoever holds the last one can do nothing more.
async fn queue_again(
    changes: &mut Changes,
    held: Lease,
    now: i64,
) -> Result<(Lease, TurnState), CatalogError> {
    let pause = TURN_RETRY_PAUSE_MS.saturating_mul(held.attempt.into());
    let again = "update turns set state = 'queued', attempt = attempt + 1, retries = retries - 1,
            host = null, lease_until_ms = null, due_ms = $2
        where id = $1 and state = 'running'";
    let due = now.saturating_add(super::integer(pause));
    changes.execute(sql(again).bind(held.turn).bind(due)).await?;
    let next = Lease { attempt: held.attempt.saturating_add(1), ..held };
    Ok((next, TurnState::Queued))
}
