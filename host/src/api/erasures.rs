//! Erasures, and the receipts of them.

use axum::Json as Answer;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::gate::{Erasures, OneErasure};
use super::http::input::Json;
use super::problem::Problem;
use crate::catalog::{Blocked, Erasure, Made};

/// What is to be erased by when.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    deadline_ms: u64,
    subject: Option<String>,
}

/// `POST /v1/workspaces/{workspace}/erasure`
pub(super) async fn ask(
    erasures: Erasures,
    Json(Asked { deadline_ms, subject }): Json<Asked>,
) -> Result<Response, Problem> {
    let made = erasures.ask(subject.as_deref(), deadline_ms).await?;
    let status = match made {
        Made::New(_) => StatusCode::ACCEPTED,
        Made::Found(_) => StatusCode::OK,
    };
    Ok((status, Answer(json!({ "id": made.id().to_string() }))).into_response())
}

/// `GET /v1/workspaces/{workspace}/erasure/{erasure}`
pub(super) async fn show(OneErasure(erasure): OneErasure) -> Answer<Value> {
    Answer(as_json(&erasure))
}

fn as_json(erasure: &Erasure) -> Value {
    let state = match (erasure.proved_ms, erasure.gone_ms, erasure.blocked) {
        (Some(_), _, _) => "proved",
        (None, Some(_), _) => "deleted",
        (None, None, Some(Blocked::Held)) => "held",
        (None, None, Some(Blocked::Running) | None) => "asked",
    };
    let receipt = erasure.receipt.as_deref().map(serde_json::from_str::<Value>);
    json!({
        "id": erasure.id.to_string(),
        "workspace": erasure.workspace.to_string(),
        "subject": erasure.subject.as_ref().map(|subject| subject.as_str()),
        "state": state,
        "asked_ms": erasure.asked_ms,
        "deadline_ms": erasure.deadline_ms,
        "deleted_ms": erasure.gone_ms,
        "proved_ms": erasure.proved_ms,
        "receipt": receipt.and_then(Result::ok),
    })
}
