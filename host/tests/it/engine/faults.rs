//! What fails below the host, and what of it reaches a guest.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick::engine::{End, Level, LimitKind, Observer};
use bailiwick::limits::Limits;
use serde_json::{Value, json};

use super::{Host, limits};
use crate::faulty::{Fault, POISON, Plan};
use crate::guests::guest;

/// One step for each call of the contract that reaches a store.
fn steps() -> Value {
    json!([
        { "do": "read", "path": "session/a.txt" },
        { "do": "write", "path": "session/b.txt", "bytes": "b" },
        { "do": "delete", "path": "session/a.txt" },
        { "do": "stat", "path": "session/a.txt" },
        { "do": "list", "folder": "" },
        { "do": "list", "folder": "session", "depth": "children" },
        { "do": "copy", "source": "session/a.txt", "target": "agent/a.txt" },
        { "do": "move", "source": "session/a.txt", "target": "agent/a.txt" },
        { "do": "open-reader", "path": "session/a.txt", "as": "r" },
        { "do": "open-writer", "path": "session/c.txt", "as": "w" },
        { "do": "text-read", "path": "session/a.txt" },
        { "do": "replace", "path": "session/a.txt", "old": "a", "new": "b" },
        { "do": "append", "path": "session/a.txt", "text": "b" },
        { "do": "search", "folder": "session", "pattern": "a" },
        { "do": "spill", "name": "long.txt", "bytes": { "fill": "x", "size": 70000 } },
    ])
}

/// Whatever fails below, no answer that a guest reads holds a key, a bucket, an endpoint, a path
/// of the host or an id.
#[tokio::test]
async fn no_answer_holds_what_failed_below() {
    let Some(script) = guest("script") else { return };
    let host = Host::new(limits());
    let script = host.load(&script).await;
    let write = r#"[{"do": "write", "path": "session/a.txt", "bytes": "a"}]"#;
    assert!(matches!(host.run(&script, write).await.end, End::Reply(_)));
    for fault in [Fault::Before, Fault::After] {
        host.store.plan(Plan::Every(fault));
        let report = host.run(&script, &steps().to_string()).await;
        let End::Reply(reply) = report.end else { panic!("{:?}", report.end) };
        let ids = [1, 2, 3].map(|id| uuid::Uuid::from_u128(id).to_string());
        for secret in POISON.into_iter().chain(ids.iter().map(String::as_str)) {
            assert!(!reply.contains(secret), "{secret} in {reply}");
        }
        let answers: Vec<Value> = serde_json::from_str(&reply).unwrap();
        for (step, answer) in steps().as_array().unwrap().iter().zip(&answers) {
            assert_eq!(answer["error"]["code"], "unavailable", "{step}: {answer}");
        }
    }
}

/// A store that never answers holds a turn no longer than its limit, nor when it is cancelled.
#[tokio::test]
async fn a_call_that_hangs_is_ended() {
    let Some(script) = guest("script") else { return };
    let host = Host::new(Limits { turn_ms_max: 500, cancel_ms_max: 50, ..limits() });
    let script = host.load(&script).await;
    host.store.plan(Plan::Every(Fault::Hang));
    let started = Instant::now();
    let stat = r#"[{"do": "stat", "path": "session/a.txt"}]"#;
    let report = host.cancelled_after(&script, stat, Duration::from_millis(20)).await;
    assert_eq!(report.end, End::Cancelled);
    let report = host.run(&script, stat).await;
    assert!(matches!(report.end, End::Limit(LimitKind::Time, _)), "{:?}", report.end);
    assert!(started.elapsed() < Duration::from_secs(5));
}

struct Panicking;

impl Observer for Panicking {
    fn said(&self, _: &str) {
        panic!("the observer fell over");
    }

    fn logged(&self, _: Level, _: &str) {}
}

/// A panic below a call of a guest ends that turn as a fault of the host; the next one runs.
#[tokio::test]
async fn a_panic_in_the_host_ends_one_turn() {
    let Some(script) = guest("script") else { return };
    let host = Host::new(limits());
    let script = host.load(&script).await;
    let say = r#"[{"do": "say", "part": "hello"}]"#;
    let report = host.observed(&script, say, Arc::new(Panicking)).await;
    let End::HostFault(fault) = report.end else { panic!("{:?}", report.end) };
    assert!(fault.contains("the observer fell over"), "{fault}");
    assert!(matches!(host.run(&script, say).await.end, End::Reply(_)));
}
