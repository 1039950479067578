use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use bailiwick::api::authority::Authority;
use bailiwick::api::{Api, On, Right, Route};
use bailiwick::catalog::{AskErasure, Bind, Enqueue, SkillOf, When};
use bailiwick::scope::{AgentId, WorkspaceId};
use uuid::Uuid;

use super::{Answer, Door, Who, nobodys, request, token};

/// The path of a route, with the ids of things.
fn path(route: &Route, ids: &BTreeMap<&str, String>) -> String {
    let mut path = route.path.clone();
    for (name, id) in ids {
        path = path.replace(&format!("{{{name}}}"), id);
    }
    assert!(!path.contains('{'), "{path} has a parameter that this test does not know");
    path
}

/// A host whose conversation has a turn that waits, something that wakes it, and what it runs.
async fn busy() -> (Door, BTreeMap<&'static str, String>) {
    let door = Door::new().await;
    let component = door.employ().await;
    let (session, request) = (door.session, None);
    let turn = Enqueue { session, component, input: "", retries: 0, request };
    let turn = door.catalog.enqueue(turn).await.unwrap().id().to_string();
    let wakeup = door.catalog.add_wakeup(session, &When::At(u64::MAX), "").await.unwrap();
    let mut ids = ids(&door);
    ids.extend([("turn", turn), ("wakeup", wakeup.to_string())]);
    door.publish(&[("SKILL.md", super::skills::PAGE.as_bytes())]).await;
    let slug = "pdf".parse().unwrap();
    let bind = Bind { slug: &slug, of: SkillOf::Workspace, version: None };
    door.catalog.bind_skill(door.agent, bind).await.unwrap();
    let (workspace, deadline_ms) = (door.workspace, u64::MAX);
    let asked = AskErasure { workspace, subject: None, by: None, deadline_ms };
    let erasure = door.catalog.ask_erasure(asked).await.unwrap().id();
    ids.insert("erasure", erasure.to_string());
    (door, ids)
}

fn ids(door: &Door) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("session", door.session.to_string()),
        ("agent", door.agent.to_string()),
        ("workspace", door.workspace.to_string()),
        ("*path", "session/a".to_owned()),
        ("subject", "carol".to_owned()),
        ("token", "t".to_owned()),
        ("turn", nobodys().to_string()),
        ("wakeup", nobodys().to_string()),
        ("erasure", nobodys().to_string()),
        ("component", "echo".to_owned()),
        ("skill", "pdf".to_owned()),
        ("version", "1".to_owned()),
    ])
}

fn nobodys_ids() -> BTreeMap<&'static str, String> {
    let id = nobodys().to_string();
    let ids = ["session", "agent", "workspace", "turn", "wakeup", "erasure"]
        .map(|name| (name, id.clone()));
    let others = [
        ("*path", "session/a"),
        ("subject", "carol"),
        ("token", "t"),
        ("component", "echo"),
        ("skill", "pdf"),
        ("version", "1"),
    ];
    let others = others.map(|(name, value)| (name, value.to_owned()));
    ids.into_iter().chain(others).collect()
}

async fn call(door: &Door, who: &Who, route: &Route, path: &str) -> Answer {
    let method = Method::from_bytes(route.method.as_bytes()).unwrap();
    door.send(request(who, method, path).body(Body::empty()).unwrap()).await
}

/// The one answer to whoever has no right: taken from a path that there is not.
async fn nothing_here(door: &Door, who: &Who) -> Answer {
    let nowhere = format!("/v1/agent-sessions/{}/files", nobodys());
    door.get(who, &nowhere).await
}

fn is_allowed(needs: (On, Right), who: &Who, takes_part: bool) -> bool {
    let held = |wanted: &Authority| {
        who.authorities.iter().any(|held| {
            held == wanted
                || held.as_str().strip_suffix(":write").map(|what| format!("{what}:read"))
                    == Some(wanted.as_str().to_owned())
        })
    };
    match needs {
        (_, Right::Anyone) => true,
        (On::Deployment, _) => false,
        (_, Right::Participant) => takes_part,
        (_, Right::AnyOf(wanted)) => wanted.iter().any(held),
        (_, Right::ParticipantOr(wanted)) => takes_part || wanted.iter().any(held),
    }
}

/// Every route × every authority: who has none that it needs is answered as if nothing were
/// there, whether or not something is.
#[tokio::test]
async fn every_route_needs_what_its_row_says() {
    let (mut door, mut known) = busy().await;
    for route in Api::table() {
        let nowhere = path(&route, &nobodys_ids());
        for authority in Authority::ALL.into_iter().map(Some).chain([None]) {
            for subject in ["ann", "bob"] {
                let (nobody, who) = (door.who("bob", &[]), door.who(subject, authority.as_slice()));
                let there = path(&route, &known);
                let answer = call(&door, &who, &route, &there).await;
                let needs = (route.needs.on, route.needs.right);
                let mut none = nothing_here(&door, &nobody).await;
                if route.method == "HEAD" {
                    none.body = Default::default();
                }
                let is_refused = answer.body == none.body && answer.status == StatusCode::NOT_FOUND;
                let seen = format!("{} {there} {who:?}: {answer:?}", route.method);
                if !is_allowed(needs, &who, subject == "ann") {
                    assert_eq!(answer.all(), none.all(), "{seen}");
                    assert_eq!(
                        answer.all(),
                        call(&door, &who, &route, &nowhere).await.all(),
                        "{seen}"
                    );
                } else if route.needs.on != On::Nothing
                    && route.method != "HEAD"
                    && !there.contains("/session/a")
                {
                    assert!(!is_refused, "{seen}");
                }
                if route.method == "DELETE" && answer.status.is_success() {
                    (door, known) = busy().await;
                }
            }
        }
    }
}

/// Without a token, with a bad one, or with two, nothing is answered, wherever it is sent.
#[tokio::test]
async fn without_a_token_nothing_is_answered() {
    let door = Door::new().await;
    let good = token(&door.ann());
    let cut = &good[..good.len() - 2];
    for route in Api::table().into_iter().filter(|route| route.needs.right != Right::Anyone) {
        for authorization in [
            None,
            Some(""),
            Some("Bearer"),
            Some("Bearer "),
            Some("Basic YTpi"),
            Some(cut),
            Some("Bearer x.y.z"),
        ] {
            let (there, nowhere) = (path(&route, &ids(&door)), path(&route, &nobodys_ids()));
            let mut answers = Vec::new();
            for path in [there, nowhere] {
                let mut request = Request::builder().method(route.method).uri(&path);
                if let Some(value) = authorization {
                    request = request.header("authorization", value);
                }
                answers.push(door.send(request.body(Body::empty()).unwrap()).await);
            }
            assert_eq!(answers[0].status, StatusCode::UNAUTHORIZED, "{route:?} {authorization:?}");
            assert!(answers[0].field("www-authenticate").starts_with("Bearer"));
            assert_eq!(answers[0].all(), answers[1].all());
        }
    }
    let twice = Request::builder()
        .uri(door.in_session("/files"))
        .header("authorization", format!("Bearer {good}"))
        .header("authorization", format!("Bearer {good}"));
    let twice = door.send(twice.body(Body::empty()).unwrap()).await;
    assert_eq!(twice.status, StatusCode::UNAUTHORIZED);
}

/// A token reaches nothing of another workspace, and none that has no workspace reaches files.
#[tokio::test]
async fn a_token_reaches_its_own_workspace_alone() {
    let door = Door::new().await;
    let (all, none) = (Authority::ALL.to_vec(), Vec::new());
    let foreign = Some(WorkspaceId(nobodys()));
    for (workspace, authorities) in [(foreign, &all), (None, &all), (foreign, &none), (None, &none)]
    {
        let is_admin = !authorities.is_empty();
        let authorities = authorities.clone();
        let who = Who { subject: "ann", workspace, authorities, agents: None };
        for route in Api::table() {
            let administers =
                is_admin && route.needs.right.authorities().contains(&Authority::Admin);
            if route.needs.on == On::Nothing
                || (workspace.is_none() && administers)
                || (route.needs.on == On::Deployment && workspace.is_none() && is_admin)
            {
                continue;
            }
            let answer = call(&door, &who, &route, &path(&route, &ids(&door))).await;
            assert_eq!(answer.status, StatusCode::NOT_FOUND, "{route:?} {answer:?}");
        }
    }
}

/// No route reaches past the agents that a token is narrowed to.
#[tokio::test]
async fn no_route_bypasses_a_narrowing_to_agents() {
    let door = Door::new().await;
    let other = door.another().await;
    let all: Vec<_> = Authority::ALL.into();
    for agents in [vec![], vec![other.agent], vec![AgentId(Uuid::nil())]] {
        for workspace in [Some(door.workspace), None] {
            let who = Who {
                subject: "ann",
                workspace,
                authorities: all.clone(),
                agents: Some(agents.clone()),
            };
            for route in Api::table().into_iter().filter(|route| route.needs.on != On::Nothing) {
                let answer = call(&door, &who, &route, &path(&route, &ids(&door))).await;
                assert_eq!(answer.status, StatusCode::NOT_FOUND, "{route:?} {who:?} {answer:?}");
            }
        }
    }
    let who = Who { agents: Some(vec![other.agent]), ..door.ann() };
    let own = format!("/v1/agent-sessions/{}/files", other.session.unwrap());
    assert_eq!(door.get(&who, &own).await.status, StatusCode::OK);
}

/// What may be done is never more than the token allows, nor than the settings do.
#[tokio::test]
async fn grants_are_the_least_of_token_and_settings() {
    use Authority::{AgentFilesRead, AgentFilesWrite, WorkspaceFilesRead, WorkspaceFilesWrite};
    let door = Door::new().await;
    for (setting, read, write, scope) in [
        ("agent_files", AgentFilesRead, AgentFilesWrite, "agent"),
        ("workspace_files", WorkspaceFilesRead, WorkspaceFilesWrite, "workspace"),
    ] {
        for (level, set) in [(0, "none"), (1, "read-only"), (2, "read-write"), (0, "nonsense")] {
            door.set(Some(setting), set).await;
            for (allowed, authorities) in [(0, [].as_slice()), (1, &[read]), (2, &[write])] {
                let least = level.min(allowed);
                let who = door.who("ann", authorities);
                let listed = door.get(&who, &door.in_session("/files")).await.json();
                let scopes = listed["scopes"].as_array().unwrap();
                let found = scopes.iter().find(|found| found["scope"] == scope);
                let shown = found.map_or(0, |found| if found["writable"] == true { 2 } else { 1 });
                assert_eq!(shown, least, "{setting} {set} {authorities:?}: {listed}");
                let path = door.in_session(&format!("/files/{scope}/a"));
                let put = door.put(&who, &path, "x").await;
                assert_eq!(
                    put.status.is_success(),
                    least == 2,
                    "{setting} {set} {authorities:?}: {put:?}"
                );
            }
        }
    }
}

/// A revoked token is none, from then on.
#[tokio::test]
async fn a_revoked_token_is_refused() {
    let door = Door::new().await;
    let ann = door.ann();
    assert_eq!(door.get(&ann, &door.in_session("/files")).await.status, StatusCode::OK);
    door.revoke("ann").await;
    let refused = door.get(&ann, &door.in_session("/files")).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    assert!(refused.json()["detail"].as_str().unwrap().contains("revoked"));
}

/// Whoever has no right is refused before anything of the body is read.
#[tokio::test]
async fn a_body_is_not_read_before_its_sender_is_known() {
    let door = Door::new().await;
    let never = || {
        Body::from_stream(futures::stream::poll_fn(
            |_| -> std::task::Poll<Option<Result<bytes::Bytes, std::io::Error>>> {
                panic!("the body was read")
            },
        ))
    };
    let bob = door.who("bob", &[]);
    for route in Api::table().into_iter().filter(|route| ["PUT", "POST"].contains(&route.method)) {
        let path = path(&route, &ids(&door));
        let method = Method::from_bytes(route.method.as_bytes()).unwrap();
        let refused = door.send(request(&bob, method.clone(), &path).body(never()).unwrap()).await;
        assert_eq!(refused.status, StatusCode::NOT_FOUND, "{route:?}");
        let request = Request::builder().method(method).uri(&path);
        let refused = door.send(request.body(never()).unwrap()).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{route:?}");
    }
}
