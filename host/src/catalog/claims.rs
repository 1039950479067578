//! What workers do with turns: claim them, keep them, end them. All of it is fenced by the
//! attempt: whoever lost a lease can do none of it.

use super::database::{Changes, Row, Statement, sql};
use super::ending::{close_question, drop_components_of, held, keep_component, keep_wakes, seal};
use super::events::{Entry, record};
use super::invocations::keep_invocations;
use super::session::lock_of;
use super::turn::{Ending, Finish, Lease, TurnState};
use super::{Catalog, CatalogError, Event, LogLevel};
use crate::scope::{AgentId, Coordinates, SessionId, Sha256, WorkspaceId};

/// A turn to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The right to run it.
    pub lease: Lease,
    /// Whose turn it is.
    pub coordinates: Coordinates,
    /// Its session.
    pub session: SessionId,
    /// The component that runs.
    pub component: Sha256,
    /// What the caller sent.
    pub input: String,
    /// What a person answered to the question that it resumes.
    pub answer: Option<String>,
}

/// Where a lease stands that was renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Go on.
    Held,
    /// Somebody asked the turn to stop.
    CancelAsked,
}

impl Catalog {
    /// Claims turns for a host that has room for so many: of every session the one that is next,
    /// if none of it runs; those first that have waited longest. Turns whose hosts are dead are
    /// given up before.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn claim(&self, host: &str, room: u32) -> Result<Vec<Claimed>, CatalogError> {
        self.undone.retried(|| self.give_up_dead()).await?;
        if room == 0 {
            return Ok(Vec::new());
        }
        self.undone.retried(|| self.try_claim(host, room)).await
    }

    async fn try_claim(&self, host: &str, room: u32) -> Result<Vec<Claimed>, CatalogError> {
        let mut changes = self.begin().await?;
        let ready = "select id, agent_id,
                (select workspace_id from agents where agents.id = sessions.agent_id)
            from sessions where ready_ms <= $1 and agent_id in (select agents.id from agents
                join workspaces on workspaces.id = agents.workspace_id
                where workspaces.store_id = $2)
            order by ready_ms, id limit $3 for update skip locked";
        let ready = sql(ready).bind(self.now()).bind(self.store).bind(room);
        let ready = changes.rows(ready).await?.map(coordinates)?;
        let mut claimed = Vec::with_capacity(ready.len());
        for (coordinates, session) in ready {
            claimed.extend(self.claim_of(&mut changes, host, coordinates, session).await?);
        }
        self.commit(changes).await?;
        Ok(claimed)
    }

    async fn claim_of(
        &self,
        changes: &mut Changes,
        host: &str,
        coordinates: Coordinates,
        session: SessionId,
    ) -> Result<Option<Claimed>, CatalogError> {
        let now = self.now();
        let claim = "update turns set state = 'running', host = $2, started_ms = $3,
                lease_until_ms = $4, recorded = 0
            where id = (select id from turns where session_id = $1 and state = 'queued'
                and not exists (select 1 from turns as asking where asking.session_id = $1
                    and asking.state = 'parked'
                    and (turns.resumes_id is null or turns.resumes_id <> asking.id))
                order by position limit 1)
            returning id, attempt, component, input, answer";
        let claim = sql(claim).bind(session).bind(host).bind(now).bind(self.lease_end());
        let claimed = changes.rows(claim).await?.first_by(|row| {
            let lease = Lease { turn: row.at(0)?, attempt: row.at(1)? };
            let (component, input) = (row.at(2)?, row.at(3)?);
            let answer = row.at(4)?;
            Ok(Claimed { lease, coordinates, session, component, input, answer })
        })?;
        if let Some(Claimed { lease, .. }) = &claimed {
            let running = (*lease, &Event::State(TurnState::Running));
            record(changes, lease.turn, &[running], now).await?;
        }
        Ok(claimed)
    }

    /// Keeps a lease for another while, and records what happened since the last time: at once,
    /// so that who watches the session sees it. `recorded` is how many events the caller knows to
    /// have been recorded of this attempt: of a call whose answer was lost there may be more, and
    /// those are not recorded again.
    ///
    /// # Errors
    /// [`CatalogError::LeaseLost`] if the turn was given up; then nothing is recorded.
    /// [`CatalogError::Unavailable`]: whether anything was recorded is not known.
    pub async fn renew(
        &self,
        lease: Lease,
        recorded: u64,
        events: &[Event],
    ) -> Result<Standing, CatalogError> {
        if events.is_empty() {
            let renewed = self.database.rows(self.renewal(lease)).await?;
            return standing(renewed.first()?);
        }
        self.undone.retried(|| self.try_renew(lease, recorded, events)).await
    }

    async fn try_renew(
        &self,
        lease: Lease,
        recorded: u64,
        events: &[Event],
    ) -> Result<Standing, CatalogError> {
        let mut changes = self.begin().await?;
        lock_of(&mut changes, lease.turn).await?;
        let standing = standing(changes.rows(self.renewal(lease)).await?.first()?)?;
        let entries = unrecorded(&mut changes, lease, recorded, events).await?;
        let count = "update turns set recorded = recorded + $2 where id = $1";
        changes.execute(sql(count).bind(lease.turn).bind(entries.len() as u64)).await?;
        record(&mut changes, lease.turn, &entries, self.now()).await?;
        self.commit(changes).await?;
        Ok(standing)
    }

    fn renewal(&self, lease: Lease) -> Statement<'static> {
        sql("update turns set lease_until_ms = $3
            where id = $1 and attempt = $2 and state = 'running' returning cancel_ms")
        .bind(lease.turn)
        .bind(lease.attempt)
        .bind(self.lease_end())
    }

    /// Hands a turn back that is not to be run here any more: its lease is over at once, and it
    /// is tried again as if its host had died.
    ///
    /// # Errors
    /// [`CatalogError::LeaseLost`] if it was given up before; [`CatalogError::Unavailable`].
    pub async fn release(&self, lease: Lease) -> Result<(), CatalogError> {
        let release = sql("update turns set lease_until_ms = 0
            where id = $1 and attempt = $2 and state = 'running'")
        .bind(lease.turn)
        .bind(lease.attempt);
        held(self.database.execute(release).await? == 1)
    }

    /// Ends a turn: its outcome, what it said, its wakes and its events, all or nothing. The
    /// question that it answered is closed, unless it failed; then the question stays open. Wakes
    /// beyond those that a session may have to come (100) are dropped, and told as a line of the
    /// log.
    ///
    /// # Errors
    /// [`CatalogError::LeaseLost`] if the turn was given up; [`CatalogError::Unavailable`].
    pub async fn finish_turn(&self, lease: Lease, finish: &Finish) -> Result<(), CatalogError> {
        self.undone.retried(|| self.try_finish(lease, finish)).await
    }

    async fn try_finish(&self, lease: Lease, finish: &Finish) -> Result<(), CatalogError> {
        let mut changes = self.begin().await?;
        lock_of(&mut changes, lease.turn).await?;
        let now = self.now();
        let (mut closed, mut dropped) = (None, 0);
        if !matches!(finish.ending, Ending::Failed { .. }) {
            closed = close_question(&mut changes, lease.turn, now).await?;
            dropped = keep_wakes(&mut changes, lease.turn, &finish.wakes, now).await?;
        }
        if let Ending::Asked { component: Some(component), .. } = &finish.ending {
            keep_component(&mut changes, lease.turn, component).await?;
        }
        let state = Event::State(seal(&mut changes, lease, finish, now).await?);
        keep_invocations(&mut changes, lease, &finish.invoked, now).await?;
        let mut entries = unrecorded(&mut changes, lease, finish.recorded, &finish.events).await?;
        let told = dropped_wakes(dropped);
        entries.extend(told.iter().map(|told| (lease, told)));
        entries.push((lease, &state));
        entries.extend(closed.map(|closed| (closed, &Event::State(TurnState::Done))));
        record(&mut changes, lease.turn, &entries, now).await?;
        drop_components_of(&mut changes, lease.turn).await?;
        self.commit(changes).await
    }
}

/// Those of some events, which come after so many that were recorded for sure, that are not recorded
/// yet.
async fn unrecorded<'e>(
    changes: &mut Changes,
    lease: Lease,
    recorded: u64,
    events: &'e [Event],
) -> Result<Vec<Entry<'e>>, CatalogError> {
    let find = sql("select recorded from turns where id = $1").bind(lease.turn);
    let (there,): (u64,) = changes.rows(find).await?.one()?;
    let again = usize::try_from(there.saturating_sub(recorded)).unwrap_or(usize::MAX);
    Ok(events.iter().skip(again).map(|event| (lease, event)).collect())
}

/// What is not kept is told.
fn dropped_wakes(count: usize) -> Option<Event> {
    let message = format!("{count} wakes were dropped: as many as may be are still to come");
    (count > 0).then_some(Event::Logged { level: LogLevel::Warn, message })
}

fn coordinates(row: &Row) -> Result<(Coordinates, SessionId), CatalogError> {
    let session: SessionId = row.at(0)?;
    let (agent, workspace): (AgentId, WorkspaceId) = (row.at(1)?, row.at(2)?);
    Ok((Coordinates { workspace, agent, session: Some(session) }, session))
}

fn standing(renewed: Option<(Option<i64>,)>) -> Result<Standing, CatalogError> {
    held(renewed.is_some())?;
    let asked = renewed.and_then(|(cancelled,)| cancelled);
    Ok(asked.map_or(Standing::Held, |_| Standing::CancelAsked))
}
