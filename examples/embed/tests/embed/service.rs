//! A service that speaks as OpenAI's does, and does as it is told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// What the service does with one request.
#[derive(Clone, Debug)]
pub(crate) enum Does {
    Answer(Value),
    /// A status, perhaps a `retry-after`, and a body.
    Refuse(u16, Option<u64>, Value),
    /// Bytes of no kind, with success.
    Send(Vec<u8>),
    /// Nothing, for ever.
    Wait,
}

/// The service: what it does, request by request, the last for ever; and what it saw.
#[derive(Clone)]
pub(crate) struct Service {
    does: Arc<Mutex<VecDeque<Does>>>,
    seen: Arc<Mutex<Vec<(HeaderMap, Value)>>>,
    /// Requests that it has not answered.
    waiting: watch::Sender<usize>,
    pub(crate) base_url: String,
}

impl Service {
    pub(crate) async fn start(does: impl IntoIterator<Item = Does>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1/", listener.local_addr().unwrap());
        let does = Arc::new(Mutex::new(does.into_iter().collect()));
        let service = Self { does, seen: Arc::default(), waiting: watch::Sender::new(0), base_url };
        let router = Router::new().route("/v1/chat/completions", post(complete));
        let served = axum::serve(listener, router.with_state(service.clone()));
        tokio::spawn(async move { served.await.unwrap() });
        service
    }

    /// As if it was elsewhere.
    pub(crate) fn at(self, base_url: &str) -> Self {
        Self { base_url: base_url.to_owned(), ..self }
    }

    pub(crate) fn seen(&self) -> Vec<(HeaderMap, Value)> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until so many requests are being waited with.
    pub(crate) async fn waits_with(&self, count: usize) {
        self.waiting.subscribe().wait_for(|waiting| *waiting == count).await.unwrap();
    }

    fn next(&self) -> Does {
        let mut does = self.does.lock().unwrap();
        if does.len() > 1 { does.pop_front() } else { does.front().cloned() }.unwrap()
    }
}

/// Counts a request that is being waited with, until whoever asked hangs up.
struct Waiting(watch::Sender<usize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.send_modify(|waiting| *waiting -= 1);
    }
}

async fn complete(
    State(service): State<Service>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    service.seen.lock().unwrap().push((headers, body));
    match service.next() {
        Does::Answer(message) => {
            let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
            Json(json!({ "object": "chat.completion", "choices": [choice] })).into_response()
        }
        Does::Refuse(status, wait, body) => {
            let mut response = (StatusCode::from_u16(status).unwrap(), Json(body)).into_response();
            if let Some(wait) = wait {
                response.headers_mut().insert("retry-after", wait.into());
            }
            response
        }
        Does::Send(bytes) => bytes.into_response(),
        Does::Wait => {
            service.waiting.send_modify(|waiting| *waiting += 1);
            let _waiting = Waiting(service.waiting.clone());
            std::future::pending().await
        }
    }
}

/// What a model says that wants nothing done.
pub(crate) fn says(text: &str) -> Does {
    Does::Answer(json!({ "role": "assistant", "content": text }))
}

/// How services refuse.
pub(crate) fn refuses(status: u16, wait: Option<u64>, code: &str) -> Does {
    let error = json!({ "message": "SECRET of the service", "type": "x", "code": code });
    Does::Refuse(status, wait, json!({ "error": error }))
}
