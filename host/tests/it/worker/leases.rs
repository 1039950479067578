//! Turns whose lease is lost.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bailiwick::catalog::{Event, TurnState};
use bailiwick::limits::Limits;
use serde_json::json;
use sqlx::{Connection as _, SqliteConnection};

use super::{AtWork, PATIENCE, Platform};
use crate::guests::guest;

/// A worker whose lease was given up ends the turn: whoever has it now is not disturbed, and
/// what the first one said is not mixed into what the second says.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_lost_a_lease_stops_and_records_nothing() {
    let Some(hostile) = guest("hostile") else { return };
    let platform =
        Platform::with(Limits { turn_lease_ms: 2_000, transfer_ms_max: 500, ..Limits::default() })
            .await;
    let (session, component) = (platform.session("s").await, platform.upload(&hostile).await);
    let turn = platform.ask(session, component, "writes").await;
    let work = AtWork::start(platform.worker("one", 4), PATIENCE);
    platform.until(turn, |turn| turn.state == TurnState::Running).await;
    // Another host looks at a time when the lease is long over.
    platform.clock.0.store(500_000, Ordering::Relaxed);
    let other = async {
        loop {
            let claimed = platform.catalog.claim("other", 1).await.unwrap();
            if let Some(claimed) = claimed.into_iter().next() {
                return claimed;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
            platform.clock.0.fetch_add(1_000, Ordering::Relaxed);
        }
    };
    let claimed = tokio::time::timeout(PATIENCE, other).await.unwrap();
    assert_eq!((claimed.lease.turn, claimed.lease.attempt), (turn, 2));
    let idle = async {
        while work.worker.running() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, idle).await.unwrap();
    let before = platform.events(turn).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let after = platform.events(turn).await;
    assert_eq!(before.len(), after.len());
    let still = platform.catalog.turn(turn).await.unwrap().unwrap();
    assert_eq!((still.state, still.attempt), (TurnState::Running, 2));
    work.stop().await;
}

/// What a turn said is recorded while it runs.
#[tokio::test(flavor = "multi_thread")]
async fn pieces_of_a_reply_are_seen_while_the_turn_runs() {
    let Some(hostile) = guest("hostile") else { return };
    let platform = Platform::new().await;
    let (session, component) = (platform.session("s").await, platform.upload(&hostile).await);
    let turn = platform.ask(session, component, "say-and-spin").await;
    let work = AtWork::start(platform.worker("one", 4), Duration::from_millis(10));
    let said = async {
        loop {
            let events = platform.events(turn).await;
            if events.iter().any(|event| matches!(event, Event::Said { .. })) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, said).await.unwrap();
    let running = platform.catalog.turn(turn).await.unwrap().unwrap();
    assert_eq!(running.state, TurnState::Running);
    platform.catalog.cancel(turn).await.unwrap();
    let cancelled = platform.ended(turn).await;
    assert_eq!(cancelled.failure.as_deref(), Some("cancelled"), "{cancelled:?}");
    assert!(!cancelled.said.is_empty());
    work.stop().await;
}

/// What is being recorded when a turn ends is recorded once, and the end after it.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_being_recorded_at_the_end_is_not_lost() {
    let Some(script) = guest("script") else { return };
    let platform = Platform::new().await;
    let (session, component) = (platform.session("s").await, platform.upload(&script).await);
    // Longer than what is said is gathered, so that it is being recorded when the turn ends.
    platform.store.slow_down(Duration::from_millis(400));
    let steps = json!([{ "do": "say", "part": "said" }, { "do": "stat", "path": "session/a" }]);
    let turn = platform.ask(session, component, &steps.to_string()).await;
    let work = AtWork::start(platform.worker("one", 4), PATIENCE);
    platform.until(turn, |turn| turn.state == TurnState::Running).await;
    let file = platform.folder.path().join("catalog.sqlite");
    let mut other = SqliteConnection::connect(file.to_str().unwrap()).await.unwrap();
    let changes = other.begin_with("BEGIN IMMEDIATE").await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    changes.rollback().await.unwrap();
    platform.ended(turn).await;
    work.stop().await;
    let said = Event::Said { text: "said".to_owned() };
    let events = platform.events(turn).await;
    assert_eq!(events.iter().filter(|event| **event == said).count(), 1, "{events:?}");
}
