use std::future::Future;

use super::super::database::fuse::Fuse;
use super::*;

/// Breaks a change off after each of its statements, and compares all there is with what was there
/// before: nothing of it may show. Then lets it happen.
async fn broken_anywhere<T, F>(desk: &Desk, mut change: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, CatalogError>>,
{
    let before = everything(desk).await;
    for statements in 0..100 {
        Fuse::light(statements);
        let outcome = change().await;
        let burnt = Fuse::put_out();
        match outcome {
            Ok(done) => {
                assert!(!burnt && statements > 1, "it was done although it was broken off");
                return done;
            }
            Err(error) => assert!(burnt, "{error}"),
        }
        assert_eq!(everything(desk).await, before, "broken off after {statements} statements");
    }
    panic!("the change has no end")
}

/// All rows that a turn can touch, in words.
async fn everything(desk: &Desk) -> Vec<String> {
    let mut all = Vec::new();
    for query in [
        "select id || state || attempt || coalesce(reply, '') || said || coalesce(host, '')
            || coalesce(lease_until_ms, 0) || coalesce(cancel_ms, 0) from turns order by id",
        "select name || events || active_ms || coalesce(ready_ms, 0) from sessions order by id",
        "select turn_id || number || kind || coalesce(message, '') from events order by 1",
        "select id || due_ms || input from wakeups order by id",
        "select wakeup_id || due_ms || turn_id from trigger_firings order by 1",
        "select sha256 from components order by 1",
        "select name || number || sha256 from component_snapshots order by 1",
        "select kind || id from storage_deletions order by 1",
    ] {
        let rows = desk.catalog.database.rows(sql(query)).await.unwrap();
        all.extend(rows.all::<(String,)>().unwrap().into_iter().map(|(row,)| row));
    }
    all
}

on_both! {
    async fn a_crash_between_any_two_statements_leaves_nothing_half_done(desk: &Desk) {
        let (agent, session) = desk.ready().await;
        let catalog = &desk.catalog;
        broken_anywhere(desk, || catalog.enqueue(turn_of(session))).await;
        let claimed = broken_anywhere(desk, || catalog.claim("host", 1)).await;
        let lease = claimed[0].lease;
        let events = [said("piece"), Event::Deleted { path: "session/a".into() }];
        broken_anywhere(desk, || catalog.renew(lease, &events)).await;
        broken_anywhere(desk, || catalog.cancel(lease.turn)).await;
        let wakes = vec![Wake { after_ms: 1, input: "later".into() }];
        let asking = Finish { wakes, events: events.to_vec(), ..asked("which?") };
        broken_anywhere(desk, || catalog.finish_turn(lease, &asking)).await;
        broken_anywhere(desk, || catalog.resume(answer_to(lease.turn))).await;
        let answering = claim_one(catalog).await.lease;
        let reply = replied();
        broken_anywhere(desk, || catalog.finish_turn(answering, &reply)).await;

        desk.pass(10);
        let due = catalog.due_wakeups(10).await.unwrap();
        broken_anywhere(desk, || catalog.fire(&due[0], Some("[]"), 1)).await;
        broken_anywhere(desk, || catalog.add_wakeup(session, &When::At(5), "again")).await;
        claim_one(catalog).await;
        desk.pass(LEASE_MS + 1);
        broken_anywhere(desk, || catalog.give_up_dead()).await;

        let (workspace, _, _) = desk.session().await;
        let guest = name("guest");
        for number in 1..=4 {
            let sha256 = Sha256([number; 32]);
            let upload = || catalog.upload_component(workspace, &guest, sha256, b"other");
            broken_anywhere(desk, upload).await;
        }
        let pinned = AgentComponent::Pinned(Sha256([4; 32]));
        broken_anywhere(desk, || catalog.set_agent_component(agent, Some(&pinned))).await;
        desk.pass(LEASE_MS);
        broken_anywhere(desk, || catalog.remove_workspace(workspace)).await;
    }
}
