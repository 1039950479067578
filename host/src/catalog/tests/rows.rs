use serde_json::json;

use super::*;

#[test]
fn a_label_is_any_text_of_bounded_length() {
    for good in ["a", "\0", "%_'", &"x".repeat(255)] {
        assert_eq!(label(good).as_str(), good);
    }
    for bad in ["", &"x".repeat(256)] {
        assert_eq!(bad.parse::<Label>(), Err(LabelError));
    }
}

on_both! {
    async fn an_id_leads_to_whose_it_is(desk: &Desk) {
        let (workspace, agent, session) = desk.session().await;
        let found = desk.catalog.session_by_id(session).await.unwrap().unwrap();
        assert_eq!(found.coordinates.workspace, workspace);
        assert_eq!(found.coordinates.agent, agent);
        assert_eq!(found.coordinates.session, Some(session));
        assert_eq!(found.name, "monday");
        let found = desk.catalog.agent_by_id(agent).await.unwrap().unwrap();
        assert_eq!((found.coordinates.workspace, found.component), (workspace, None));
        let found = desk.catalog.workspace_by_id(workspace).await.unwrap().unwrap();
        assert_eq!((found.name.as_str(), found.created_ms), ("acme", START_MS));
        let elsewhere = desk.another("elsewhere").await;
        assert_eq!(elsewhere.session_by_id(session).await.unwrap(), None);
        assert_eq!(elsewhere.agent_by_id(agent).await.unwrap(), None);
        assert_eq!(elsewhere.workspace_by_id(workspace).await.unwrap(), None);
    }

    async fn participants_are_told_apart_and_go_with_their_session(desk: &Desk) {
        let (_, agent, session) = desk.session().await;
        let (_, _, other) = super::session(&desk.catalog, "tuesday").await;
        let long = "x".repeat(255);
        let subjects = ["%", "_", "a", "A", "a\0", "a\u{1a}0", "é", &long].map(label);
        for subject in subjects.iter().chain(&subjects) {
            desk.catalog.add_participant(session, subject).await.unwrap();
        }
        let mut sorted: Vec<_> = subjects.iter().map(ToString::to_string).collect();
        let listed = desk.catalog.participants(session, None, 100).await.unwrap();
        let mut as_set = listed.clone();
        as_set.sort_unstable();
        sorted.sort_unstable();
        assert_eq!(as_set, sorted);
        let after = label(&listed[2]);
        let rest = desk.catalog.participants(session, Some(&after), 2).await.unwrap();
        assert_eq!(rest, listed[3..5]);
        let (any, one) = (label("%"), label("b"));
        assert!(desk.catalog.is_participant(session, &any).await.unwrap());
        assert!(!desk.catalog.is_participant(session, &one).await.unwrap());
        assert!(!desk.catalog.is_participant(other, &any).await.unwrap());
        let mine = desk.catalog.sessions(agent, Some(&any), Page::ALL).await.unwrap();
        assert_eq!(mine.iter().map(|one| one.id).collect::<Vec<_>>(), [session]);
        assert_eq!(desk.catalog.sessions(agent, Some(&one), Page::ALL).await.unwrap(), []);
        desk.catalog.remove_participant(session, &any).await.unwrap();
        assert!(!desk.catalog.is_participant(session, &any).await.unwrap());
        desk.catalog.remove_session(session).await.unwrap();
        assert_eq!(desk.count("select count(*) from participants").await, 0);
        let late = desk.catalog.add_participant(session, &any).await;
        assert!(matches!(late, Err(CatalogError::Deleted)));
    }

    async fn settings_are_kept_by_level_and_go_with_whose_they_are(desk: &Desk) {
        let (workspace, agent, _) = desk.session().await;
        let catalog = &desk.catalog;
        assert_eq!(catalog.cascade(workspace, Some(agent)).await.unwrap(), Cascade::default());
        let levels = [
            (SettingsOf::Deployment, json!({ "spill": 1 })),
            (SettingsOf::Workspace(workspace), json!({ "text": "\0%" })),
            (SettingsOf::Agent(agent), json!(null)),
        ];
        for (of, value) in &levels {
            catalog.put_settings(*of, &json!("before")).await.unwrap();
            catalog.put_settings(*of, value).await.unwrap();
            assert_eq!(catalog.settings(*of).await.unwrap().as_ref(), Some(value));
        }
        let whole = catalog.cascade(workspace, Some(agent)).await.unwrap();
        assert_eq!(whole.deployment.as_ref(), Some(&levels[0].1));
        assert_eq!(whole.workspace.as_ref(), Some(&levels[1].1));
        assert_eq!(whole.agent.as_ref(), Some(&levels[2].1));
        let of_all = catalog.cascade(workspace, None).await.unwrap();
        assert_eq!(of_all, Cascade { agent: None, ..whole });
        let elsewhere = desk.another("elsewhere").await;
        assert_eq!(elsewhere.settings(SettingsOf::Deployment).await.unwrap(), None);
        let large = json!("x".repeat(crate::limits::SETTINGS_BYTES_MAX));
        let refused = catalog.put_settings(SettingsOf::Deployment, &large).await;
        assert!(matches!(refused, Err(CatalogError::TooLarge { .. })));
        catalog.remove_workspace(workspace).await.unwrap();
        assert_eq!(desk.count("select count(*) from settings").await, 1);
        let late = catalog.put_settings(SettingsOf::Agent(agent), &json!({})).await;
        assert!(matches!(late, Err(CatalogError::Deleted)), "{late:?}");
    }

    async fn a_revoked_token_is_remembered_until_it_would_have_expired(desk: &Desk) {
        let token = label(&"\0".repeat(255));
        assert!(!desk.catalog.is_revoked(&token).await.unwrap());
        desk.catalog.revoke_token(&token, START_MS + 10).await.unwrap();
        desk.catalog.revoke_token(&token, START_MS).await.unwrap();
        desk.pass(10);
        assert_eq!(desk.catalog.forget_expired_tokens().await.unwrap(), Left::Nothing(0));
        assert!(desk.another("files").await.is_revoked(&token).await.unwrap());
        desk.pass(1);
        assert_eq!(desk.catalog.forget_expired_tokens().await.unwrap(), Left::Nothing(1));
        assert!(!desk.catalog.is_revoked(&token).await.unwrap());
        desk.catalog.revoke_token(&token, u64::MAX).await.unwrap();
        desk.catalog.accept_token(&token).await.unwrap();
        assert!(!desk.catalog.is_revoked(&token).await.unwrap());
    }
}
