//! What a program may have the host hold.

use bailiwick::limits::{FOLDER_MOVED_MAX, Limits};
use serde_json::json;

use super::{FAILED, Ground, bounds, done, error, ok};
use crate::space::put;

/// A turn that writes more than it may gather is told that there is no space; what it had stored
/// stays, and once it is stored there is room again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_gathers_no_more_than_it_may() {
    let limits = Limits { turn_gathered_bytes_max: 3_000_000, ..bounds() };
    let Some(ground) = Ground::with(limits) else { return };
    ground
        .hold(&[
            (json!(["fill", "/agent/a", 2_900_000]), ok(2_900_000)),
            // Its library has no word for how a stream ended.
            (json!(["fill", "/agent/b", 3_000_001]), error(FAILED)),
            (json!(["h-open", "a", "/agent/c", "wct"]), done()),
            (json!(["h-truncate", "a", 3_000_001]), error("StorageFull")),
            (
                json!(["raw-write", "/agent", "c", "x", 4_000_000_000_u64]),
                error("insufficient-space"),
            ),
            (json!(["h-close", "a"]), done()),
            (json!(["fill", "/agent/d", 2_900_000]), ok(2_900_000)),
        ])
        .await;
}

/// More files than there may be readers are open at once, and each is read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_files_are_open_than_readers() {
    let limits = Limits { turn_readers_max: 4, ..bounds() };
    let Some(ground) = Ground::with(limits) else { return };
    let space = ground.space();
    let mut steps = Vec::new();
    for number in 0..10 {
        put(&space, &format!("agent/{number}"), &number.to_string()).await;
        steps
            .push((json!(["h-open", number.to_string(), format!("/agent/{number}"), "r"]), done()));
    }
    for number in 0..10 {
        let text = number.to_string();
        steps.push((json!(["h-read", text]), ok(text)));
    }
    ground.hold(&steps).await;
}

/// A folder of too many files is not renamed: who is told so moves them one by one, as between
/// devices.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_of_too_many_files_is_not_renamed() {
    let Some(ground) = Ground::new() else { return };
    let space = ground.space();
    for number in 0..=FOLDER_MOVED_MAX {
        put(&space, &format!("agent/many/{number}"), "").await;
    }
    ground
        .hold(&[
            (json!(["rename", "/agent/many", "/agent/moved"]), error("CrossesDevices")),
            (json!(["stat", "/agent/moved"]), error("NotFound")),
            (json!(["rm", "/agent/many/0"]), done()),
            (json!(["rename", "/agent/many", "/agent/moved"]), done()),
            (json!(["stat", "/agent/many"]), error("NotFound")),
            (json!(["stat", "/agent/moved/1"]), ok(json!({"kind": "file", "size": 0}))),
        ])
        .await;
}
