//! Receipts of what was promoted.

use axum::http::StatusCode;
use bailiwick::api::authority::Authority;
use bailiwick::scope::WorkspaceId;
use serde_json::{Value, json};

use super::{Door, Who};

/// Whoever promotes a file leaves a receipt, by copy and by move; who takes part sees those of the
/// session, and they stay when it goes.
#[tokio::test]
async fn a_promotion_leaves_a_receipt() {
    let door = Door::new().await;
    door.open_workspace().await;
    let ann = door.ann();
    door.put(&ann, &door.in_session("/files/session/a"), "x").await;
    let way = |from: &str, to: &str| json!({ "from": from, "to": to });
    for (verb, from, to) in [
        ("/copy", "session/a", "session/b"),
        ("/copy", "session/a", "agent/a"),
        ("/copy", "agent/a", "session/c"),
        ("/move", "session/b", "workspace/b"),
        ("/copy", "session/none", "agent/none"),
        ("/copy", "session/a", "../a"),
    ] {
        door.post(&ann, &door.in_session(verb), &way(from, to)).await;
    }
    let receipts = door.get(&ann, &door.in_session("/receipts")).await.json();
    let shown: Vec<_> = receipts["items"].as_array().unwrap().iter().collect();
    let ways: Vec<_> = shown.iter().map(|one| (&one["from"], &one["to"])).collect();
    let (moved, copied) =
        ((json!("session/b"), json!("workspace/b")), (json!("session/a"), json!("agent/a")));
    assert_eq!(ways, [(&moved.0, &moved.1), (&copied.0, &copied.1)], "{receipts}");
    let (first, session) = (shown[1], json!(door.session.to_string()));
    assert_eq!((&first["subject"], &first["turn"]), (&json!("ann"), &Value::Null));
    assert_eq!((&first["session"], &first["agent"]), (&session, &json!(door.agent.to_string())));
    let file = door.get(&ann, &door.in_session("/files?folder=agent")).await.json();
    assert_eq!(first["revision"], file["files"][0]["revision"], "{file}");

    let at = bailiwick::scope::Coordinates {
        workspace: door.workspace,
        agent: door.agent,
        session: Some(door.session),
    };
    let by = bailiwick::catalog::Promoter::Operator;
    let begun = door.catalog.open_receipt(at, &by, "session/a", "agent/begun").await.unwrap();
    let latest = door.get(&ann, &door.in_session("/receipts?limit=1")).await.json();
    assert_eq!(latest["items"][0]["revision"], "not known", "it was never completed");
    door.catalog.withdraw_receipt(begun).await.unwrap();

    door.post(&ann, &door.in_agent("/copy"), &way("agent/a", "workspace/c")).await;
    let reader = door.who("auditor", &[Authority::SessionsRead]);
    let page = door.get(&reader, &door.in_workspace("/receipts?limit=2")).await.json();
    assert_eq!((&page["items"][0]["session"], &page["items"][1]), (&Value::Null, shown[0]));
    let next = page["next"].as_str().unwrap();
    let rest = door.get(&reader, &door.in_workspace(&format!("/receipts?before={next}"))).await;
    assert_eq!(rest.json(), json!({ "items": [first], "next": null }));
    door.catalog.remove_session(door.session).await.unwrap();
    let kept = door.get(&reader, &door.in_workspace("/receipts")).await.json();
    assert_eq!(kept["items"].as_array().unwrap().len(), 3, "{kept}");

    for wrong in ["/receipts?limit=0", "/receipts?before=x", "/receipts?after=1"] {
        let refused = door.get(&reader, &door.in_workspace(wrong)).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
    let foreign = Some(WorkspaceId(super::nobodys()));
    for nobody in [
        door.ann(),
        door.who("root", &[Authority::Admin]),
        Who { workspace: foreign, ..reader.clone() },
        Who { agents: Some(vec![door.agent]), ..reader.clone() },
    ] {
        let refused = door.get(&nobody, &door.in_workspace("/receipts")).await;
        assert_eq!(refused.status, StatusCode::NOT_FOUND, "{nobody:?}");
    }
}

/// A move that could not remove its source has promoted it all the same.
#[tokio::test]
async fn a_promotion_that_was_half_a_move_leaves_a_receipt() {
    let door = Door::new().await;
    let ann = door.ann();
    door.put(&ann, &door.in_session("/files/session/a"), "x").await;
    let space = door.world.storage.space(bailiwick::scope::MountTable::new(
        bailiwick::scope::Coordinates {
            workspace: door.workspace,
            agent: door.agent,
            session: Some(door.session),
        },
        bailiwick::scope::Grant::default(),
        bailiwick::scope::SkillTable::default(),
    ));
    // Its source is looked at, its target as well, then it is copied; before it is deleted it is
    // changed.
    door.world.store.meanwhile(3, async move {
        let always = bailiwick::store::Precondition::Always;
        space.write("session/a", "changed".into(), always).await.unwrap();
    });
    let way = json!({ "from": "session/a", "to": "agent/a" });
    let moved = door.post(&ann, &door.in_session("/move"), &way).await;
    assert_eq!(moved.status, StatusCode::CONFLICT, "{moved:?}");
    let receipts = door.get(&ann, &door.in_session("/receipts")).await.json();
    assert_eq!(receipts["items"].as_array().unwrap().len(), 1, "{receipts}");
}
