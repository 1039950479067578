//! The door: asks, and tells what comes of it while it comes.
//!
//! Whoever reaches it may ask: a platform of yours has its own way to know people, before it.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, post};
use axum::{Json, Router};
use bailiwick::catalog::{CatalogError, Name, Turn, TurnId, TurnState};
use futures::stream::{self, Stream, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::platform::{Following, Heard, Platform};

/// How often something is sent where nothing happens.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What answers requests.
pub fn router(platform: Platform) -> Router {
    Router::new()
        .route("/sessions/{session}/turns", post(ask))
        .route("/turns/{turn}", delete(stop))
        .with_state(platform)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    input: String,
}

/// `POST /sessions/{session}/turns`: server-sent events, `turn` first, pieces of the reply as
/// `said`, and at the end one of `reply`, `question` and `failed`.
async fn ask(
    State(platform): State<Platform>,
    Path(session): Path<String>,
    Json(Asked { input }): Json<Asked>,
) -> Result<Response, Refused> {
    let session: Name = session.parse().map_err(|error| Refused::because(&error))?;
    let following = platform.ask(&session, &input).await?;
    let first = sent("turn", &json!({ "id": following.turn().to_string() }));
    let events = stream::iter([first]).chain(told(following)).map(Ok::<_, Infallible>);
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

/// `DELETE /turns/{turn}`: asks it to stop.
async fn stop(
    State(platform): State<Platform>,
    Path(turn): Path<Uuid>,
) -> Result<StatusCode, Refused> {
    platform.stop(TurnId(turn)).await?;
    Ok(StatusCode::ACCEPTED)
}

/// Everything that happens, until the turn is over. Whoever hangs up misses it; the turn goes on.
fn told(following: Following) -> impl Stream<Item = Event> {
    let batches = stream::unfold(Some(following), |following| async move {
        let mut following = following?;
        match following.next().await {
            Ok(heard) => {
                let is_over = matches!(heard.last(), Some(Heard::Over(_)));
                Some((heard, (!is_over).then_some(following)))
            }
            Err(error) => {
                tracing::warn!(%error, turn = %following.turn(), "a turn cannot be followed");
                None
            }
        }
    });
    batches.flat_map(|heard| stream::iter(heard.into_iter().map(|heard| event(&heard))))
}

fn event(heard: &Heard) -> Event {
    match heard {
        Heard::Said(text) => sent("said", &json!({ "text": text })),
        Heard::Again => sent("again", &json!({})),
        Heard::Over(turn) => ended(turn),
    }
}

fn ended(turn: &Turn) -> Event {
    match turn.state {
        TurnState::Parked => sent("question", &json!({ "text": turn.question })),
        TurnState::Failed => {
            sent("failed", &json!({ "failure": turn.failure, "error": turn.error }))
        }
        TurnState::Queued | TurnState::Running | TurnState::Done => {
            sent("reply", &json!({ "text": turn.reply }))
        }
    }
}

fn sent(kind: &str, data: &Value) -> Event {
    Event::default().event(kind).data(data.to_string())
}

/// Why it was not done.
struct Refused(StatusCode, String);

impl Refused {
    fn because(error: &dyn std::fmt::Display) -> Self {
        Self(StatusCode::BAD_REQUEST, error.to_string())
    }
}

impl From<CatalogError> for Refused {
    fn from(error: CatalogError) -> Self {
        let status = match &error {
            CatalogError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            CatalogError::QueueFull => StatusCode::TOO_MANY_REQUESTS,
            CatalogError::Deleted => StatusCode::NOT_FOUND,
            CatalogError::Unavailable { source } => {
                tracing::error!(error = format!("{source:#}"), "the catalog failed");
                StatusCode::SERVICE_UNAVAILABLE
            }
            _ => StatusCode::CONFLICT,
        };
        Self(status, error.to_string())
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}
