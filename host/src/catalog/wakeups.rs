//! Turns to come: at a time, once or again and again. Each time is turned into one queued turn,
//! however many hosts look.

use std::fmt;

use anyhow::Context as _;
use uuid::Uuid;

use super::database::{Row, sql};
use super::keeping::open_for_turns;
use super::queue::{New, bounded};
use super::session::lock;
use super::turn::TurnId;
use super::{Catalog, CatalogError, Cron, integer, new_id, unsigned};
use crate::limits::{
    CATALOG_PAGE_ROWS_MAX, SESSION_QUEUED_MAX, SESSION_WAKEUPS_MAX, TURN_TEXT_BYTES_MAX,
};
use crate::scope::{AgentId, Coordinates, SessionId, Sha256, WorkspaceId};

/// A wakeup, as the catalog made it; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WakeupId(pub Uuid);

impl fmt::Display for WakeupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_hyphenated().fmt(f)
    }
}

/// When a session is woken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// Once, in milliseconds since the Unix epoch; at once if that is past.
    At(u64),
    /// Whenever the pattern says so, from now on.
    Cron(Cron),
}

/// A wakeup that is still to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wakeup {
    /// Which one it is.
    pub id: WakeupId,
    /// The turn that asked for it, if a turn did.
    pub turn: Option<TurnId>,
    /// When it is next due, in milliseconds since the Unix epoch.
    pub due_ms: u64,
    /// The input of the turn that it becomes.
    pub input: String,
    /// Set if it recurs.
    pub cron: Option<Cron>,
}

/// A wakeup that is due, to be handed to [`Catalog::fire`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueWakeup {
    id: WakeupId,
    due_ms: i64,
    /// Whose turn it becomes.
    pub coordinates: Coordinates,
    session: SessionId,
    /// The component that its agent runs.
    pub component: Sha256,
}

/// One time at which a session was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Firing {
    /// By which wakeup.
    pub wakeup: WakeupId,
    /// When it was due, in milliseconds since the Unix epoch.
    pub due_ms: u64,
    /// When it was queued, in milliseconds since the Unix epoch.
    pub fired_ms: u64,
    /// The turn that it became.
    pub turn: TurnId,
}

impl Catalog {
    /// Asks for a session to be woken.
    ///
    /// # Errors
    /// [`CatalogError::TooLarge`] for an input over 4 MiB; [`CatalogError::TooMany`] if 100 are
    /// still to come; [`CatalogError::Closed`]; [`CatalogError::Swept`] or
    /// [`CatalogError::Deleted`] if the session is gone; [`CatalogError::Unavailable`].
    pub async fn add_wakeup(
        &self,
        session: SessionId,
        when: &When,
        input: &str,
    ) -> Result<WakeupId, CatalogError> {
        self.undone.retried(|| self.try_add_wakeup(session, when, input)).await
    }

    async fn try_add_wakeup(
        &self,
        session: SessionId,
        when: &When,
        input: &str,
    ) -> Result<WakeupId, CatalogError> {
        bounded(Some(input), TURN_TEXT_BYTES_MAX)?;
        let mut changes = self.begin().await?;
        lock(&mut changes, session).await?;
        open_for_turns(&mut changes, session).await?;
        let count = sql("select count(*) from wakeups where session_id = $1").bind(session);
        let (count,): (u64,) = changes.rows(count).await?.one()?;
        if count >= SESSION_WAKEUPS_MAX {
            return Err(CatalogError::TooMany { count_max: SESSION_WAKEUPS_MAX });
        }
        let (now, id) = (self.now(), WakeupId(new_id()));
        let (due, cron) = match when {
            When::At(ms) => (integer(*ms), None),
            // A pattern that was taken comes again and again.
            When::Cron(cron) => (cron.after(unsigned(now)).map_or(i64::MAX, integer), Some(cron)),
        };
        let insert = "insert into wakeups (id, session_id, due_ms, input, cron, zone, created_ms)
            values ($1, $2, $3, $4, $5, $6, $7)";
        let insert = sql(insert).bind(id.0).bind(session).bind(due).bind(input);
        let insert = insert.bind(cron.map(Cron::pattern)).bind(cron.map(Cron::zone)).bind(now);
        changes.execute(insert).await?;
        self.commit(changes).await?;
        Ok(id)
    }

    /// The wakeups of a session that are still to come, the next one first.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn wakeups(&self, session: SessionId) -> Result<Vec<Wakeup>, CatalogError> {
        let list = "select id, turn_id, due_ms, input, cron, zone from wakeups
            where session_id = $1 order by due_ms, id limit $2";
        let list = sql(list).bind(session).bind(CATALOG_PAGE_ROWS_MAX);
        self.database.rows(list).await?.map(wakeup)
    }

    /// Takes a wakeup back; whether it was still to come.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn remove_wakeup(
        &self,
        session: SessionId,
        wakeup: WakeupId,
    ) -> Result<bool, CatalogError> {
        let remove = "delete from wakeups where id = $1 and session_id = $2";
        let removed = self.database.execute(sql(remove).bind(wakeup.0).bind(session)).await?;
        Ok(removed == 1)
    }

    /// Wakeups of this store that are due, those first that have been so for longest: at most
    /// `limit`, and at most 1,000. One whose agent has no component waits until it has one.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn due_wakeups(&self, limit: u32) -> Result<Vec<DueWakeup>, CatalogError> {
        let due = "select wakeups.id, due_ms, sessions.id, agent_id, workspace_id,
                coalesce(component_sha256, (select sha256 from component_snapshots as named
                    where named.workspace_id = agents.workspace_id
                        and named.name = agents.component_name
                    order by number desc limit 1))
            from wakeups join sessions on sessions.id = wakeups.session_id
            join agents on agents.id = agent_id
            join workspaces on workspaces.id = workspace_id
            where due_ms <= $1 and store_id = $2
                and (component_name is not null or component_sha256 is not null)
                and (select count(*) from turns where turns.session_id = sessions.id
                    and turns.state = 'queued') < $4
            order by due_ms, wakeups.id limit $3";
        let due = sql(due).bind(self.now()).bind(self.store).bind(limit.min(CATALOG_PAGE_ROWS_MAX));
        self.database.rows(due.bind(SESSION_QUEUED_MAX)).await?.map(due_wakeup)
    }

    /// Turns a wakeup that is due into a queued turn, as [`Self::enqueue`] does, unless another host
    /// did. One that recurs is due again at its next time from now on: times that
    /// nobody was there for are made up for once, and not one by one.
    ///
    /// # Errors
    /// [`CatalogError::QueueFull`]; [`CatalogError::NoComponent`] if the component was replaced
    /// meanwhile; [`CatalogError::Unavailable`]. The wakeup stays due then.
    pub async fn fire(
        &self,
        due: &DueWakeup,
        retries: u32,
    ) -> Result<Option<TurnId>, CatalogError> {
        self.undone.retried(|| self.try_fire(due, retries)).await
    }

    async fn try_fire(
        &self,
        due: &DueWakeup,
        retries: u32,
    ) -> Result<Option<TurnId>, CatalogError> {
        let mut changes = self.begin().await?;
        lock(&mut changes, due.session).await?;
        let find = "select id, turn_id, due_ms, input, cron, zone from wakeups
            where id = $1 and due_ms = $2";
        let find = sql(find).bind(due.id.0).bind(due.due_ms);
        let Some(found) = changes.rows(find).await?.first_by(wakeup)? else { return Ok(None) };
        let now = self.now();
        let next = found.cron.as_ref().and_then(|cron| cron.after(unsigned(now)));
        let moved = match next {
            Some(next) => {
                let again = "update wakeups set due_ms = $3 where id = $1 and due_ms = $2";
                sql(again).bind(due.id.0).bind(due.due_ms).bind(next)
            }
            None => {
                let done = "delete from wakeups where id = $1 and due_ms = $2";
                sql(done).bind(due.id.0).bind(due.due_ms)
            }
        };
        if changes.execute(moved).await? == 0 {
            return Ok(None);
        }
        let new = New {
            session: due.session,
            resumes: None,
            attempt: 1,
            component: due.component,
            input: &found.input,
            answer: None,
            store: self.store,
            retries,
            request: None,
        };
        let turn = new.queue(&mut changes, now).await?;
        let insert = "insert into trigger_firings
            (wakeup_id, due_ms, session_id, turn_id, fired_ms) values ($1, $2, $3, $4, $5)";
        let insert = sql(insert).bind(due.id.0).bind(due.due_ms).bind(due.session).bind(turn);
        changes.execute(insert.bind(now)).await?;
        self.commit(changes).await?;
        Ok(Some(turn))
    }

    /// When a session was woken, the latest first: at most `limit`, and at most 1,000.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn firings(
        &self,
        session: SessionId,
        limit: u32,
    ) -> Result<Vec<Firing>, CatalogError> {
        let list = "select wakeup_id, due_ms, fired_ms, turn_id from trigger_firings
            where session_id = $1 order by fired_ms desc, wakeup_id limit $2";
        let list = sql(list).bind(session).bind(limit.min(CATALOG_PAGE_ROWS_MAX));
        self.database.rows(list).await?.map(|row| {
            let (wakeup, turn) = (WakeupId(row.at(0)?), row.at(3)?);
            Ok(Firing { wakeup, due_ms: row.at(1)?, fired_ms: row.at(2)?, turn })
        })
    }
}

fn wakeup(row: &Row) -> Result<Wakeup, CatalogError> {
    let (pattern, zone): (Option<String>, Option<String>) = (row.at(4)?, row.at(5)?);
    let cron = pattern.zip(zone).map(|(pattern, zone)| Cron::parse(&pattern, &zone));
    let cron = cron.transpose().context("the catalog holds what is no pattern of times");
    Ok(Wakeup {
        id: WakeupId(row.at(0)?),
        turn: row.at(1)?,
        due_ms: row.at(2)?,
        input: row.at(3)?,
        cron: cron.map_err(CatalogError::unavailable)?,
    })
}

fn due_wakeup(row: &Row) -> Result<DueWakeup, CatalogError> {
    let session: SessionId = row.at(2)?;
    let (agent, workspace): (AgentId, WorkspaceId) = (row.at(3)?, row.at(4)?);
    let coordinates = Coordinates { workspace, agent, session: Some(session) };
    let (id, due_ms) = (WakeupId(row.at(0)?), row.at(1)?);
    Ok(DueWakeup { id, due_ms, coordinates, session, component: row.at(5)? })
}
