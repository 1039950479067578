//! The queue of files owed to deletion: whose they were, never their keys. Triggers fill it; a row
//! is worked on by one sweeper at a time, and stays as the proof of what was removed.

use anyhow::anyhow;
use uuid::Uuid;

use super::database::{Changes, Row, sql};
use super::ending::held;
use super::{Catalog, CatalogError, Label, integer};
use crate::limits::{CATALOG_PAGE_ROWS_MAX, DELETION_PAUSE_MS, DELETION_PAUSES_MAX};
use crate::scope::{AgentId, Deletion, SessionId, WorkspaceId};

/// Why something was deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reason {
    /// Somebody asked for it.
    #[default]
    Asked,
    /// Somebody asked for all that there is of somebody or something to be erased.
    Erased,
    /// A session was idle for longer than it is kept.
    Idle,
    /// A session was closed for longer than it is kept then.
    Closed,
    /// An agent has more sessions than are kept, and this one is none of the latest.
    BeyondLast,
}

impl Reason {
    const ALL: [Self; 5] = [Self::Asked, Self::Erased, Self::Idle, Self::Closed, Self::BeyondLast];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Erased => "erased",
            Self::Idle => "idle",
            Self::Closed => "closed",
            Self::BeyondLast => "beyond-last",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }

    /// Whether it went for its age, and nobody asked for it.
    pub fn is_sweep(self) -> bool {
        match self {
            Self::Asked | Self::Erased => false,
            Self::Idle | Self::Closed | Self::BeyondLast => true,
        }
    }
}

/// What was removed from a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Older versions and marks of deletions, where a bucket keeps them.
    pub versions: u64,
    /// Uploads that were never finished.
    pub uploads: u64,
    /// Over the pages of what was removed, in hexadecimal; `None` if nothing was.
    pub digest: Option<String>,
    /// What cannot be promised of this store, in a sentence.
    pub unproved: Option<String>,
}

/// A deletion that is owed, or was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletionRecord {
    /// Whose files.
    pub deletion: Deletion,
    /// When it was deleted, in milliseconds since the Unix epoch.
    pub deleted_ms: u64,
    /// Why, if anybody said so.
    pub why: Option<Reason>,
    /// The subject who asked for it; `None` for whoever runs the host, and for the host itself.
    pub by: Option<String>,
    /// How often somebody began with it.
    pub attempt: u32,
    /// What was removed so far.
    pub removed: Tally,
    /// The same as whoever empties the store has it, page by page, in its own words: what it goes on
    /// from.
    pub emptied: Option<String>,
    /// Since when nothing is left as far as can be seen, in milliseconds since the Unix epoch.
    pub emptied_ms: Option<u64>,
    /// Since when it is known that nothing is left and nothing can come, in milliseconds since the
    /// Unix epoch.
    pub proved_ms: Option<u64>,
}

pub(super) const COLUMNS: &str =
    "select id, kind, workspace_id, agent_id, deleted_ms, why, by_subject,
    attempt, files, bytes, versions, uploads, digest, unproved, emptied_ms,
    proved_ms, emptied from storage_deletions";

/// The one that is due for longest.
pub(super) const DUE: &str = " where store_id = $1 and proved_ms is null and due_ms <= $2
    order by due_ms, deleted_ms, id limit 1 for update skip locked";

impl Catalog {
    /// Deletions of this store whose files may still be there, the oldest first: at most 1,000.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn owed(&self) -> Result<Vec<Deletion>, CatalogError> {
        let owed = "select id, kind, workspace_id, agent_id from storage_deletions
            where store_id = $1 and proved_ms is null and emptied_ms is null
            order by deleted_ms, id limit $2";
        let owed = sql(owed).bind(self.store).bind(CATALOG_PAGE_ROWS_MAX);
        self.database.rows(owed).await?.map(deletion)
    }

    /// What is known of the deletion of something, by its id.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn deletion(&self, id: Uuid) -> Result<Option<DeletionRecord>, CatalogError> {
        let find = sql([COLUMNS, " where id = $1 and store_id = $2"].concat());
        self.database.rows(find.bind(id).bind(self.store)).await?.first_by(record)
    }

    /// How many deletions of this store are not proved yet.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn unproved_deletions(&self) -> Result<u64, CatalogError> {
        let count = "select count(*) from storage_deletions
            where store_id = $1 and proved_ms is null";
        let (count,) = self.database.rows(sql(count).bind(self.store)).await?.one()?;
        Ok(count)
    }

    /// Takes the deletion that is due for longest, for so many milliseconds; `None` if none is. It
    /// is nobody else's until then, or until it is put off or settled.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn claim_deletion(
        &self,
        lease_ms: u64,
    ) -> Result<Option<DeletionRecord>, CatalogError> {
        // Mostly none is, and nothing has to be locked.
        let due = "select id from storage_deletions
            where store_id = $1 and proved_ms is null and due_ms <= $2 limit 1";
        let due = self.database.rows(sql(due).bind(self.store).bind(self.now())).await?;
        if due.first::<(Uuid,)>()?.is_none() {
            return Ok(None);
        }
        self.undone.retried(|| self.try_claim_deletion(lease_ms)).await
    }

    async fn try_claim_deletion(
        &self,
        lease_ms: u64,
    ) -> Result<Option<DeletionRecord>, CatalogError> {
        let mut changes = self.begin().await?;
        let due = sql([COLUMNS, DUE].concat()).bind(self.store).bind(self.now());
        let Some(found) = changes.rows(due).await?.first_by(record)? else { return Ok(None) };
        let claimed = DeletionRecord { attempt: found.attempt.saturating_add(1), ..found };
        let claim = "update storage_deletions set attempt = $2, due_ms = $3 where id = $1";
        let claim = sql(claim).bind(id_of(claimed.deletion)).bind(claimed.attempt);
        changes.execute(claim.bind(self.after(lease_ms))).await?;
        self.commit(changes).await?;
        Ok(Some(claimed))
    }

    /// Keeps a deletion for another while.
    ///
    /// # Errors
    /// [`CatalogError::LeaseLost`] if somebody else has it, or it is proved;
    /// [`CatalogError::Unavailable`].
    pub async fn keep_deletion(
        &self,
        claimed: &DeletionRecord,
        lease_ms: u64,
    ) -> Result<(), CatalogError> {
        let keep = "update storage_deletions set due_ms = $3
            where id = $1 and attempt = $2 and proved_ms is null";
        let keep = sql(keep).bind(id_of(claimed.deletion)).bind(claimed.attempt);
        held(self.database.execute(keep.bind(self.after(lease_ms))).await? == 1)
    }

    /// Keeps a deletion for another while, and what whoever empties the store goes on from.
    ///
    /// # Errors
    /// As [`Self::keep_deletion`].
    pub async fn note_emptied(
        &self,
        claimed: &DeletionRecord,
        emptied: &str,
        lease_ms: u64,
    ) -> Result<(), CatalogError> {
        let note = "update storage_deletions set emptied = $3, due_ms = $4
            where id = $1 and attempt = $2 and proved_ms is null";
        let note = sql(note).bind(id_of(claimed.deletion)).bind(claimed.attempt).bind(emptied);
        held(self.database.execute(note.bind(self.after(lease_ms))).await? == 1)
    }

    /// Lets a deletion rest that failed: the longer, the more often it was tried.
    ///
    /// # Errors
    /// As [`Self::keep_deletion`].
    pub async fn rest_deletion(&self, claimed: &DeletionRecord) -> Result<(), CatalogError> {
        let pauses = u64::from(claimed.attempt.min(DELETION_PAUSES_MAX));
        self.keep_deletion(claimed, DELETION_PAUSE_MS.saturating_mul(pauses)).await
    }

    /// Notes that nothing is left of a deletion as far as can be seen, and what was removed by now:
    /// at a time, in milliseconds since the Unix epoch, somebody looks once more.
    ///
    /// # Errors
    /// As [`Self::keep_deletion`].
    pub async fn put_off_deletion(
        &self,
        claimed: &DeletionRecord,
        until_ms: u64,
    ) -> Result<(), CatalogError> {
        let put_off = "update storage_deletions set due_ms = $3, files = $4, bytes = $5,
                versions = $6, uploads = $7, digest = $8, unproved = $9,
                emptied_ms = coalesce(emptied_ms, $10)
            where id = $1 and attempt = $2 and proved_ms is null";
        self.note(put_off, claimed, integer(until_ms)).await
    }

    /// Notes that nothing is left of a deletion, that nothing can come, and what was removed: it is
    /// owed no more, and its record stays.
    ///
    /// # Errors
    /// As [`Self::keep_deletion`].
    pub async fn settle_deletion(&self, claimed: &DeletionRecord) -> Result<(), CatalogError> {
        let settle = "update storage_deletions set due_ms = $3, files = $4, bytes = $5,
                versions = $6, uploads = $7, digest = $8, unproved = $9,
                emptied_ms = coalesce(emptied_ms, $10), proved_ms = $10
            where id = $1 and attempt = $2 and proved_ms is null";
        self.note(settle, claimed, self.now()).await
    }

    async fn note(
        &self,
        note: &'static str,
        claimed: &DeletionRecord,
        due_ms: i64,
    ) -> Result<(), CatalogError> {
        let Tally { files, bytes, versions, uploads, digest, unproved } = &claimed.removed;
        let note = sql(note).bind(id_of(claimed.deletion)).bind(claimed.attempt).bind(due_ms);
        let note = note.bind(*files).bind(*bytes).bind(*versions).bind(*uploads);
        let note = note.bind(digest.as_deref()).bind(unproved.as_deref()).bind(self.now());
        held(self.database.execute(note).await? == 1)
    }

    fn after(&self, ms: u64) -> i64 {
        self.now().saturating_add(integer(ms))
    }
}

/// Says when, why and for whom something is deleted, right before it is: its mark tells it.
pub(super) async fn say_why(
    changes: &mut Changes,
    statement: &'static str,
    id: Uuid,
    (why, by): (Reason, Option<&Label>),
    now: i64,
) -> Result<(), CatalogError> {
    let say = sql(statement).bind(id).bind(now).bind(why.as_str()).bind(by.map(Label::as_str));
    changes.execute(say).await?;
    Ok(())
}

/// What somebody is told of a session that is not there, or is going, in a transaction that has
/// locked it.
pub(super) async fn gone(
    changes: &mut Changes,
    session: SessionId,
) -> Result<CatalogError, CatalogError> {
    let why: Option<(Option<String>,)> =
        changes.rows(sql(WHY_GONE).bind(session)).await?.first()?;
    Ok(as_error(why.and_then(|(why,)| why)))
}

/// Why a session is going, if it is. Of one whose row is gone nobody is told more than of one that
/// never was.
pub(super) const WHY_GONE: &str =
    "select gone_why from sessions where id = $1 and sweeping_ms is not null";

/// What somebody is told of something that went so.
pub(super) fn as_error(why: Option<String>) -> CatalogError {
    match why.as_deref().and_then(Reason::parse) {
        Some(why) if why.is_sweep() => CatalogError::Swept,
        _ => CatalogError::Deleted,
    }
}

fn id_of(deletion: Deletion) -> Uuid {
    match deletion {
        Deletion::Session(_, _, session) => session.0,
        Deletion::Agent(_, agent) => agent.0,
        Deletion::Workspace(workspace) => workspace.0,
    }
}

fn record(row: &Row) -> Result<DeletionRecord, CatalogError> {
    let why: Option<String> = row.at(5)?;
    Ok(DeletionRecord {
        deletion: deletion(row)?,
        deleted_ms: row.at(4)?,
        why: why.as_deref().and_then(Reason::parse),
        by: row.at(6)?,
        attempt: row.at(7)?,
        removed: Tally {
            files: row.at(8)?,
            bytes: row.at(9)?,
            versions: row.at(10)?,
            uploads: row.at(11)?,
            digest: row.at(12)?,
            unproved: row.at(13)?,
        },
        emptied_ms: row.at(14)?,
        proved_ms: row.at(15)?,
        emptied: row.at(16)?,
    })
}

fn deletion(row: &Row) -> Result<Deletion, CatalogError> {
    let (id, kind): (Uuid, String) = (row.at(0)?, row.at(1)?);
    let (workspace, agent): (WorkspaceId, Option<AgentId>) = (row.at(2)?, row.at(3)?);
    match (kind.as_str(), agent) {
        ("session", Some(agent)) => Ok(Deletion::Session(workspace, agent, SessionId(id))),
        ("agent", _) => Ok(Deletion::Agent(workspace, AgentId(id))),
        ("workspace", _) => Ok(Deletion::Workspace(workspace)),
        _ => Err(CatalogError::unavailable(anyhow!("a deletion of an unknown kind"))),
    }
}
