//! How long things are kept, over HTTP.

use axum::http::{Method, StatusCode};
use bailiwick::api::authority::Authority;
use bailiwick::catalog::{
    Cascade, Ending, Enqueue, Judge, Left, Reason, Removable, Removal, SessionFacts,
};
use bailiwick::scope::{SessionId, WorkspaceId};
use serde_json::{Value, json};

use super::{Door, Who};

/// Lets everything go.
struct Ruthless;

impl Judge for Ruthless {
    fn kept(&self, _: &Cascade) -> Option<u64> {
        None
    }

    fn sentence(&self, _: &SessionFacts, _: &Cascade) -> Option<Reason> {
        Some(Reason::Idle)
    }
}

async fn sweep(door: &Door, session: SessionId) {
    door.catalog.begin_sweep(session, &Ruthless).await.unwrap().unwrap();
}

/// A session is closed and reopened by who may change it, held and released by who says how long
/// things are kept; one that is held is not deleted.
#[tokio::test]
async fn sessions_are_closed_and_held_over_http() {
    let door = Door::new().await;
    door.employ().await;
    let host = door.who("host", &[Authority::SessionsWrite]);
    let keeper = door.who("keeper", &[Authority::RetentionWrite]);
    let ask = async |who: &Who, method: Method, below: &str| {
        door.ask(who, method, &door.in_session(below)).await.status
    };
    let shown =
        async |field: &str| door.get(&host, &door.in_session("")).await.json()[field].clone();
    assert_eq!(ask(&host, Method::POST, "/close").await, StatusCode::NO_CONTENT);
    assert!(shown("closed_ms").await.is_u64());
    let refused = door.post(&host, &door.in_session("/turns"), &json!({ "input": "" })).await;
    assert_eq!((refused.status, &refused.json()["code"]), (StatusCode::CONFLICT, &json!("closed")));
    assert_eq!(ask(&host, Method::POST, "/reopen").await, StatusCode::NO_CONTENT);
    assert_eq!(shown("closed_ms").await, Value::Null);
    let asked = door.post(&host, &door.in_session("/turns"), &json!({ "input": "" })).await;
    assert_eq!(asked.status, StatusCode::ACCEPTED);
    assert_eq!(ask(&host, Method::POST, "/close").await, StatusCode::CONFLICT);
    assert_eq!(ask(&keeper, Method::POST, "/close").await, StatusCode::NOT_FOUND);
    assert_eq!(ask(&host, Method::PUT, "/hold").await, StatusCode::NOT_FOUND);
    assert_eq!(ask(&keeper, Method::PUT, "/hold").await, StatusCode::NO_CONTENT);
    assert!(shown("held_ms").await.is_u64());
    let held = door.ask(&host, Method::DELETE, &door.in_session("")).await;
    assert_eq!((held.status, &held.json()["code"]), (StatusCode::CONFLICT, &json!("held")));
    assert_eq!(ask(&keeper, Method::DELETE, "/hold").await, StatusCode::NO_CONTENT);
    assert_eq!(ask(&host, Method::DELETE, "").await, StatusCode::NO_CONTENT);
    let deletion = door.catalog.deletion(door.session.0).await.unwrap().unwrap();
    assert_eq!((deletion.why, deletion.by.as_deref()), (Some(Reason::Asked), Some("host")));
}

/// What would go is shown with why and when, a page at a time, to who says how long things are kept.
#[tokio::test]
async fn what_would_go_is_shown_with_why_and_when() {
    let door = Door::new().await;
    let keeper = door.who("keeper", &[Authority::RetentionWrite]);
    let path = door.in_workspace("/retention/preview");
    let other = door.another().await;
    door.put_settings(&json!({ "retention_idle_days": { "value": 7 } })).await;
    door.catalog.hold_session(other.session.unwrap()).await.unwrap();
    let shown = door.get(&keeper, &path).await.json();
    let items = shown["items"].as_array().unwrap();
    assert_eq!((items.len(), &shown["next"]), (2, &Value::Null), "{shown}");
    let own = items.iter().find(|it| it["session"] == door.session.to_string()).unwrap();
    assert_eq!((&own["goes"], &own["stays"]), (&json!("idle"), &Value::Null));
    let known = bailiwick::limits::ACTIVITY_KNOWN_MS;
    let goes_ms = own["active_ms"].as_u64().unwrap() + known + 7 * 86_400_000;
    assert_eq!((&own["goes_ms"], &own["name"]), (&json!(goes_ms), &json!("monday")));
    let held = items.iter().find(|it| it["agent"] == other.agent.to_string()).unwrap();
    assert_eq!((&held["goes"], &held["stays"]), (&Value::Null, &json!("held")));
    let first = door.get(&keeper, &format!("{path}?limit=1")).await.json();
    let next = first["next"].as_str().unwrap();
    let second = door.get(&keeper, &format!("{path}?limit=1&after={next}")).await.json();
    assert_eq!(json!([first["items"][0], second["items"][0]]), shown["items"]);
    for wrong in ["?limit=0", "?limit=501", "?after=x", "?after=x/y", "?at=1"] {
        let refused = door.get(&keeper, &format!("{path}{wrong}")).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
    let root =
        Who { subject: "root", workspace: None, authorities: vec![Authority::Admin], agents: None };
    let all = door.get(&root, "/v1/retention/preview").await.json();
    assert_eq!(all["items"], shown["items"]);
    let none = door.get(&door.who("ann", &[Authority::SessionsWrite]), &path).await;
    assert_eq!(none.status, StatusCode::NOT_FOUND);
}

/// A file that is written while its session is swept goes with it, and its writer is told so; one
/// that is sent into another scope stays.
#[tokio::test]
async fn a_file_written_while_its_session_is_swept_is_taken_back() {
    for nth in 0.. {
        let door = Door::new().await;
        let (catalog, session) = (door.catalog.clone(), door.session);
        door.put(&door.ann(), &door.in_session("/files/session/old"), "x").await;
        door.world.store.meanwhile(nth, async move {
            catalog.begin_sweep(session, &Ruthless).await.unwrap();
        });
        let put = door.put(&door.ann(), &door.in_session("/files/session/a"), "x").await;
        let was_swept = door.catalog.session_by_id(session).await.unwrap().is_none();
        let space = door.world.storage.space(bailiwick::scope::MountTable::new(
            bailiwick::scope::Coordinates {
                workspace: door.workspace,
                agent: door.agent,
                session: Some(session),
            },
            Default::default(),
            Default::default(),
        ));
        let is_there = space.stat("session/a").await.is_ok();
        if was_swept {
            assert_eq!((put.status, is_there), (StatusCode::GONE, false), "{nth}");
            assert_eq!(put.json()["code"], "swept");
        } else {
            assert_eq!((put.status, is_there), (StatusCode::CREATED, true), "{nth}");
            assert!(nth > 0, "it was swept meanwhile");
            break;
        }
    }
}

/// A swept session is not there, and its name is free: who might see it is told that it goes, as long
/// as it does, and then what everybody is told.
#[tokio::test]
async fn a_swept_session_is_not_there() {
    let door = Door::new().await;
    let host = door.who("ann", &[Authority::SessionsWrite]);
    let stranger = door.who("eve", &[]);
    sweep(&door, door.session).await;
    let all_are = async |who: &Who, status: StatusCode| {
        for below in ["", "/files", "/turns", "/events", "/receipts"] {
            let gone = door.get(who, &door.in_session(below)).await;
            assert_eq!(gone.status, status, "{below}");
        }
    };
    all_are(&host, StatusCode::GONE).await;
    all_are(&stranger, StatusCode::NOT_FOUND).await;
    let elsewhere = Who { workspace: Some(WorkspaceId(super::nobodys())), ..host.clone() };
    all_are(&elsewhere, StatusCode::NOT_FOUND).await;
    let listed = door.get(&host, &door.in_agent("/sessions")).await.json();
    assert_eq!(listed["items"], json!([]));
    let again = json!({ "name": "monday" });
    let made = door.post(&host, &door.in_agent("/sessions"), &again).await;
    assert_eq!(made.status, StatusCode::CREATED);
    assert_ne!(made.json()["id"], door.session.to_string());
    let what = Removable::Session(door.session);
    assert!(matches!(door.catalog.sweep_going(what).await.unwrap(), Left::Nothing(_)));
    all_are(&host, StatusCode::NOT_FOUND).await;
    // What somebody deleted is not told apart from what never was.
    let made: uuid::Uuid = made.json()["id"].as_str().unwrap().parse().unwrap();
    let what = Removable::Session(SessionId(made));
    door.catalog.begin_removal(what, Removal::default()).await.unwrap();
    let path = format!("/v1/agent-sessions/{made}");
    assert_eq!(door.get(&host, &path).await.status, StatusCode::NOT_FOUND);
}

/// Questions and answers are for who may read the workspace's sessions, after their session as well.
#[tokio::test]
async fn settled_questions_are_read_by_an_audit() {
    let door = Door::new().await;
    let component = door.employ().await;
    let auditor = door.who("auditor", &[Authority::SessionsRead]);
    let path = door.in_workspace("/questions");
    let turn = Enqueue { session: door.session, component, input: "", retries: 0, request: None };
    door.catalog.enqueue(turn).await.unwrap();
    let lease = door.catalog.claim("host", 1).await.unwrap()[0].lease;
    let ending = Ending::Asked { question: "which?".into(), component: None };
    let finish = crate::retention::ended(ending);
    door.catalog.finish_turn(lease, &finish).await.unwrap();
    assert_eq!(door.get(&auditor, &path).await.json()["items"], json!([]));
    door.catalog.cancel(lease.turn).await.unwrap();
    door.catalog.remove_session(door.session).await.unwrap();
    let shown = door.get(&auditor, &path).await.json();
    let one = &shown["items"][0];
    assert_eq!((&one["question"], &one["answer"]), (&json!("which?"), &Value::Null), "{shown}");
    assert_eq!(one["turn"], lease.turn.to_string());
    let admin = door.who("root", &[Authority::Admin]);
    assert_eq!(door.get(&admin, &path).await.status, StatusCode::NOT_FOUND);
}
