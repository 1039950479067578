//! Turns that end well.

use std::sync::Arc;
use std::time::Duration;

use bailiwick::engine::{Allocation, Cancel, End, EngineOptions, Level, Request, Wake};
use bailiwick::limits::Limits;
use bailiwick::space::FileEvent;

use super::{Host, Recorder, limits, wat};
use crate::guests::guest;

/// A turn's reply is what its guest returns.
#[tokio::test]
async fn a_reply_is_handed_on() {
    let host = Host::new(limits());
    let guest = host.load(&wat::echo()).await;
    let report = host.run(&guest, "hello").await;
    assert_eq!(report.end, End::Reply("hello".to_owned()));
    assert!(report.usage.guest_memory_bytes >= 2 << 16, "{:?}", report.usage);
}

/// A failure that a guest reports itself is told apart from a trap.
#[tokio::test]
async fn a_guest_reports_its_own_failure() {
    let Some(hello) = guest("hello") else { return };
    let host = Host::new(limits());
    let hello = host.load(&hello).await;
    assert_eq!(host.run(&hello, "Ada").await.end, End::Reply("Hello, Ada.".to_owned()));
    assert!(matches!(host.run(&hello, "").await.end, End::GuestError(_)));
}

/// What a guest does with files is there in the next turn, and in the report of this one.
#[tokio::test]
async fn files_outlive_the_turn() {
    let Some(script) = guest("script") else { return };
    let host = Host::new(limits());
    let script = host.load(&script).await;
    let steps = r#"[{"do": "write", "path": "session/a.txt", "bytes": "kept"}]"#;
    let report = host.run(&script, steps).await;
    let written = FileEvent::Written { path: "session/a.txt".to_owned(), size: 4 };
    assert_eq!(report.events, [written]);
    assert!(report.usage.host_calls > 0);
    let steps = r#"[{"do": "read", "path": "session/a.txt"}]"#;
    let End::Reply(reply) = host.run(&script, steps).await.end else { panic!("no reply") };
    assert!(reply.contains("kept"), "{reply}");
}

/// A verb of the SDK calls the host as often as it has to: once for what is small.
#[tokio::test]
async fn a_verb_of_the_sdk_is_one_call() {
    let Some(verbs) = guest("verbs") else { return };
    let host = Host::new(limits());
    let verbs = host.load(&verbs).await;
    let each_once = [
        "write",
        "read",
        "stat",
        "exists",
        "copy",
        "rename",
        "delete",
        "list",
        "read-text",
        "replace",
        "append",
        "search",
        "spill",
    ];
    let handles = [("reader", 3), ("writer", 3)];
    for (verb, calls) in each_once.map(|verb| (verb, 1)).into_iter().chain(handles) {
        let report = host.run(&verbs, verb).await;
        assert_eq!(report.end, End::Reply(String::new()), "{verb}");
        assert_eq!(report.usage.host_calls, calls, "{verb}");
    }
}

/// What a guest asks of its host is counted by verb, scope and outcome, with the bytes that moved.
#[tokio::test]
async fn what_a_guest_asks_is_counted() {
    let Some(script) = guest("script") else { return };
    let host = Host::new(limits());
    let script = host.load(&script).await;
    let steps = r#"[
        {"do": "write", "path": "session/a", "bytes": "four"},
        {"do": "write", "path": "agent/a", "bytes": "four"},
        {"do": "read", "path": "session/a"},
        {"do": "read", "path": "session/a"},
        {"do": "read", "path": "session/none"},
        {"do": "read", "path": "nowhere"}
    ]"#;
    let report = host.run(&script, steps).await;
    let counted = report.invocations.iter();
    let mut counted: Vec<_> =
        counted.map(|one| (one.verb, one.scope, one.outcome, one.calls, one.bytes)).collect();
    counted.sort_unstable();
    let expected = [
        ("files.read", "", "no-scope", 1, 0),
        ("files.read", "session", "not-found", 1, 0),
        ("files.read", "session", "ok", 2, 8),
        ("files.write", "agent", "ok", 1, 4),
        ("files.write", "session", "ok", 1, 4),
    ];
    assert_eq!(counted, expected, "{:?}", report.end);
    let Some(verbs) = guest("verbs") else { return };
    let verbs = host.load(&verbs).await;
    for verb in
        ["stat", "copy", "delete", "list", "read-text", "replace", "append", "search", "spill"]
    {
        let report = host.run(&verbs, verb).await;
        let calls: u64 = report.invocations.iter().map(|one| one.calls).sum();
        assert_eq!(calls, report.usage.host_calls, "{verb}: {:?}", report.invocations);
    }
}

/// A program that exports `wasi:cli/run` gets the input on standard input, and its standard
/// output is the reply.
#[tokio::test]
async fn a_command_replies_on_standard_output() {
    let Some(command) = guest("command") else { return };
    let host = Host::new(limits());
    let command = host.load(&command).await;
    let seen = Arc::new(Recorder::default());
    let report = host.observed(&command, "both some input", seen.clone()).await;
    assert_eq!(report.end, End::Reply("some input".to_owned()));
    assert_eq!(seen.logged(), [(Level::Warn, "on the way".to_owned())]);
    let report = host.run(&command, "fail").await;
    assert!(matches!(report.end, End::GuestError(_)), "{report:?}");
}

/// WASI gives a guest its folders and what they are called, a program its name, and nothing else.
#[tokio::test]
async fn nothing_is_granted_through_wasi() {
    let Some(command) = guest("command") else { return };
    let host = Host::new(limits());
    let command = host.load(&command).await;
    let given = "variable BAILIWICK_SESSION_DIR=/session
variable BAILIWICK_AGENT_DIR=/agent
variable BAILIWICK_WORKSPACE_DIR=/workspace
argument guest
folder /session
folder /agent
folder /workspace
folder /
";
    assert_eq!(host.run(&command, "given ").await.end, End::Reply(given.to_owned()));
}

/// Many turns run at once from one pool.
#[tokio::test]
async fn guests_come_from_a_pool() {
    let options = EngineOptions { allocation: Allocation::Pooling, ..EngineOptions::default() };
    let limits = Limits { host_turns_max: 4, guest_memory_bytes_max: 16 << 20, ..limits() };
    let host = Host::with(limits, options);
    let guest = host.load(&wat::echo()).await;
    let turns = (0..32).map(|_| host.run(&guest, "pooled"));
    for report in futures::future::join_all(turns).await {
        assert_eq!(report.end, End::Reply("pooled".to_owned()));
    }
}

/// Where no room for a pool is to be had, guests come on demand.
#[tokio::test]
async fn a_pool_that_does_not_fit_is_done_without() {
    let options = EngineOptions { allocation: Allocation::Pooling, ..EngineOptions::default() };
    let host = Host::with(Limits { host_turns_max: 1 << 30, ..limits() }, options);
    let guest = host.load(&wat::echo()).await;
    assert_eq!(host.run(&guest, "on demand").await.end, End::Reply("on demand".to_owned()));
}

/// A person's answer reaches the guest that asked.
#[tokio::test]
async fn a_parked_turn_is_resumed_with_an_answer() {
    let Some(ask) = guest("ask") else { return };
    let host = Host::new(limits());
    let ask = host.load(&ask).await;
    let report = host.run(&ask, "two loaves").await;
    assert!(matches!(&report.end, End::Parked(question) if question.contains("two loaves")));
    let request = Request { answer: Some("yes".to_owned()), attempt: 1, ..Request::default() };
    let turn = host.engine.run(&ask, host.space(), request, Arc::new(()), Cancel::new());
    assert_eq!(turn.await.end, End::Reply("Done: two loaves".to_owned()));
}

/// What is printed to standard output and error are lines of the log.
#[tokio::test]
async fn printed_lines_are_logged() {
    let Some(printing) = guest("printing") else { return };
    let host = Host::new(limits());
    let printing = host.load(&printing).await;
    let seen = Arc::new(Recorder::default());
    host.observed(&printing, "stdout 2 3", seen.clone()).await;
    host.observed(&printing, "stderr 1 3", seen.clone()).await;
    let line = |level| (level, "xxx".to_owned());
    assert_eq!(seen.logged(), [line(Level::Info), line(Level::Info), line(Level::Warn)]);
}

/// A guest that asks whether it was cancelled ends in its own way.
#[tokio::test]
async fn a_cancelled_guest_may_finish_what_is_in_hand() {
    let Some(hostile) = guest("hostile") else { return };
    let host = Host::new(limits());
    let hostile = host.load(&hostile).await;
    let report = host.cancelled_after(&hostile, "until-cancelled", Duration::from_millis(50)).await;
    assert!(
        matches!(&report.end, End::Reply(reply) if reply.starts_with("cancelled after")),
        "{report:?}"
    );
}

/// A wake is reported with its input; it is the platform that keeps it.
#[tokio::test]
async fn wakes_are_reported() {
    let Some(hostile) = guest("hostile") else { return };
    let host = Host::new(limits());
    let hostile = host.load(&hostile).await;
    let report = host.run(&hostile, "wake 1").await;
    assert_eq!(report.wakes, [Wake { after_ms: u64::MAX, input: "again".to_owned() }]);
}

/// A turn that waits for a place among those that run can be cancelled.
#[tokio::test]
async fn waiting_for_a_place_can_be_cancelled() {
    let host = Host::new(Limits { host_turns_max: 0, ..limits() });
    let guest = host.load(&wat::echo()).await;
    let report = host.cancelled_after(&guest, "", Duration::from_millis(1)).await;
    assert_eq!(report.end, End::Cancelled);
}

/// A turn whose future is dropped has no rights left.
#[tokio::test]
async fn a_dropped_turn_revokes_its_space() {
    let host = Host::new(limits());
    let guest = host.load(&wat::alone(wat::SPIN)).await;
    let space = host.space();
    let turn =
        host.engine.run(&guest, space.clone(), Request::default(), Arc::new(()), Cancel::new());
    assert!(tokio::time::timeout(Duration::from_millis(20), turn).await.is_err());
    assert!(space.stat("session/a.txt").await.is_err_and(|error| error.reason == "turn-over"));
}
