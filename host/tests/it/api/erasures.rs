//! Erasures over HTTP.

use std::sync::Arc;

use axum::http::StatusCode;
use bailiwick::api::authority::Authority;
use bailiwick::erasure::Eraser;
use bailiwick::limits::Limits;
use bailiwick::proofs::ReceiptKey;
use bailiwick::scope::WorkspaceId;
use serde_json::json;

use super::{Door, Who};

const DEADLINE_MS: u64 = 4_000_000_000_000;

/// Who may say how long things are kept asks for an erasure, and sees how it stands when the
/// workspace is gone; nobody else does.
#[tokio::test]
async fn an_erasure_is_seen_when_its_workspace_is_gone() {
    let door = Door::new().await;
    let officer = door.who("officer", &[Authority::RetentionWrite]);
    let path = door.in_workspace("/erasure");
    let wanted = json!({ "deadline_ms": DEADLINE_MS });
    let asked = door.post(&officer, &path, &wanted).await;
    assert_eq!(asked.status, StatusCode::ACCEPTED, "{asked:?}");
    let again = door.post(&officer, &path, &wanted).await;
    assert_eq!((again.status, again.json()), (StatusCode::OK, asked.json()));
    let one = format!("{path}/{}", asked.json()["id"].as_str().unwrap());
    let shown = door.get(&officer, &one).await.json();
    assert_eq!((&shown["state"], &shown["receipt"]), (&json!("asked"), &json!(null)), "{shown}");

    let (limits, clock) = (Limits::default(), door.world.storage.clock().clone());
    let key = ReceiptKey::generate().unwrap().0;
    Eraser::new(door.catalog.clone(), key, limits, clock, Arc::new(())).tick().await.unwrap();
    let gone = door.get(&officer, &door.in_workspace("")).await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
    let shown = door.get(&officer, &one).await.json();
    assert_eq!(shown["state"], json!("deleted"), "{shown}");

    let root = Who { workspace: None, ..door.who("root", &[Authority::Admin]) };
    assert_eq!(door.get(&root, &one).await.status, StatusCode::OK);
    let foreign = Some(WorkspaceId(super::nobodys()));
    for nobody in [
        door.ann(),
        door.who("reader", &[Authority::SessionsRead, Authority::SessionsWrite]),
        Who { workspace: foreign, ..officer.clone() },
        Who { agents: Some(vec![door.agent]), ..officer.clone() },
    ] {
        let hidden = door.get(&nobody, &one).await;
        assert_eq!(hidden.status, StatusCode::NOT_FOUND, "{nobody:?}");
    }
    let elsewhere = one.replace(&door.workspace.to_string(), &super::nobodys().to_string());
    assert_eq!(door.get(&root, &elsewhere).await.status, StatusCode::NOT_FOUND);
    let late = door.post(&officer, &path, &wanted).await;
    assert_eq!(late.status, StatusCode::NOT_FOUND, "nothing is left to ask for");
}

/// A deadline that is over, or a subject that is none, is refused; a subject's erasure leaves the
/// workspace, and is another one than the workspace's.
#[tokio::test]
async fn an_erasure_of_a_subject_leaves_the_workspace() {
    let door = Door::new().await;
    let officer = door.who("officer", &[Authority::RetentionWrite]);
    let path = door.in_workspace("/erasure");
    for wrong in [
        json!({ "deadline_ms": 1 }),
        json!({ "deadline_ms": -1 }),
        json!({ "deadline_ms": DEADLINE_MS, "subject": "" }),
        json!({ "deadline_ms": DEADLINE_MS, "subject": "x".repeat(5_000) }),
        json!({ "deadline_ms": DEADLINE_MS, "more": 1 }),
        json!({}),
    ] {
        let refused = door.post(&officer, &path, &wrong).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
    let host = door.who("ann", &[Authority::SessionsWrite]);
    let opened = json!({ "name": "tuesday" });
    let opened = door.post(&host, &door.in_agent("/sessions"), &opened).await.json();
    let of_ann = json!({ "deadline_ms": DEADLINE_MS, "subject": "ann" });
    let asked = door.post(&officer, &path, &of_ann).await.json();
    let (limits, clock) = (Limits::default(), door.world.storage.clock().clone());
    let key = ReceiptKey::generate().unwrap().0;
    Eraser::new(door.catalog.clone(), key, limits, clock, Arc::new(())).tick().await.unwrap();
    let one = format!("{path}/{}", asked["id"].as_str().unwrap());
    assert_eq!(door.get(&officer, &one).await.json()["state"], json!("deleted"));
    let session = format!("/v1/agent-sessions/{}", opened["id"].as_str().unwrap());
    let reader = door.who("reader", &[Authority::SessionsRead]);
    assert_eq!(door.get(&reader, &session).await.status, StatusCode::NOT_FOUND);
    // Nobody is on record as having opened it, though she takes part.
    assert_eq!(door.get(&reader, &door.in_session("")).await.status, StatusCode::OK);
}
