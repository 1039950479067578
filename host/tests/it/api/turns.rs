//! Conversations over HTTP.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, StatusCode};
use bailiwick::api::authority::Authority;
use bailiwick::catalog::{AgentComponent, Event, Name};
use bailiwick::limits::Limits;
use bailiwick::scope::Sha256;
use http_body_util::BodyExt as _;
use serde_json::json;
use tower::ServiceExt as _;

use super::{Answer, Door, Who, request};
use crate::engine::wat;
use crate::space::World;

const PATIENCE: Duration = Duration::from_secs(20);

impl Door {
    /// Gives the agent something to run.
    pub(super) async fn employ(&self) -> Sha256 {
        let (name, guest) = ("echo".parse::<Name>().unwrap(), wat::echo());
        let sha256 = Sha256([7; 32]);
        self.catalog.upload_component(self.workspace, &name, sha256, &guest).await.unwrap();
        let named = AgentComponent::Latest(name);
        self.catalog.set_agent_component(self.agent, Some(&named)).await.unwrap();
        sha256
    }

    async fn ask_turn(&self, who: &Who, input: &str) -> Answer {
        self.post(who, &self.in_session("/turns"), &json!({ "input": input })).await
    }
}

/// Who takes part asks, sees what is queued, and stops it.
#[tokio::test]
async fn a_participant_asks_and_stops() {
    let door = Door::new().await;
    let ann = door.ann();
    let without = door.ask_turn(&ann, "hi").await;
    assert_eq!(without.status, StatusCode::NOT_FOUND);
    assert_eq!(without.json()["code"], "component");
    door.employ().await;
    let asked = door.ask_turn(&ann, "hi").await;
    assert_eq!(asked.status, StatusCode::ACCEPTED, "{asked:?}");
    let place = asked.field("location").to_owned();
    let shown = door.get(&ann, &place).await.json();
    assert_eq!((&shown["state"], &shown["input"]), (&json!("queued"), &json!("hi")));
    let listed = door.get(&ann, &door.in_session("/turns")).await.json();
    assert_eq!(listed["turns"], json!([shown]));
    let stopped = door.post(&ann, &format!("{place}/cancel"), &json!({})).await;
    assert_eq!(stopped.json()["outcome"], "ended");
    assert_eq!(door.get(&ann, &place).await.json()["failure"], "cancelled");
    let unanswerable = door.post(&ann, &format!("{place}/answer"), &json!({ "text": "x" })).await;
    assert_eq!(unanswerable.status, StatusCode::CONFLICT);
}

/// Who takes part reads what a model is to be told: what the settings let a turn do, whatever the
/// token allows.
#[tokio::test]
async fn guidance_is_of_what_a_turn_has() {
    let door = Door::new().await;
    let (ann, ask) = (door.who("ann", &[]), door.in_session("/guidance"));
    let told = async || door.get(&ann, &ask).await.json()["guidance"].as_str().unwrap().to_owned();
    let text = told().await;
    assert!(text.contains("`/agent` is your own durable folder"), "{text}");
    assert!(text.contains("you can read it and not change it"), "{text}");
    door.set(Some("agent_files"), "none").await;
    let text = told().await;
    assert!(text.contains("is not available in this turn"), "{text}");
    let bob = door.who("bob", &[Authority::AgentFilesWrite]);
    assert_eq!(door.get(&bob, &ask).await.status, StatusCode::NOT_FOUND);
}

/// A request with a name is done once, however often it is sent; another one of that name is not.
#[tokio::test]
async fn a_request_that_is_repeated_is_done_once() {
    let door = Door::new().await;
    door.employ().await;
    let send = |input: &str| {
        let request = request(&door.ann(), Method::POST, &door.in_session("/turns"));
        let request = request.header("content-type", "application/json");
        let request = request.header("idempotency-key", "once");
        door.send(request.body(Body::from(json!({ "input": input }).to_string())).unwrap())
    };
    let first = send("hi").await;
    let again = send("hi").await;
    assert_eq!((first.status, again.status), (StatusCode::ACCEPTED, StatusCode::OK));
    assert_eq!(first.json()["id"], again.json()["id"]);
    assert_eq!(send("other").await.status, StatusCode::CONFLICT);
}

/// A turn of another session is not here, under whatever session's path it is asked for.
#[tokio::test]
async fn a_turn_is_found_in_its_own_session_alone() {
    let door = Door::new().await;
    door.employ().await;
    let ann = door.ann();
    let turn = door.ask_turn(&ann, "hi").await.json()["id"].as_str().unwrap().to_owned();
    let other = door.another().await.session.unwrap();
    for (method, below) in
        [(Method::GET, format!("/turns/{turn}")), (Method::POST, format!("/turns/{turn}/cancel"))]
    {
        let path = format!("/v1/agent-sessions/{other}{below}");
        let answer = door.ask(&ann, method, &path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
    }
    let there = door.get(&ann, &door.in_session(&format!("/turns/{turn}"))).await;
    assert_eq!(there.json()["state"], "queued");
}

/// What is said in a conversation is for who is in it, and for who may read all of them: whoever
/// administers sees that it is there.
#[tokio::test]
async fn an_administrator_reads_no_conversation() {
    let door = Door::new().await;
    door.employ().await;
    let turn = door.ask_turn(&door.ann(), "secret").await.json()["id"].as_str().unwrap().to_owned();
    let reader = door.who("auditor", &[Authority::SessionsRead]);
    let admin = door.who("root", &[Authority::Admin]);
    for below in ["/turns", &format!("/turns/{turn}"), "/events", "/wakeups"] {
        let path = door.in_session(below);
        assert_eq!(door.get(&admin, &path).await.status, StatusCode::NOT_FOUND, "{path}");
        if below != "/events" {
            assert_eq!(door.get(&reader, &path).await.status, StatusCode::OK, "{path}");
        }
    }
    assert_eq!(door.get(&admin, &door.in_session("")).await.status, StatusCode::OK);
    let listed = door.get(&admin, &door.in_agent("/sessions")).await;
    assert!(!listed.json().to_string().contains("secret"), "{listed:?}");
}

/// Events are sent in order, from where a reader says that it is, and then as they come.
#[tokio::test]
async fn events_go_on_where_their_reader_was() {
    let door = Door::new().await;
    door.employ().await;
    let ann = door.ann();
    door.ask_turn(&ann, "first").await;
    let claimed = door.catalog.claim("host", 1).await.unwrap().remove(0);
    let path = door.in_session("/events");
    let request = request(&ann, Method::GET, &path).header("last-event-id", "1");
    let response = door.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut body = response.into_body();
    let mut seen = String::new();
    read_until(&mut body, &mut seen, "running").await;
    assert!(seen.starts_with("id: 2\nevent: state\n"), "{seen}");
    assert!(!seen.contains("queued"), "{seen}");
    let said = [Event::Said { text: "hello\nthere".to_owned() }];
    door.catalog.renew(claimed.lease, 0, &said).await.unwrap();
    read_until(&mut body, &mut seen, "hello\\nthere").await;
    assert!(seen.contains("id: 3\nevent: said\n"), "{seen}");
}

/// Whoever may not see a conversation any more is sent no more of it.
#[tokio::test]
async fn events_end_with_the_right_to_see_them() {
    let door = Door::new().await;
    door.employ().await;
    let ann = door.who("ann", &[]);
    let request = request(&ann, Method::GET, &door.in_session("/events"));
    let response = door.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let subject = "ann".parse().unwrap();
    door.catalog.remove_participant(door.session, &subject).await.unwrap();
    door.ask_turn(&door.who("bob", &[Authority::SessionsWrite]), "a secret").await;
    let body = tokio::time::timeout(PATIENCE, response.into_body().collect()).await.unwrap();
    assert_eq!(body.unwrap().to_bytes(), "");
}

/// Only so many follow at once; who lets go makes room.
#[tokio::test]
async fn followers_over_the_bound_are_told_to_come_again() {
    let limits = Limits { host_followers_max: 2, ..Limits::default() };
    let door = Door::over(World::with(limits)).await;
    let ann = door.ann();
    let follow = async || {
        let request = request(&ann, Method::GET, &door.in_session("/events"));
        door.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    };
    let followers = [follow().await, follow().await];
    assert!(followers.iter().all(|follower| follower.status() == StatusCode::OK));
    let refused = follow().await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers().contains_key("retry-after"));
    drop(followers);
    assert_eq!(follow().await.status(), StatusCode::OK);
}

async fn read_until(body: &mut Body, seen: &mut String, wanted: &str) {
    let read = async {
        while !seen.contains(wanted) {
            let frame = body.frame().await.unwrap().unwrap();
            seen.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
    };
    tokio::time::timeout(PATIENCE, read).await.unwrap_or_else(|_| panic!("no {wanted}: {seen}"));
}

/// A session is woken as it is asked, by what is to come.
#[tokio::test]
async fn wakeups_are_asked_for_and_taken_back() {
    let door = Door::new().await;
    let (ann, path) = (door.ann(), door.in_session("/wakeups"));
    for refused in [
        json!({ "input": "x" }),
        json!({ "input": "x", "at_ms": 1, "cron": "0 0 * * *" }),
        json!({ "input": "x", "cron": "never" }),
        json!({ "input": "x", "cron": "0 0 * * *", "zone": "Atlantis" }),
    ] {
        let answer = door.post(&ann, &path, &refused).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{refused}");
    }
    let daily = json!({ "input": "x", "cron": "30 7 * * *", "zone": "Europe/Zurich" });
    let made = door.post(&ann, &path, &daily).await;
    assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let listed = door.get(&ann, &path).await.json();
    assert_eq!(listed["wakeups"][0]["zone"], "Europe/Zurich");
    let taken = door.ask(&ann, Method::DELETE, &format!("{path}/{id}")).await;
    assert_eq!(taken.status, StatusCode::NO_CONTENT);
    let again = door.ask(&ann, Method::DELETE, &format!("{path}/{id}")).await;
    assert_eq!(again.status, StatusCode::NOT_FOUND);
}

/// What this host cannot run is not kept; what it can is, once, and an agent may name it.
#[tokio::test]
async fn components_are_looked_at_before_they_are_kept() {
    let door = Door::new().await;
    let admin = door.who("root", &[Authority::Admin]);
    let path = door.in_workspace("/components/echo");
    let unfit = door.put(&admin, &path, "no component").await;
    assert_eq!(unfit.status, StatusCode::UNPROCESSABLE_ENTITY, "{unfit:?}");
    assert_eq!(door.get(&admin, &path).await.status, StatusCode::NOT_FOUND);
    let put = || async {
        let request = request(&admin, Method::PUT, &path).body(Body::from(wat::echo()));
        door.send(request.unwrap()).await.json()
    };
    let first = put().await;
    assert_eq!(first["number"], 1, "{first}");
    assert_eq!(put().await, first);
    let chosen = json!({ "sha256": first["sha256"] });
    let request = request(&admin, Method::PUT, &door.in_agent("/component"));
    let request = request.header("content-type", "application/json");
    let chosen = door.send(request.body(Body::from(chosen.to_string())).unwrap()).await;
    assert_eq!(chosen.status, StatusCode::NO_CONTENT, "{chosen:?}");
    assert_eq!(door.ask_turn(&door.ann(), "hi").await.status, StatusCode::ACCEPTED);
}

/// What a turn asked of its host is seen by who may read the turn, in its own session alone.
#[tokio::test]
async fn what_a_turn_asked_is_seen_with_the_turn() {
    let door = Door::new().await;
    door.employ().await;
    let ann = door.ann();
    let turn = door.ask_turn(&ann, "").await.json()["id"].as_str().unwrap().to_owned();
    let path = door.in_session(&format!("/turns/{turn}/invocations"));
    assert_eq!(door.get(&ann, &path).await.json(), json!({ "items": [] }));
    let lease = door.catalog.claim("host", 1).await.unwrap()[0].lease;
    let invoked = bailiwick::catalog::Invoked {
        verb: "files.read".into(),
        scope: "session".into(),
        outcome: "ok".into(),
        calls: 2,
        bytes: 8,
        waited_us: 5,
    };
    let ended = crate::retention::ended(bailiwick::catalog::Ending::Replied(String::new()));
    let finish = bailiwick::catalog::Finish { invoked: vec![invoked], ..ended };
    door.catalog.finish_turn(lease, &finish).await.unwrap();
    let shown = door.get(&ann, &path).await.json();
    let one = json!({
        "attempt": 1, "verb": "files.read", "scope": "session", "outcome": "ok",
        "calls": 2, "bytes": 8, "waited_us": 5,
    });
    assert_eq!(shown, json!({ "items": [one] }));
    let other = door.another().await;
    let elsewhere =
        format!("/v1/agent-sessions/{}/turns/{turn}/invocations", other.session.unwrap());
    assert_eq!(door.get(&ann, &elsewhere).await.status, StatusCode::NOT_FOUND);
}
