//! What is done with sessions outside of turns and matters to how long they are kept: files are
//! written, they are closed and reopened, held and released.

use super::database::{Changes, Statement, sql};
use super::deletions::{WHY_GONE, as_error, gone};
use super::session::{Ahead, lock};
use super::{Catalog, CatalogError, ToCome};
use crate::limits::ACTIVITY_KNOWN_MS;
use crate::scope::SessionId;

impl Catalog {
    /// Notes that a file was written in a session from outside of its turns, at most every few
    /// minutes, and tells whether the session is there to keep it. Whoever writes asks right before
    /// the write takes effect, and again after it: what was written into one that is gone has to be
    /// taken back.
    ///
    /// # Errors
    /// [`CatalogError::Swept`] or [`CatalogError::Deleted`] if it is not;
    /// [`CatalogError::Unavailable`].
    pub async fn note_write(&self, session: SessionId) -> Result<(), CatalogError> {
        let find = "select active_ms from sessions where id = $1 and sweeping_ms is null";
        let found: Option<(i64,)> = self.database.rows(sql(find).bind(session)).await?.first()?;
        let now = self.now();
        let noted = match found {
            Some((active,)) if active > now.saturating_sub(super::integer(ACTIVITY_KNOWN_MS)) => {
                true
            }
            Some(_) => self.note_active(session, now).await?,
            None => false,
        };
        if noted { Ok(()) } else { Err(self.gone(session).await?) }
    }

    async fn note_active(&self, session: SessionId, now: i64) -> Result<bool, CatalogError> {
        let note = "update sessions
            set active_ms = case when active_ms < $2 then $2 else active_ms end
            where id = $1 and sweeping_ms is null";
        Ok(self.database.execute(sql(note).bind(session).bind(now)).await? == 1)
    }

    /// What somebody is told who finds no session under an id.
    async fn gone(&self, session: SessionId) -> Result<CatalogError, CatalogError> {
        let why: Option<(Option<String>,)> =
            self.database.rows(sql(WHY_GONE).bind(session)).await?.first()?;
        Ok(as_error(why.and_then(|(why,)| why)))
    }

    /// Closes a session: no turn begins in it until it is reopened, and nothing wakes it any more.
    ///
    /// # Errors
    /// [`CatalogError::StillToCome`] while a turn runs or is queued, or a question waits;
    /// [`CatalogError::Swept`] or [`CatalogError::Deleted`] if it is gone;
    /// [`CatalogError::Unavailable`].
    pub async fn close_session(&self, session: SessionId) -> Result<(), CatalogError> {
        self.undone.retried(|| self.try_close(session)).await
    }

    async fn try_close(&self, session: SessionId) -> Result<(), CatalogError> {
        let mut changes = self.begin().await?;
        lock(&mut changes, session).await?;
        let ahead = Ahead::of(&mut changes, session).await?;
        let to_come = match ahead {
            Ahead { running: Some(_), .. } => Some(ToCome::Running),
            Ahead { queued: Some(_), .. } => Some(ToCome::Queued),
            Ahead { question: Some(_), .. } => Some(ToCome::Question),
            _ => None,
        };
        if let Some(to_come) = to_come {
            return Err(CatalogError::StillToCome(to_come));
        }
        let close = "update sessions set closed_ms = coalesce(closed_ms, $2)
            where id = $1 and sweeping_ms is null";
        if changes.execute(sql(close).bind(session).bind(self.now())).await? == 0 {
            return Err(gone(&mut changes, session).await?);
        }
        let wakeups = sql("delete from wakeups where session_id = $1").bind(session);
        changes.execute(wakeups).await?;
        self.commit(changes).await
    }

    /// Reopens a session that was closed, and counts that as something that happened in it.
    ///
    /// # Errors
    /// [`CatalogError::Swept`] or [`CatalogError::Deleted`] if it is gone;
    /// [`CatalogError::Unavailable`].
    pub async fn reopen_session(&self, session: SessionId) -> Result<(), CatalogError> {
        let reopen = "update sessions set closed_ms = null,
                active_ms = case when closed_ms is null or active_ms > $2 then active_ms else $2 end
            where id = $1 and sweeping_ms is null";
        self.change(session, sql(reopen).bind(session).bind(self.now())).await
    }

    /// Holds a session: nothing of it is removed, for its age or because somebody asks for it,
    /// until it is released.
    ///
    /// # Errors
    /// As [`Self::reopen_session`].
    pub async fn hold_session(&self, session: SessionId) -> Result<(), CatalogError> {
        let hold = "update sessions set held_ms = coalesce(held_ms, $2)
            where id = $1 and sweeping_ms is null";
        self.change(session, sql(hold).bind(session).bind(self.now())).await
    }

    /// Releases a session that was held.
    ///
    /// # Errors
    /// As [`Self::reopen_session`].
    pub async fn release_session(&self, session: SessionId) -> Result<(), CatalogError> {
        let release = "update sessions set held_ms = null
            where id = $1 and sweeping_ms is null";
        self.change(session, sql(release).bind(session)).await
    }

    async fn change(&self, session: SessionId, change: Statement<'_>) -> Result<(), CatalogError> {
        match self.database.execute(change).await? {
            0 => Err(self.gone(session).await?),
            _ => Ok(()),
        }
    }
}

/// Makes sure that a turn may begin in a session that is locked; how many are queued in it.
pub(super) async fn open_for_turns(
    changes: &mut Changes,
    session: SessionId,
) -> Result<u64, CatalogError> {
    let find = "select closed_ms, (select count(*) from turns
            where session_id = sessions.id and state = 'queued')
        from sessions where id = $1 and sweeping_ms is null";
    let found = changes.rows(sql(find).bind(session)).await?.first()?;
    let (closed, queued): (Option<i64>, u64) = match found {
        Some(found) => found,
        None => return Err(gone(changes, session).await?),
    };
    match closed {
        Some(_) => Err(CatalogError::Closed),
        None => Ok(queued),
    }
}
