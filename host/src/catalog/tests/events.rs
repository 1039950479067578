use std::time::{Duration, Instant};

use super::*;

on_both! {
    /// A session's events are numbered without gaps over all of its turns.
    async fn a_reader_goes_on_from_the_last_number_that_it_saw(desk: &Desk) {
        let (_, _, session) = desk.session().await;
        let mut turns = Vec::new();
        for _ in 0..2 {
            let lease = desk.catalog.start_turn(start(session)).await.unwrap();
            desk.catalog.renew(lease, 0, &[said("a"), said("b")]).await.unwrap();
            desk.catalog.finish_turn(lease, &replied()).await.unwrap();
            turns.push(lease.turn);
        }
        let all = desk.catalog.events(session, 0, 100).await.unwrap();
        let numbers: Vec<_> = all.iter().map(|one| one.number).collect();
        assert_eq!(numbers, (1..=8).collect::<Vec<_>>());
        let mut paged = Vec::new();
        loop {
            let after = paged.last().map_or(0, |last: &Recorded| last.number);
            let page = desk.catalog.events(session, after, 3).await.unwrap();
            if page.is_empty() {
                break;
            }
            paged.extend(page);
        }
        assert_eq!(paged, all);
        let of_second = desk.catalog.events_of_turn(turns[1], 0, 100).await.unwrap();
        assert_eq!(of_second, all[4..]);
        for after in [8, u64::MAX] {
            assert_eq!(desk.catalog.events(session, after, 10).await.unwrap(), []);
        }
        assert_eq!(desk.catalog.events(session, 0, 0).await.unwrap(), []);
    }

    /// Who does not know what became of a renewal tells all of it again, and what is new: each event is
    /// there once, and what an attempt that died had recorded stands for no other's.
    async fn a_renewal_whose_answer_was_lost_records_nothing_twice(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let catalog = &desk.catalog;
        catalog.enqueue(turn_of(session)).await.unwrap();
        let told = ["a", "b", "c", "d"].map(said);
        let mut expected = Vec::new();
        for attempt in 1..=2 {
            let lease = claim_one(catalog).await.lease;
            assert_eq!(lease.attempt, attempt);
            for known in [1, 1, 2, 3] {
                catalog.renew(lease, 0, &told[..known]).await.unwrap();
            }
            catalog.renew(lease, 2, &told[2..3]).await.unwrap();
            if attempt == 2 {
                let finish = Finish { recorded: 2, events: told[2..].to_vec(), ..replied() };
                catalog.finish_turn(lease, &finish).await.unwrap();
            } else {
                desk.pass(LEASE_MS + 1);
                catalog.give_up_dead().await.unwrap();
                desk.pass(crate::limits::TURN_RETRY_PAUSE_MS);
            }
            expected.extend(told[..3].iter().map(|event| (attempt, event.clone())));
        }
        expected.push((2, told[3].clone()));
        let events = catalog.events(session, 0, 100).await.unwrap();
        let said = events.into_iter().filter(|one| matches!(one.event, Event::Said { .. }));
        assert_eq!(said.map(|one| (one.attempt, one.event)).collect::<Vec<_>>(), expected);
    }

    /// What another process does is heard, and so is what this one does.
    async fn who_watches_a_session_hears_of_its_events(desk: &Desk) {
        let (_, _, session) = desk.session().await;
        let other = desk.another("files").await;
        let mut watch = desk.catalog.watch(session).await.unwrap();
        let lease = desk.catalog.start_turn(start(session)).await.unwrap();
        // Told before anybody waited, and not missed.
        let began = Instant::now();
        watch.changed().await;
        assert!(began.elapsed() < Duration::from_millis(crate::limits::WATCH_LOOK_MS / 2));
        other.renew(lease, 0, &[said("from afar")]).await.unwrap();
        let mut seen = 1;
        while seen < 2 {
            watch.changed().await;
            seen = desk.catalog.events(session, 0, 10).await.unwrap().len();
        }
    }

    async fn who_watches_for_work_hears_of_it(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let mut work = desk.catalog.watch_work().await.unwrap();
        desk.catalog.enqueue(turn_of(session)).await.unwrap();
        let began = Instant::now();
        work.changed().await;
        assert!(began.elapsed() < Duration::from_millis(crate::limits::WATCH_LOOK_MS / 2));
    }
}

/// A server tells all its hosts at once; nobody waits until it is time to look again.
#[tokio::test]
async fn a_server_tells_other_hosts_at_once() {
    let Some(desk) = Desk::postgres().await else { return };
    let (_, _, session) = desk.session().await;
    let mut watch = desk.another("files").await.watch(session).await.unwrap();
    let look = Duration::from_millis(crate::limits::WATCH_LOOK_MS);
    let began = Instant::now();
    desk.catalog.start_turn(start(session)).await.unwrap();
    watch.changed().await;
    assert!(began.elapsed() < look / 2, "{:?}", began.elapsed());
}
