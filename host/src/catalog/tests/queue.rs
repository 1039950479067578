use super::*;

on_both! {
    async fn turns_run_in_order_and_one_at_a_time(desk: &Desk) {
        let (_, monday) = desk.ready().await;
        let (_, _, tuesday) = session(&desk.catalog, "tuesday").await;
        for (session, input) in [(monday, "1"), (monday, "2"), (tuesday, "3"), (monday, "4")] {
            desk.catalog.enqueue(Enqueue { input, ..turn_of(session) }).await.unwrap();
            desk.pass(1);
        }
        let claimed = desk.catalog.claim("host", 10).await.unwrap();
        let inputs: Vec<_> = claimed.iter().map(|one| one.input.as_str()).collect();
        assert_eq!(inputs, ["1", "3"]);
        assert_eq!(claimed[0].coordinates.session, Some(monday));
        assert_eq!(claimed[0].component, COMPONENT);
        assert_eq!(desk.catalog.claim("other", 10).await.unwrap(), []);
        desk.catalog.finish_turn(claimed[0].lease, &replied()).await.unwrap();
        assert_eq!(desk.catalog.claim("other", 0).await.unwrap(), []);
        let next = claim_one(&desk.catalog).await;
        assert_eq!((next.input.as_str(), next.lease.attempt), ("2", 1));
        let direct = desk.catalog.start_turn(start(tuesday)).await;
        assert!(matches!(direct, Err(CatalogError::TurnRunning { .. })));
        desk.catalog.finish_turn(claimed[1].lease, &failed(Failure::Trapped)).await.unwrap();
        desk.catalog.finish_turn(next.lease, &replied()).await.unwrap();
        let direct = desk.catalog.start_turn(start(monday)).await;
        assert!(matches!(direct, Err(CatalogError::TurnsQueued)), "{direct:?}");
        assert_eq!(claim_one(&desk.catalog).await.input, "4");
    }

    async fn a_turn_of_another_store_is_claimed_by_nobody_here(desk: &Desk) {
        let (_, session) = desk.ready().await;
        desk.catalog.enqueue(turn_of(session)).await.unwrap();
        let elsewhere = desk.another("s3://elsewhere").await;
        assert_eq!(elsewhere.claim("host", 1).await.unwrap(), []);
        let lease = claim_one(&desk.catalog).await.lease;
        desk.pass(LEASE_MS + 1);
        elsewhere.claim("host", 1).await.unwrap();
        assert_eq!(elsewhere.turn(lease.turn).await.unwrap(), None);
        assert_eq!(desk.states(session).await, [TurnState::Running]);
    }

    async fn a_request_asked_twice_is_queued_once(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let key = label("key\0%_");
        let request = Enqueue { request: Some(&key), ..turn_of(session) };
        let made = desk.catalog.enqueue(request).await.unwrap();
        let Made::New(turn) = made else { panic!("{made:?}") };
        assert_eq!(desk.catalog.enqueue(request).await.unwrap(), Made::Found(turn));
        let reused = desk.catalog.enqueue(Enqueue { input: "another", ..request }).await;
        assert!(matches!(reused, Err(CatalogError::RequestReused)));
        let lease = claim_one(&desk.catalog).await.lease;
        desk.catalog.finish_turn(lease, &asked("which?")).await.unwrap();
        assert_eq!(desk.catalog.enqueue(request).await.unwrap(), Made::Found(turn));
        let taken = Resume { request: Some(&key), ..answer_to(turn) };
        let reused = desk.catalog.resume(taken).await;
        assert!(matches!(reused, Err(CatalogError::RequestReused)));
        let (_, _, other) = super::session(&desk.catalog, "tuesday").await;
        let elsewhere = Enqueue { request: Some(&key), ..turn_of(other) };
        assert!(matches!(desk.catalog.enqueue(elsewhere).await.unwrap(), Made::New(_)));
    }

    async fn what_cannot_run_is_not_queued(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let unknown = Enqueue { component: Sha256([8; 32]), ..turn_of(session) };
        let refused = desk.catalog.enqueue(unknown).await;
        assert!(matches!(refused, Err(CatalogError::NoComponent)), "{refused:?}");
        let long = "x".repeat(crate::limits::TURN_TEXT_BYTES_MAX + 1);
        let refused = desk.catalog.enqueue(Enqueue { input: &long, ..turn_of(session) }).await;
        assert!(matches!(refused, Err(CatalogError::TooLarge { .. })), "{refused:?}");
        for _ in 0..crate::limits::SESSION_QUEUED_MAX {
            desk.catalog.enqueue(turn_of(session)).await.unwrap();
        }
        let refused = desk.catalog.enqueue(turn_of(session)).await;
        assert!(matches!(refused, Err(CatalogError::QueueFull)), "{refused:?}");
        desk.catalog.remove_session(session).await.unwrap();
        let refused = desk.catalog.enqueue(turn_of(session)).await;
        assert!(matches!(refused, Err(CatalogError::Deleted)), "{refused:?}");
        assert_eq!(desk.catalog.claim("host", 10).await.unwrap(), []);
    }

    /// While a question is open, only its answer runs; what was queued before it comes after.
    async fn an_answer_comes_before_what_is_queued(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let catalog = &desk.catalog;
        for input in ["1", "2"] {
            catalog.enqueue(Enqueue { input, ..turn_of(session) }).await.unwrap();
        }
        let asking = claim_one(catalog).await;
        catalog.finish_turn(asking.lease, &asked("which?")).await.unwrap();
        assert_eq!(catalog.claim("host", 1).await.unwrap(), []);
        let key = label("answer");
        let answer = Resume { request: Some(&key), ..answer_to(asking.lease.turn) };
        let resumed = catalog.resume(answer).await.unwrap();
        assert_eq!(catalog.resume(answer).await.unwrap(), Made::Found(resumed.id()));
        let second = catalog.resume(answer_to(asking.lease.turn)).await;
        assert!(matches!(second, Err(CatalogError::AlreadyAnswered)), "{second:?}");
        let claimed = claim_one(catalog).await;
        assert_eq!(claimed.lease.turn, resumed.id());
        assert_eq!((claimed.input.as_str(), claimed.answer.as_deref()), ("1", Some("that")));
        catalog.finish_turn(claimed.lease, &failed(Failure::Trapped)).await.unwrap();
        assert_eq!(catalog.claim("host", 1).await.unwrap(), [], "the question is open again");
        catalog.resume(answer_to(asking.lease.turn)).await.unwrap();
        let claimed = claim_one(catalog).await;
        catalog.finish_turn(claimed.lease, &replied()).await.unwrap();
        let late = catalog.resume(answer_to(asking.lease.turn)).await;
        assert!(matches!(late, Err(CatalogError::NoQuestion)), "{late:?}");
        assert_eq!(claim_one(catalog).await.input, "2");
    }

    /// A turn whose worker died is tried again as often as it may be, and each attempt's pieces
    /// are its own; whoever held an earlier attempt can do nothing more.
    async fn a_dead_workers_turn_is_tried_again_and_given_up(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let catalog = &desk.catalog;
        catalog.enqueue(turn_of(session)).await.unwrap();
        let mut held = Vec::new();
        for attempt in 1..=3_u32 {
            let lease = claim_one(catalog).await.lease;
            assert_eq!(lease.attempt, attempt);
            catalog.renew(lease, 0, &[said(&format!("try {attempt} "))]).await.unwrap();
            catalog.renew(lease, 1, &[said("and more")]).await.unwrap();
            held.push(lease);
            for lost in &held[..held.len() - 1] {
                let renewed = catalog.renew(*lost, 0, &[]).await;
                assert!(matches!(renewed, Err(CatalogError::LeaseLost)));
                let told = catalog.renew(*lost, 0, &[said("late")]).await;
                assert!(matches!(told, Err(CatalogError::LeaseLost)));
                let finished = catalog.finish_turn(*lost, &replied()).await;
                assert!(matches!(finished, Err(CatalogError::LeaseLost)));
            }
            desk.pass(LEASE_MS + 1);
            assert_eq!(catalog.claim("other", 1).await.unwrap(), [], "there is a pause");
            desk.pass(u64::from(attempt) * crate::limits::TURN_RETRY_PAUSE_MS);
        }
        let turn = catalog.turn(held[0].turn).await.unwrap().unwrap();
        assert_eq!((turn.state, turn.attempt), (TurnState::Failed, 3));
        assert_eq!(turn.failure.as_deref(), Some("abandoned"));
        assert_eq!(turn.said, "try 3 and more");
        let events = catalog.events(session, 0, 100).await.unwrap();
        assert!((1..).zip(&events).all(|(number, event)| event.number == number));
        let told: Vec<_> = events.iter().map(|one| (one.attempt, one.event.clone())).collect();
        let state = |attempt, state| (attempt, Event::State(state));
        let mut expected = vec![state(1, TurnState::Queued)];
        for attempt in 1..=3 {
            expected.push(state(attempt, TurnState::Running));
            expected.push((attempt, said(&format!("try {attempt} "))));
            expected.push((attempt, said("and more")));
            let next = (attempt < 3).then_some(state(attempt + 1, TurnState::Queued));
            expected.push(next.unwrap_or(state(3, TurnState::Failed)));
        }
        assert_eq!(told, expected);
        assert_eq!(catalog.claim("host", 1).await.unwrap(), []);
    }

    async fn a_turn_is_cancelled_wherever_it_stands(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let catalog = &desk.catalog;
        let queue = async || catalog.enqueue(turn_of(session)).await.unwrap().id();
        let (first, second) = (queue().await, queue().await);
        assert_eq!(catalog.cancel(second).await.unwrap(), Cancelled::Ended);
        assert_eq!(catalog.cancel(second).await.unwrap(), Cancelled::Over);
        let lease = claim_one(catalog).await.lease;
        assert_eq!(lease.turn, first);
        assert_eq!(catalog.renew(lease, 0, &[]).await.unwrap(), Standing::Held);
        assert_eq!(catalog.cancel(first).await.unwrap(), Cancelled::Asked);
        let told = catalog.renew(lease, 0, &[said("part")]).await.unwrap();
        assert_eq!(told, Standing::CancelAsked);
        desk.pass(LEASE_MS + 1);
        assert_eq!(catalog.claim("host", 1).await.unwrap(), [], "it is not tried again");
        let turn = catalog.turn(first).await.unwrap().unwrap();
        assert_eq!(turn.failure.as_deref(), Some("cancelled"));
        assert_eq!(turn.said, "part");

        queue().await;
        let asking = claim_one(catalog).await.lease;
        catalog.finish_turn(asking, &asked("which?")).await.unwrap();
        let answer = catalog.resume(answer_to(asking.turn)).await.unwrap().id();
        let last = queue().await;
        assert_eq!(catalog.cancel(asking.turn).await.unwrap(), Cancelled::Ended);
        let stopped = catalog.turn(answer).await.unwrap().unwrap();
        assert_eq!(stopped.failure.as_deref(), Some("cancelled"));
        let question = catalog.turn(asking.turn).await.unwrap().unwrap();
        assert_eq!((question.state, question.said.as_str()), (TurnState::Failed, "so far"));
        assert_eq!(claim_one(catalog).await.lease.turn, last);
        let unknown = catalog.cancel(TurnId(new_id())).await;
        assert!(matches!(unknown, Err(CatalogError::Deleted)));
    }

    /// A question is not closed under a host that works on its answer.
    async fn an_answer_under_way_is_asked_to_stop_with_its_question(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let catalog = &desk.catalog;
        catalog.enqueue(turn_of(session)).await.unwrap();
        let asking = claim_one(catalog).await.lease;
        catalog.finish_turn(asking, &asked("which?")).await.unwrap();
        catalog.resume(answer_to(asking.turn)).await.unwrap();
        let answering = claim_one(catalog).await.lease;
        assert_eq!(catalog.cancel(asking.turn).await.unwrap(), Cancelled::Asked);
        assert_eq!(catalog.renew(answering, 0, &[]).await.unwrap(), Standing::CancelAsked);
        catalog.finish_turn(answering, &failed(Failure::Cancelled)).await.unwrap();
        assert_eq!(catalog.cancel(asking.turn).await.unwrap(), Cancelled::Ended);
        assert_eq!(desk.states(session).await, [TurnState::Failed; 2]);
    }
}
