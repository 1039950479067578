use super::*;

on_both! {
    /// What is promoted is on a receipt before it is done; it stays when the session and the agent
    /// go, and goes with the workspace.
    async fn receipts_outlive_the_session(desk: &Desk) {
        let (agent, session) = desk.ready().await;
        let (workspace, _, _) = desk.session().await;
        let catalog = &desk.catalog;
        catalog.enqueue(turn_of(session)).await.unwrap();
        let lease = claim_one(catalog).await.lease;
        let opened = catalog.open_turn_receipt(lease, "session/a", "agent/a").await.unwrap();
        desk.pass(7);
        catalog.open_turn_receipt(lease, "session/b", "agent/b").await.unwrap();
        let withdrawn = catalog.open_turn_receipt(lease, "session/c", "agent/c").await.unwrap();
        catalog.withdraw_receipt(withdrawn).await.unwrap();
        catalog.complete_receipt(opened, "r1").await.unwrap();
        catalog.withdraw_receipt(opened).await.unwrap();
        catalog.finish_turn(lease, &replied()).await.unwrap();
        let late = catalog.open_turn_receipt(lease, "session/a", "agent/a").await;
        assert!(matches!(late, Err(CatalogError::LeaseLost)), "{late:?}");

        let at = Coordinates { workspace, agent, session: Some(session) };
        let (ann, by_hand) = (Promoter::Subject(label("ann")), Promoter::Operator);
        let (source, target) = ("agent/a", "workspace/a");
        catalog.open_receipt(at, &ann, source, target).await.unwrap();
        let outside = Coordinates { session: None, ..at };
        catalog.open_receipt(outside, &by_hand, source, target).await.unwrap();

        let of_session = catalog.receipts(ReceiptsOf::Session(session), None, 100).await.unwrap();
        let by: Vec<_> = of_session.iter().map(|one| one.by.clone()).collect();
        let turn = Promoter::Turn(lease.turn);
        assert_eq!(by, [ann, turn.clone(), turn]);
        let [.., second, first] = of_session.as_slice() else { panic!("{of_session:?}") };
        assert_eq!((first.source.as_str(), first.target.as_str()), ("session/a", "agent/a"));
        assert_eq!((first.revision.as_deref(), first.at_ms), (Some("r1"), START_MS));
        assert_eq!((first.agent, first.session), (agent, Some(session)));
        assert_eq!((second.revision.as_deref(), second.at_ms), (None, START_MS + 7));

        // Page by page, each once.
        let (mut seen, mut before) = (Vec::new(), None);
        loop {
            let of = ReceiptsOf::Workspace(workspace);
            let page = catalog.receipts(of, before, 2).await.unwrap();
            let Some(last) = page.last() else { break };
            before = Some(last.id);
            seen.extend(page);
        }
        assert_eq!(seen[1..], of_session);
        assert_eq!((&seen[0].by, seen[0].session), (&by_hand, None));

        catalog.remove_session(session).await.unwrap();
        catalog.remove_agent(agent).await.unwrap();
        let kept = catalog.receipts(ReceiptsOf::Workspace(workspace), None, 100).await.unwrap();
        assert_eq!(kept, seen);
        let other = desk.catalog.make_workspace(&name("other")).await.unwrap().id();
        assert_eq!(catalog.receipts(ReceiptsOf::Workspace(other), None, 9).await.unwrap(), []);
        catalog.remove_workspace(workspace).await.unwrap();
        assert_eq!(desk.count("select count(*) from promotions").await, 0);
        let late = catalog.open_receipt(at, &by_hand, source, target).await;
        assert!(matches!(late, Err(CatalogError::Deleted)), "{late:?}");
    }
}
