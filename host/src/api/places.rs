//! Workspaces, agents, sessions and who takes part in them.

use axum::Json as Answer;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::gate::{
    Administering, Attending, Desk, Hosting, OfAgent, OfDeployment, OfSession, OfWorkspace, Seeing,
};
use super::http::input::{Json, Options, Subject};
use super::problem::Problem;
use crate::catalog::{AgentRecord, Made, Name, Page, SessionRecord, WorkspaceRecord};
use crate::limits::{CATALOG_PAGE_ROWS_MAX, SESSION_PARTICIPANTS_MAX};

/// Which part of a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListOptions {
    after: Option<String>,
    limit: Option<u32>,
}

/// What something is to be called.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Called {
    name: String,
}

/// What a session is to be called, and who is in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Opened {
    name: String,
    #[serde(default)]
    participants: Vec<String>,
}

impl ListOptions {
    pub(super) fn limit(&self) -> Result<u32, Problem> {
        bounded(self.limit)
    }

    pub(super) fn after_name(&self) -> Result<Option<Name>, Problem> {
        self.after.as_deref().map(name).transpose()
    }
}

/// How many rows of a list are asked for.
pub(super) fn bounded(limit: Option<u32>) -> Result<u32, Problem> {
    let limit = limit.unwrap_or(CATALOG_PAGE_ROWS_MAX);
    if (1..=CATALOG_PAGE_ROWS_MAX).contains(&limit) {
        return Ok(limit);
    }
    let detail = format!("a limit is 1 to {CATALOG_PAGE_ROWS_MAX}");
    Err(Problem::bad_request("limit", detail))
}

pub(super) fn name(text: &str) -> Result<Name, Problem> {
    text.parse()
        .map_err(|error: crate::catalog::NameError| Problem::bad_request("name", error.to_string()))
}

/// A page, and where it goes on: behind the mark of its last item.
pub(super) fn page<T, M: Serialize>(
    items: &[T],
    limit: u32,
    mark: impl Fn(&T) -> M,
    shown: impl Fn(&T) -> Value,
) -> Answer<Value> {
    let is_full = items.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
    let next = items.last().filter(|_| is_full).map(mark);
    Answer(json!({ "items": items.iter().map(shown).collect::<Vec<_>>(), "next": next }))
}

fn made<I>(made: Made<I>, record: Value) -> Response {
    let status = match made {
        Made::New(_) => StatusCode::CREATED,
        Made::Found(_) => StatusCode::OK,
    };
    (status, Answer(record)).into_response()
}

/// `GET /v1/workspaces`
pub(super) async fn workspaces(
    desk: Desk<OfDeployment, Administering>,
    Options(options): Options<ListOptions>,
) -> Result<Answer<Value>, Problem> {
    let (limit, after) = (options.limit()?, options.after_name()?);
    let found = desk.workspaces(Page::after(after.as_ref(), limit)).await?;
    Ok(page(
        &found,
        limit,
        |it| it.name.clone(),
        |it| json!({ "id": it.id.0, "name": it.name, "created_ms": it.created_ms, "agents": it.children }),
    ))
}

/// `POST /v1/workspaces`
pub(super) async fn make_workspace(
    desk: Desk<OfDeployment, Administering>,
    Json(called): Json<Called>,
) -> Result<Response, Problem> {
    let name = name(&called.name)?;
    let workspace = desk.make(&name).await?;
    Ok(made(workspace, json!({ "id": workspace.id().0, "name": name.as_str() })))
}

/// `GET /v1/workspaces/{workspace}`
pub(super) async fn workspace(desk: Desk<OfWorkspace, Seeing>) -> Result<Answer<Value>, Problem> {
    let WorkspaceRecord { id, name, created_ms } = desk.record().await?;
    Ok(Answer(json!({ "id": id.0, "name": name, "created_ms": created_ms })))
}

/// `DELETE /v1/workspaces/{workspace}`
pub(super) async fn remove_workspace(
    desk: Desk<OfWorkspace, Administering>,
) -> Result<StatusCode, Problem> {
    desk.remove().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /v1/workspaces/{workspace}/agents`
pub(super) async fn agents(
    desk: Desk<OfWorkspace, Seeing>,
    Options(options): Options<ListOptions>,
) -> Result<Answer<Value>, Problem> {
    let (limit, after) = (options.limit()?, options.after_name()?);
    let found = desk.agents(Page::after(after.as_ref(), limit)).await?;
    Ok(page(
        &found,
        limit,
        |it| it.name.clone(),
        |it| json!({ "id": it.id.0, "name": it.name, "created_ms": it.created_ms, "sessions": it.children }),
    ))
}

/// `POST /v1/workspaces/{workspace}/agents`
pub(super) async fn make_agent(
    desk: Desk<OfWorkspace, Administering>,
    Json(called): Json<Called>,
) -> Result<Response, Problem> {
    let name = name(&called.name)?;
    let agent = desk.make(&name).await?;
    Ok(made(agent, json!({ "id": agent.id().0, "name": name.as_str() })))
}

/// `GET /v1/agents/{agent}`
pub(super) async fn agent(desk: Desk<OfAgent, Seeing>) -> Result<Answer<Value>, Problem> {
    let AgentRecord { coordinates, name, created_ms, .. } = desk.record().await?;
    Ok(Answer(json!({
        "id": coordinates.agent.0,
        "workspace": coordinates.workspace.0,
        "name": name,
        "created_ms": created_ms,
    })))
}

/// `DELETE /v1/agents/{agent}`
pub(super) async fn remove_agent(
    desk: Desk<OfAgent, Administering>,
) -> Result<StatusCode, Problem> {
    desk.remove().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /v1/agents/{agent}/sessions`
pub(super) async fn sessions(
    desk: Desk<OfAgent, Seeing>,
    Options(options): Options<ListOptions>,
) -> Result<Answer<Value>, Problem> {
    let (limit, after) = (options.limit()?, options.after_name()?);
    let found = desk.sessions(Page::after(after.as_ref(), limit)).await?;
    Ok(page(
        &found,
        limit,
        |it| it.name.clone(),
        |it| {
            json!({
                "id": it.id.0,
                "name": it.name,
                "created_ms": it.created_ms,
                "active_ms": it.active_ms,
                "closed_ms": it.closed_ms,
                "held_ms": it.held_ms,
                "turns": it.turns,
                "latest": it.latest.map(crate::catalog::TurnState::as_str),
            })
        },
    ))
}

/// `POST /v1/agents/{agent}/sessions`
pub(super) async fn make_session(
    desk: Desk<OfAgent, Hosting>,
    Json(Opened { name: called, participants }): Json<Opened>,
) -> Result<Response, Problem> {
    let name = name(&called)?;
    if participants.len() > SESSION_PARTICIPANTS_MAX {
        let detail = format!("at most {SESSION_PARTICIPANTS_MAX} participants are named at once");
        return Err(Problem::bad_request("participants", detail));
    }
    let session = desk.make(&name, &participants).await?;
    Ok(made(session, json!({ "id": session.id().0, "name": name.as_str() })))
}

/// `GET /v1/agent-sessions/{session}`
pub(super) async fn session(desk: Desk<OfSession, Attending>) -> Result<Answer<Value>, Problem> {
    let SessionRecord { coordinates, name, created_ms, active_ms, closed_ms, held_ms } =
        desk.record().await?;
    Ok(Answer(json!({
        "id": coordinates.session.map(|session| session.0),
        "agent": coordinates.agent.0,
        "workspace": coordinates.workspace.0,
        "name": name,
        "created_ms": created_ms,
        "active_ms": active_ms,
        "closed_ms": closed_ms,
        "held_ms": held_ms,
    })))
}

/// `DELETE /v1/agent-sessions/{session}`
pub(super) async fn remove_session(desk: Desk<OfSession, Hosting>) -> Result<StatusCode, Problem> {
    desk.remove().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /v1/agent-sessions/{session}/participants`
pub(super) async fn participants(
    desk: Desk<OfSession, Attending>,
    Options(options): Options<ListOptions>,
) -> Result<Answer<Value>, Problem> {
    let limit = options.limit()?;
    let found = desk.participants(options.after.as_deref(), limit).await?;
    Ok(page(&found, limit, String::clone, |it| json!({ "subject": it })))
}

/// `PUT /v1/agent-sessions/{session}/participants/{subject}`
pub(super) async fn take_in(
    desk: Desk<OfSession, Hosting>,
    Subject(subject): Subject,
) -> Result<StatusCode, Problem> {
    desk.take_in(&subject).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /v1/agent-sessions/{session}/participants/{subject}`
pub(super) async fn take_out(
    desk: Desk<OfSession, Hosting>,
    Subject(subject): Subject,
) -> Result<StatusCode, Problem> {
    desk.take_out(&subject).await?;
    Ok(StatusCode::NO_CONTENT)
}
