use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use serde_json::json;

use super::{Answer, Door};
use crate::faulty::{Fault, Plan};

async fn ask(door: &Door, path: &str) -> Answer {
    door.send(Request::builder().uri(path).body(Body::empty()).unwrap()).await
}

/// A host is ready while its catalog and its store answer, and well as long as it lives.
#[tokio::test]
async fn a_host_says_if_it_is_ready() {
    let door = Door::new().await;
    let ready = ask(&door, "/readyz").await;
    assert_eq!(
        (ready.status, ready.json()),
        (StatusCode::OK, json!({ "catalog": true, "store": true }))
    );
    let door = Door::new().await;
    door.world.store.plan(Plan::Every(Fault::Before));
    let ready = ask(&door, "/readyz").await;
    assert_eq!(ready.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(ready.json(), json!({ "catalog": true, "store": false }));
    let calls = door.world.store.calls();
    for _ in 0..10 {
        assert_eq!(ask(&door, "/readyz").await.status, StatusCode::SERVICE_UNAVAILABLE);
    }
    assert_eq!(door.world.store.calls(), calls, "asking often costs the store nothing");
    assert_eq!(ask(&door, "/healthz").await.body, "ok\n");
}

/// Requests are counted by route and status, by words of the host's own.
#[tokio::test]
async fn requests_are_counted_by_route() {
    let door = Door::new().await;
    let ann = door.ann();
    door.put(&ann, &door.in_session("/files/session/a"), "x").await;
    door.get(&ann, &door.in_session("/files/session/b")).await;
    door.ask(&ann, Method::from_bytes(b"HOSTILE").unwrap(), "/nowhere/secret-name").await;
    let counted = ask(&door, "/metrics").await;
    assert!(counted.field("content-type").starts_with("text/plain; version=0.0.4"));
    let text = String::from_utf8(counted.body.to_vec()).unwrap();
    let route = "route=\"/v1/agent-sessions/{session}/files/{*path}\"";
    for line in [
        format!("bailiwick_http_requests_total{{method=\"PUT\",{route},status=\"201\"}} 1"),
        format!("bailiwick_http_requests_total{{method=\"GET\",{route},status=\"404\"}} 1"),
        "bailiwick_http_requests_total{method=\"other\",route=\"none\",status=\"404\"} 1"
            .to_owned(),
        "bailiwick_http_streams_open 1".to_owned(),
        format!("bailiwick_http_request_seconds_count{{method=\"PUT\",{route}}} 1"),
    ] {
        assert!(text.contains(&line), "{line} in {text}");
    }
    for secret in ["secret-name", "HOSTILE", &door.session.to_string(), "ann"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}
