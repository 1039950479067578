//! Components: uploaded once, by name, and named by agents.

use axum::Json as Answer;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::gate::{Administering, Desk, OfAgent, OfWorkspace, Seeing};
use super::http::input::{ComponentName, Incoming, Json, Options};
use super::places::{ListOptions, name, page};
use super::problem::Problem;
use crate::catalog::{AgentComponent, Page, Snapshot};
use crate::limits::COMPONENT_BYTES_MAX;
use crate::scope::Sha256;

/// `GET /v1/workspaces/{workspace}/components`
pub(super) async fn list(
    desk: Desk<OfWorkspace, Seeing>,
    Options(options): Options<ListOptions>,
) -> Result<Answer<Value>, Problem> {
    let (limit, after) = (options.limit()?, options.after_name()?);
    let components = desk.components(Page::after(after.as_ref(), limit)).await?;
    Ok(page(&components, limit, |it| it.name.clone(), as_json))
}

/// `GET /v1/workspaces/{workspace}/components/{component}`
pub(super) async fn snapshots(
    desk: Desk<OfWorkspace, Seeing>,
    ComponentName(called): ComponentName,
) -> Result<Answer<Value>, Problem> {
    let snapshots = desk.snapshots(&name(&called)?).await?;
    Ok(Answer(json!({ "items": snapshots.iter().map(as_json).collect::<Vec<_>>() })))
}

/// `PUT /v1/workspaces/{workspace}/components/{component}`
pub(super) async fn upload(
    desk: Desk<OfWorkspace, Administering>,
    ComponentName(called): ComponentName,
    body: Incoming,
) -> Result<Answer<Value>, Problem> {
    let called = name(&called)?;
    let _place = desk.place_for_component()?;
    let bytes = body.whole(COMPONENT_BYTES_MAX).await?;
    Ok(Answer(as_json(&desk.upload(&called, &bytes).await?)))
}

/// What an agent is to run: the latest component of a name, or one by its SHA-256. Neither is
/// nothing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Chosen {
    name: Option<String>,
    sha256: Option<String>,
}

/// `PUT /v1/agents/{agent}/component`
pub(super) async fn choose(
    desk: Desk<OfAgent, Administering>,
    Json(chosen): Json<Chosen>,
) -> Result<StatusCode, Problem> {
    let component = match (&chosen.name, &chosen.sha256) {
        (None, None) => None,
        (Some(called), None) => Some(AgentComponent::Latest(name(called)?)),
        (None, Some(sha256)) => Some(AgentComponent::Pinned(pinned(sha256)?)),
        (Some(_), Some(_)) => {
            let detail = "an agent runs the latest of a `name`, or one `sha256`: not both";
            return Err(Problem::bad_request("component", detail));
        }
    };
    desk.run(component.as_ref()).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn pinned(sha256: &str) -> Result<Sha256, Problem> {
    let detail = "`sha256` is 64 hexadecimal digits";
    sha256.parse().map_err(|_| Problem::bad_request("component", detail))
}

fn as_json(snapshot: &Snapshot) -> Value {
    json!({
        "name": snapshot.name,
        "number": snapshot.number,
        "sha256": snapshot.sha256.to_string(),
        "created_ms": snapshot.created_ms,
    })
}
