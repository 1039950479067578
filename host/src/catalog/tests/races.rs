use std::collections::BTreeMap;

use super::*;

on_both! {
    /// Hosts that claim at once get different turns, and of a session one at a time, in order.
    async fn no_turn_is_claimed_twice(desk: &Desk) {
        let (_, _) = desk.ready().await;
        let mut sessions = Vec::new();
        for called in ["a", "b", "c", "d", "e"] {
            sessions.push(session(&desk.catalog, called).await.2);
        }
        for input in ["1", "2", "3", "4"] {
            for session in &sessions {
                desk.catalog.enqueue(Enqueue { input, ..turn_of(*session) }).await.unwrap();
            }
        }
        let others = [desk.another("files").await, desk.another("files").await];
        let hosts = others.into_iter().chain([desk.catalog.clone()]).enumerate();
        let work = hosts.map(|(host, catalog)| tokio::spawn(work_off(catalog, host)));
        let worked = futures::future::join_all(work).await;
        let mut ran: BTreeMap<SessionId, Vec<(u64, String)>> = BTreeMap::new();
        for (session, order, input) in worked.into_iter().flat_map(Result::unwrap) {
            ran.entry(session).or_default().push((order, input));
        }
        assert_eq!(ran.len(), sessions.len());
        for turns in ran.values_mut() {
            turns.sort_unstable();
            let inputs: Vec<_> = turns.iter().map(|(_, input)| input.as_str()).collect();
            assert_eq!(inputs, ["1", "2", "3", "4"]);
        }
        assert_eq!(desk.count("select count(*) from turns where state = 'done'").await, 20);
        assert_eq!(desk.count("select count(*) from events").await, 60);
    }

    /// Whoever deletes, queues, claims and ends at once does one after the other, or is told.
    async fn deleting_races_with_everything(desk: &Desk) {
        let other = desk.another("files").await;
        for _ in 0..5 {
            let (agent, session) = desk.ready().await;
            let queue = async {
                for _ in 0..4 {
                    match desk.catalog.enqueue(turn_of(session)).await {
                        Ok(_) | Err(CatalogError::Deleted | CatalogError::NoComponent) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            };
            let work = async {
                for _ in 0..4 {
                    for claimed in other.claim("host", 2).await.unwrap() {
                        other.finish_turn(claimed.lease, &asked("?")).await.unwrap();
                    }
                }
            };
            let delete = async {
                loop {
                    match other.remove_agent(agent).await {
                        Ok(()) => break,
                        Err(CatalogError::InUse { .. }) => tokio::task::yield_now().await,
                        Err(error) => panic!("{error}"),
                    }
                }
            };
            futures::join!(queue, work, delete);
        }
        assert_eq!(desk.count("select count(*) from turns").await, 0);
        assert_eq!(desk.count("select count(*) from storage_deletions").await, 5);
    }

    /// An answer given twice at once is taken once.
    async fn racing_answers_are_one(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let other = desk.another("files").await;
        desk.catalog.enqueue(turn_of(session)).await.unwrap();
        let asking = claim_one(&desk.catalog).await.lease;
        desk.catalog.finish_turn(asking, &asked("which?")).await.unwrap();
        let answers = (0..8).map(|number| {
            let catalog = if number % 2 == 0 { desk.catalog.clone() } else { other.clone() };
            tokio::spawn(async move { catalog.resume(answer_to(asking.turn)).await })
        });
        let answered = futures::future::join_all(answers).await;
        let taken = answered.into_iter().map(Result::unwrap).filter(|one| match one {
            Ok(_) => true,
            Err(CatalogError::AlreadyAnswered) => false,
            Err(error) => panic!("{error}"),
        });
        assert_eq!(taken.count(), 1);
    }
}

/// Claims and ends turns until there are none; which ones, with the numbers of their events.
async fn work_off(catalog: Catalog, host: usize) -> Vec<(SessionId, u64, String)> {
    let mut worked = Vec::new();
    let mut idle = 0;
    while idle < 20 {
        let claimed = catalog.claim(&format!("host {host}"), 2).await.unwrap();
        idle = if claimed.is_empty() { idle + 1 } else { 0 };
        for turn in claimed {
            tokio::task::yield_now().await;
            catalog.finish_turn(turn.lease, &replied()).await.unwrap();
            let events = catalog.events_of_turn(turn.lease.turn, 0, 10).await.unwrap();
            worked.push((turn.session, events.last().unwrap().number, turn.input));
        }
        tokio::task::yield_now().await;
    }
    worked
}
