use super::*;

#[test]
fn a_name_is_taken_as_given_or_refused_with_the_rule() {
    for good in ["a", "A.b-c_9", "0", &"x".repeat(64)] {
        assert_eq!(name(good).as_str(), good);
    }
    for bad in ["", ".", "..", "-x", "_x", "a b", "a/b", "ü", "a\n", "a\0", "a%", &"x".repeat(65)]
    {
        assert_eq!(bad.parse::<Name>(), Err(NameError::Letters), "{bad:?}");
    }
    for id in ["0198c0de-0000-7000-8000-000000000000", "0198C0DE000070008000000000000000"] {
        assert_eq!(id.parse::<Name>(), Err(NameError::LooksLikeAnId));
    }
}

#[test]
fn a_password_is_shown_by_nothing() {
    let server: CatalogLocation = "postgres://u:secret@host/db".parse().unwrap();
    assert!(matches!(server, CatalogLocation::Server(_)));
    assert!(!format!("{server} {server:?}").contains("secret"));
    let file: CatalogLocation = "postgres.sqlite".parse().unwrap();
    assert_eq!(file, CatalogLocation::File("postgres.sqlite".into()));
}

on_both! {
    async fn a_name_made_again_is_another_workspace(desk: &Desk) {
        let acme = name("acme");
        let made = desk.catalog.make_workspace(&acme).await.unwrap();
        let Made::New(first) = made else { panic!() };
        assert_eq!(desk.catalog.make_workspace(&acme).await.unwrap(), Made::Found(first));
        desk.catalog.remove_workspace(first).await.unwrap();
        assert_eq!(desk.catalog.workspace(&acme).await.unwrap(), None);
        assert_ne!(desk.catalog.make_workspace(&acme).await.unwrap().id(), first);
    }

    async fn racers_for_a_name_get_the_same_one(desk: &Desk) {
        let other = desk.another("files").await;
        let racers = (0..16).map(|number| {
            let catalog = if number % 2 == 0 { desk.catalog.clone() } else { other.clone() };
            tokio::spawn(async move { catalog.make_workspace(&name("acme")).await.unwrap() })
        });
        let made = futures::future::join_all(racers).await;
        let made: Vec<_> = made.into_iter().map(Result::unwrap).collect();
        assert!(made.iter().all(|one| one.id() == made[0].id()));
        assert_eq!(made.iter().filter(|one| matches!(one, Made::New(_))).count(), 1);
    }

    async fn names_belong_to_one_store(desk: &Desk) {
        let elsewhere = desk.another("s3://bucket/prefix").await;
        let here = desk.catalog.make_workspace(&name("acme")).await.unwrap().id();
        assert_eq!(elsewhere.workspace(&name("acme")).await.unwrap(), None);
        let there = elsewhere.make_workspace(&name("acme")).await.unwrap().id();
        assert_ne!(here, there);
        elsewhere.remove_workspace(there).await.unwrap();
        assert_eq!(elsewhere.owed().await.unwrap(), [Deletion::Workspace(there)]);
        assert_eq!(desk.catalog.owed().await.unwrap(), []);
        assert_eq!(desk.catalog.workspaces(Page::ALL).await.unwrap().len(), 1);
    }

    /// What stands for one character in a pattern, or in a language's order for none, is itself.
    async fn names_are_told_apart_and_listed_by_their_bytes(desk: &Desk) {
        let named = ["b", "B", "a_b", "a-b", "aXb", "a.b", "ab", "A"];
        for one in named {
            desk.catalog.make_workspace(&name(one)).await.unwrap();
        }
        let mut sorted = named.to_vec();
        sorted.sort_unstable();
        let all = desk.catalog.workspaces(Page::ALL).await.unwrap();
        assert_eq!(all.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), sorted);
        let mut paged = Vec::new();
        while let Some(page) = {
            let last: Option<Name> = paged.last().map(|last: &String| name(last));
            let page = Page::after(last.as_ref(), 3);
            Some(desk.catalog.workspaces(page).await.unwrap()).filter(|page| !page.is_empty())
        } {
            paged.extend(page.into_iter().map(|one| one.name));
        }
        assert_eq!(paged, sorted);
        let removed = desk.catalog.workspace(&name("a_b")).await.unwrap().unwrap();
        desk.catalog.remove_workspace(removed).await.unwrap();
        assert_eq!(desk.catalog.workspaces(Page::ALL).await.unwrap().len(), named.len() - 1);
    }

    async fn what_is_deleted_is_owed_until_it_is_settled(desk: &Desk) {
        let (workspace, agent, session) = desk.session().await;
        let lease = desk.catalog.start_turn(start(session)).await.unwrap();
        desk.catalog.finish_turn(lease, &asked("which?")).await.unwrap();
        desk.catalog.remove_session(session).await.unwrap();
        let owed = Deletion::Session(workspace, agent, session);
        assert_eq!(desk.another("files").await.owed().await.unwrap(), [owed]);
        let claimed = desk.catalog.claim_deletion(1).await.unwrap().unwrap();
        assert_eq!(claimed.deletion, owed);
        desk.catalog.settle_deletion(&claimed).await.unwrap();
        assert_eq!(desk.catalog.owed().await.unwrap(), []);
        let gone = desk.catalog.remove_session(session).await;
        assert!(matches!(gone, Err(CatalogError::Deleted)));
        let late = desk.catalog.start_turn(start(session)).await;
        assert!(matches!(late, Err(CatalogError::Deleted)), "{late:?}");
        assert_eq!(desk.catalog.component(COMPONENT).await.unwrap(), None);
    }

    /// However large it is: from the moment at which something is deleted nobody sees it, nothing
    /// happens in it, and its rows go in short transactions; only then are its files owed.
    async fn what_was_deleted_is_seen_by_nobody(desk: &Desk) {
        let (agent, session) = desk.ready().await;
        let (workspace, _, _) = desk.session().await;
        let catalog = &desk.catalog;
        let lose = vec![Event::Deleted { path: "session/a".into() }; 1_500];
        for _ in 0..4 {
            catalog.enqueue(turn_of(session)).await.unwrap();
            let lease = claim_one(catalog).await.lease;
            let finish = Finish { events: lose.clone(), ..replied() };
            catalog.finish_turn(lease, &finish).await.unwrap();
        }
        catalog.enqueue(turn_of(session)).await.unwrap();
        let lost = claim_one(catalog).await.lease;
        catalog.enqueue(turn_of(session)).await.unwrap();
        catalog.add_wakeup(session, &When::At(0), "").await.unwrap();
        catalog.set_platform_workspace(Some(workspace)).await.unwrap();
        desk.pass(LEASE_MS + 1);
        let removal = Removal { why: Reason::Asked, by: Some(&label("ann")) };
        catalog.remove(Removable::Workspace(workspace), removal).await.unwrap();

        let rows = desk.count("select count(*) from events").await;
        assert!(rows > 1_000, "what is large is not gone at once: {rows}");
        assert_eq!(catalog.workspace_by_id(workspace).await.unwrap(), None);
        assert_eq!(catalog.agent_by_id(agent).await.unwrap(), None);
        assert_eq!(catalog.session_by_id(session).await.unwrap(), None);
        assert_eq!(catalog.workspaces(Page::ALL).await.unwrap(), []);
        assert_eq!(catalog.agents(workspace, Page::ALL).await.unwrap(), []);
        assert_eq!(catalog.sessions(agent, None, Page::ALL).await.unwrap(), []);
        assert_eq!(catalog.agent(workspace, &name("clerk")).await.unwrap(), None);
        assert_eq!(catalog.session(agent, &name("monday")).await.unwrap(), None);
        assert_eq!(catalog.platform_workspace().await.unwrap(), None);
        for refused in [
            catalog.make_agent(workspace, &name("late")).await.map(|_| ()),
            catalog.make_session(agent, &name("late")).await.map(|_| ()),
            catalog.open_session(agent, &name("late"), &label("ann")).await.map(|_| ()),
            catalog.enqueue(turn_of(session)).await.map(|_| ()),
            catalog.add_wakeup(session, &When::At(0), "").await.map(|_| ()),
            catalog.note_write(session).await,
            catalog.set_platform_workspace(Some(workspace)).await,
            catalog.remove_session(session).await,
            catalog.remove_workspace(workspace).await,
            catalog.ask_erasure(AskErasure { workspace, subject: None, by: None, deadline_ms: 9 })
                .await
                .map(|_| ()),
        ] {
            assert!(matches!(refused, Err(CatalogError::Deleted)), "{refused:?}");
        }
        assert!(matches!(catalog.renew(lost, 0, &[]).await, Err(CatalogError::LeaseLost)));
        assert_eq!(catalog.claim("host", 10).await.unwrap(), []);
        assert_eq!(catalog.due_wakeups(10).await.unwrap(), []);

        let (second, _, _) = desk.session().await;
        assert_ne!(second, workspace, "its name is free");
        assert_eq!(catalog.going().await.unwrap(), [Removable::Workspace(workspace)]);
        assert_eq!(desk.another("elsewhere").await.going().await.unwrap(), []);
        let mut transactions = 0;
        while let Left::More(rows) =
            catalog.sweep_going(Removable::Workspace(workspace)).await.unwrap()
        {
            assert_eq!(catalog.owed().await.unwrap(), []);
            assert!((1..=1_000).contains(&rows), "{rows}");
            transactions += 1;
        }
        assert!(transactions >= 1);
        assert_eq!(catalog.going().await.unwrap(), []);
        assert_eq!(catalog.owed().await.unwrap(), [Deletion::Workspace(workspace)]);
        let mark = catalog.deletion(workspace.0).await.unwrap().unwrap();
        assert_eq!((mark.why, mark.by.as_deref()), (Some(Reason::Asked), Some("ann")));
        assert_eq!(mark.deleted_ms, START_MS + LEASE_MS + 1);
        assert_eq!(desk.count("select count(*) from events").await, 0);
        assert_eq!(desk.count("select count(*) from components").await, 0);
        let left = catalog.sweep_going(Removable::Workspace(second)).await.unwrap();
        assert_eq!(left, Left::Nothing(0), "what is there is not swept");
        assert!(catalog.workspace_by_id(second).await.unwrap().is_some());
    }

    /// What is erased is so although somebody deleted it before: its settled questions go as well.
    async fn what_was_deleted_can_still_be_erased(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let catalog = &desk.catalog;
        catalog.enqueue(turn_of(session)).await.unwrap();
        let lease = claim_one(catalog).await.lease;
        catalog.finish_turn(lease, &asked("which?")).await.unwrap();
        catalog.cancel(lease.turn).await.unwrap();
        let what = Removable::Session(session);
        catalog.begin_removal(what, Removal::default()).await.unwrap();
        assert_eq!(desk.count("select count(*) from settled_questions").await, 1);
        desk.pass(5);
        let erased = Removal { why: Reason::Erased, by: None };
        catalog.remove(what, erased).await.unwrap();
        assert_eq!(desk.count("select count(*) from settled_questions").await, 0);
        let mark = catalog.deletion(session.0).await.unwrap().unwrap();
        assert_eq!((mark.why, mark.deleted_ms), (Some(Reason::Erased), START_MS));
        let again = catalog.remove(what, erased).await;
        assert!(matches!(again, Err(CatalogError::Deleted)), "{again:?}");
    }

    async fn the_mark_of_a_parent_stands_for_its_children(desk: &Desk) {
        let (workspace, agent, _) = desk.session().await;
        desk.catalog.remove_agent(agent).await.unwrap();
        desk.session().await;
        desk.catalog.remove_workspace(workspace).await.unwrap();
        let owed = desk.catalog.owed().await.unwrap();
        assert_eq!(owed.len(), 2);
        assert!(owed.contains(&Deletion::Agent(workspace, agent)));
        assert!(owed.contains(&Deletion::Workspace(workspace)));
    }

    /// Whatever takes a row away, and all below it: files are owed, once for all that went together.
    async fn a_cascade_leaves_one_mark(desk: &Desk) {
        let (workspace, agent, session) = desk.session().await;
        let catalog = &desk.catalog;
        for (delete, owed) in [
            ("delete from sessions where id = $1", Deletion::Session(workspace, agent, session)),
            ("delete from agents where id = $1", Deletion::Agent(workspace, agent)),
            ("delete from workspaces where id = $1", Deletion::Workspace(workspace)),
        ] {
            super::session(catalog, "tuesday").await;
            let (Deletion::Session(.., SessionId(id))
            | Deletion::Agent(_, AgentId(id))
            | Deletion::Workspace(WorkspaceId(id))) = owed;
            catalog.database.execute(sql(delete).bind(id)).await.unwrap();
            assert_eq!(catalog.owed().await.unwrap(), [owed]);
            let claimed = catalog.claim_deletion(1).await.unwrap().unwrap();
            assert_eq!(claimed.why, None, "nobody said why");
            catalog.settle_deletion(&claimed).await.unwrap();
        }
    }

    async fn a_list_says_where_each_session_stands(desk: &Desk) {
        let (workspace, agent, session) = desk.session().await;
        let lease = desk.catalog.start_turn(start(session)).await.unwrap();
        desk.pass(10);
        desk.catalog.finish_turn(lease, &asked("which?")).await.unwrap();
        let sessions = desk.catalog.sessions(agent, None, Page::ALL).await.unwrap();
        let [monday] = sessions.as_slice() else { panic!("{sessions:?}") };
        assert_eq!((monday.id, monday.turns), (session, 1));
        assert_eq!(monday.latest, Some(TurnState::Parked));
        assert_eq!((monday.created_ms, monday.active_ms), (START_MS, START_MS + 10));
        assert_eq!(monday.question.as_deref(), Some("which?"));
        assert_eq!(desk.catalog.agents(workspace, Page::ALL).await.unwrap()[0].children, 1);
    }
}
