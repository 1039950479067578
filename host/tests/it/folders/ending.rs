//! Times, and what a turn that ends in the middle leaves.

use bailiwick::engine::{End, LimitKind};
use bailiwick::limits::Limits;
use serde_json::{Value, json};

use super::{Ground, bounds, done, error};
use crate::space::put;

/// A time that a program sets holds in its turn, and until the file is written; a file's own is when
/// it was stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn times_hold_until_the_turn_ends() {
    for ground in Ground::each().await {
        put(&ground.space(), "agent/a", "a").await;
        let came = ground
            .run(json!([
                ["modified", "/agent/a"],
                ["raw-touch", "/agent", "a", ""],
                ["modified", "/agent/a"],
                ["raw-touch", "/agent", "none", ""],
                ["raw-touch", "/agent", ".", ""],
            ]))
            .await;
        let ms = |value: &Value| value["ok"].as_u64().unwrap();
        assert!(ms(&came[2]) >= ms(&came[0]), "{}: {came:?}", ground.name);
        assert_eq!(came[3..], [error("no-entry"), error("not-permitted")]);
        let later = ground.run(json!([["modified", "/agent/a"]])).await;
        assert_eq!(later[0], came[0]);
        let stored = ground.space().stat("agent/a").await.unwrap();
        assert_eq!(ms(&later[0]), stored.modified_ms);
    }
}

/// A turn that takes too long stores what it had closed, and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_over_time_stores_what_it_had_closed() {
    let Some(ground) = Ground::with(Limits { turn_ms_max: 1_500, ..bounds() }) else { return };
    let report = ground
        .report(json!([
            ["write", "/agent/closed", "x"],
            ["h-open", "a", "/agent/open", "wct"],
            ["h-write", "a", "x"],
            ["spin"],
        ]))
        .await;
    assert!(matches!(report.end, End::Limit(LimitKind::Time, _)), "{:?}", report.end);
    let space = ground.space();
    assert_eq!(space.stat("agent/closed").await.unwrap().size, 1);
    assert!(space.stat("agent/open").await.is_err());
    ground.hold(&[(json!(["rm", "/agent/closed"]), done())]).await;
}
