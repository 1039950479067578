//! The whole platform over a service that can be seen.

use std::time::Duration;

use embed::http;
use embed::model::Backend;
use embed::platform::{Platform, PlatformOptions};
use reqwest::Client;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::assistant;
use crate::client::client;
use crate::service::{Does, Service, says};
use crate::told::{ask, events};

/// A platform that runs, until its folder is dropped.
struct Running {
    base: String,
    _folder: TempDir,
}

#[expect(clippy::disallowed_methods, reason = "a test reads what the set-up built")]
async fn running(service: &Service) -> Option<Running> {
    let component = std::fs::read(assistant()?).unwrap();
    let folder = TempDir::new().unwrap();
    let backend = Backend::OpenAi(client(service, Duration::from_secs(60)));
    let options = PlatformOptions { folder: folder.path(), component: &component, backend };
    let platform = Platform::open(options).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let worker = platform.clone();
    tokio::spawn(async move { worker.run(std::future::pending(), Duration::ZERO).await });
    tokio::spawn(async move { axum::serve(listener, http::router(platform)).await.unwrap() });
    Some(Running { base, _folder: folder })
}

fn calls(name: &str, arguments: &Value) -> Does {
    let function = json!({ "name": name, "arguments": arguments.to_string() });
    let call = json!([{ "id": "c", "type": "function", "function": function }]);
    Does::Answer(json!({ "role": "assistant", "content": "Let me see.", "tool_calls": call }))
}

/// The model is told the tools and what came of its calls, wrong ones included, and in the next
/// turn what was said before.
#[tokio::test]
async fn the_model_is_told_what_came_of_its_calls() {
    let service = Service::start([
        calls("read_file", &json!({ "path": "session/none.md" })),
        calls("fly", &json!({})),
        says("There is no such file."),
        says("As I said."),
    ]);
    let service = service.await;
    let Some(running) = running(&service).await else { return };
    let first = ask(&running.base, "a", "What is in none.md?").await;
    assert_eq!(first.last("reply")["text"], "There is no such file.");
    let second = ask(&running.base, "a", "Sure?").await;
    assert_eq!(second.last("reply")["text"], "As I said.");
    let seen: Vec<_> = service.seen().into_iter().map(|(_, body)| body).collect();
    let tools = seen[0]["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["function"]["name"] == "write_file"));
    let last = |body: &Value| body["messages"].as_array().unwrap().last().unwrap().clone();
    let missing = last(&seen[1])["content"].as_str().unwrap().to_owned();
    assert!(missing.contains("session/none.md"), "{missing}");
    assert!(last(&seen[2])["content"].as_str().unwrap().contains("There is no tool `fly`"));
    let roles: Vec<_> =
        seen[3]["messages"].as_array().unwrap().iter().map(|m| m["role"].clone()).collect();
    let expected =
        ["system", "user", "assistant", "tool", "assistant", "tool", "assistant", "user"];
    assert_eq!(roles, expected);
}

/// A turn that is stopped while it waits for the model ends, and the request with it; meanwhile
/// others are answered.
#[tokio::test]
async fn a_turn_that_is_stopped_gives_up_its_request() {
    let service = Service::start([Does::Wait, says("here")]).await;
    let Some(running) = running(&service).await else { return };
    let url = format!("{}/sessions/stuck/turns", running.base);
    let request = Client::new().post(url).header("content-type", "application/json");
    let mut stuck = request.body("{\"input\":\"hello\"}").send().await.unwrap();
    let mut text = String::new();
    while events(&text).is_empty() {
        text.push_str(std::str::from_utf8(&stuck.chunk().await.unwrap().unwrap()).unwrap());
    }
    service.waits_with(1).await;
    assert_eq!(ask(&running.base, "other", "hello").await.last("reply")["text"], "here");
    let turn = events(&text)[0].1["id"].as_str().unwrap().to_owned();
    let stop = Client::new().delete(format!("{}/turns/{turn}", running.base)).send().await;
    assert_eq!(stop.unwrap().status(), 202);
    text.push_str(&stuck.text().await.unwrap());
    let (kind, ended) = events(&text).pop().unwrap();
    assert_eq!(kind, "failed", "{ended}");
    service.waits_with(0).await;
}

/// What cannot be asked is refused before anything is queued.
#[tokio::test]
async fn what_cannot_be_asked_is_refused() {
    let service = Service::start([says("here")]).await;
    let Some(running) = running(&service).await else { return };
    for (session, body, status) in
        [("-a", "{\"input\":\"\"}", 400), ("a", "{}", 422), ("a", "{\"input\":1}", 422)]
    {
        let url = format!("{}/sessions/{session}/turns", running.base);
        let request = Client::new().post(url).header("content-type", "application/json");
        assert_eq!(request.body(body).send().await.unwrap().status(), status, "{session} {body}");
    }
    let nobody = format!("{}/turns/{}", running.base, uuid::Uuid::from_u128(1));
    assert_eq!(Client::new().delete(nobody).send().await.unwrap().status(), 404);
    assert_eq!(service.seen().len(), 0);
}
