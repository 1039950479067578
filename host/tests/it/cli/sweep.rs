//! Removing what is kept no longer.

use std::sync::Arc;

use bailiwick::catalog::Made;
use bailiwick::clock::{Clock, SystemClock};

use serde_json::{Value, json};

use super::harness::Machine;

/// A clock that is long behind.
#[derive(Debug)]
struct LongAgo;

impl Clock for LongAgo {
    fn now_ms(&self) -> u64 {
        SystemClock.now_ms() - 40 * 86_400_000
    }
}

/// What would go is shown, and stays; then it goes.
#[tokio::test]
async fn a_sweep_is_shown_before_it_is_made() {
    let machine = Machine::new();
    let local = machine.file("a.txt", b"text");
    machine.ok(&[
        "files",
        "put",
        &local,
        "session/a.txt",
        "-w",
        "acme",
        "-a",
        "clerk",
        "-s",
        "new",
    ]);
    let catalog = machine.catalog_by(Arc::new(LongAgo)).await;
    let name = |name: &str| name.parse().unwrap();
    let workspace = catalog.workspace(&name("acme")).await.unwrap().unwrap();
    let agent = catalog.agent(workspace, &name("clerk")).await.unwrap().unwrap();
    for called in ["old", "held"] {
        let made = catalog.make_session(agent, &name(called)).await.unwrap();
        assert!(matches!(made, Made::New(_)));
    }
    let of = ["-w", "acme", "-a", "clerk"];
    machine.ok(&[&["sessions", "hold", "held"], of.as_slice()].concat());
    machine.ok(&[&["sessions", "close", "new"], of.as_slice()].concat());
    let shown = machine.ok(&["sweep", "--dry-run"]);
    assert!(shown.contains("old") && shown.contains("idle"), "{shown}");
    assert!(!shown.contains("held") && !shown.contains("new"), "{shown}");
    let all = machine.ok(&["sweep", "--dry-run", "--json"]);
    let told = all.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut told: Vec<_> = told
        .map(|it| {
            json!([it["name"], it["stays"], it["goes"], it["goes_now"], it["goes_ms"].is_u64()])
        })
        .collect();
    told.sort_by_key(Value::to_string);
    let expected = [
        json!(["held", "held", null, false, false]),
        json!(["new", null, "idle", false, true]),
        json!(["old", null, "idle", true, true]),
    ];
    assert_eq!(told, expected, "{all}");
    let listed = machine.ok(&[&["sessions", "ls"], of.as_slice()].concat());
    assert!(listed.contains("old"), "nothing was removed: {listed}");
    let told = machine.run(&["sweep"]);
    assert!(told.err.contains("removed 1 session"), "{told:?}");
    let listed = machine.ok(&[&["sessions", "ls"], of.as_slice()].concat());
    assert!(!listed.contains("old") && listed.contains("held"), "{listed}");
    machine.ok(&[&["files", "cat", "session/a.txt", "-s", "new"], of.as_slice()].concat());
    machine.ok(&[&["sessions", "reopen", "new"], of.as_slice()].concat());
    let refused = machine.run(&[&["sessions", "rm", "held"], of.as_slice()].concat());
    assert!(refused.err.contains("on hold"), "{refused:?}");
    machine.ok(&[&["sessions", "release", "held"], of.as_slice()].concat());
    machine.ok(&[&["sessions", "rm", "held"], of.as_slice()].concat());
}
