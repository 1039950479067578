use super::*;

on_both! {
    /// However many hosts look, each time becomes one turn.
    async fn a_wakeup_becomes_one_turn(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let due_ms = START_MS + 60_000;
        let once = desk.catalog.add_wakeup(session, &When::At(due_ms), "now").await.unwrap();
        assert_eq!(desk.catalog.due_wakeups(10).await.unwrap(), []);
        desk.pass(60_000);
        let others = [desk.another("files").await, desk.another("files").await];
        let hosts = others.into_iter().chain([desk.catalog.clone()]);
        let looks = hosts.map(|catalog| {
            tokio::spawn(async move {
                let mut fired = Vec::new();
                for due in catalog.due_wakeups(10).await.unwrap() {
                    fired.extend(catalog.fire(&due, 1).await.unwrap());
                }
                fired
            })
        });
        let fired: Vec<_> = futures::future::join_all(looks).await;
        let fired: Vec<TurnId> = fired.into_iter().flat_map(Result::unwrap).collect();
        let [turn] = fired.as_slice() else { panic!("{fired:?}") };
        let claimed = claim_one(&desk.catalog).await;
        assert_eq!((claimed.lease.turn, claimed.input.as_str()), (*turn, "now"));
        let firings = desk.catalog.firings(session, 10).await.unwrap();
        assert_eq!(firings, [Firing { wakeup: once, due_ms, fired_ms: due_ms, turn: *turn }]);
        assert_eq!(desk.catalog.wakeups(session).await.unwrap(), []);
    }

    /// Times that nobody was there for are made up for once.
    async fn a_pattern_comes_again_and_is_made_up_for_once(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let hourly = Cron::new("0 * * * *", "Europe/Berlin", START_MS).unwrap();
        let when = When::Cron(hourly.clone());
        let id = desk.catalog.add_wakeup(session, &when, "tick").await.unwrap();
        let hour = 3_600_000;
        assert_eq!(desk.catalog.wakeups(session).await.unwrap()[0].due_ms, hour);
        desk.clock.0.store(5 * hour + 1, Ordering::Relaxed);
        let due = desk.catalog.due_wakeups(10).await.unwrap();
        assert!(desk.catalog.fire(&due[0], 0).await.unwrap().is_some());
        assert_eq!(desk.catalog.fire(&due[0], 0).await.unwrap(), None);
        let next = &desk.catalog.wakeups(session).await.unwrap()[0];
        assert_eq!((next.id, next.due_ms, next.cron.as_ref()), (id, 6 * hour, Some(&hourly)));
        assert_eq!(desk.catalog.due_wakeups(10).await.unwrap(), []);
        assert!(desk.catalog.remove_wakeup(session, id).await.unwrap());
        assert!(!desk.catalog.remove_wakeup(session, id).await.unwrap());
    }

    /// What cannot be run yet waits, and holds up nobody else.
    async fn a_wakeup_without_a_component_waits_for_one(desk: &Desk) {
        let (agent, session) = desk.ready().await;
        desk.catalog.set_agent_component(agent, None).await.unwrap();
        desk.catalog.add_wakeup(session, &When::At(0), "early").await.unwrap();
        assert_eq!(desk.catalog.due_wakeups(10).await.unwrap(), []);
        let latest = AgentComponent::Latest(name("guest"));
        desk.catalog.set_agent_component(agent, Some(&latest)).await.unwrap();
        let due = desk.catalog.due_wakeups(10).await.unwrap();
        assert_eq!((due.len(), due[0].component), (1, COMPONENT));
        assert_eq!(desk.another("elsewhere").await.due_wakeups(10).await.unwrap(), []);
        desk.catalog.remove_session(session).await.unwrap();
        assert_eq!(desk.catalog.fire(&due[0], 0).await.unwrap(), None);
        assert_eq!(desk.count("select count(*) from wakeups").await, 0);
    }

    async fn wakeups_of_a_session_are_bounded(desk: &Desk) {
        let (_, session) = desk.ready().await;
        for number in 0..crate::limits::SESSION_WAKEUPS_MAX {
            desk.catalog.add_wakeup(session, &When::At(number), "").await.unwrap();
        }
        let one_more = desk.catalog.add_wakeup(session, &When::At(0), "").await;
        assert!(matches!(one_more, Err(CatalogError::TooMany { count_max: 100 })));
        let first = desk.catalog.wakeups(session).await.unwrap()[0].id;
        assert!(desk.catalog.remove_wakeup(session, first).await.unwrap());
        desk.catalog.enqueue(turn_of(session)).await.unwrap();
        let lease = claim_one(&desk.catalog).await.lease;
        let wake = Wake { after_ms: 0, input: String::new() };
        let breeding = Finish { wakes: vec![wake; 16], ..replied() };
        desk.catalog.finish_turn(lease, &breeding).await.unwrap();
        assert_eq!(desk.catalog.wakeups(session).await.unwrap().len(), 100);
        let events = desk.catalog.events(session, 2, 1).await.unwrap();
        let Event::Logged { message, .. } = &events[0].event else { panic!("{events:?}") };
        assert!(message.starts_with("15 wakes were dropped"), "{message}");
    }
}
