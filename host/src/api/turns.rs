//! Conversations: turns, their answers, what happens in them, and what wakes them.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json as Answer;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::sse::{Event as Sent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream::{self, Stream, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::gate::{Conversation, Follower, Reading, Talking};
use super::http::input::{Json, Options, TurnPart, WakeupPart};
use super::problem::Problem;
use crate::catalog::{
    Cancelled, Cron, Event, Firing, InvokedBy, Label, Made, Recorded, Turn, TurnId, Wakeup,
    WakeupId, When,
};
use crate::limits::{CATALOG_PAGE_ROWS_MAX, TURN_TEXT_BYTES_MAX};

/// The header that names a request, so that it is done once however often it is sent.
/// <https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/>
const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Where a reader of events goes on.
/// <https://html.spec.whatwg.org/multipage/server-sent-events.html>
const LAST_EVENT_ID: &str = "last-event-id";
/// How often something is sent where nothing happens, so that nobody in between hangs up.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What is asked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    input: String,
}

/// `POST …/turns`
pub(super) async fn ask(
    conversation: Conversation<Talking>,
    headers: HeaderMap,
    Json(Asked { input }): Json<Asked>,
) -> Result<Response, Problem> {
    check_text(&input)?;
    let request = request(&headers)?;
    let made = conversation.ask(&input, request.as_ref()).await?;
    queued(&conversation, made).await
}

/// What a person answers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answered {
    text: String,
}

/// `POST …/turns/{turn}/answer`
pub(super) async fn answer(
    conversation: Conversation<Talking>,
    turn: TurnPart,
    headers: HeaderMap,
    Json(Answered { text }): Json<Answered>,
) -> Result<Response, Problem> {
    check_text(&text)?;
    let request = request(&headers)?;
    let made = conversation.answer(turn.id()?, &text, request.as_ref()).await?;
    queued(&conversation, made).await
}

impl TurnPart {
    fn id(&self) -> Result<TurnId, Problem> {
        let id = Uuid::try_parse(&self.0);
        id.map(TurnId).map_err(|_| Problem::nothing_here())
    }
}

/// The answer to whoever had a turn queued: where it is.
async fn queued(
    conversation: &Conversation<Talking>,
    made: Made<TurnId>,
) -> Result<Response, Problem> {
    let turn = conversation.turn(made.id()).await?;
    let status = match made {
        Made::New(_) => StatusCode::ACCEPTED,
        Made::Found(_) => StatusCode::OK,
    };
    let place = format!("/v1/agent-sessions/{}/turns/{}", turn.session, turn.id);
    let place = HeaderValue::try_from(place).map_err(|_| Problem::nothing_here())?;
    Ok((status, [(LOCATION, place)], Answer(turn_json(&turn))).into_response())
}

/// `POST …/turns/{turn}/cancel`
pub(super) async fn cancel(
    conversation: Conversation<Talking>,
    turn: TurnPart,
) -> Result<Answer<Value>, Problem> {
    let outcome = match conversation.cancel(turn.id()?).await? {
        Cancelled::Ended => "ended",
        Cancelled::Asked => "asked",
        Cancelled::Over => "over",
    };
    Ok(Answer(json!({ "outcome": outcome })))
}

/// Which turns to list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TurnsOptions {
    /// The position of the last one that was seen.
    #[serde(default)]
    after: u64,
    limit: Option<u32>,
}

/// `GET …/guidance`
pub(super) async fn guidance(
    conversation: Conversation<Reading>,
) -> Result<Answer<Value>, Problem> {
    Ok(Answer(json!({ "guidance": conversation.guidance().await? })))
}

/// `GET …/turns`
pub(super) async fn list(
    conversation: Conversation<Reading>,
    Options(TurnsOptions { after, limit }): Options<TurnsOptions>,
) -> Result<Answer<Value>, Problem> {
    let turns = conversation.turns(after, limit.unwrap_or(CATALOG_PAGE_ROWS_MAX)).await?;
    Ok(Answer(json!({ "turns": turns.iter().map(turn_json).collect::<Vec<_>>() })))
}

/// `GET …/turns/{turn}`
pub(super) async fn show(
    conversation: Conversation<Reading>,
    turn: TurnPart,
) -> Result<Answer<Value>, Problem> {
    Ok(Answer(turn_json(&conversation.turn(turn.id()?).await?)))
}

/// `GET …/turns/{turn}/invocations`
pub(super) async fn invocations(
    conversation: Conversation<Reading>,
    turn: TurnPart,
) -> Result<Answer<Value>, Problem> {
    let invocations = conversation.invocations(turn.id()?).await?;
    let items: Vec<_> = invocations.iter().map(invocation_json).collect();
    Ok(Answer(json!({ "items": items })))
}

fn invocation_json(InvokedBy { attempt, invoked }: &InvokedBy) -> Value {
    json!({
        "attempt": attempt,
        "verb": invoked.verb,
        "scope": invoked.scope,
        "outcome": invoked.outcome,
        "calls": invoked.calls,
        "bytes": invoked.bytes,
        "waited_us": invoked.waited_us,
    })
}

/// Where to begin.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventsOptions {
    /// The number of the last event that was seen; the header `Last-Event-ID` goes before it.
    #[serde(default)]
    after: u64,
}

/// `GET …/events`: server-sent events, those that were, then those that come.
pub(super) async fn events(
    conversation: Conversation<Reading>,
    headers: HeaderMap,
    Options(EventsOptions { after }): Options<EventsOptions>,
) -> Result<Response, Problem> {
    let after = match headers.get(LAST_EVENT_ID) {
        None => after,
        Some(last) => last.to_str().ok().and_then(|last| last.parse().ok()).ok_or_else(|| {
            Problem::bad_request("last-event-id", "`Last-Event-ID` is the number of an event")
        })?,
    };
    let follower = conversation.follow(after).await?;
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    let mut response = Sse::new(sent(follower)).keep_alive(keep_alive).into_response();
    // Proxies that gather what they pass on would hold events back.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// Ends where its reader may not go on; a reader comes back with the last number it saw.
fn sent(follower: Follower) -> impl Stream<Item = Result<Sent, Infallible>> {
    let pages = stream::unfold(Some(follower), |follower| async move {
        let mut follower = follower?;
        match follower.next().await {
            Ok(events) => Some((events, Some(follower))),
            Err(_) => None,
        }
    });
    pages.flat_map(|events| stream::iter(events.into_iter().map(|event| Ok(sent_as(&event)))))
}

fn sent_as(recorded: &Recorded) -> Sent {
    let (kind, data) = event_json(recorded);
    Sent::default().id(recorded.number.to_string()).event(kind).data(data.to_string())
}

fn event_json(recorded: &Recorded) -> (&'static str, Value) {
    let (kind, mut data) = match &recorded.event {
        Event::State(state) => ("state", json!({ "state": state.as_str() })),
        Event::Said { text } => ("said", json!({ "text": text })),
        Event::Written { path, size } => ("written", json!({ "path": path, "size": size })),
        Event::Deleted { path } => ("deleted", json!({ "path": path })),
        Event::Promoted { source, target, revision } => {
            ("promoted", json!({ "source": source, "target": target, "revision": revision }))
        }
        Event::Spilled { path } => ("spilled", json!({ "path": path })),
        Event::Logged { level, message } => {
            ("logged", json!({ "level": level.as_str(), "message": message }))
        }
    };
    data["turn"] = recorded.turn.to_string().into();
    data["attempt"] = recorded.attempt.into();
    data["at_ms"] = recorded.at_ms.into();
    (kind, data)
}

fn turn_json(turn: &Turn) -> Value {
    json!({
        "id": turn.id.to_string(),
        "position": turn.position,
        "state": turn.state.as_str(),
        "attempt": turn.attempt,
        "answers": turn.resumes.map(|turn| turn.to_string()),
        "input": turn.input,
        "answer": turn.answer,
        "said": turn.said,
        "reply": turn.reply,
        "question": turn.question,
        "failure": turn.failure,
        "error": turn.error,
        "queued_ms": turn.queued_ms,
        "started_ms": turn.started_ms,
        "ended_ms": turn.ended_ms,
    })
}

/// When to wake, and with what.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Waking {
    input: String,
    /// Once, in milliseconds since the Unix epoch.
    at_ms: Option<u64>,
    /// Or again and again: a pattern of cron.
    cron: Option<String>,
    /// The time zone that the pattern is read in; UTC by default.
    zone: Option<String>,
}

impl Waking {
    fn when(&self, now_ms: u64) -> Result<When, Problem> {
        let refused = |detail: String| Problem::bad_request("wakeup", detail);
        match (self.at_ms, &self.cron) {
            (Some(at_ms), None) if self.zone.is_none() => Ok(When::At(at_ms)),
            (None, Some(cron)) => {
                let zone = self.zone.as_deref().unwrap_or("UTC");
                let cron = Cron::new(cron, zone, now_ms);
                cron.map(When::Cron).map_err(|error| refused(error.to_string()))
            }
            _ => Err(refused("a wakeup has either `at_ms`, or `cron` and its `zone`".to_owned())),
        }
    }
}

/// `POST …/wakeups`
pub(super) async fn wake(
    conversation: Conversation<Talking>,
    Json(waking): Json<Waking>,
) -> Result<Response, Problem> {
    check_text(&waking.input)?;
    let when = waking.when(conversation.now_ms())?;
    let id = conversation.wake(&when, &waking.input).await?;
    Ok((StatusCode::CREATED, Answer(json!({ "id": id.to_string() }))).into_response())
}

/// `DELETE …/wakeups/{wakeup}`
pub(super) async fn unwake(
    conversation: Conversation<Talking>,
    WakeupPart(id): WakeupPart,
) -> Result<StatusCode, Problem> {
    let id = Uuid::parse_str(&id).map_err(|_| Problem::nothing_here())?;
    conversation.unwake(WakeupId(id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET …/wakeups`: those that are to come, and those that were.
pub(super) async fn wakeups(conversation: Conversation<Reading>) -> Result<Answer<Value>, Problem> {
    let wakeups = conversation.wakeups().await?;
    let firings = conversation.firings(CATALOG_PAGE_ROWS_MAX).await?;
    Ok(Answer(json!({
        "wakeups": wakeups.iter().map(wakeup_json).collect::<Vec<_>>(),
        "firings": firings.iter().map(firing_json).collect::<Vec<_>>(),
    })))
}

fn wakeup_json(wakeup: &Wakeup) -> Value {
    json!({
        "id": wakeup.id.to_string(),
        "asked_by": wakeup.turn.map(|turn| turn.to_string()),
        "due_ms": wakeup.due_ms,
        "input": wakeup.input,
        "cron": wakeup.cron.as_ref().map(Cron::pattern),
        "zone": wakeup.cron.as_ref().map(Cron::zone),
    })
}

fn firing_json(firing: &Firing) -> Value {
    json!({
        "wakeup": firing.wakeup.to_string(),
        "due_ms": firing.due_ms,
        "fired_ms": firing.fired_ms,
        "turn": firing.turn.to_string(),
    })
}

fn request(headers: &HeaderMap) -> Result<Option<Label>, Problem> {
    let Some(key) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let label = key.to_str().ok().and_then(|key| key.parse().ok());
    label
        .map(Some)
        .ok_or_else(|| Problem::bad_request("idempotency-key", "`Idempotency-Key` is a short text"))
}

/// Refused here, and not by the turn that it would become.
fn check_text(text: &str) -> Result<(), Problem> {
    if text.len() <= TURN_TEXT_BYTES_MAX {
        return Ok(());
    }
    let detail = format!("a text is at most {TURN_TEXT_BYTES_MAX} bytes: put it in a file");
    Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail))
}
