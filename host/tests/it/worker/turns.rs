//! Turns that are run as they should be.

use std::time::Duration;

use bailiwick::catalog::{Event, Promoter, ReceiptsOf, SettingsOf, Turn, TurnState};
use bailiwick::limits::Limits;
use serde_json::json;

use super::{AtWork, PATIENCE, Platform};
use crate::engine::wat;
use crate::guests::guest;

/// A queued turn is run, and what it does can be read in order.
#[tokio::test(flavor = "multi_thread")]
async fn a_queued_turn_is_run_and_told_in_order() {
    let Some(script) = guest("script") else { return };
    let platform = Platform::new().await;
    let (session, component) = (platform.session("s").await, platform.upload(&script).await);
    let steps = json!([
        { "do": "say", "part": "first, " },
        { "do": "write", "path": "session/a", "bytes": "hello" },
        { "do": "say", "part": "second" },
    ]);
    let turn = platform.ask(session, component, &steps.to_string()).await;
    let work = AtWork::start(platform.worker("one", 4), PATIENCE);
    let ended = platform.ended(turn).await;
    work.stop().await;
    assert_eq!(ended.state, TurnState::Done, "{ended:?}");
    assert_eq!(ended.said, "first, second");
    let events = platform.events(turn).await;
    let state = |state| Event::State(state);
    assert_eq!(events[..2], [state(TurnState::Queued), state(TurnState::Running)]);
    assert_eq!(events.last(), Some(&state(TurnState::Done)));
    let written = Event::Written { path: "session/a".to_owned(), size: 5 };
    assert!(events.contains(&written), "{events:?}");
    let said = events.iter().filter_map(|event| match event {
        Event::Said { text } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(said.collect::<String>(), "first, second");
    assert_eq!(platform.read(session, "session/a").await.unwrap(), b"hello");
    let invocations = platform.catalog.invocations(turn).await.unwrap();
    let [one] = invocations.as_slice() else { panic!("{invocations:?}") };
    assert_eq!((&*one.invoked.verb, &*one.invoked.scope), ("files.write", "session"));
    assert_eq!((one.invoked.calls, one.invoked.bytes, one.attempt), (1, 5, 1));
}

/// What a guest copies to a longer-lived scope is on a receipt, with the turn that did it.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_turn_promotes_is_on_a_receipt() {
    let Some(script) = guest("script") else { return };
    let platform = Platform::new().await;
    let (session, component) = (platform.session("s").await, platform.upload(&script).await);
    let steps = json!([
        { "do": "write", "path": "session/a", "bytes": "hello" },
        { "do": "copy", "source": "session/a", "target": "session/b" },
        { "do": "copy", "source": "session/a", "target": "agent/a" },
    ]);
    let turn = platform.ask(session, component, &steps.to_string()).await;
    let work = AtWork::start(platform.worker("one", 4), PATIENCE);
    platform.ended(turn).await;
    work.stop().await;
    let of = ReceiptsOf::Session(session);
    let receipts = platform.catalog.receipts(of, None, 10).await.unwrap();
    let [receipt] = receipts.as_slice() else { panic!("{receipts:?}") };
    assert_eq!(receipt.by, Promoter::Turn(turn));
    assert_eq!((receipt.source.as_str(), receipt.target.as_str()), ("session/a", "agent/a"));
    assert!(receipt.revision.as_ref().is_some_and(|revision| !revision.is_empty()));
}

/// The turns of a session run one after the other in the order in which they were asked for,
/// those of others meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_has_one_turn_at_a_time() {
    let Some(hostile) = guest("hostile") else { return };
    let platform = Platform::new().await;
    let component = platform.upload(&hostile).await;
    let (one, other) = (platform.session("one").await, platform.session("other").await);
    let first = platform.ask(one, component, "until-cancelled").await;
    let second = platform.ask(one, component, "panic").await;
    let beside = platform.ask(other, component, "panic").await;
    let work = AtWork::start(platform.worker("one", 4), PATIENCE);
    platform.ended(beside).await;
    platform.until(first, |turn| turn.state == TurnState::Running).await;
    let waits = platform.catalog.turn(second).await.unwrap().unwrap();
    assert_eq!(waits.state, TurnState::Queued);
    platform.catalog.cancel(first).await.unwrap();
    platform.ended(first).await;
    let failed = platform.ended(second).await;
    assert_eq!(failed.failure.as_deref(), Some("trapped"), "{failed:?}");
    work.stop().await;
}

/// A host runs no more turns at once than it has places for.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_without_room_claims_nothing() {
    let Some(hostile) = guest("hostile") else { return };
    let platform = Platform::new().await;
    let component = platform.upload(&hostile).await;
    let mut turns = Vec::new();
    for called in ["a", "b", "c"] {
        let session = platform.session(called).await;
        turns.push(platform.ask(session, component, "until-cancelled").await);
    }
    let work = AtWork::start(platform.worker("one", 2), PATIENCE);
    let running = |state| state == TurnState::Running;
    for turn in &turns[..2] {
        platform.until(*turn, |turn| running(turn.state)).await;
    }
    assert_eq!(work.worker.running(), 2);
    let waits = platform.catalog.turn(turns[2]).await.unwrap().unwrap();
    assert_eq!(waits.state, TurnState::Queued);
    platform.catalog.cancel(turns[0]).await.unwrap();
    platform.until(turns[2], |turn| running(turn.state)).await;
    for turn in turns {
        platform.catalog.cancel(turn).await.unwrap();
        platform.ended(turn).await;
    }
    work.stop().await;
}

/// Nor more than it has memory for: each turn has its share, although it may need less.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_without_memory_claims_nothing() {
    let Some(hostile) = guest("hostile") else { return };
    let limits = Limits { host_guest_memory_bytes_max: 33 << 20, ..Limits::default() };
    let platform = Platform::with(Limits { cancel_ms_max: 300, ..limits }).await;
    let component = platform.upload(&hostile).await;
    let ask = async |called| {
        let session = platform.session(called).await;
        platform.ask(session, component, "until-cancelled").await
    };
    let turns = [ask("a").await, ask("b").await];
    let work = AtWork::start(platform.worker("one", 8), PATIENCE);
    let running = |turn: &Turn| turn.state == TurnState::Running;
    for turn in turns {
        platform.until(turn, running).await;
    }
    // Which the host is told of, so that it looks at once.
    let waits = ask("c").await;
    for _ in 0..20 {
        assert_eq!(work.worker.running(), 2);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    platform.catalog.cancel(turns[0]).await.unwrap();
    platform.until(waits, running).await;
    for turn in [turns[1], waits] {
        platform.catalog.cancel(turn).await.unwrap();
        platform.ended(turn).await;
    }
    work.stop().await;
}

/// A question parks the turn; its answer goes on with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_waits_for_its_answer() {
    let Some(ask) = guest("ask") else { return };
    let platform = Platform::new().await;
    let (session, component) = (platform.session("s").await, platform.upload(&ask).await);
    let question = platform.ask(session, component, "a blue one").await;
    let work = AtWork::start(platform.worker("one", 4), PATIENCE);
    let parked = platform.ended(question).await;
    assert_eq!(parked.state, TurnState::Parked, "{parked:?}");
    assert!(parked.question.is_some());
    let answer = platform.answer(question, "yes").await;
    let done = platform.ended(answer).await;
    assert_eq!(done.state, TurnState::Done, "{done:?}");
    let closed = platform.until(question, |turn| turn.state == TurnState::Done).await;
    assert_eq!(closed.question, parked.question);
    work.stop().await;
}

/// What the settings of the agent's levels say holds for its turns.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_held_to_the_settings() {
    let Some(script) = guest("script") else { return };
    let platform = Platform::new().await;
    let (session, component) = (platform.session("s").await, platform.upload(&script).await);
    let settings = json!({ "agent_files": { "value": "read-only" } });
    platform.catalog.put_settings(SettingsOf::Agent(platform.agent), &settings).await.unwrap();
    let steps = json!([
        { "do": "write", "path": "agent/a", "bytes": "x" },
        { "do": "write", "path": "session/a", "bytes": "x" },
    ]);
    let turn = platform.ask(session, component, &steps.to_string()).await;
    let work = AtWork::start(platform.worker("one", 4), PATIENCE);
    let ended = platform.ended(turn).await;
    work.stop().await;
    let reply: serde_json::Value = serde_json::from_str(&ended.reply.unwrap()).unwrap();
    assert_eq!(reply[0]["error"]["code"], "denied", "{reply}");
    assert!(reply[1]["ok"].is_object(), "{reply}");
}

/// A guest that asks to be woken has another turn.
#[tokio::test(flavor = "multi_thread")]
async fn a_guest_is_woken_as_it_asked() {
    let Some(script) = guest("script") else { return };
    let platform = Platform::new().await;
    let (session, component) = (platform.session("s").await, platform.upload(&script).await);
    let named = bailiwick::catalog::AgentComponent::Pinned(component);
    platform.catalog.set_agent_component(platform.agent, Some(&named)).await.unwrap();
    let steps = json!([{ "do": "wake", "after_ms": 0, "input": "[]" }]);
    let turn = platform.ask(session, component, &steps.to_string()).await;
    let work = AtWork::start(platform.worker("one", 4), PATIENCE);
    let ended = platform.ended(turn).await;
    assert_eq!(ended.state, TurnState::Done, "{ended:?}");
    let woken = async {
        loop {
            let turns = platform.catalog.turns(session, 1, 10).await.unwrap();
            if turns.first().is_some_and(|turn| turn.state == TurnState::Done) {
                return turns;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let woken = tokio::time::timeout(PATIENCE, woken).await.unwrap();
    work.stop().await;
    assert_eq!(woken.len(), 1);
    assert_eq!(woken[0].reply.as_deref(), Some("[]"));
}

/// A component that this host cannot run fails its turn, in words that tell nothing of the host.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_run_fails_its_turn() {
    let platform = Platform::new().await;
    let (session, component) = (platform.session("s").await, platform.upload(b"no guest").await);
    let turn = platform.ask(session, component, "").await;
    let work = AtWork::start(platform.worker("one", 4), PATIENCE);
    let failed = platform.ended(turn).await;
    work.stop().await;
    assert_eq!(failed.failure.as_deref(), Some("host-fault"), "{failed:?}");
}

/// A worker that is told to stop claims nothing more, and waits for what runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_waits_for_its_turns() {
    let Some(hostile) = guest("hostile") else { return };
    let platform = Platform::new().await;
    let component = platform.upload(&hostile).await;
    let session = platform.session("s").await;
    let first = platform.ask(session, component, "until-cancelled").await;
    let second = platform.ask(session, platform.upload(&wat::echo()).await, "hi").await;
    let work = AtWork::start(platform.worker("one", 4), PATIENCE);
    platform.until(first, |turn| turn.state == TurnState::Running).await;
    let stopped = tokio::spawn(work.stop());
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!stopped.is_finished());
    platform.catalog.cancel(first).await.unwrap();
    stopped.await.unwrap();
    assert!(platform.ended(first).await.failure.is_some() || !first.0.is_nil());
    let waits = platform.catalog.turn(second).await.unwrap().unwrap();
    assert_eq!(waits.state, TurnState::Queued);
}

/// What does not end in time is handed back, and another host may try it at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_out_of_patience_hands_its_turns_back() {
    let Some(hostile) = guest("hostile") else { return };
    let platform = Platform::new().await;
    let component = platform.upload(&hostile).await;
    let turn = platform.ask(platform.session("s").await, component, "say-and-spin").await;
    let work = AtWork::start(platform.worker("one", 4), Duration::from_millis(50));
    platform.until(turn, |turn| turn.state == TurnState::Running).await;
    work.stop().await;
    let other = AtWork::start(platform.worker("other", 4), Duration::from_millis(50));
    let again = platform.until(turn, |turn| turn.attempt == 2).await;
    assert_ne!(again.state, TurnState::Failed, "{again:?}");
    other.stop().await;
}
