//! When what a program writes is stored, and over what.

use bailiwick::engine::{End, UnstoredWhy};
use bailiwick::store::{Depth, Precondition};
use serde_json::json;

use super::{FAILED, Ground, done, error, ok};
use crate::faulty::{Fault, Plan};
use crate::space::{cat, put};

/// What is written is stored whole, once, when the file is closed: neither a write nor a flush asks
/// the store for anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flush_asks_the_store_for_nothing() {
    let Some(ground) = Ground::new() else { return };
    ground.world.store.plan(Plan::None);
    let open_and_close = json!([["h-open", "a", "/session/a", "wct"], ["h-close", "a"]]);
    ground.run(open_and_close).await;
    let calls = ground.world.store.calls();
    ground.world.store.plan(Plan::None);
    let mut steps = vec![json!(["h-open", "b", "/session/b", "wct"])];
    for _ in 0..100 {
        steps.push(json!(["h-write", "b", "a line of text\n"]));
        steps.push(json!(["h-flush", "b"]));
    }
    steps.push(json!(["h-close", "b"]));
    ground.run(steps.into()).await;
    assert_eq!(ground.world.store.calls(), calls);
    assert_eq!(cat(&ground.space(), "session/b").await.len(), 1_500);
}

/// A sync stores what there is by then, for everybody, and a close the rest.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sync_stores_what_there_is() {
    for ground in Ground::each().await {
        let report = ground
            .report(json!([
                ["h-open", "a", "/agent/a", "wct"],
                ["h-write", "a", "first"],
                ["h-sync", "a"],
                ["h-write", "a", ", second"],
                ["h-open", "b", "/agent/b", "wct"],
                ["h-write", "b", "never closed"],
                ["trap"],
            ]))
            .await;
        assert!(matches!(report.end, End::Trapped(_)), "{:?}", report.end);
        let space = ground.space();
        assert_eq!(cat(&space, "agent/a").await, "first", "{}", ground.name);
        // A turn that traps stores nothing that it had not closed.
        let listed = space.list("agent", Depth::All, None, 10).await.unwrap();
        assert_eq!(listed.files.len(), 1);
    }
}

/// A turn that ends by itself stores what it left open, also one that says that it failed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_turn_stores_what_is_open() {
    for ground in Ground::each().await {
        for (code, text) in [(0, "well"), (3, "not so well")] {
            ground
                .report(json!([
                    ["h-open", "a", "/agent/a", "wct"],
                    ["h-write", "a", text],
                    ["exit", code],
                ]))
                .await;
            assert_eq!(cat(&ground.space(), "agent/a").await, text, "{}", ground.name);
        }
    }
}

/// Where another writer was faster nobody's bytes are lost: the later ones are kept beside, and the
/// turn says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_slower_of_two_writers_is_kept_beside() {
    for small in [true, false] {
        let Some(ground) = Ground::new() else { return };
        put(&ground.space(), "agent/a.txt", "before").await;
        let (space, size) = (ground.space(), if small { 5 } else { 3 << 20 });
        let text = "mine!".repeat(size / 5);
        // The first call of the store opens the file, the next one stores it.
        ground.world.store.meanwhile(1, async move { put(&space, "agent/a.txt", "faster").await });
        let report = ground
            .report(json!([
                ["h-open", "a", "/agent/a.txt", "rwt"],
                ["h-write", "a", text],
                ["h-close", "a"],
                ["read", "/agent/a.txt"],
            ]))
            .await;
        let End::Reply(reply) = &report.end else { panic!("{report:?}") };
        assert!(reply.contains("faster"), "{reply}");
        let [unstored] = &report.unstored[..] else { panic!("{report:?}") };
        assert_eq!(unstored.path, "agent/a.txt");
        let UnstoredWhy::KeptBeside { kept } = &unstored.why else { panic!("{unstored:?}") };
        assert!(kept.starts_with("agent/a.txt.conflict-"), "{kept}");
        assert_eq!(cat(&ground.space(), "agent/a.txt").await, "faster");
        let beside = ground.space().stat(kept).await.unwrap();
        assert_eq!(beside.size, text.len() as u64);
    }
}

/// A sync says that it lost, and what has the file open goes on with what was kept beside.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sync_says_that_another_writer_was_faster() {
    let Some(ground) = Ground::new() else { return };
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
    let came: Vec<serde_json::Value> = serde_json::from_str(reply).unwrap();
    assert_eq!(came[2..], [error("ResourceBusy"), done(), done()]);
    let UnstoredWhy::KeptBeside { kept } = &report.unstored[0].why else { panic!("{report:?}") };
    assert_eq!(cat(&ground.space(), "agent/new").await, "faster");
    assert_eq!(cat(&ground.space(), kept).await, "mine, and more");
}

/// A file that others change or delete while a program reads it is never read as a mix of both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_never_reads_a_mix() {
    let Some(ground) = Ground::new() else { return };
    let (space, size) = (ground.space(), 4 << 20);
    let write = |byte: u8| space.write("agent/a", vec![byte; size].into(), Precondition::Always);
    write(b'x').await.unwrap();
    let other = ground.space();
    ground.world.store.meanwhile(2, async move {
        other.write("agent/a", vec![b'y'; 4 << 20].into(), Precondition::Always).await.unwrap();
    });
    let came = ground.run(json!([["sum", "/agent/a"], ["sum", "/agent/a"]])).await;
    assert_eq!(came[0], error(FAILED), "{came:?}");
    assert_eq!(came[1]["ok"][0], size);
}

/// A large file moves through as it was, in little memory, and its bytes are those of every verb.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_file_is_stored_as_it_was_written() {
    const SIZE: u64 = 20_000_003;
    for ground in Ground::each().await {
        let came = ground
            .run(json!([
                ["fill", "/agent/large", SIZE],
                ["sum", "/agent/large"],
                ["copy-large", "/agent/large", "/workspace/large"],
                ["sum", "/workspace/large"],
            ]))
            .await;
        assert_eq!((&came[0], &came[2]), (&ok(SIZE), &done()), "{}", ground.name);
        assert_eq!(came[1], came[3]);
        let file = ground.space().stat("workspace/large").await.unwrap();
        assert_eq!(file.size, SIZE);
    }
}

/// A store that fails when a file is closed is asked again at the end, and what is lost is told; no
/// word of it says what failed below.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_cannot_be_stored_is_told() {
    let Some(ground) = Ground::new() else { return };
    let steps =
        json!([["h-open", "a", "/agent/a", "wct"], ["h-write", "a", "x"], ["h-close", "a"]]);
    // The third call stores it: once, it is tried again.
    ground.world.store.plan(Plan::Nth(2, Fault::Before));
    let report = ground.report(steps.clone()).await;
    assert!(report.unstored.is_empty(), "{report:?}");
    assert_eq!(cat(&ground.space(), "agent/a").await, "x");
    let steps = json!([["h-open", "a", "/agent/a", "rw"], ["h-write", "a", "y"], ["trap"]]);
    ground.report(steps).await;
    assert_eq!(cat(&ground.space(), "agent/a").await, "x");

    let Some(ground) = Ground::new() else { return };
    let steps = json!([["h-open", "a", "/agent/a", "wct"], ["h-write", "a", "x"], ["poison"]]);
    let store = ground.world.store.clone();
    ground.world.store.meanwhile(2, async move { store.plan(Plan::Every(Fault::Before)) });
    let report = ground.report(steps).await;
    ground.world.store.plan(Plan::None);
    assert!(matches!(report.end, End::Reply(_)), "{:?}", report.end);
    let [unstored] = &report.unstored[..] else { panic!("{report:?}") };
    assert_eq!(unstored.why, UnstoredWhy::Failed { reason: "io".to_owned() });
    assert!(ground.space().stat("agent/a").await.is_err());
}

/// A large file that is written into from everywhere, and cut off, is stored as it was by then, over
/// each kind of store; and so is what is written to it after a sync.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_file_is_written_to_anywhere() {
    let (piece, size) = ("0123456789abcdef".repeat(8 << 10), 128 << 10);
    for ground in Ground::each().await {
        let mut steps = vec![json!(["h-open", "a", "/agent/a", "rwct"])];
        for _ in 0..24 {
            steps.push(json!(["h-write", "a", piece]));
        }
        steps.push(json!(["h-seek", "a", 5]));
        steps.push(json!(["h-write", "a", "early"]));
        steps.push(json!(["h-truncate", "a", 20 * size + 3]));
        steps.push(json!(["h-sync", "a"]));
        steps.push(json!(["h-seek", "a", 2 * size]));
        steps.push(json!(["h-write", "a", "later"]));
        steps.push(json!(["h-close", "a"]));
        ground.run(steps.into()).await;
        let space = ground.space();
        assert_eq!(space.stat("agent/a").await.unwrap().size, 20 * size + 3, "{}", ground.name);
        for (at, wanted) in [
            (0, "01234earlyabcdef"),
            (2 * size - 3, "deflater56789abc"),
            (20 * size - 13, "3456789abcdef012"),
        ] {
            let read = space.read("agent/a", at, 16).await.unwrap().bytes;
            assert_eq!(read, wanted, "{}", ground.name);
        }
    }
}

/// Over a directory, where a large file becomes the store's as it is: however its storing fails, its
/// bytes are stored by the next try or told to be lost, nothing is written to a file that was stored,
/// and nothing is left beside.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_file_survives_a_directory_that_fails() {
    const SIZE: u64 = 3 << 20;
    for nth in 0..8 {
        for fault in [Fault::Before, Fault::After] {
            let Some((ground, folder)) = Ground::in_directory() else { return };
            ground.world.store.plan(Plan::Nth(nth, fault));
            let report = ground
                .report(json!([
                    ["h-open", "a", "/agent/a", "wct"],
                    ["h-truncate", "a", SIZE],
                    ["h-sync", "a"],
                    ["h-write", "a", "changed"],
                    ["h-close", "a"],
                ]))
                .await;
            ground.world.store.plan(Plan::None);
            let End::Reply(reply) = &report.end else { panic!("{nth} {fault:?}: {report:?}") };
            let was_opened = reply.starts_with(r#"[{"ok""#);
            let space = ground.space();
            let listed = space.list("agent", Depth::All, None, 10).await.unwrap();
            assert_eq!(listed.files.is_empty(), !was_opened, "{nth} {fault:?}: {report:?}");
            // What was written last is at its path, or beside it, or told.
            let mut last = 0;
            for file in &listed.files {
                assert_eq!(file.size, SIZE, "{nth} {fault:?}: {report:?}");
                let start = space.read(&file.path, 0, 7).await.unwrap().bytes;
                assert!(start == "changed" || start == "\0\0\0\0\0\0\0", "{start:?}");
                last += usize::from(start == "changed");
            }
            let is_told = !report.unstored.is_empty() || reply.contains("error");
            assert!(last > 0 || is_told, "{nth} {fault:?}: {report:?}");
            nothing_is_left(&folder).await;
        }
    }
}

/// A turn that traps leaves nothing of a large file that it had not closed, in a directory as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trap_leaves_nothing_of_a_large_file() {
    let Some((ground, folder)) = Ground::in_directory() else { return };
    let report = ground
        .report(json!([
            ["h-open", "a", "/agent/a", "wct"],
            ["h-truncate", "a", 3 << 20],
            ["h-write", "a", "never closed"],
            ["trap"],
        ]))
        .await;
    assert!(matches!(report.end, End::Trapped(_)), "{:?}", report.end);
    assert!(ground.space().list("agent", Depth::All, None, 10).await.unwrap().files.is_empty());
    nothing_is_left(&folder).await;
}

/// Waits until a directory has no file that is being written: a thread that no turn waits for
/// removes it.
async fn nothing_is_left(folder: &tempfile::TempDir) {
    let temporary = folder.path().join(".bailiwick-tmp");
    while temporary.read_dir().unwrap().count() > 0 {
        tokio::task::yield_now().await;
    }
}
