use super::*;

fn promoted() -> Event {
    let (source, target) = ("session/a".into(), "agent/a".into());
    Event::Promoted { source, target, revision: "r1".into() }
}

on_both! {
    /// What a turn promoted is on a receipt, once, whenever it was recorded; it stays when the
    /// session and the agent go, and goes with the workspace.
    async fn receipts_outlive_the_session(desk: &Desk) {
        let (agent, session) = desk.ready().await;
        let (workspace, _, _) = desk.session().await;
        let catalog = &desk.catalog;
        catalog.enqueue(turn_of(session)).await.unwrap();
        let lease = claim_one(catalog).await.lease;
        catalog.renew(lease, &[said("a"), promoted(), said("b")]).await.unwrap();
        desk.pass(7);
        let last = Finish { events: vec![promoted(), promoted()], ..replied() };
        catalog.finish_turn(lease, &last).await.unwrap();
        let again = catalog.finish_turn(lease, &last).await;
        assert!(matches!(again, Err(CatalogError::LeaseLost)), "{again:?}");
        let events = catalog.events_of_turn(lease.turn, 0, 20).await.unwrap();
        assert_eq!(events.iter().filter(|one| one.event == promoted()).count(), 3);

        let at = Coordinates { workspace, agent, session: Some(session) };
        let (ann, by_hand) = (Promoter::Subject(label("ann")), Promoter::Operator);
        let (source, target, revision) = ("agent/a", "workspace/a", "r2");
        let copied = Promoted { source, target, revision };
        catalog.keep_receipt(at, &ann, copied).await.unwrap();
        let outside = Coordinates { session: None, ..at };
        catalog.keep_receipt(outside, &by_hand, copied).await.unwrap();

        let of_session = catalog.receipts(ReceiptsOf::Session(session), None, 100).await.unwrap();
        let by: Vec<_> = of_session.iter().map(|one| one.by.clone()).collect();
        let turn = Promoter::Turn(lease.turn);
        assert_eq!(by, [ann, turn.clone(), turn.clone(), turn]);
        let first = &of_session[3];
        assert_eq!((first.source.as_str(), first.target.as_str()), ("session/a", "agent/a"));
        assert_eq!((first.revision.as_str(), first.at_ms), ("r1", START_MS));
        assert_eq!((first.agent, first.session), (agent, Some(session)));
        assert_eq!(of_session[2].at_ms, START_MS + 7);

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
        let late = catalog.keep_receipt(at, &by_hand, copied).await;
        assert!(matches!(late, Err(CatalogError::Deleted)), "{late:?}");
    }
}
