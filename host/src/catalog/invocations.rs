//! What turns asked of their hosts: calls that were alike are one row, kept for a day.

use std::borrow::Cow;

use super::database::{Changes, places, sql};
use super::turn::{Lease, TurnId};
use super::{Catalog, CatalogError, integer};
use crate::limits::INVOCATIONS_KEPT_MS;

/// Calls of one verb in one scope that ended alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invoked {
    /// Which verb, by its interface: `files.read`.
    pub verb: Cow<'static, str>,
    /// The scope that they named; empty where they named none.
    pub scope: Cow<'static, str>,
    /// `ok`, or the word of the refusal.
    pub outcome: Cow<'static, str>,
    /// How many there were.
    pub calls: u64,
    /// Bytes of files that they read or wrote, all together.
    pub bytes: u64,
    /// How long the guest waited for them, all together, in microseconds.
    pub waited_us: u64,
}

/// What an attempt at a turn asked of its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvokedBy {
    /// Which attempt.
    pub attempt: u32,
    /// What it asked.
    pub invoked: Invoked,
}

impl Catalog {
    /// What a turn asked of its hosts, for a day after it ended: an attempt that was given up is not
    /// among it. In the order of attempts, verbs, scopes and outcomes.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn invocations(&self, turn: TurnId) -> Result<Vec<InvokedBy>, CatalogError> {
        let list = "select attempt, verb, scope, outcome, calls, bytes, waited_us
            from tool_invocations where turn_id = $1 order by attempt, verb, scope, outcome";
        self.database.rows(sql(list).bind(turn)).await?.map(|row| {
            let text = |at| row.at::<String>(at).map(Cow::Owned);
            let invoked = Invoked {
                verb: text(1)?,
                scope: text(2)?,
                outcome: text(3)?,
                calls: row.at(4)?,
                bytes: row.at(5)?,
                waited_us: row.at(6)?,
            };
            Ok(InvokedBy { attempt: row.at(0)?, invoked })
        })
    }
}

/// Most kinds of calls that are kept of a turn: more than there are.
const KINDS_MAX: usize = 1_000;

/// Keeps what an attempt at a turn asked, in the transaction that ends it.
pub(super) async fn keep_invocations(
    changes: &mut Changes,
    by: Lease,
    invoked: &[Invoked],
    now: i64,
) -> Result<(), CatalogError> {
    let invoked = &invoked[..invoked.len().min(KINDS_MAX)];
    if invoked.is_empty() {
        return Ok(());
    }
    let expires = now.saturating_add(integer(INVOCATIONS_KEPT_MS));
    let insert =
        "insert into tool_invocations (turn_id, attempt, verb, scope, outcome, calls, bytes,
        waited_us, expires_ms) values ";
    let insert = sql([insert, &places(invoked.len(), 9)].concat());
    let insert = invoked.iter().fold(insert, |insert, one| {
        let insert = insert.bind(by.turn).bind(by.attempt).bind(&*one.verb).bind(&*one.scope);
        let insert = insert.bind(&*one.outcome).bind(one.calls).bind(one.bytes);
        insert.bind(one.waited_us).bind(expires)
    });
    changes.execute(insert).await?;
    Ok(())
}
