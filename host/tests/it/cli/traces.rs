//! Traces of a host that serves, as a collector gets them.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use bailiwick::catalog::AgentComponent;
use bailiwick::scope::Sha256;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use tokio::net::TcpListener;

use super::harness::{Machine, finish, piped, wait_for};
use super::serve::{Serving, json};
use crate::engine::wat;

/// What a collector was sent, request by request.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Bytes>>>);

impl Collector {
    /// Its address.
    async fn start(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let take = |State(Self(sent)): State<Self>, body: Bytes| async move {
            sent.lock().unwrap().push(body);
        };
        let router = Router::new().route("/v1/traces", post(take)).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        address
    }

    fn sent(&self) -> Vec<Bytes> {
        self.0.lock().unwrap().clone()
    }

    fn requests(&self) -> Vec<ExportTraceServiceRequest> {
        self.sent()
            .into_iter()
            .map(|body| ExportTraceServiceRequest::decode(body).unwrap())
            .collect()
    }

    fn spans(&self) -> Vec<Span> {
        let resources = self.requests().into_iter().flat_map(|request| request.resource_spans);
        resources.flat_map(|spans| spans.scope_spans).flat_map(|spans| spans.spans).collect()
    }
}

fn attribute(span: &Span, key: &str) -> String {
    let found = span.attributes.iter().find(|attribute| attribute.key == key);
    match found.and_then(|attribute| attribute.value.clone()?.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => panic!("{key}: {other:?} in {span:?}"),
    }
}

/// Requests and turns are spans with ids and routes, which a collector has when the host has
/// ended; nothing that was said, named or proved is in them.
#[tokio::test(flavor = "multi_thread")]
async fn requests_and_turns_are_traced() {
    let collector = Collector::default();
    let address = collector.start().await;
    let machine = Machine::new();
    machine.ok(&["workspaces", "new", "acme"]);
    let catalog = machine.catalog().await;
    let name = |name: &str| name.parse().unwrap();
    let workspace = catalog.workspace(&name("acme")).await.unwrap().unwrap();
    let agent = catalog.make_agent(workspace, &name("clerk")).await.unwrap().id();
    let session = catalog.make_session(agent, &name("monday")).await.unwrap().id();
    let serving = Serving::start(&machine, &["--otlp-endpoint", &address]);
    let who = ["token", "-w", "acme", "--subject", "ann", "--allow", "sessions:write"];
    let token = machine.ok(&who).trim().to_owned();
    let said = "SAID-BY-A-PERSON";
    let file = format!("/v1/agent-sessions/{session}/files/session/NAMED.txt");
    assert!(serving.ask("PUT", &file, &token, said).starts_with("HTTP/1.1 404"));
    assert!(serving.ask("GET", "/readyz", "", "").starts_with("HTTP/1.1 200"));
    let turns = format!("/v1/agent-sessions/{session}/turns");
    let guest = wat::echo();
    let component = Sha256([7; 32]);
    catalog.upload_component(workspace, &name("echo"), component, &guest).await.unwrap();
    let named = AgentComponent::Latest(name("echo"));
    catalog.set_agent_component(agent, Some(&named)).await.unwrap();
    let asked = serving.ask("POST", &turns, &token, &format!("{{\"input\":\"{said}\"}}"));
    let turn = json(&asked)["id"].as_str().unwrap().to_owned();
    let place = format!("{turns}/{turn}");
    let is_done = || json(&serving.ask("GET", &place, &token, ""))["state"] == "done";
    wait_for("the turn", is_done);
    let (done, log) = tokio::task::block_in_place(|| serving.stop());
    assert_eq!(done.code, Some(0), "{log}");

    let spans = collector.spans();
    let ran = spans.iter().find(|span| span.name == "turn").unwrap();
    for (key, expected) in [
        ("workspace", workspace.to_string()),
        ("agent", agent.to_string()),
        ("session", session.to_string()),
        ("turn", turn.clone()),
        ("attempt", "1".to_owned()),
        ("ending", "reply".to_owned()),
    ] {
        assert_eq!(attribute(ran, key), expected, "{ran:?}");
    }
    let guest = spans.iter().find(|span| span.name == "guest").unwrap();
    assert_eq!(guest.parent_span_id, ran.span_id);
    let queued = "POST /v1/agent-sessions/{session}/turns";
    let queued = spans.iter().find(|span| span.name == queued).unwrap();
    assert_eq!(attribute(queued, "http.response.status_code"), "202");
    assert_eq!(attribute(queued, "session"), session.to_string());
    assert!(spans.iter().any(|span| span.name.ends_with("/files/{*path}")));
    assert!(!spans.iter().any(|span| span.name.contains("readyz")));
    let resource = collector.requests()[0].resource_spans[0].resource.clone().unwrap();
    assert!(format!("{resource:?}").contains("\"bailiwick\""), "{resource:?}");
    for body in collector.sent() {
        let body = String::from_utf8_lossy(&body);
        for secret in [said, "NAMED", &token, "ann"] {
            assert!(!body.contains(secret), "{secret}");
        }
    }
}

/// A collector that takes what it is sent and never answers holds nothing up, and neither does one
/// that is not there.
#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_gone_holds_nothing_up() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}", silent.local_addr().unwrap());
    for address in [silent.as_str(), "http://127.0.0.1:1"] {
        let machine = Machine::new();
        let serving = Serving::start(&machine, &["--otlp-endpoint", address]);
        for _ in 0..20 {
            let answer = serving.ask("GET", "/v1/workspaces", "none", "");
            assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
        }
        let (done, log) = tokio::task::block_in_place(|| serving.stop());
        assert_eq!(done.code, Some(0), "{log}");
    }
}

/// What is no address is told before anything is served; what is meant for traces alone goes before
/// what is meant for all, and neither is looked at where OpenTelemetry is off.
#[test]
fn where_traces_go_is_read_as_elsewhere() {
    let machine = Machine::new();
    // Nothing can be listened on there, which is told after where traces go.
    let told = |variables: &[(&str, &str)], more: &[&str]| {
        let serve = ["serve", "--listen", "192.0.2.1:1"].as_slice();
        let mut command = machine.command(&[serve, more].concat());
        let done = finish(piped(command.envs(variables.iter().copied())));
        assert_eq!(done.code, Some(1), "{done:?}");
        done.err
    };
    let (all, alone, off) =
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_SDK_DISABLED");
    let (right, wrong) = ("http://127.0.0.1:1", "ftp://a");
    for (variables, option, is_refused) in [
        ([].as_slice(), "localhost:4318", true),
        (&[], wrong, true),
        (&[], "http://", true),
        (&[], right, false),
        (&[(all, wrong)], right, false),
        (&[(alone, wrong)], right, true),
        (&[(alone, right)], wrong, false),
        (&[(off, "true")], wrong, false),
    ] {
        let err = told(variables, &["--otlp-endpoint", option]);
        assert_eq!(!err.contains("listened on"), is_refused, "{variables:?} {option}: {err}");
    }
    assert!(told(&[(all, wrong)], &[]).contains("ftp://a/v1/traces is no address of HTTP"));
}
