//! Receipts of what was promoted.

use axum::Json as Answer;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::gate::{Auditing, Conversation, Desk, OfWorkspace, Reading};
use super::http::input::Options;
use super::places::{bounded, page};
use super::problem::Problem;
use crate::catalog::{Promoter, Promotion, PromotionId};
use crate::proofs::NOT_KNOWN;

/// Which receipts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReceiptsOptions {
    /// The last one that was seen.
    before: Option<Uuid>,
    limit: Option<u32>,
}

/// `GET /v1/agent-sessions/{session}/receipts`
pub(super) async fn of_session(
    conversation: Conversation<Reading>,
    Options(ReceiptsOptions { before, limit }): Options<ReceiptsOptions>,
) -> Result<Answer<Value>, Problem> {
    let limit = bounded(limit)?;
    let receipts = conversation.receipts(before.map(PromotionId), limit).await?;
    Ok(page(&receipts, limit, |it| it.id.to_string(), as_json))
}

/// `GET /v1/workspaces/{workspace}/receipts`
pub(super) async fn of_workspace(
    desk: Desk<OfWorkspace, Auditing>,
    Options(ReceiptsOptions { before, limit }): Options<ReceiptsOptions>,
) -> Result<Answer<Value>, Problem> {
    let limit = bounded(limit)?;
    let receipts = desk.receipts(before.map(PromotionId), limit).await?;
    Ok(page(&receipts, limit, |it| it.id.to_string(), as_json))
}

fn as_json(receipt: &Promotion) -> Value {
    let (turn, subject) = match &receipt.by {
        Promoter::Turn(turn) => (Some(turn.to_string()), None),
        Promoter::Subject(subject) => (None, Some(subject.as_str())),
        Promoter::Operator => (None, None),
    };
    json!({
        "id": receipt.id.to_string(),
        "agent": receipt.agent.to_string(),
        "session": receipt.session.map(|session| session.to_string()),
        "turn": turn,
        "subject": subject,
        "from": receipt.source,
        "to": receipt.target,
        "revision": receipt.revision.as_deref().unwrap_or(NOT_KNOWN),
        "at_ms": receipt.at_ms,
    })
}
