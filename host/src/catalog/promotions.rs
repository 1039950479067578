//! Receipts of promotions: copies of files to longer-lived scopes.

use std::fmt;

use anyhow::anyhow;
use uuid::Uuid;

use super::database::{Row, sql};
use super::ending::held;
use super::turn::{Lease, TurnId};
use super::{Catalog, CatalogError, Label, new_id};
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

/// In place of a revision: whether there is a copy is not known.
const NOT_KNOWN: &str = "";

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
    /// Which content the copy has; absent as long as it is not known whether there is one.
    pub revision: Option<String>,
    /// When it was begun, in milliseconds since the Unix epoch.
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
    /// Keeps a receipt of a copy that is about to be made outside of a turn, from one path to
    /// another. Which content the copy has is not known until it is completed.
    ///
    /// # Errors
    /// [`CatalogError::Deleted`] if the workspace is gone; [`CatalogError::Unavailable`].
    pub async fn open_receipt(
        &self,
        at: Coordinates,
        by: &Promoter,
        source: &str,
        target: &str,
    ) -> Result<PromotionId, CatalogError> {
        let (turn, subject) = match by {
            Promoter::Turn(turn) => (Some(*turn), None),
            Promoter::Subject(subject) => (None, Some(subject.as_str())),
            Promoter::Operator => (None, None),
        };
        let insert = "insert into promotions (id, workspace_id, agent_id, session_id, turn_id,
                subject, source, target, revision, at_ms)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        let id = PromotionId(new_id());
        let insert = sql(insert).bind(id).bind(at.workspace).bind(at.agent).bind(at.session);
        let insert = insert.bind(turn).bind(subject).bind(source).bind(target);
        self.database.execute(insert.bind(NOT_KNOWN).bind(self.now())).await?;
        Ok(id)
    }

    /// As [`Self::open_receipt`], of what a turn is about to copy.
    ///
    /// # Errors
    /// [`CatalogError::LeaseLost`] if the turn was given up; [`CatalogError::Unavailable`].
    pub async fn open_turn_receipt(
        &self,
        lease: Lease,
        source: &str,
        target: &str,
    ) -> Result<PromotionId, CatalogError> {
        let insert = "insert into promotions (id, workspace_id, agent_id, session_id, turn_id,
                subject, source, target, revision, at_ms)
            select $1, agents.workspace_id, agents.id, sessions.id, turns.id, null, $2, $3, $4, $5
            from turns join sessions on sessions.id = turns.session_id
            join agents on agents.id = sessions.agent_id
            where turns.id = $6 and turns.attempt = $7 and turns.state = 'running'";
        let id = PromotionId(new_id());
        let insert = sql(insert).bind(id).bind(source).bind(target).bind(NOT_KNOWN);
        let insert = insert.bind(self.now()).bind(lease.turn).bind(lease.attempt);
        held(self.database.execute(insert).await? == 1)?;
        Ok(id)
    }

    /// The copy was made, and has this content. A receipt that went with its workspace is none
    /// that could be completed, and no error.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn complete_receipt(
        &self,
        receipt: PromotionId,
        revision: &str,
    ) -> Result<(), CatalogError> {
        let complete = "update promotions set revision = $2 where id = $1";
        self.database.execute(sql(complete).bind(receipt).bind(revision)).await?;
        Ok(())
    }

    /// Removes a receipt that was not completed: there is no copy.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn withdraw_receipt(&self, receipt: PromotionId) -> Result<(), CatalogError> {
        let withdraw = "delete from promotions where id = $1 and revision = $2";
        self.database.execute(sql(withdraw).bind(receipt).bind(NOT_KNOWN)).await?;
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

pub(super) fn promotion(row: &Row) -> Result<Promotion, CatalogError> {
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
        revision: Some(row.at(7)?).filter(|revision: &String| revision != NOT_KNOWN),
        at_ms: row.at(8)?,
    })
}
