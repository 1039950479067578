//! Programs of WASI 0.3: files as streams, and several calls under way at once.

use std::time::Duration;

use bailiwick::engine::{End, LimitKind, UnstoredWhy};
use bailiwick::limits::Limits;
use bailiwick::store::{Depth, Precondition};
use serde_json::{Value, json};

use super::{Ground, bounds, done, error, ok};
use crate::faulty::{Fault, Plan};
use crate::space::{cat, put};

fn assert_limit(end: &End, kind: LimitKind) {
    assert!(matches!(end, End::Limit(found, _) if *found == kind), "{end:?}");
}

/// A program of WASI 0.3 finds the folders that one of 0.2 does, its input, its arguments and no
/// network; its standard output is the reply.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_of_wasi_0_3_finds_what_an_older_one_does() {
    for ground in Ground::each_with_tasks().await {
        let ground = ground.with_skill().await;
        let guest = ground.engine.load(&ground.program).await.unwrap();
        assert!(guest.has_folders());
        let came =
            ground.run(json!([["raw-folders"], ["environment"], ["arguments"], ["sockets"]])).await;
        let folders = json!(["/session", "/agent", "/workspace", "/skill", "/"]);
        assert_eq!(came[0], ok(folders), "{}", ground.name);
        let variables = json!([
            ["BAILIWICK_SESSION_DIR", "/session"],
            ["BAILIWICK_AGENT_DIR", "/agent"],
            ["BAILIWICK_WORKSPACE_DIR", "/workspace"],
        ]);
        assert_eq!(came[1], ok(variables));
        assert_eq!(came[2], ok(json!(["guest"])));
        let refused = came[3]["ok"].as_array().unwrap();
        assert!(refused.iter().all(Value::is_string), "{refused:?}");
    }
}

/// What it writes is stored, whole, where a verb finds it, and what a verb wrote it reads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_move_through_streams_as_they_are() {
    for ground in Ground::each_with_tasks().await {
        let space = ground.space();
        let text = "a line of text\n".repeat(40_000);
        put(&space, "workspace/in/a.txt", &text).await;
        ground
            .hold(&[
                (json!(["read", "/workspace/in/a.txt"]), ok(text.clone())),
                (json!(["many-piped", "/workspace/in/a.txt"]), ok(text.len())),
                (json!(["write", "/agent/b.txt", "b"]), done()),
                (json!(["h-open", "b", "/agent/b.txt", "ra"]), done()),
                (json!(["h-write", "b", ", and more"]), done()),
                (json!(["read", "/agent/b.txt"]), ok("b, and more")),
                (json!(["h-truncate", "b", 4]), done()),
                (json!(["h-read", "b"]), ok("b, a")),
                (json!(["mkdir", "/agent/d"]), done()),
                (json!(["rename", "/agent/b.txt", "/agent/d/c.txt"]), done()),
                (json!(["h-close", "b"]), done()),
                (json!(["ls", "/agent/d"]), ok(json!([["c.txt", "file"]]))),
                (json!(["stat", "/agent/d"]), ok(json!({ "kind": "folder", "size": 0 }))),
                (json!(["rmdir", "/agent/d"]), error("not-empty")),
                (json!(["write", "/agent/none/a", ""]), error("no-entry")),
                (json!(["rename", "/agent/d", "/workspace/d"]), error("cross-device")),
                (json!(["raw-touch-at", "/agent", "d/c.txt", 42]), done()),
                (json!(["raw-touch-at", "/agent", "d/c.txt", -1]), error("overflow")),
            ])
            .await;
        assert_eq!(cat(&space, "workspace/in/a.txt.copy").await, text, "{}", ground.name);
        assert_eq!(cat(&space, "agent/d/c.txt").await, "b, a", "{}", ground.name);
    }
}

/// Calls that overlap do what they would do one after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_folders_overlap() {
    for ground in Ground::each_with_tasks().await {
        put(&ground.space(), "agent/read.txt", &"0123456789".repeat(30_000)).await;
        ground
            .hold(&[
                (json!(["many-files", "/session/f", 40]), ok(json!([40, 0, null]))),
                (json!(["many-read", "/agent/read.txt", 40]), ok(json!([40, 0, null]))),
                (json!(["many-appends", "/agent/lines", 50]), ok(json!([[50, 0, null], 250, 51]))),
                (json!(["many-reads-given-up", "/agent/read.txt", 20]), ok(json!([300_000, true]))),
                (json!(["many-ls", "/session", 20]), ok(json!([41]))),
                (json!(["many-moved", "/agent/moved", 8]), ok(40)),
            ])
            .await;
        let space = ground.space();
        assert_eq!(cat(&space, "session/f39").await, "file 39\n".repeat(39), "{}", ground.name);
        assert_eq!(cat(&space, "agent/moved.7").await.len(), 40, "{}", ground.name);
        let listed = space.list("agent", Depth::All, None, 10).await.unwrap();
        assert_eq!(listed.files.len(), 3, "{}: {listed:?}", ground.name);
    }
}

/// A folder of many names is listed whole, however it is read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_folder_is_streamed_whole() {
    let Some(ground) = Ground::with_tasks(bounds()) else { return };
    for number in 0..700 {
        put(&ground.space(), &format!("agent/many/{number:03}"), "").await;
    }
    let came = ground.run(json!([["ls", "/agent/many"], ["many-ls", "/agent/many", 300]])).await;
    let names = came[0]["ok"].as_array().unwrap();
    let wanted: Vec<_> = (0..700).map(|number| json!([format!("{number:03}"), "file"])).collect();
    assert_eq!(names, &wanted);
    assert_eq!(came[1], ok(json!([700])));
}

/// The rules of 0.2 for when a file is stored hold: at `sync`, when its last handle is closed, which
/// a stream is, and when the turn ends by itself; of a turn that traps, what it had closed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_is_stored_when_its_file_is() {
    for ground in Ground::each_with_tasks().await {
        let report = ground
            .report(json!([
                ["h-open", "a", "/agent/a", "wct"],
                ["h-write", "a", "first"],
                ["h-sync", "a"],
                ["h-write", "a", ", second"],
                ["h-open", "b", "/agent/b", "wct"],
                ["h-write", "b", "never closed"],
                ["many-let-go", "/agent/c"],
                ["many-left-writing", "/agent/d"],
                ["trap"],
            ]))
            .await;
        assert!(matches!(report.end, End::Trapped(_)), "{:?}", report.end);
        let space = ground.space();
        assert_eq!(cat(&space, "agent/a").await, "first", "{}", ground.name);
        assert_eq!(cat(&space, "agent/c").await, "first, and last", "{}", ground.name);
        let listed = space.list("agent", Depth::All, None, 10).await.unwrap();
        assert_eq!(listed.files.len(), 2, "{}: {listed:?}", ground.name);
        let report = ground
            .report(json!([
                ["h-open", "b", "/agent/b", "wct"],
                ["h-write", "b", "left open"],
                ["many-left-writing", "/agent/d"],
                ["exit", 3],
            ]))
            .await;
        assert!(matches!(report.end, End::GuestError(_)), "{:?}", report.end);
        assert_eq!(cat(&space, "agent/b").await, "left open", "{}", ground.name);
        assert_eq!(cat(&space, "agent/d").await, "left", "{}", ground.name);
    }
}

/// Where another writer was faster, both are kept, and `sync` says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_slower_of_two_streams_is_kept_beside() {
    let Some(ground) = Ground::with_tasks(bounds()) else { return };
    let space = ground.space();
    // One call to look for the file, one for a folder of its name; then it is stored.
    ground.world.store.meanwhile(2, async move { put(&space, "agent/new", "faster").await });
    let report = ground
        .report(json!([
            ["h-open", "a", "/agent/new", "wc"],
            ["h-write", "a", "mine"],
            ["h-sync", "a"],
            ["h-write", "a", ", and more"],
            ["h-sync", "a"],
        ]))
        .await;
    let End::Reply(reply) = &report.end else { panic!("{report:?}") };
    let came: Vec<Value> = serde_json::from_str(reply).unwrap();
    assert_eq!(came[2..], [error("busy"), done(), done()]);
    let UnstoredWhy::KeptBeside { kept } = &report.unstored[0].why else { panic!("{report:?}") };
    assert_eq!(cat(&ground.space(), "agent/new").await, "faster");
    assert_eq!(cat(&ground.space(), kept).await, "mine, and more");
}

/// A file that others change while it is read is never read as a mix of both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_of_a_folder_never_mixes_two_contents() {
    let Some(ground) = Ground::with_tasks(bounds()) else { return };
    let (space, other) = (ground.space(), ground.space());
    let write = async |space: &bailiwick::space::Space, byte: u8| {
        let bytes = vec![byte; 4 << 20];
        space.write("agent/a", bytes.into(), Precondition::Always).await.unwrap();
    };
    write(&space, b'x').await;
    ground.world.store.meanwhile(2, async move { write(&other, b'y').await });
    let came = ground.run(json!([["read", "/agent/a"], ["stat", "/agent/a"]])).await;
    assert_eq!(came[0], error("io"));
    assert_eq!(came[1]["ok"]["size"], 4 << 20);
}

/// What a descriptor was opened for is said as the standard has it: who makes a file may write it,
/// and who asks for nothing reads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flags_of_wasi_0_3_are_told_as_they_hold() {
    const READ: u8 = 1;
    const WRITE: u8 = 2;
    const MUTATE: u8 = 32;
    let Some(ground) = Ground::with_tasks(bounds()) else { return };
    put(&ground.space(), "agent/a", "a").await;
    ground
        .hold(&[
            (json!(["raw-flags", "/agent", ".", 0, 0, 0]), ok(READ)),
            (json!(["raw-flags", "/agent", ".", 0, 2, MUTATE]), ok(READ | MUTATE)),
            (json!(["raw-flags", "/agent", "a", 0, 0, 0]), ok(READ)),
            (json!(["raw-flags", "/agent", "a", 0, 0, WRITE]), ok(WRITE)),
            (json!(["raw-flags", "/agent", "b", 0, 5, 0]), ok(READ | WRITE)),
            (json!(["raw-flags", "/agent", "c", 0, 5, WRITE]), ok(WRITE)),
            (json!(["raw-flags", "/agent", "a", 0, 5, READ]), error("exist")),
        ])
        .await;
}

/// One call more than may be under way is refused, and the others are answered; the store sees no
/// more of them at once than it may.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_folders_are_bounded() {
    let limits = Limits { turn_calls_max: 100, ..bounds() };
    let Some(ground) = Ground::with_tasks(limits.clone()) else { return };
    put(&ground.space(), "agent/a", "a").await;
    ground.world.store.slow_down(Duration::from_millis(20));
    for step in [json!(["many-stats", "/agent/a", 300]), json!(["many-read", "/agent/a", 300])] {
        let came = ground.run(json!([step])).await;
        let counted = came[0]["ok"].as_array().unwrap();
        let (answered, refused) = (counted[0].as_u64().unwrap(), counted[1].as_u64().unwrap());
        // Some may have been answered before the last were begun.
        assert!((100..300).contains(&answered), "{counted:?}");
        assert_eq!((answered + refused, &counted[2]), (300, &json!("insufficient-memory")));
    }
    assert_eq!(ground.world.store.most_at_once(), limits.turn_operations_max);
}

/// What calls and listings hold counts with the memories of all guests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_folders_count_as_memory_of_guests() {
    let limits = Limits { host_guest_memory_bytes_max: 6 << 20, ..bounds() };
    let Some(ground) = Ground::with_tasks(limits) else { return };
    put(&ground.space(), "agent/a", "a").await;
    ground.world.store.slow_down(Duration::from_millis(2));
    let report = ground.report(json!([["many-ls", "/agent", 400]])).await;
    match &report.end {
        End::Reply(reply) => assert_eq!(*reply, json!([error("busy")]).to_string()),
        // Whichever comes first: what the guest needs for itself counts there too.
        end => assert_limit(end, LimitKind::HostMemory),
    }
    let came = ground.run(json!([["many-stats", "/agent/a", 3]])).await;
    assert_eq!(came[0], ok(json!([3, 0, null])));
}

/// Calls that are begun and given up leave nothing open, and as many of them as there are make no
/// more of the host than one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opens_that_are_given_up_are_closed() {
    let Some(ground) = Ground::with_tasks(bounds()) else { return };
    ground.world.store.slow_down(Duration::from_micros(100));
    let report =
        ground.report(json!([["many-opens-given-up", "/session/x", 3000], ["trap"]])).await;
    assert!(matches!(report.end, End::Trapped(_)), "{:?}", report.end);
    ground.world.store.slow_down(Duration::ZERO);
    let came = ground.run(json!([["write", "/session/y", "well"], ["read", "/session/y"]])).await;
    assert_eq!(came[1], ok("well"));
}

/// A stream is closed, and its writer told, also where an open was given up before and nothing else
/// changes the folders.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_is_closed_behind_an_open_that_was_given_up() {
    let Some(ground) = Ground::with_tasks(Limits { turn_ms_max: 10_000, ..bounds() }) else {
        return;
    };
    ground.world.store.slow_down(Duration::from_millis(20));
    let came = ground
        .run(json!([
            ["h-open", "a", "/session/a", "wc"],
            ["many-opens-given-up", "/session/x", 1],
            ["sleep", 500],
            ["h-write", "a", "told"],
        ]))
        .await;
    assert_eq!(came[3], done());
}

/// A program that leaves calls, waits or streams under way without end goes over its handles or ends,
/// and leaves nothing to the host.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_left_under_way_ends_with_its_turn() {
    let Some(ground) = Ground::with_tasks(Limits { turn_ms_max: 3_000, ..bounds() }) else {
        return;
    };
    put(&ground.space(), "agent/a", "a").await;
    for step in [
        json!(["many-waits", "/agent/a", 100_000]),
        json!(["many-unread", "/agent/a", 100_000]),
        // Streams that it does not even keep.
        json!(["many-pipes", "/agent/a", 100_000]),
        json!(["many-echoes", "/agent/a", 100_000]),
    ] {
        let report = ground.report(json!([step])).await;
        assert_limit(&report.end, LimitKind::Handles);
    }
    let report = ground.report(json!([["many-opens-left", "/session/x", 20_000]])).await;
    assert!(matches!(report.end, End::Reply(_)), "{:?}", report.end);
    assert_eq!(ground.world.store.under_way(), 0);
    ground.world.store.plan(Plan::Every(Fault::Hang));
    let report = ground.report(json!([["many-opens-left", "/session/x", 500]])).await;
    assert!(matches!(report.end, End::Reply(_)), "{:?}", report.end);
    assert_eq!(ground.world.store.under_way(), 0);
    ground.world.store.plan(Plan::None);
    let came = ground.run(json!([["read", "/agent/a"]])).await;
    assert_eq!(came[0], ok("a"));
}

/// A stream that writes more than its turn may gather is told that there is no space.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_gathers_no_more_than_it_may() {
    let limits = Limits { turn_gathered_bytes_max: 300_000, ..bounds() };
    let Some(ground) = Ground::with_tasks(limits) else { return };
    let large = "x".repeat(290_000);
    ground
        .hold(&[
            (json!(["write", "/agent/a", large.clone()]), done()),
            (json!(["write", "/agent/b", large.repeat(2)]), error("insufficient-space")),
            (
                json!(["raw-write", "/agent", "c", "x", 4_000_000_000_u64]),
                error("insufficient-space"),
            ),
            (json!(["raw-write", "/agent", "c", "x", u64::MAX]), error("invalid")),
        ])
        .await;
    assert_eq!(cat(&ground.space(), "agent/a").await.len(), large.len());
}

/// A flood of output is a reply that is too long, and nothing that the host holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_a_program_of_wasi_0_3_is_cut() {
    let Some(ground) = Ground::with_tasks(bounds()) else { return };
    let report = ground.report(json!([["flood", 100 << 20]])).await;
    assert_limit(&report.end, LimitKind::Reply);
}

/// One that computes or waits for too long ends in time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_of_wasi_0_3_ends_in_time() {
    let Some(ground) = Ground::with_tasks(Limits { turn_ms_max: 500, ..bounds() }) else { return };
    for step in [json!(["spin"]), json!(["sleep", 60_000])] {
        let steps = json!([
            ["write", "/agent/closed", "x"],
            ["h-open", "a", "/agent/open", "wc"],
            ["h-write", "a", "y"],
            step,
        ]);
        assert_limit(&ground.report(steps).await.end, LimitKind::Time);
        assert_eq!(cat(&ground.space(), "agent/closed").await, "x");
        assert!(ground.space().stat("agent/open").await.is_err());
    }
}
