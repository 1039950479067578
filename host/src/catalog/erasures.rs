//! Erasures: what is to be deleted by a deadline, what that came to, and the receipt of it, which
//! outlives all that it is about.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::anyhow;
use uuid::Uuid;

use super::database::{Row, sql};
use super::deletions::DeletionRecord;
use super::{Catalog, CatalogError, Label, Made, Promotion, TurnId, integer, new_id};
use crate::limits::{CATALOG_PAGE_ROWS_MAX, ERASED_TURNS_STOPPED_MAX, RECEIPT_PROMOTIONS_MAX};
use crate::scope::{AgentId, Deletion, SessionId, WorkspaceId};

/// An erasure, as the catalog made it; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErasureId(pub Uuid);

impl fmt::Display for ErasureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_hyphenated().fmt(f)
    }
}

/// What is to be erased.
#[derive(Clone, Copy, Debug)]
pub struct AskErasure<'a> {
    /// In which workspace.
    pub workspace: WorkspaceId,
    /// Whose sessions; `None` for all of the workspace.
    pub subject: Option<&'a Label>,
    /// Who asks; `None` for whoever runs the host.
    pub by: Option<&'a Label>,
    /// By when it is to be proved, in milliseconds since the Unix epoch.
    pub deadline_ms: u64,
}

/// Why an erasure does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// Something of it is on hold.
    Held,
    /// A turn runs there, and was asked to stop.
    Running,
}

impl Blocked {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Running => "running",
        }
    }
}

/// An erasure that was asked for. Times are milliseconds since the Unix epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erasure {
    /// Which one.
    pub id: ErasureId,
    /// In which workspace; it may be gone.
    pub workspace: WorkspaceId,
    /// Whose sessions; `None` for all of the workspace, and once it is proved.
    pub subject: Option<Label>,
    /// Who asked; `None` for whoever runs the host, and once it is proved.
    pub by: Option<Label>,
    /// When it was asked for.
    pub asked_ms: u64,
    /// By when it is to be proved.
    pub deadline_ms: u64,
    /// Why it does not go on, if it does not.
    pub blocked: Option<Blocked>,
    /// Since when all of it is deleted, and owed by the store.
    pub gone_ms: Option<u64>,
    /// Since when it is proved that nothing is left.
    pub proved_ms: Option<u64>,
    /// The receipt, once it is proved.
    pub receipt: Option<String>,
}

/// One thing that an erasure came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasurePart {
    /// What is to be deleted.
    pub what: Deletion,
    /// Its deletion, or that of what it hung from, once there is one.
    pub deletion: Option<DeletionRecord>,
}

const COLUMNS: &str =
    "select id, workspace_id, subject, by_subject, asked_ms, deadline_ms, blocked,
    gone_ms, proved_ms, receipt from erasures";

impl Catalog {
    /// Asks for an erasure, or finds the one that was asked for and is not over.
    ///
    /// # Errors
    /// [`CatalogError::Deleted`] if there is no such workspace; [`CatalogError::Unavailable`].
    pub async fn ask_erasure(
        &self,
        asked: AskErasure<'_>,
    ) -> Result<Made<ErasureId>, CatalogError> {
        self.undone.retried(|| self.try_ask_erasure(asked)).await
    }

    async fn try_ask_erasure(
        &self,
        AskErasure { workspace, subject, by, deadline_ms }: AskErasure<'_>,
    ) -> Result<Made<ErasureId>, CatalogError> {
        let mut changes = self.begin().await?;
        let lock = "select gone_ms from workspaces where id = $1 and store_id = $2 for update";
        let found = changes.rows(sql(lock).bind(workspace).bind(self.store)).await?;
        let found: Option<(Option<i64>,)> = found.first()?;
        let subject = subject.map(Label::as_str);
        let find = "select id from erasures where workspace_id = $1 and gone_ms is null
            and coalesce(subject, '') = $2";
        let find = sql(find).bind(workspace).bind(subject.unwrap_or_default());
        if let Some((id,)) = changes.rows(find).await?.first::<(Uuid,)>()? {
            return Ok(Made::Found(ErasureId(id)));
        }
        if !matches!(found, Some((None,))) {
            return Err(CatalogError::Deleted);
        }
        let id = new_id();
        let insert = "insert into erasures (id, store_id, workspace_id, subject, by_subject,
            asked_ms, deadline_ms) values ($1, $2, $3, $4, $5, $6, $7)";
        let insert = sql(insert).bind(id).bind(self.store).bind(workspace).bind(subject);
        let insert = insert.bind(by.map(Label::as_str)).bind(self.now());
        changes.execute(insert.bind(integer(deadline_ms))).await?;
        self.commit(changes).await?;
        Ok(Made::New(ErasureId(id)))
    }

    /// An erasure of this store, by its id.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn erasure(&self, id: ErasureId) -> Result<Option<Erasure>, CatalogError> {
        let find = sql([COLUMNS, " where id = $1 and store_id = $2"].concat());
        self.database.rows(find.bind(id.0).bind(self.store)).await?.first_by(erasure)
    }

    /// Erasures of this store that are not proved, the most urgent first: at most 1,000.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn open_erasures(&self) -> Result<Vec<Erasure>, CatalogError> {
        let list = " where store_id = $1 and proved_ms is null order by deadline_ms, id limit $2";
        let list = sql([COLUMNS, list].concat()).bind(self.store).bind(CATALOG_PAGE_ROWS_MAX);
        self.database.rows(list).await?.map(erasure)
    }

    /// Writes down what an erasure comes to, those things included that came to be since it was
    /// asked for; lets no turn begin there any more, and returns turns that are to be stopped.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn name_erased(&self, erasure: &Erasure) -> Result<Vec<TurnId>, CatalogError> {
        self.undone.retried(|| self.try_name_erased(erasure)).await
    }

    async fn try_name_erased(&self, erasure: &Erasure) -> Result<Vec<TurnId>, CatalogError> {
        let mut changes = self.begin().await?;
        let insert = match &erasure.subject {
            None => {
                sql("insert into erasure_parts (erasure_id, workspace_id, id) values ($1, $2, $2)
                on conflict do nothing")
                .bind(erasure.id.0)
                .bind(erasure.workspace)
            }
            Some(subject) => sql("insert into erasure_parts
                    (erasure_id, workspace_id, agent_id, session_id, id)
                select $1, agents.workspace_id, agents.id, sessions.id, sessions.id
                from sessions join agents on agents.id = sessions.agent_id
                where agents.workspace_id = $2 and sessions.opened_by = $3
                on conflict do nothing")
            .bind(erasure.id.0)
            .bind(erasure.workspace)
            .bind(subject.as_str()),
        };
        changes.execute(insert).await?;
        let lock = sql([SESSIONS_OF, " order by id for update"].concat());
        changes.lock(lock.bind(erasure.id.0)).await?;
        let close = "update sessions set closed_ms = $2 where closed_ms is null and id in (";
        let close = sql([close, SESSIONS_OF, ")"].concat()).bind(erasure.id.0).bind(self.now());
        changes.execute(close).await?;
        let open = "select id from turns where state in ('queued', 'running') and cancel_ms is null
            and session_id in (";
        let open = sql([open, SESSIONS_OF, ") order by id limit $2"].concat());
        let open = open.bind(erasure.id.0).bind(ERASED_TURNS_STOPPED_MAX);
        let open: Vec<(TurnId,)> = changes.rows(open).await?.all()?;
        self.commit(changes).await?;
        Ok(open.into_iter().map(|(turn,)| turn).collect())
    }

    /// What an erasure came to, and what became of it.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn erasure_parts(&self, id: ErasureId) -> Result<Vec<ErasurePart>, CatalogError> {
        let find = "select erasure_parts.id, erasure_parts.workspace_id, erasure_parts.agent_id,
                erasure_parts.session_id, storage_deletions.id
            from erasure_parts left join storage_deletions on storage_deletions.id in
                (erasure_parts.id, erasure_parts.agent_id, erasure_parts.workspace_id)
            where erasure_parts.erasure_id = $1";
        let rows = self.database.rows(sql(find).bind(id.0)).await?;
        let mut parts: BTreeMap<Uuid, (Deletion, Option<Uuid>)> = BTreeMap::new();
        for ((id, what), deletion) in rows.map(part)? {
            let (_, found) = parts.entry(id).or_insert((what, None));
            *found = found.or(deletion);
        }
        let mut found = Vec::with_capacity(parts.len());
        for (what, deletion) in parts.into_values() {
            let deletion = match deletion {
                Some(id) => self.deletion(id).await?,
                None => None,
            };
            found.push(ErasurePart { what, deletion });
        }
        Ok(found)
    }

    /// Says why an erasure does not go on, or that it does.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn note_erasure_blocked(
        &self,
        id: ErasureId,
        blocked: Option<Blocked>,
    ) -> Result<(), CatalogError> {
        let note = sql("update erasures set blocked = $2 where id = $1 and gone_ms is null");
        self.database.execute(note.bind(id.0).bind(blocked.map(Blocked::as_str))).await?;
        Ok(())
    }

    /// Says that all of an erasure is deleted.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn note_erasure_gone(&self, id: ErasureId) -> Result<(), CatalogError> {
        let note = "update erasures set gone_ms = coalesce(gone_ms, $2), blocked = null
            where id = $1";
        self.database.execute(sql(note).bind(id.0).bind(self.now())).await?;
        Ok(())
    }

    /// What was promoted out of sessions that an erasure came to, and so lives on: at most as many
    /// as a receipt lists, and one more if there are more.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn promoted_of_erased(&self, id: ErasureId) -> Result<Vec<Promotion>, CatalogError> {
        let list = "select id, agent_id, session_id, turn_id, subject, source, target, revision,
                at_ms
            from promotions where session_id in
                (select session_id from erasure_parts where erasure_id = $1)
            order by id limit $2";
        let list = sql(list).bind(id.0).bind(RECEIPT_PROMOTIONS_MAX + 1);
        self.database.rows(list).await?.map(super::promotions::promotion)
    }

    /// How many sessions that are there have no opener on record, and this subject among those who
    /// take part: whether he opened them is not known.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn sessions_of_unknown_opener(
        &self,
        workspace: WorkspaceId,
        subject: &Label,
    ) -> Result<u64, CatalogError> {
        let count = "select count(*) from sessions join agents on agents.id = sessions.agent_id
            join participants on participants.session_id = sessions.id
            where agents.workspace_id = $1 and sessions.opened_by is null
                and participants.subject = $2";
        let count = sql(count).bind(workspace).bind(subject.as_str());
        let (count,) = self.database.rows(count).await?.one()?;
        Ok(count)
    }

    /// Keeps the receipt of an erasure that is proved, and forgets whom it was about: receipts of
    /// promotions name him by `hash` from then on. False if it was proved before.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn settle_erasure(
        &self,
        erasure: &Erasure,
        receipt: &str,
        hash: Option<&str>,
    ) -> Result<bool, CatalogError> {
        self.undone.retried(|| self.try_settle_erasure(erasure, receipt, hash)).await
    }

    async fn try_settle_erasure(
        &self,
        erasure: &Erasure,
        receipt: &str,
        hash: Option<&str>,
    ) -> Result<bool, CatalogError> {
        let mut changes = self.begin().await?;
        let settle = "update erasures set proved_ms = $2, receipt = $3, subject = null,
                by_subject = null, blocked = null
            where id = $1 and proved_ms is null";
        let settle = sql(settle).bind(erasure.id.0).bind(self.now()).bind(receipt);
        if changes.execute(settle).await? == 0 {
            return Ok(false);
        }
        if let (Some(subject), Some(hash)) = (&erasure.subject, hash) {
            let hide = "update promotions set subject = $3
                where workspace_id = $1 and subject = $2";
            let hide = sql(hide).bind(erasure.workspace).bind(subject.as_str()).bind(hash);
            changes.execute(hide).await?;
        }
        self.commit(changes).await?;
        Ok(true)
    }
}

/// Sessions that an erasure comes to, of those that are there.
const SESSIONS_OF: &str = "select id from sessions where id in
        (select session_id from erasure_parts where erasure_id = $1)
    or agent_id in (select agents.id from agents join erasure_parts
        on erasure_parts.id = agents.workspace_id and erasure_parts.erasure_id = $1)";

fn erasure(row: &Row) -> Result<Erasure, CatalogError> {
    let label = |text: Option<String>| {
        let label = text.map(|text| text.parse::<Label>()).transpose();
        label
            .map_err(|_| CatalogError::unavailable(anyhow!("the catalog holds what is no subject")))
    };
    let blocked: Option<String> = row.at(6)?;
    Ok(Erasure {
        id: ErasureId(row.at(0)?),
        workspace: row.at(1)?,
        subject: label(row.at(2)?)?,
        by: label(row.at(3)?)?,
        asked_ms: row.at(4)?,
        deadline_ms: row.at(5)?,
        blocked: match blocked.as_deref() {
            Some("held") => Some(Blocked::Held),
            Some(_) => Some(Blocked::Running),
            None => None,
        },
        gone_ms: row.at(7)?,
        proved_ms: row.at(8)?,
        receipt: row.at(9)?,
    })
}

type Part = ((Uuid, Deletion), Option<Uuid>);

fn part(row: &Row) -> Result<Part, CatalogError> {
    let (id, workspace): (Uuid, WorkspaceId) = (row.at(0)?, row.at(1)?);
    let (agent, session): (Option<AgentId>, Option<SessionId>) = (row.at(2)?, row.at(3)?);
    let what = match (agent, session) {
        (Some(agent), Some(session)) => Deletion::Session(workspace, agent, session),
        _ => Deletion::Workspace(workspace),
    };
    Ok(((id, what), row.at(4)?))
}
