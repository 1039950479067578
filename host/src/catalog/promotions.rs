//! Receipts of promotions: copies of files to longer-lived scopes.

use std::fmt;

use anyhow::anyhow;
use uuid::Uuid;

use super::database::{Changes, Row, places, sql};
use super::events::Entry;
use super::turn::TurnId;
use super::{Catalog, CatalogError, Event, Label, new_id};
use crate::limits::CATALOG_PAGE_ROWS_MAX;
use crate::scope::{AgentId, Coordinates, SessionId, WorkspaceId};

/// A receipt, as the catalog made it; never used twice. Later ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PromotionId(pub Uuid);

impl fmt::Display for PromotionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_hyphenated().fmt(f)
    }
}

/// Who promoted a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Promoter {
    /// A turn.
    Turn(TurnId),
    /// Somebody with a token: its subject.
    Subject(Label),
    /// Whoever runs the host, by a command.
    Operator,
}

/// From where to where a file was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promoted<'a> {
    /// Its path.
    pub source: &'a str,
    /// The path of the copy.
    pub target: &'a str,
    /// Which content the copy has.
    pub revision: &'a str,
}

/// A receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promotion {
    /// Which one.
    pub id: PromotionId,
    /// Whose `agent/` is meant.
    pub agent: AgentId,
    /// Whose `session/` is meant, if one was.
    pub session: Option<SessionId>,
    /// Who did it.
    pub by: Promoter,
    /// From where.
    pub source: String,
    /// To where.
    pub target: String,
    /// Which content the copy has.
    pub revision: String,
    /// When it was recorded, in milliseconds since the Unix epoch.
    pub at_ms: u64,
}

/// Whose receipts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiptsOf {
    /// Of all that was promoted in a workspace.
    Workspace(WorkspaceId),
    /// Of what was promoted in a session.
    Session(SessionId),
}

impl Catalog {
    /// Keeps a receipt of what was promoted outside of a turn; turns' own are kept with their
    /// events.
    ///
    /// # Errors
    /// [`CatalogError::Deleted`] if the workspace is gone; [`CatalogError::Unavailable`].
    pub async fn keep_receipt(
        &self,
        at: Coordinates,
        by: &Promoter,
        promoted: Promoted<'_>,
    ) -> Result<(), CatalogError> {
        let (turn, subject) = match by {
            Promoter::Turn(turn) => (Some(*turn), None),
            Promoter::Subject(subject) => (None, Some(subject.as_str())),
            Promoter::Operator => (None, None),
        };
        let insert = "insert into promotions (id, workspace_id, agent_id, session_id, turn_id,
                subject, source, target, revision, at_ms)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        let insert = sql(insert)
            .bind(PromotionId(new_id()))
            .bind(at.workspace)
            .bind(at.agent)
            .bind(at.session)
            .bind(turn)
            .bind(subject)
            .bind(promoted.source)
            .bind(promoted.target)
            .bind(promoted.revision)
            .bind(self.now());
        self.database.execute(insert).await?;
        Ok(())
    }

    /// Receipts, the latest first, those before one: at most `limit`, and at most 1,000.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn receipts(
        &self,
        of: ReceiptsOf,
        before: Option<PromotionId>,
        limit: u32,
    ) -> Result<Vec<Promotion>, CatalogError> {
        let (list, id) = match of {
            ReceiptsOf::Workspace(workspace) => (
                "select id, agent_id, session_id, turn_id, subject, source, target, revision, at_ms
                from promotions where workspace_id = $1 and id < $2 order by id desc limit $3",
                workspace.0,
            ),
            ReceiptsOf::Session(session) => (
                "select id, agent_id, session_id, turn_id, subject, source, target, revision, at_ms
                from promotions where session_id = $1 and id < $2 order by id desc limit $3",
                session.0,
            ),
        };
        let last = before.unwrap_or(PromotionId(Uuid::max()));
        let list = sql(list).bind(id).bind(last).bind(limit.min(CATALOG_PAGE_ROWS_MAX));
        self.database.rows(list).await?.map(promotion)
    }
}

fn promotion(row: &Row) -> Result<Promotion, CatalogError> {
    let by = match (row.at(3)?, row.at::<Option<String>>(4)?) {
        (Some(turn), _) => Promoter::Turn(turn),
        (None, Some(subject)) => Promoter::Subject(subject.parse().map_err(|_| {
            CatalogError::unavailable(anyhow!("the catalog holds what is no subject"))
        })?),
        (None, None) => Promoter::Operator,
    };
    Ok(Promotion {
        id: row.at(0)?,
        agent: row.at(1)?,
        session: row.at(2)?,
        by,
        source: row.at(5)?,
        target: row.at(6)?,
        revision: row.at(7)?,
        at_ms: row.at(8)?,
    })
}

/// Rows of one statement: ten values each.
const AT_ONCE: usize = 1_000;

/// Keeps receipts of what turns of a session promoted, among all that they did.
pub(super) async fn keep_of_turns(
    changes: &mut Changes,
    session: SessionId,
    entries: &[Entry<'_>],
    now: i64,
) -> Result<(), CatalogError> {
    let promoted: Vec<_> = entries.iter().filter_map(promoted).collect();
    if promoted.is_empty() {
        return Ok(());
    }
    let whose = "select agents.id, workspace_id from sessions join agents on agents.id = agent_id
        where sessions.id = $1";
    let (agent, workspace): (AgentId, WorkspaceId) =
        changes.rows(sql(whose).bind(session)).await?.one()?;
    for promoted in promoted.chunks(AT_ONCE) {
        let insert = "insert into promotions (id, workspace_id, agent_id, session_id, turn_id,
                subject, source, target, revision, at_ms) values ";
        let insert = sql([insert, &places(promoted.len(), 10)].concat());
        let insert = promoted.iter().fold(insert, |insert, (turn, promoted)| {
            let insert = insert.bind(PromotionId(new_id())).bind(workspace).bind(agent);
            let insert = insert.bind(session).bind(*turn).bind(None::<&str>);
            let insert = insert.bind(promoted.source).bind(promoted.target);
            insert.bind(promoted.revision).bind(now)
        });
        changes.execute(insert).await?;
    }
    Ok(())
}

fn promoted<'a>((by, event): &Entry<'a>) -> Option<(TurnId, Promoted<'a>)> {
    match event {
        Event::Promoted { source, target, revision } => {
            Some((by.turn, Promoted { source, target, revision }))
        }
        _ => None,
    }
}
