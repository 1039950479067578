//! How long things are kept: closing and holding sessions, what would go, and what an audit reads.

use axum::Json as Answer;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::gate::{Auditing, Desk, Foreseeing, Foreseer, Holding, Hosting, OfSession, OfWorkspace};
use super::http::input::Options;
use super::places::page;
use super::problem::Problem;
use crate::catalog::{SettledQuestion, TurnId, Walk};
use crate::limits::{SESSIONS_WALKED_MAX, TURNS_PAGE_MAX};
use crate::retention::Fate;
use crate::retention::policy::Verdict;

/// `POST /v1/agent-sessions/{session}/close`
pub(super) async fn close(desk: Desk<OfSession, Hosting>) -> Result<StatusCode, Problem> {
    desk.close().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /v1/agent-sessions/{session}/reopen`
pub(super) async fn reopen(desk: Desk<OfSession, Hosting>) -> Result<StatusCode, Problem> {
    desk.reopen().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `PUT /v1/agent-sessions/{session}/hold`
pub(super) async fn hold(desk: Desk<OfSession, Holding>) -> Result<StatusCode, Problem> {
    desk.hold().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /v1/agent-sessions/{session}/hold`
pub(super) async fn release(desk: Desk<OfSession, Holding>) -> Result<StatusCode, Problem> {
    desk.release().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which part of what is foreseen.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PreviewOptions {
    /// What `next` of the page before said.
    after: Option<String>,
    limit: Option<u32>,
}

/// `GET …/retention/preview`: what becomes of each session, as things are.
pub(super) async fn preview<O: Foreseer>(
    desk: Desk<O, Foreseeing>,
    Options(PreviewOptions { after, limit }): Options<PreviewOptions>,
) -> Result<Answer<Value>, Problem> {
    let behind = after.as_deref().map(walk).transpose()?.unwrap_or_default();
    let limit = bounded(limit, SESSIONS_WALKED_MAX)?;
    let (foreseen, now_ms) = desk.foresee(behind, limit).await?;
    let next = foreseen.next.map(|walk| format!("{}/{}", walk.agent, walk.name));
    let items: Vec<_> = foreseen.fates.iter().map(fate_json).collect();
    Ok(Answer(json!({ "now_ms": now_ms, "items": items, "next": next })))
}

fn walk(mark: &str) -> Result<Walk, Problem> {
    let place = mark.split_once('/').filter(|(agent, _)| Uuid::try_parse(agent).is_ok());
    let (agent, name) =
        place.ok_or_else(|| Problem::bad_request("after", "`after` is what `next` was"))?;
    Ok(Walk { agent: agent.to_owned(), name: name.to_owned() })
}

fn fate_json(fate: &Fate) -> Value {
    let facts = &fate.facts;
    let (stays, why, at_ms) = match fate.verdict {
        Verdict::Stays(stay) => (Some(stay.as_str()), None, None),
        Verdict::Goes { why, at_ms } => (None, Some(why.as_str()), Some(at_ms)),
    };
    json!({
        "session": facts.session.to_string(),
        "agent": facts.agent.to_string(),
        "workspace": facts.workspace.to_string(),
        "name": facts.name,
        "active_ms": facts.active_ms,
        "closed_ms": facts.closed_ms,
        "stays": stays,
        "goes": why,
        "goes_ms": at_ms,
    })
}

/// Which settled questions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QuestionsOptions {
    /// The last one that was seen.
    before: Option<Uuid>,
    limit: Option<u32>,
}

/// `GET /v1/workspaces/{workspace}/questions`
pub(super) async fn questions(
    desk: Desk<OfWorkspace, Auditing>,
    Options(QuestionsOptions { before, limit }): Options<QuestionsOptions>,
) -> Result<Answer<Value>, Problem> {
    let limit = bounded(limit, TURNS_PAGE_MAX)?;
    let questions = desk.questions(before.map(TurnId), limit).await?;
    Ok(page(&questions, limit, |it| it.turn.to_string(), question_json))
}

fn question_json(it: &SettledQuestion) -> Value {
    json!({
        "turn": it.turn.to_string(),
        "agent": it.agent.to_string(),
        "session": it.session.to_string(),
        "question": it.question,
        "answer": it.answer,
        "asked_ms": it.asked_ms,
        "settled_ms": it.settled_ms,
    })
}

fn bounded(limit: Option<u32>, most: u32) -> Result<u32, Problem> {
    let limit = limit.unwrap_or(most);
    match (1..=most).contains(&limit) {
        true => Ok(limit),
        false => Err(Problem::bad_request("limit", format!("a limit is 1 to {most}"))),
    }
}
