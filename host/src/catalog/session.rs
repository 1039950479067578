//! What every transaction on the turns of a session begins with.

use super::CatalogError;
use super::database::{Changes, Statement, sql};
use super::turn::TurnId;
use crate::scope::SessionId;

/// Locks a session. Whatever is read after it stays as it is until the transaction ends.
pub(super) async fn lock(changes: &mut Changes, session: SessionId) -> Result<(), CatalogError> {
    changes.lock(sql("select id from sessions where id = $1 for update").bind(session)).await
}

/// Locks the session of a turn.
pub(super) async fn lock_of(changes: &mut Changes, turn: TurnId) -> Result<(), CatalogError> {
    let lock = "select id from sessions
        where id = (select session_id from turns where id = $1) for update";
    changes.lock(sql(lock).bind(turn)).await
}

/// What stands in the way of another turn in a session.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// The turn that runs, and when its lease ends.
    pub(super) running: Option<(TurnId, i64)>,
    /// What is asked.
    pub(super) question: Option<String>,
    /// Whether turns are queued.
    pub(super) queued: Option<TurnId>,
}

impl Ahead {
    /// Looks at a session that is locked.
    pub(super) async fn of(
        changes: &mut Changes,
        session: SessionId,
    ) -> Result<Self, CatalogError> {
        let mut ahead = Self::default();
        let rows = changes.rows(find(session)).await?;
        for (state, turn, lease, question) in rows.all::<(String, TurnId, Option<i64>, _)>()? {
            match state.as_str() {
                "running" => ahead.running = Some((turn, lease.unwrap_or_default())),
                "parked" => ahead.question = question,
                _ => ahead.queued = Some(turn),
            }
        }
        Ok(ahead)
    }
}

/// Each of its parts is found by an index of its own.
fn find(session: SessionId) -> Statement<'static> {
    sql("select state, id, lease_until_ms, cast(null as text) from turns
            where session_id = $1 and state = 'running'
        union all
        select state, id, cast(null as bigint), question from turns
            where session_id = $1 and state = 'parked'
        union all
        select 'queued', min(id), cast(null as bigint), cast(null as text) from turns
            where session_id = $1 and state = 'queued' having count(*) > 0")
    .bind(session)
}
