use super::*;

on_both! {
    async fn a_session_runs_one_turn_at_a_time(desk: &Desk) {
        let (workspace, _, session) = desk.session().await;
        let other = desk.another("files").await;
        let lease = desk.catalog.start_turn(start(session)).await.unwrap();
        let second = other.start_turn(start(session)).await;
        assert!(matches!(second, Err(CatalogError::TurnRunning { given_up_in_ms: LEASE_MS })));
        let removed = other.remove_workspace(workspace).await;
        assert!(matches!(removed, Err(CatalogError::InUse { given_up_in_ms: LEASE_MS })));
        desk.catalog.finish_turn(lease, &replied()).await.unwrap();
        other.start_turn(start(session)).await.unwrap();
        let first = &other.turns(session, 0, 1).await.unwrap()[0];
        assert_eq!((first.state, first.reply.as_deref()), (TurnState::Done, Some("out")));
    }

    async fn a_turn_whose_host_died_keeps_its_partial_reply_and_blocks_nobody(desk: &Desk) {
        let (_, _, session) = desk.session().await;
        let dead = desk.catalog.start_turn(start(session)).await.unwrap();
        desk.catalog.renew(dead, 0, &[said("one ")]).await.unwrap();
        desk.pass(LEASE_MS);
        desk.catalog.renew(dead, 1, &[said("two")]).await.unwrap();
        desk.pass(LEASE_MS);
        assert!(desk.catalog.start_turn(start(session)).await.is_err());
        desk.pass(1);
        let next = desk.catalog.start_turn(start(session)).await.unwrap();
        assert_eq!(next.attempt, 1);
        let sealed = &desk.catalog.turn(dead.turn).await.unwrap().unwrap();
        assert_eq!((sealed.state, sealed.said.as_str()), (TurnState::Failed, "one two"));
        assert_eq!(sealed.failure.as_deref(), Some("abandoned"));
        for events in [&[][..], &[said("three")]] {
            let late = desk.catalog.renew(dead, 0, events).await;
            assert!(matches!(late, Err(CatalogError::LeaseLost)));
        }
        let late = desk.catalog.finish_turn(dead, &replied()).await;
        assert!(matches!(late, Err(CatalogError::LeaseLost)));
        assert_eq!(desk.count("select count(*) from events where kind = 'said'").await, 2);
    }

    /// Whoever knows that a process is dead need not wait; a worker's turn is not his to give up.
    async fn a_process_that_is_gone_is_told_from_a_worker(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let (_, _, other) = super::session(&desk.catalog, "tuesday").await;
        let dead = desk.catalog.start_turn(start(other)).await.unwrap();
        desk.catalog.enqueue(turn_of(session)).await.unwrap();
        let held = claim_one(&desk.catalog).await.lease;
        assert_eq!(desk.catalog.running_sessions().await.unwrap(), [other]);
        desk.catalog.abandon(other).await.unwrap();
        desk.catalog.abandon(session).await.unwrap();
        assert_eq!(desk.states(other).await, [TurnState::Failed]);
        let late = desk.catalog.renew(dead, 0, &[]).await;
        assert!(matches!(late, Err(CatalogError::LeaseLost)));
        desk.catalog.finish_turn(held, &replied()).await.unwrap();
    }

    async fn a_question_is_answered_once_and_stays_open_while_answering_fails(desk: &Desk) {
        let (_, _, session) = desk.session().await;
        let catalog = &desk.catalog;
        let lease = catalog.start_turn(start(session)).await.unwrap();
        catalog.finish_turn(lease, &asked("which?")).await.unwrap();
        let plain = catalog.start_turn(start(session)).await;
        assert!(matches!(plain, Err(CatalogError::QuestionOpen(text)) if text == "which?"));

        let question = catalog.question(session).await.unwrap().unwrap();
        assert_eq!((question.turn, question.input.as_str()), (lease.turn, "in"));
        assert_eq!(catalog.component(question.component).await.unwrap().unwrap(), b"component");
        let answer = Some(Answer { question: question.turn, text: "that" });
        let answering = Start { answer, ..start(session) };

        let died = catalog.start_turn(answering).await.unwrap();
        desk.pass(LEASE_MS + 1);
        let failing = catalog.start_turn(answering).await.unwrap();
        assert_eq!((died.attempt, failing.attempt), (1, 2));
        catalog.finish_turn(failing, &failed(Failure::Trapped)).await.unwrap();
        let again = catalog.start_turn(answering).await.unwrap();
        catalog.finish_turn(again, &asked("and then?")).await.unwrap();

        assert_eq!(catalog.question(session).await.unwrap().unwrap().text, "and then?");
        let stale = catalog.start_turn(answering).await;
        assert!(matches!(stale, Err(CatalogError::NoQuestion)));
        let answer = Some(Answer { question: again.turn, text: "enough" });
        let last = catalog.start_turn(Start { answer, ..start(session) }).await.unwrap();
        catalog.finish_turn(last, &replied()).await.unwrap();
        assert_eq!(catalog.question(session).await.unwrap(), None);
        assert_eq!(catalog.component(COMPONENT).await.unwrap(), None);
        catalog.start_turn(start(session)).await.unwrap();
    }

    async fn events_and_wakes_are_kept_with_their_turn_and_go_with_it(desk: &Desk) {
        let (_, _, session) = desk.session().await;
        let lease = desk.catalog.start_turn(start(session)).await.unwrap();
        let path = || "session/a.md".to_owned();
        let events = vec![
            Event::Written { path: path(), size: 5 },
            Event::Promoted { source: path(), target: "agent/a.md".into(), revision: "r".into() },
            Event::Spilled { path: path() },
            Event::Deleted { path: path() },
            Event::Logged { level: LogLevel::Info, message: "well".into() },
        ];
        let wakes = vec![Wake { after_ms: 5_000, input: "later".into() }];
        let whole = Finish { events: events.clone(), wakes, ..replied() };
        desk.catalog.finish_turn(lease, &whole).await.unwrap();
        let kept = desk.catalog.events_of_turn(lease.turn, 1, 5).await.unwrap();
        assert_eq!(kept.into_iter().map(|one| one.event).collect::<Vec<_>>(), events);
        let wakeups = desk.catalog.wakeups(session).await.unwrap();
        let [later] = wakeups.as_slice() else { panic!("{wakeups:?}") };
        assert_eq!((later.due_ms, later.input.as_str()), (START_MS + 5_000, "later"));
        assert_eq!(later.turn, Some(lease.turn));
        let lease = desk.catalog.start_turn(start(session)).await.unwrap();
        let failing = Finish { ending: failed(Failure::Limit).ending, ..whole };
        desk.catalog.finish_turn(lease, &failing).await.unwrap();
        let count = desk.count("select count(*) from wakeups").await;
        assert_eq!(count, 1, "a turn that failed is not woken");
        desk.catalog.remove_session(session).await.unwrap();
        assert_eq!(desk.count("select count(*) from events").await, 0);
        assert_eq!(desk.count("select count(*) from wakeups").await, 0);
    }

    async fn any_number_of_events_is_kept(desk: &Desk) {
        let (_, _, session) = desk.session().await;
        let lease = desk.catalog.start_turn(start(session)).await.unwrap();
        let line = |number| Event::Logged { level: LogLevel::Info, message: format!("{number}") };
        let events: Vec<_> = (0..2_500).map(line).collect();
        let whole = Finish { events: events.clone(), ..replied() };
        desk.catalog.finish_turn(lease, &whole).await.unwrap();
        let mut kept = Vec::new();
        let mut after = 1;
        loop {
            let page = desk.catalog.events(session, after, u32::MAX).await.unwrap();
            let Some(last) = page.last() else { break };
            after = last.number;
            kept.extend(page.into_iter().map(|one| one.event));
        }
        assert_eq!(kept.pop(), Some(Event::State(TurnState::Done)));
        assert_eq!(kept, events);
    }

    /// However long the texts of turns are, a list of them is not.
    async fn a_list_of_turns_shows_the_start_of_long_texts(desk: &Desk) {
        let (_, agent, session) = desk.session().await;
        let long = "é".repeat(100_000);
        let begin = Start { input: &long, ..start(session) };
        let lease = desk.catalog.start_turn(begin).await.unwrap();
        desk.catalog.finish_turn(lease, &asked(&long)).await.unwrap();
        let shown = "é".repeat(crate::limits::LISTED_TEXT_CHARACTERS_MAX as usize);
        let listed = &desk.catalog.turns(session, 0, u32::MAX).await.unwrap()[0];
        assert!(listed.input == shown && listed.question.as_deref() == Some(&shown));
        let listed = &desk.catalog.sessions(agent, None, Page::ALL).await.unwrap()[0];
        assert!(listed.question.as_deref() == Some(&shown));
        let whole = desk.catalog.turn(lease.turn).await.unwrap().unwrap();
        assert!(whole.input == long && whole.question.as_deref() == Some(&long));
    }

    /// Whatever a guest says comes back as it was, NUL and all.
    async fn awkward_texts_come_back(desk: &Desk) {
        let (_, _, session) = desk.session().await;
        let text = "\0 \u{1a}0 %_'\"\\ \u{10ffff} é e\u{301}";
        let begin = Start { input: text, ..start(session) };
        let lease = desk.catalog.start_turn(begin).await.unwrap();
        desk.catalog.renew(lease, 0, &[said(text)]).await.unwrap();
        let ending = Ending::Replied(text.into());
        let whole = Finish { said: text.into(), ..finish(ending) };
        desk.catalog.finish_turn(lease, &whole).await.unwrap();
        let turn = desk.catalog.turn(lease.turn).await.unwrap().unwrap();
        assert_eq!((turn.input.as_str(), turn.said.as_str()), (text, text));
        assert_eq!(turn.reply.as_deref(), Some(text));
        let events = desk.catalog.events(session, 1, 1).await.unwrap();
        assert_eq!(events[0].event, said(text));
    }
}

/// What is asked at the end of every turn takes no longer for more turns and open questions.
#[tokio::test]
async fn the_end_of_a_turn_searches_by_indexes() {
    let desk = Desk::sqlite().await;
    let query = ending::UNUSED_OF_A_TURN.trim_end_matches(" for update skip locked").trim_end();
    let explain = sql(format!("explain query plan {query}")).bind("");
    let plan = desk.catalog.database.rows(explain).await.unwrap();
    let plan: Vec<String> = plan.map(|row| row.at(3)).unwrap();
    let looks: Vec<_> = plan.iter().filter(|step| !step.contains("SUBQUERY")).collect();
    let searches = looks.iter().filter(|step| step.starts_with("SEARCH")).count();
    assert!(searches >= 4 && !looks.iter().any(|step| step.starts_with("SCAN")), "{plan:?}");
}
