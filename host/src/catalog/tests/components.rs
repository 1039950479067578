use super::*;

fn bytes(number: u8) -> (Sha256, [u8; 1]) {
    (Sha256([number; 32]), [number])
}

on_both! {
    async fn the_newest_three_stay_and_those_that_are_needed(desk: &Desk) {
        let (agent, session) = desk.ready().await;
        let (workspace, _, _) = desk.session().await;
        let (catalog, guest) = (&desk.catalog, name("guest"));
        let upload = async |number: u8| {
            let (sha256, bytes) = bytes(number);
            catalog.upload_component(workspace, &guest, sha256, &bytes).await.unwrap()
        };
        // The first one is needed by a turn, the second by an agent.
        catalog.enqueue(turn_of(session)).await.unwrap();
        assert_eq!(upload(2).await.number, 2);
        let (pinned, _) = bytes(2);
        let pin = AgentComponent::Pinned(pinned);
        catalog.set_agent_component(agent, Some(&pin)).await.unwrap();
        for number in 3..=6 {
            upload(number).await;
        }
        assert_eq!(upload(6).await.number, 6, "the same bytes are no new snapshot");
        let numbers = async || {
            let kept = catalog.snapshots(workspace, &guest).await.unwrap();
            kept.iter().map(|one| one.number).collect::<Vec<_>>()
        };
        assert_eq!(numbers().await, [6, 5, 4, 2, 1]);
        assert_eq!(catalog.component(bytes(3).0).await.unwrap(), None);
        assert_eq!(catalog.component(pinned).await.unwrap().unwrap(), [2]);
        assert_eq!(catalog.component_of(agent).await.unwrap(), Some(pinned));
        assert_eq!(catalog.agent_by_id(agent).await.unwrap().unwrap().component, Some(pin));

        let lease = claim_one(catalog).await.lease;
        catalog.finish_turn(lease, &replied()).await.unwrap();
        let latest = AgentComponent::Latest(guest.clone());
        catalog.set_agent_component(agent, Some(&latest)).await.unwrap();
        upload(8).await;
        assert_eq!(numbers().await, [7, 6, 5]);
        assert_eq!(catalog.component_of(agent).await.unwrap(), Some(bytes(8).0));
        assert_eq!(catalog.component(COMPONENT).await.unwrap(), None);
        assert_eq!(catalog.components(workspace, Page::ALL).await.unwrap().len(), 1);
        assert_eq!(desk.count("select count(*) from components").await, 3);
        catalog.remove_workspace(workspace).await.unwrap();
        assert_eq!(desk.count("select count(*) from components").await, 0);
    }

    async fn an_agent_names_what_its_workspace_keeps(desk: &Desk) {
        let (agent, _) = desk.ready().await;
        let elsewhere = desk.catalog.make_workspace(&name("other")).await.unwrap().id();
        let (theirs, content) = bytes(9);
        let secret = name("secret");
        let uploaded = desk.catalog.upload_component(elsewhere, &secret, theirs, &content).await;
        uploaded.unwrap();
        for unknown in [AgentComponent::Latest(secret), AgentComponent::Pinned(theirs)] {
            let refused = desk.catalog.set_agent_component(agent, Some(&unknown)).await;
            assert!(matches!(refused, Err(CatalogError::NoComponent)), "{refused:?}");
        }
        let nobody = desk.catalog.set_agent_component(AgentId(new_id()), None).await;
        assert!(matches!(nobody, Err(CatalogError::Deleted)));
        assert_eq!(desk.catalog.component_of(agent).await.unwrap(), Some(COMPONENT));
        let gone = WorkspaceId(new_id());
        let late = desk.catalog.upload_component(gone, &name("guest"), theirs, &content).await;
        assert!(matches!(late, Err(CatalogError::Deleted)), "{late:?}");
    }

    /// A turn can go on being queued while its component is replaced again and again.
    async fn a_component_is_not_dropped_under_a_turn(desk: &Desk) {
        let (agent, session) = desk.ready().await;
        let (workspace, _, _) = desk.session().await;
        let other = desk.another("files").await;
        let guest = name("guest");
        let replace = async {
            for number in 10..40 {
                let (sha256, bytes) = bytes(number);
                other.upload_component(workspace, &guest, sha256, &bytes).await.unwrap();
            }
        };
        let queue = async {
            for _ in 0..30 {
                let component = desk.catalog.component_of(agent).await.unwrap().unwrap();
                match desk.catalog.enqueue(Enqueue { component, ..turn_of(session) }).await {
                    Ok(_) | Err(CatalogError::NoComponent) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        };
        futures::join!(replace, queue);
        let without = "select count(*) from turns where not exists
            (select 1 from components where sha256 = component)";
        assert_eq!(desk.count(without).await, 0);
    }
}
