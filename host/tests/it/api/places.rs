use axum::http::{Method, StatusCode};
use bailiwick::api::authority::Authority;
use serde_json::{Value, json};

use super::{Answer, Door, Who, request};

impl Door {
    /// The deployment's own administration.
    fn root(&self) -> Who {
        Who { subject: "root", workspace: None, authorities: vec![Authority::Admin], agents: None }
    }

    fn admin(&self) -> Who {
        self.who("admin", &[Authority::Admin])
    }

    async fn write(&self, who: &Who, method: Method, path: &str, body: &Value) -> Answer {
        let request = request(who, method, path).header("content-type", "application/json");
        self.send(request.body(body.to_string().into()).unwrap()).await
    }
}

/// Workspaces, agents and sessions are made, seen, listed and deleted, with what is below them.
#[tokio::test]
async fn places_are_made_seen_and_deleted() {
    let door = Door::new().await;
    let root = door.root();
    let called = |name: &str| json!({ "name": name });
    let made = door.post(&root, "/v1/workspaces", &called("zoo")).await;
    assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
    let again = door.post(&root, "/v1/workspaces", &called("zoo")).await;
    assert_eq!((again.status, again.json()), (StatusCode::OK, made.json()));
    let list = door.get(&root, "/v1/workspaces?limit=1").await.json();
    assert_eq!((&list["items"][0]["name"], &list["next"]), (&json!("acme"), &json!("acme")));
    let list = door.get(&root, "/v1/workspaces?after=acme").await.json();
    assert_eq!((&list["items"][0]["id"], &list["next"]), (&made.json()["id"], &json!(null)));

    let admin = door.admin();
    let agents = door.in_workspace("/agents");
    let agent = door.post(&admin, &agents, &called("second")).await.json();
    let agent = format!("/v1/agents/{}", agent["id"].as_str().unwrap());
    let opened = json!({ "name": "talk", "participants": ["bob"] });
    let session = door.post(&admin, &format!("{agent}/sessions"), &opened).await.json();
    let session = format!("/v1/agent-sessions/{}", session["id"].as_str().unwrap());
    let bob = door.who("bob", &[]);
    assert_eq!(door.get(&bob, &session).await.json()["name"], "talk");
    assert_eq!(
        door.put(&bob, &format!("{session}/files/session/a"), "x").await.status,
        StatusCode::CREATED
    );
    let sessions = door.get(&admin, &format!("{agent}/sessions")).await.json();
    assert_eq!(sessions["items"][0]["turns"], 0);

    assert_eq!(door.ask(&admin, Method::DELETE, &agent).await.status, StatusCode::NO_CONTENT);
    for gone in [&agent, &session, &format!("{session}/files")] {
        assert_eq!(door.get(&admin, gone).await.status, StatusCode::NOT_FOUND, "{gone}");
        assert_eq!(door.get(&bob, gone).await.status, StatusCode::NOT_FOUND, "{gone}");
    }
    let zoo = format!("/v1/workspaces/{}", made.json()["id"].as_str().unwrap());
    assert_eq!(door.get(&admin, &zoo).await.status, StatusCode::NOT_FOUND, "another workspace's");
    assert_eq!(door.ask(&root, Method::DELETE, &zoo).await.status, StatusCode::NO_CONTENT);
    assert_eq!(door.ask(&root, Method::DELETE, &zoo).await.status, StatusCode::NOT_FOUND);
}

/// Files of what was deleted are removed soon after.
#[tokio::test]
async fn files_of_what_was_deleted_are_removed() {
    let door = Door::new().await;
    let sweeping = tokio::spawn(door.api.sweeping());
    door.put(&door.ann(), &door.in_session("/files/session/a"), "x").await;
    let deleted = door.ask(&door.admin(), Method::DELETE, &door.in_session("")).await;
    assert_eq!(deleted.status, StatusCode::NO_CONTENT);
    while !door.catalog.owed().await.unwrap().is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    sweeping.abort();
    let coordinates = bailiwick::scope::Coordinates {
        workspace: door.workspace,
        agent: door.agent,
        session: Some(door.session),
    };
    let table =
        bailiwick::scope::MountTable::new(coordinates, Default::default(), Default::default());
    assert!(door.world.storage.space(table).stat("session/a").await.is_err());
}

/// Who takes part is said by who may, and decides who sees the session's files.
#[tokio::test]
async fn participants_come_and_go() {
    let door = Door::new().await;
    let host = door.who("host", &[Authority::SessionsWrite]);
    let bob = door.who("bob/ü", &[]);
    let of_bob = door.in_session("/participants/bob");
    let slashed = door.in_session("/participants/bob%2F%C3%BC");
    assert_eq!(door.ask(&host, Method::PUT, &slashed).await.status, StatusCode::BAD_REQUEST);
    let bob = Who { subject: "bob", ..bob };
    let files = door.in_session("/files");
    assert_eq!(door.get(&bob, &files).await.status, StatusCode::NOT_FOUND);
    for _ in 0..2 {
        assert_eq!(door.ask(&host, Method::PUT, &of_bob).await.status, StatusCode::NO_CONTENT);
    }
    assert_eq!(door.get(&bob, &files).await.status, StatusCode::OK);
    let listed = door.get(&bob, &door.in_session("/participants?limit=1")).await.json();
    assert_eq!(listed, json!({ "items": [{ "subject": "ann" }], "next": "ann" }));
    assert_eq!(door.ask(&bob, Method::DELETE, &of_bob).await.status, StatusCode::NOT_FOUND);
    assert_eq!(door.ask(&host, Method::DELETE, &of_bob).await.status, StatusCode::NO_CONTENT);
    assert_eq!(door.get(&bob, &files).await.status, StatusCode::NOT_FOUND);
    assert_eq!(
        door.get(&host, &files).await.status,
        StatusCode::NOT_FOUND,
        "hosting is not attending"
    );
}

/// Settings say what is said at a level, what holds there, and where that comes from.
#[tokio::test]
async fn settings_are_set_by_level_and_say_where_they_come_from() {
    let door = Door::new().await;
    let (root, admin) = (door.root(), door.admin());
    let (of_workspace, of_agent) = (door.in_workspace("/settings"), door.in_agent("/settings"));
    let before = door.get(&admin, &of_agent).await.json();
    assert_eq!(before["said"], json!({}));
    assert_eq!(before["effective"]["workspace_files"]["from"], "host");
    let capped = json!({ "workspace_files": { "cap": "read-only" } });
    assert_eq!(
        door.write(&root, Method::PUT, "/v1/settings", &capped).await.status,
        StatusCode::OK
    );
    assert_eq!(
        door.write(&admin, Method::PUT, "/v1/settings", &json!({})).await.status,
        StatusCode::NOT_FOUND
    );
    let open = json!({ "workspace_files": { "value": "read-write" } });
    let set = door.write(&admin, Method::PUT, &of_workspace, &open).await.json();
    assert_eq!(set["said"], open);
    let held = &set["effective"]["workspace_files"];
    assert_eq!(
        (&held["value"], &held["from"], &held["by"]),
        (&json!("read-only"), &json!("deployment"), &json!("cap"))
    );
    let none = json!({ "agent_files": { "value": "none" }, "turn_ms": { "value": 5 } });
    assert_eq!(door.write(&admin, Method::PUT, &of_agent, &none).await.status, StatusCode::OK);
    let listed = door.get(&door.ann(), &door.in_session("/files")).await.json();
    assert_eq!(
        listed["scopes"],
        json!([{ "scope": "session", "writable": true }, { "scope": "workspace", "writable": false }])
    );
    // The deployment's cap holds for people as well.
    let put = door.put(&door.ann(), &door.in_workspace("/files/workspace/a"), "x").await;
    assert_eq!(put.status, StatusCode::NOT_FOUND);
    for wrong in [json!([]), json!({ "x": {} }), json!({ "turn_ms": { "value": "soon" } })] {
        let refused = door.write(&admin, Method::PUT, &of_agent, &wrong).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
    assert_eq!(door.get(&admin, &of_agent).await.json()["said"], none);
}

/// A token is taken back by who administers its workspace, and by nobody of another one.
#[tokio::test]
async fn tokens_are_revoked_within_their_workspace() {
    let door = Door::new().await;
    let (root, ann) = (door.root(), door.ann());
    let files = door.in_session("/files");
    let id = json!({ "token_id": "ann" });
    assert_eq!(door.post(&root, "/v1/revocations", &id).await.status, StatusCode::NO_CONTENT);
    assert_eq!(
        door.get(&ann, &files).await.status,
        StatusCode::OK,
        "the deployment's own of that id"
    );
    let revocations = door.in_workspace("/revocations");
    assert_eq!(door.post(&ann, &revocations, &id).await.status, StatusCode::NOT_FOUND);
    assert_eq!(door.post(&door.admin(), &revocations, &id).await.status, StatusCode::NO_CONTENT);
    assert_eq!(door.get(&ann, &files).await.status, StatusCode::UNAUTHORIZED);
    let accepted = format!("{revocations}/ann");
    assert_eq!(door.ask(&root, Method::DELETE, &accepted).await.status, StatusCode::NO_CONTENT);
    assert_eq!(door.get(&ann, &files).await.status, StatusCode::OK);
    for wrong in [
        json!({ "token_id": "" }),
        json!({ "token_id": "a\u{0}" }),
        json!({}),
        json!({ "token_id": "x".repeat(129) }),
    ] {
        assert_eq!(
            door.post(&root, "/v1/revocations", &wrong).await.status,
            StatusCode::BAD_REQUEST,
            "{wrong}"
        );
    }
}

/// Names that are none, and bodies that are not JSON, are refused with the rule.
#[tokio::test]
async fn bad_names_and_bodies_are_refused() {
    let door = Door::new().await;
    let root = door.root();
    let id = uuid::Uuid::nil().to_string();
    for name in ["", "a b", "-a", "x".repeat(65).as_str(), id.as_str(), "a\u{0}", "../a"] {
        let refused = door.post(&root, "/v1/workspaces", &json!({ "name": name })).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{name:?}");
    }
    let text =
        request(&root, Method::POST, "/v1/workspaces").body("{\"name\":\"a\"}".into()).unwrap();
    assert_eq!(door.send(text).await.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let long = json!({ "name": "x".repeat(70_000) });
    assert_eq!(
        door.post(&root, "/v1/workspaces", &long).await.status,
        StatusCode::PAYLOAD_TOO_LARGE
    );
    for query in ["?limit=0", "?limit=1001", "?after=a%20b", "?x=1"] {
        let refused = door.get(&root, &format!("/v1/workspaces{query}")).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{query}");
    }
}
