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
        "select name || events || active_ms || coalesce(ready_ms, 0) || coalesce(closed_ms, 0)
            || coalesce(sweeping_ms, 0) || coalesce(gone_why, '') from sessions order by id",
        "select name || coalesce(gone_ms, 0) || coalesce(gone_why, '') from agents order by id",
        "select name || coalesce(gone_ms, 0) || coalesce(gone_why, '') from workspaces order by id",
        "select turn_id || coalesce(answer, '') || settled_ms from settled_questions order by 1",
        "select turn_id || number || kind || coalesce(message, '') from events order by 1",
        "select id || due_ms || input from wakeups order by id",
        "select wakeup_id || due_ms || turn_id from trigger_firings order by 1",
        "select sha256 from components order by 1",
        "select name || number || sha256 from component_snapshots order by 1",
        "select kind || id || coalesce(why, '') || attempt || due_ms || coalesce(proved_ms, 0)
            from storage_deletions order by 1",
        "select slug || latest from skills order by 1",
        "select slug || number || coalesce(skill_id, '') from skill_versions order by id",
        "select version_id || path || sha256 from skill_version_files order by 1",
        "select sha256 || kept_until_ms || coalesce(condemned_ms, 0) from skill_blobs order by 1",
        "select skill_id || position || coalesce(number, 0) from agent_skills order by 1",
        "select turn_id || position || version_id from turn_skills order by 1",
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
        broken_anywhere(desk, || catalog.renew(lease, 0, &events)).await;
        broken_anywhere(desk, || catalog.cancel(lease.turn)).await;
        let wakes = vec![Wake { after_ms: 1, input: "later".into() }];
        let asking = Finish { wakes, events: events.to_vec(), recorded: 2, ..asked("which?") };
        broken_anywhere(desk, || catalog.finish_turn(lease, &asking)).await;
        broken_anywhere(desk, || catalog.resume(answer_to(lease.turn))).await;
        let answering = claim_one(catalog).await.lease;
        let reply = replied();
        broken_anywhere(desk, || catalog.finish_turn(answering, &reply)).await;

        desk.pass(10);
        let due = catalog.due_wakeups(10).await.unwrap();
        broken_anywhere(desk, || catalog.fire(&due[0], 1)).await;
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
        let what = Removable::Workspace(workspace);
        broken_anywhere(desk, || catalog.begin_removal(what, Removal::default())).await;
        while let Left::More(_) = broken_anywhere(desk, || catalog.sweep_going(what)).await {}
        assert_eq!(catalog.owed().await.unwrap(), [Deletion::Workspace(workspace)]);
    }

    async fn a_crash_while_skills_change_leaves_nothing_half_done(desk: &Desk) {
        let (agent, session) = desk.ready().await;
        let (workspace, _, _) = desk.session().await;
        let catalog = &desk.catalog;
        let files = skills::skill(workspace, &[("SKILL.md", 1), ("a", 2)]);
        broken_anywhere(desk, || skills::claim(catalog, &files)).await;
        let slug = "pdf".parse().unwrap();
        let version = NewVersion { slug: &slug, description: "x", skill: &files };
        broken_anywhere(desk, || catalog.publish(version)).await;
        let bind = Bind { slug: &slug, of: SkillOf::Workspace, version: None };
        broken_anywhere(desk, || catalog.bind_skill(agent, bind)).await;
        broken_anywhere(desk, || catalog.enqueue(turn_of(session))).await;
        broken_anywhere(desk, || catalog.keep_unlisted(version)).await;
        broken_anywhere(desk, || catalog.remove_skill(workspace, &slug)).await;
        catalog.remove_session(session).await.unwrap();
        desk.pass(crate::limits::SKILL_GRACE_MS + 1);
        broken_anywhere(desk, || catalog.drop_unlisted_versions(10)).await;
        let condemned = broken_anywhere(desk, || catalog.condemn_blobs(10)).await;
        assert_eq!(condemned.len(), 2);
        broken_anywhere(desk, || catalog.settle_blobs(&condemned)).await;
    }

    async fn a_crash_while_a_session_is_swept_leaves_nothing_half_done(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let catalog = &desk.catalog;
        let pieces = vec![said("x"); 3];
        catalog.enqueue(turn_of(session)).await.unwrap();
        let lease = claim_one(catalog).await.lease;
        catalog.renew(lease, 0, &pieces).await.unwrap();
        catalog.finish_turn(lease, &asked("which?")).await.unwrap();
        broken_anywhere(desk, || catalog.cancel(lease.turn)).await;
        broken_anywhere(desk, || catalog.close_session(session)).await;
        desk.pass(crate::limits::PIECES_KEPT_MS + 1);
        broken_anywhere(desk, || catalog.sweep_pieces()).await;
        let judge = retention::Ruthless::default();
        broken_anywhere(desk, || catalog.begin_sweep(session, &judge)).await;
        let what = Removable::Session(session);
        while let Left::More(_) = broken_anywhere(desk, || catalog.sweep_going(what)).await {}
        broken_anywhere(desk, || catalog.claim_deletion(1)).await.unwrap();
    }
}
