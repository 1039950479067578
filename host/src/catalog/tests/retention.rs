use super::*;
use crate::limits::{
    ACTIVITY_KNOWN_MS, DELETION_LEASE_MS, FIRINGS_KEPT_MS, PIECES_KEPT_MS, ROWS_SWEPT_MAX,
};

const DAY_MS: u64 = 86_400_000;

/// Lets everything go, and remembers what it was told.
#[derive(Debug, Default)]
pub(super) struct Ruthless(std::sync::Mutex<Vec<SessionFacts>>, Option<u64>);

impl Judge for Ruthless {
    fn kept(&self, _: &Cascade) -> Option<u64> {
        self.1
    }

    fn sentence(&self, facts: &SessionFacts, _: &Cascade) -> Option<Reason> {
        self.0.lock().unwrap().push(facts.clone());
        (facts.to_come.is_none() && facts.held_ms.is_none()).then_some(Reason::Idle)
    }
}

impl Ruthless {
    fn told(&self) -> SessionFacts {
        self.0.lock().unwrap().last().unwrap().clone()
    }
}

async fn swept(catalog: &Catalog, session: SessionId) -> u64 {
    assert_eq!(
        catalog.begin_sweep(session, &Ruthless::default()).await.unwrap(),
        Some(Reason::Idle)
    );
    finish_sweep(catalog, session).await
}

/// How many transactions it took.
async fn finish_sweep(catalog: &Catalog, session: SessionId) -> u64 {
    let mut transactions = 1;
    while let Left::More(rows) = catalog.sweep_going(Removable::Session(session)).await.unwrap() {
        assert!((1..=ROWS_SWEPT_MAX).contains(&rows));
        transactions += 1;
    }
    transactions
}

on_both! {
    /// From the moment at which a session is swept nothing begins in it, and whoever tries is told.
    async fn nothing_happens_in_a_session_that_is_swept(desk: &Desk) {
        let (agent, session) = desk.ready().await;
        let catalog = &desk.catalog;
        let refusals = async || {
            let refusals = [
                catalog.enqueue(turn_of(session)).await.map(|_| ()),
                catalog.start_turn(start(session)).await.map(|_| ()),
                catalog.add_wakeup(session, &When::At(1), "").await.map(|_| ()),
                catalog.note_write(session).await,
                catalog.close_session(session).await,
                catalog.reopen_session(session).await,
                catalog.hold_session(session).await,
            ];
            assert_eq!(catalog.session_by_id(session).await.unwrap(), None);
            assert_eq!(catalog.session(agent, &name("monday")).await.unwrap(), None);
            assert_eq!(catalog.begin_sweep(session, &Ruthless::default()).await.unwrap(), None);
            refusals
        };
        let why = catalog.begin_sweep(session, &Ruthless::default()).await.unwrap();
        assert_eq!(why, Some(Reason::Idle));
        for refusal in refusals().await {
            assert!(matches!(refusal, Err(CatalogError::Swept)), "{refusal:?}");
        }
        assert_eq!(catalog.sessions(agent, None, Page::ALL).await.unwrap(), []);
        assert_eq!(catalog.going().await.unwrap(), [Removable::Session(session)]);
        assert_eq!(desk.another("elsewhere").await.going().await.unwrap(), []);
        assert_eq!(catalog.owed().await.unwrap(), []);
        finish_sweep(catalog, session).await;
        for refusal in refusals().await {
            assert!(matches!(refusal, Err(CatalogError::Deleted)), "{refusal:?}");
        }
        let (workspace, _, monday) = desk.session().await;
        assert_ne!(monday, session, "a name made again is another session");
        let deletion = Deletion::Session(workspace, agent, session);
        assert_eq!(catalog.owed().await.unwrap(), [deletion]);
        let record = catalog.deletion(session.0).await.unwrap().unwrap();
        assert_eq!((record.why, record.by.as_deref()), (Some(Reason::Idle), None));
        assert_eq!(record.deleted_ms, START_MS);
        catalog.enqueue(turn_of(monday)).await.unwrap();
        let deleted = catalog.remove_session(session).await;
        assert!(matches!(deleted, Err(CatalogError::Deleted)));
    }

    /// Whoever decides is told what is known in the transaction that sets it.
    async fn what_is_to_come_is_known_to_whoever_decides(desk: &Desk) {
        let (agent, session) = desk.ready().await;
        let catalog = &desk.catalog;
        let judge = Ruthless(Default::default(), Some(2));
        let stays = async |to_come| {
            assert_eq!(catalog.begin_sweep(session, &judge).await.unwrap(), None);
            assert_eq!(judge.told().to_come, Some(to_come));
        };
        catalog.enqueue(turn_of(session)).await.unwrap();
        stays(ToCome::Queued).await;
        let lease = claim_one(catalog).await.lease;
        stays(ToCome::Running).await;
        catalog.finish_turn(lease, &asked("which?")).await.unwrap();
        stays(ToCome::Question).await;
        catalog.cancel(lease.turn).await.unwrap();
        let wakeup = catalog.add_wakeup(session, &When::At(u64::MAX), "").await.unwrap();
        stays(ToCome::Wakeup).await;
        catalog.remove_wakeup(session, wakeup).await.unwrap();
        catalog.hold_session(session).await.unwrap();
        assert_eq!(catalog.begin_sweep(session, &judge).await.unwrap(), None);
        assert_eq!(judge.told().held_ms, Some(START_MS));
        let refused = catalog.remove_agent(agent).await;
        assert!(matches!(refused, Err(CatalogError::Held)), "{refused:?}");
        catalog.release_session(session).await.unwrap();
        // Those that are later are counted no further than it matters.
        desk.pass(1);
        for (called, newer) in [("a", 1), ("b", 2), ("c", 2)] {
            super::session(catalog, called).await;
            let others = catalog.walk_sessions(None, &Walk::default(), 10).await.unwrap();
            let own = others.iter().find(|facts| facts.session == session).unwrap();
            assert_eq!(catalog.newer_sessions(own, 2).await.unwrap(), newer);
        }
        assert!(catalog.begin_sweep(session, &judge).await.unwrap().is_some());
        assert_eq!((judge.told().newer, judge.told().active_ms), (2, START_MS));
        let elsewhere = desk.another("elsewhere").await;
        assert_eq!(elsewhere.walk_sessions(None, &Walk::default(), 10).await.unwrap(), []);
    }

    /// However much there is of a session, it goes in short transactions, and nothing else with it.
    async fn a_large_session_goes_in_short_transactions(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let (_, _, other) = super::session(&desk.catalog, "monda").await;
        let catalog = &desk.catalog;
        for session in [session, other] {
            for _ in 0..45 {
                catalog.enqueue(turn_of(session)).await.unwrap();
                let lease = claim_one(catalog).await.lease;
                let deleted = Event::Deleted { path: "session/a".into() };
                let finish = Finish { events: vec![deleted; 50], ..replied() };
                catalog.finish_turn(lease, &finish).await.unwrap();
            }
        }
        let before = desk.count("select count(*) from events").await;
        assert_eq!(before, 2 * 45 * 53);
        // Of events, the last of them with the turns and the session itself.
        assert_eq!(swept(catalog, session).await, 3);
        assert_eq!(desk.count("select count(*) from events").await, before / 2);
        assert_eq!(desk.count("select count(*) from turns").await, 45);
        assert_eq!(catalog.turns(other, 0, 100).await.unwrap().len(), 45);
    }

    /// Answers that ask again, and again: a chain goes that is longer than databases cascade.
    async fn a_long_chain_of_questions_goes(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let ids: Vec<_> = (0..2_000).map(|_| new_id()).collect();
        for (first, some) in ids.chunks(500).enumerate() {
            let insert = "insert into turns (id, session_id, resumes_id, state, attempt, component,
                input, queued_ms, position) values ";
            let mut insert = sql([insert, &database::places(some.len(), 9)].concat());
            for (at, id) in some.iter().enumerate() {
                let number = first * 500 + at;
                let before = number.checked_sub(1).map(|before| ids[before]);
                insert = insert.bind(*id).bind(session).bind(before).bind("done").bind(1_u32);
                insert = insert.bind(COMPONENT).bind("").bind(1_i64).bind(number as u64 + 1);
            }
            desk.catalog.database.execute(insert).await.unwrap();
        }
        assert_eq!(desk.count("select count(*) from turns").await, 2_000);
        let catalog = &desk.catalog;
        catalog.remove_session(session).await.unwrap();
        finish_sweep(catalog, session).await;
        assert_eq!(desk.count("select count(*) from turns").await, 0);
        assert_eq!(catalog.owed().await.unwrap().len(), 1);
    }

    /// What is written from outside of turns is noted, and not more often than every few minutes.
    async fn writes_are_noted_every_few_minutes(desk: &Desk) {
        let (_, _, session) = desk.session().await;
        let active = async || desk.catalog.session_by_id(session).await.unwrap().unwrap().active_ms;
        desk.pass(ACTIVITY_KNOWN_MS - 1);
        desk.catalog.note_write(session).await.unwrap();
        assert_eq!(active().await, START_MS);
        desk.pass(1);
        desk.catalog.note_write(session).await.unwrap();
        assert_eq!(active().await, START_MS + ACTIVITY_KNOWN_MS);
        desk.catalog.remove_session(session).await.unwrap();
        let gone = desk.catalog.note_write(session).await;
        assert!(matches!(gone, Err(CatalogError::Deleted)), "{gone:?}");
    }

    /// In a closed session no turn begins, and nothing wakes it; it is closed once all is over.
    async fn a_session_is_closed_and_reopened(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let catalog = &desk.catalog;
        let refused = async |to_come| {
            let refused = catalog.close_session(session).await;
            let Err(CatalogError::StillToCome(found)) = refused else { panic!("{refused:?}") };
            assert_eq!(found, to_come);
        };
        catalog.enqueue(turn_of(session)).await.unwrap();
        refused(ToCome::Queued).await;
        let lease = claim_one(catalog).await.lease;
        refused(ToCome::Running).await;
        catalog.finish_turn(lease, &asked("which?")).await.unwrap();
        refused(ToCome::Question).await;
        catalog.cancel(lease.turn).await.unwrap();
        catalog.add_wakeup(session, &When::At(0), "").await.unwrap();
        catalog.close_session(session).await.unwrap();
        desk.pass(5);
        catalog.close_session(session).await.unwrap();
        let found = catalog.session_by_id(session).await.unwrap().unwrap();
        assert_eq!(found.closed_ms, Some(START_MS), "it is closed since the first time");
        assert_eq!(catalog.due_wakeups(10).await.unwrap(), []);
        for outcome in [
            catalog.enqueue(turn_of(session)).await.map(|_| ()),
            catalog.start_turn(start(session)).await.map(|_| ()),
            catalog.add_wakeup(session, &When::At(1), "").await.map(|_| ()),
        ] {
            assert!(matches!(outcome, Err(CatalogError::Closed)), "{outcome:?}");
        }
        catalog.reopen_session(session).await.unwrap();
        let found = catalog.session_by_id(session).await.unwrap().unwrap();
        assert_eq!((found.closed_ms, found.active_ms), (None, START_MS + 5));
        catalog.enqueue(turn_of(session)).await.unwrap();
    }

    /// One sweeper at a time works on a deletion; who lost it can neither put it off nor settle it.
    async fn a_deletion_is_one_sweepers_at_a_time(desk: &Desk) {
        let (workspace, agent, session) = desk.session().await;
        let (catalog, other) = (&desk.catalog, desk.another("files").await);
        let by = label("ann");
        let removal = Removal { why: Reason::Asked, by: Some(&by) };
        catalog.remove(Removable::Session(session), removal).await.unwrap();
        assert_eq!(desk.another("elsewhere").await.claim_deletion(1).await.unwrap(), None);
        let mut first = catalog.claim_deletion(DELETION_LEASE_MS).await.unwrap().unwrap();
        assert_eq!(first.deletion, Deletion::Session(workspace, agent, session));
        assert_eq!((first.attempt, first.by.as_deref()), (1, Some("ann")));
        assert_eq!(other.claim_deletion(DELETION_LEASE_MS).await.unwrap(), None);
        desk.pass(DELETION_LEASE_MS - 1);
        catalog.keep_deletion(&first, DELETION_LEASE_MS).await.unwrap();
        desk.pass(DELETION_LEASE_MS - 1);
        assert_eq!(other.claim_deletion(DELETION_LEASE_MS).await.unwrap(), None);
        desk.pass(1);
        let mut second = other.claim_deletion(DELETION_LEASE_MS).await.unwrap().unwrap();
        assert_eq!(second.attempt, 2);
        first.removed.files = 7;
        for lost in [
            catalog.keep_deletion(&first, 1).await,
            catalog.put_off_deletion(&first, 1).await,
            catalog.rest_deletion(&first).await,
            catalog.settle_deletion(&first).await,
        ] {
            assert!(matches!(lost, Err(CatalogError::LeaseLost)), "{lost:?}");
        }
        assert_eq!(catalog.owed().await.unwrap().len(), 1);
        second.removed = Tally { files: 3, bytes: 9, digest: Some("ab".into()), ..Tally::default() };
        let quiet_ms = catalog.clock.now_ms() + 10;
        other.put_off_deletion(&second, quiet_ms).await.unwrap();
        assert_eq!(catalog.owed().await.unwrap(), []);
        assert_eq!(catalog.unproved_deletions().await.unwrap(), 1);
        assert_eq!(catalog.claim_deletion(1).await.unwrap(), None);
        desk.pass(10);
        let third = catalog.claim_deletion(1).await.unwrap().unwrap();
        assert_eq!((&third.removed, third.emptied_ms), (&second.removed, Some(quiet_ms - 10)));
        catalog.settle_deletion(&third).await.unwrap();
        let twice = catalog.settle_deletion(&third).await;
        assert!(matches!(twice, Err(CatalogError::LeaseLost)), "{twice:?}");
        let kept = other.deletion(session.0).await.unwrap().unwrap();
        assert_eq!((kept.removed, kept.proved_ms), (second.removed, Some(quiet_ms)));
        desk.pass(u64::from(u32::MAX));
        assert_eq!(catalog.claim_deletion(1).await.unwrap(), None);
    }

    /// A cascade leaves one mark that stands for all that went with it, and says why and for whom.
    async fn marks_say_why_and_for_whom(desk: &Desk) {
        let (workspace, agent, session) = desk.session().await;
        let catalog = &desk.catalog;
        let by = label("ann");
        let erased = Removal { why: Reason::Erased, by: Some(&by) };
        catalog.remove(Removable::Workspace(workspace), erased).await.unwrap();
        let mark = catalog.deletion(workspace.0).await.unwrap().unwrap();
        assert_eq!((mark.why, mark.by.as_deref()), (Some(Reason::Erased), Some("ann")));
        for below in [agent.0, session.0] {
            assert_eq!(catalog.deletion(below).await.unwrap(), None);
        }
        // Whatever deletes a row past all of this leaves a mark as well.
        let (_, agent, session) = desk.session().await;
        let past = sql("delete from agents where id = $1").bind(agent);
        catalog.database.execute(past).await.unwrap();
        let mark = catalog.deletion(agent.0).await.unwrap().unwrap();
        assert_eq!((mark.why, mark.by), (None, None));
        assert_eq!(catalog.deletion(session.0).await.unwrap(), None);
    }

    /// A question and its answer stay when their session goes, unless all is to be erased.
    async fn settled_questions_outlive_their_session(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let (workspace, agent, _) = desk.session().await;
        let catalog = &desk.catalog;
        let ask = async |session| {
            catalog.enqueue(turn_of(session)).await.unwrap();
            let asking = claim_one(catalog).await.lease;
            desk.pass(1);
            catalog.finish_turn(asking, &asked("which?")).await.unwrap();
            asking.turn
        };
        let question = ask(session).await;
        let all = async || catalog.settled_questions(workspace, None, 10).await.unwrap();
        assert_eq!(all().await, [], "it is open");
        catalog.resume(answer_to(question)).await.unwrap();
        let answering = claim_one(catalog).await.lease;
        desk.pass(1);
        catalog.finish_turn(answering, &replied()).await.unwrap();
        let taken_back = ask(session).await;
        catalog.cancel(taken_back).await.unwrap();
        let (which, that) = ("which?".to_owned(), Some("that".to_owned()));
        let settled = |turn, answer, asked_ms, settled_ms| SettledQuestion {
            turn, agent, session, question: which.clone(), answer, asked_ms, settled_ms,
        };
        let answered = settled(question, that, START_MS + 1, START_MS + 2);
        let second = settled(taken_back, None, START_MS + 3, START_MS + 3);
        assert_eq!(all().await, [second.clone(), answered.clone()]);
        let before = catalog.settled_questions(workspace, Some(taken_back), 10).await.unwrap();
        assert_eq!(before, std::slice::from_ref(&answered));
        swept(catalog, session).await;
        assert_eq!(all().await, [second, answered]);
        let (_, _, again) = desk.session().await;
        let question = ask(again).await;
        catalog.cancel(question).await.unwrap();
        assert_eq!(all().await.len(), 3);
        let erased = Removal { why: Reason::Erased, by: None };
        catalog.remove(Removable::Session(again), erased).await.unwrap();
        assert_eq!(all().await.len(), 2);
        catalog.remove_workspace(workspace).await.unwrap();
        assert_eq!(desk.count("select count(*) from settled_questions").await, 0);
    }

    /// Pieces of a reply go a day after their turn is over, and never by their age alone; what else
    /// happened stays with its session.
    async fn pieces_go_a_day_after_their_turn(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let catalog = &desk.catalog;
        let events = [said("piece"), Event::Deleted { path: "session/a".into() }];
        let mut leases = Vec::new();
        for called in ["a", "b", "c"] {
            let (_, _, session) = super::session(catalog, called).await;
            catalog.enqueue(turn_of(session)).await.unwrap();
            let lease = claim_one(catalog).await.lease;
            catalog.renew(lease, 0, &events).await.unwrap();
            leases.push(lease);
        }
        let pieces = async || {
            desk.count("select count(*) from events where kind = 'said'").await
        };
        catalog.finish_turn(leases[0], &replied()).await.unwrap();
        catalog.finish_turn(leases[1], &asked("which?")).await.unwrap();
        desk.pass(PIECES_KEPT_MS);
        assert_eq!(catalog.sweep_pieces().await.unwrap(), Left::Nothing(0));
        desk.pass(10 * DAY_MS);
        while let Left::More(_) = catalog.sweep_pieces().await.unwrap() {}
        assert_eq!(pieces().await, 2, "of the one that runs, and the one that asks");
        assert_eq!(desk.count("select count(*) from events where kind = 'deleted'").await, 3);
        let turn = catalog.turn(leases[0].turn).await.unwrap().unwrap();
        assert_eq!(turn.said, "so far");
        // A turn that says much is over several of them.
        catalog.cancel(leases[1].turn).await.unwrap();
        let many = vec![said("x"); usize::try_from(2 * ROWS_SWEPT_MAX).unwrap()];
        catalog.enqueue(turn_of(session)).await.unwrap();
        let lease = claim_one(catalog).await.lease;
        catalog.renew(lease, 0, &many).await.unwrap();
        catalog.finish_turn(lease, &replied()).await.unwrap();
        desk.pass(PIECES_KEPT_MS + 1);
        let mut steps = Vec::new();
        while let Left::More(removed) = catalog.sweep_pieces().await.unwrap() {
            steps.push(removed);
        }
        assert!(steps.iter().all(|removed| *removed <= ROWS_SWEPT_MAX), "{steps:?}");
        assert_eq!(steps.iter().sum::<u64>(), 2 * ROWS_SWEPT_MAX + 1, "{steps:?}");
        assert_eq!(pieces().await, 1);
    }

    /// What a turn asked of its host is kept with its end, for a day, and goes with it.
    async fn what_a_turn_asked_is_kept_for_a_day(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let catalog = &desk.catalog;
        let invoked = |outcome: &'static str, calls| Invoked {
            verb: "files.read".into(),
            scope: "session".into(),
            outcome: outcome.into(),
            calls,
            bytes: 7,
            waited_us: 9,
        };
        let asked = vec![invoked("ok", 3), invoked("not-found", 1)];
        let mut turns = Vec::new();
        for _ in 0..2 {
            catalog.enqueue(turn_of(session)).await.unwrap();
            let lease = claim_one(catalog).await.lease;
            let finish = Finish { invoked: asked.clone(), ..replied() };
            catalog.finish_turn(lease, &finish).await.unwrap();
            turns.push(lease.turn);
            desk.pass(1);
        }
        let kept = catalog.invocations(turns[0]).await.unwrap();
        let by = |invoked| InvokedBy { attempt: 1, invoked };
        assert_eq!(kept, [by(invoked("not-found", 1)), by(invoked("ok", 3))]);
        desk.pass(crate::limits::INVOCATIONS_KEPT_MS - 1);
        assert_eq!(catalog.sweep_invocations().await.unwrap(), Left::Nothing(2));
        assert_eq!(catalog.invocations(turns[0]).await.unwrap(), []);
        assert_eq!(catalog.invocations(turns[1]).await.unwrap(), kept);
        swept(catalog, session).await;
        assert_eq!(desk.count("select count(*) from tool_invocations").await, 0);
    }

    /// When a session was woken stays for thirty days.
    async fn firings_go_after_thirty_days(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let catalog = &desk.catalog;
        catalog.add_wakeup(session, &When::At(0), "").await.unwrap();
        let due = catalog.due_wakeups(1).await.unwrap();
        catalog.fire(&due[0], 0).await.unwrap().unwrap();
        desk.pass(FIRINGS_KEPT_MS);
        assert_eq!(catalog.sweep_firings().await.unwrap(), Left::Nothing(0));
        desk.pass(1);
        assert_eq!(catalog.sweep_firings().await.unwrap(), Left::Nothing(1));
        assert_eq!(catalog.firings(session, 10).await.unwrap(), []);
        assert_eq!(desk.states(session).await, [TurnState::Queued]);
    }

    /// An old upload goes once nobody needs it any more, though nobody uploads anything.
    async fn components_go_once_nobody_needs_them(desk: &Desk) {
        let (agent, session) = desk.ready().await;
        let (workspace, _, _) = desk.session().await;
        let (catalog, guest) = (&desk.catalog, name("guest"));
        catalog.enqueue(turn_of(session)).await.unwrap();
        let upload = async |number: u8| {
            let upload = catalog.upload_component(workspace, &guest, Sha256([number; 32]), b"x");
            upload.await.unwrap()
        };
        upload(1).await;
        let pinned = AgentComponent::Pinned(Sha256([1; 32]));
        catalog.set_agent_component(agent, Some(&pinned)).await.unwrap();
        for number in 2..=4 {
            upload(number).await;
        }
        let kept = async || catalog.snapshots(workspace, &guest).await.unwrap().len();
        assert_eq!(kept().await, 5);
        assert_eq!(catalog.sweep_components().await.unwrap(), Left::Nothing(0));
        let lease = claim_one(catalog).await.lease;
        catalog.finish_turn(lease, &replied()).await.unwrap();
        assert_eq!(catalog.sweep_components().await.unwrap(), Left::More(1));
        assert_eq!(catalog.component(COMPONENT).await.unwrap(), None);
        catalog.set_agent_component(agent, None).await.unwrap();
        assert_eq!(desk.another("elsewhere").await.sweep_components().await.unwrap(), Left::Nothing(0));
        assert_eq!(catalog.sweep_components().await.unwrap(), Left::More(1));
        assert_eq!(catalog.sweep_components().await.unwrap(), Left::Nothing(0));
        assert_eq!(kept().await, 3);
    }

    /// A session is swept or goes on, whoever else comes at the same moment, and is told which.
    async fn sweeping_races_with_everything(desk: &Desk) {
        let (_, _) = desk.ready().await;
        let other = desk.another("files").await;
        let (mut kept, mut gone) = (0, 0);
        for round in 0..12 {
            let (_, _, session) = session(&desk.catalog, &format!("race-{round}")).await;
            desk.pass(DAY_MS);
            let judge = Ruthless::default();
            let sweep = async {
                tokio::task::yield_now().await;
                let why = other.begin_sweep(session, &judge).await.unwrap();
                if why.is_some() {
                    finish_sweep(&other, session).await;
                }
                why
            };
            let ask = async { desk.catalog.enqueue(turn_of(session)).await };
            let hold = async {
                if round % 3 == 0 { Some(other.hold_session(session).await) } else { None }
            };
            let (swept, asked, held) = futures::join!(sweep, ask, hold);
            let is_there = desk.catalog.session_by_id(session).await.unwrap().is_some();
            assert_eq!(is_there, swept.is_none());
            match asked {
                Ok(turn) => {
                    assert!(is_there);
                    assert!(desk.catalog.turn(turn.id()).await.unwrap().is_some());
                    kept += 1;
                }
                Err(CatalogError::Swept | CatalogError::Deleted) => gone += 1,
                Err(CatalogError::NoComponent) => panic!("a component went"),
                Err(error) => panic!("{error}"),
            }
            if let Some(Ok(())) = held {
                assert!(is_there, "what was held is there");
            }
        }
        assert_eq!(kept + gone, 12);
    }
}
