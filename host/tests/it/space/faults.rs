use std::collections::BTreeMap;
use std::time::Duration;

use bailiwick::limits::Limits;
use bailiwick::space::{Error, ErrorCode, Occurrence, Position, Search, Space, Writer};
use bailiwick::store::{Depth, Precondition};

use super::{World, put, visible};
use crate::faulty::{Fault, POISON, Plan};

const VERBS: usize = 14;

/// Runs one verb of all that there are; `Ok` means acknowledged.
async fn run(space: &Space, verb: usize) -> Result<(), Error> {
    let always = || Precondition::Always;
    match verb {
        0 => space.read("agent/a", 0, 9).await.map(drop),
        1 => space.write("agent/a", "new".into(), always()).await.map(drop),
        2 => space.delete("agent/a", always()).await,
        3 => space.stat("agent/a").await.map(drop),
        4 => space.list("agent", Depth::All, None, 9).await.map(drop),
        5 => space.copy("agent/a", "workspace/b", always()).await.map(drop),
        6 => space.relocate("agent/a", "workspace/b", always()).await.map(drop),
        7 => space.read_text("agent/a", Position::Line(2), 9).await.map(drop),
        8 => space.replace("agent/a", "old", "new", Occurrence::Only, always()).await.map(drop),
        9 => space.append("agent/a", "+new").await.map(drop),
        10 => {
            let search =
                Search { folder: "agent", glob: None, pattern: "o", after: None, limit: 9 };
            space.search(search).await.map(drop)
        }
        11 => space.spill("big.txt", vec![b'x'; 40_000].into()).await.map(drop),
        12 => space.open_reader("agent/a").await?.read(9).await.map(drop),
        _ => {
            let mut writer = space.open_writer("agent/a", always()).await?;
            writer.write("new".into()).await?;
            writer.finish().await.map(drop)
        }
    }
}

async fn contents(world: &World) -> BTreeMap<String, String> {
    let space = world.space();
    let mut contents = BTreeMap::new();
    for file in space.list("", Depth::All, None, 100).await.unwrap().files {
        contents.insert(file.path.clone(), super::cat(&space, &file.path).await);
    }
    contents
}

async fn world_with_a_file() -> World {
    let world = World::new();
    put(&world.space(), "agent/a", "old").await;
    world
}

/// Whatever fails below, no answer holds a key, bucket, endpoint, host path or id.
#[tokio::test]
async fn no_answer_holds_what_a_failing_store_says() {
    for fault in [Fault::Before, Fault::After] {
        for verb in 0..VERBS {
            let world = world_with_a_file().await;
            world.store.plan(Plan::Every(fault));
            let error = run(&world.space(), verb).await.expect_err("every call fails");
            assert_eq!(error.code, ErrorCode::Unavailable, "verb {verb}");
            let visible = visible(&error);
            let ids = format!("{:?}", world.coordinates);
            let ids =
                ids.split(|c: char| !c.is_ascii_hexdigit() && c != '-').filter(|id| id.len() == 36);
            for secret in POISON.into_iter().chain(ids) {
                assert!(!visible.contains(secret), "verb {verb} says {secret}: {visible}");
            }
            assert!(format!("{:#}", error.source_for_log().unwrap()).contains(POISON[0]));
        }
    }
}

/// Whichever store call of a verb fails, before or after it took effect: what is there is whole,
/// old or new, and the verb that was not acknowledged says if something may have changed.
#[tokio::test]
async fn a_fault_at_any_call_leaves_files_whole() {
    for verb in 0..VERBS {
        let expected = {
            let world = world_with_a_file().await;
            run(&world.space(), verb).await.unwrap();
            contents(&world).await
        };
        for fault in [Fault::Before, Fault::After] {
            for nth in 0.. {
                let world = world_with_a_file().await;
                world.store.plan(Plan::Nth(nth, fault));
                let outcome = run(&world.space(), verb).await;
                let reached = world.store.calls() > nth;
                world.store.plan(Plan::None);
                let found = contents(&world).await;
                check(verb, &outcome, &found, &expected);
                if !reached {
                    outcome.unwrap();
                    break;
                }
            }
        }
    }
}

fn check(
    verb: usize,
    outcome: &Result<(), Error>,
    found: &BTreeMap<String, String>,
    expected: &BTreeMap<String, String>,
) {
    let before = BTreeMap::from([("agent/a".to_owned(), "old".to_owned())]);
    match outcome {
        Ok(()) => assert_eq!(found, expected, "verb {verb}: what is acknowledged is there"),
        Err(error) => {
            // A move that failed half-way has left the copy as well.
            let whole =
                |text: &String| before.values().chain(expected.values()).any(|whole| whole == text);
            assert!(found.values().all(whole), "verb {verb}: {found:?}");
            assert!(verb == 2 || !found.is_empty(), "verb {verb} lost the only copy");
            let admits = error.message.contains("may have taken effect");
            assert!(
                *found == before || admits || verb == 6,
                "verb {verb} denies its change: {error}"
            );
        }
    }
}

/// A store that never answers is given up after its limit, and the answer says what is unknown.
#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_is_given_up() {
    for verb in 0..VERBS {
        let world = world_with_a_file().await;
        world.store.plan(Plan::Every(Fault::Hang));
        let started = tokio::time::Instant::now();
        let error = run(&world.space(), verb).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Unavailable, "verb {verb}");
        let limits = Limits::default();
        assert!(started.elapsed().as_millis() <= u128::from(limits.transfer_ms_max) + 1_000);
        assert_eq!(
            error.message.contains("may have"),
            [1, 5, 11].contains(&verb),
            "verb {verb}: {error}"
        );
    }
}

/// A host that is short of room says `busy`, and serves again once there is some.
#[tokio::test(start_paused = true)]
async fn a_host_without_room_is_busy_for_a_while() {
    let limits = Limits { host_operations_max: 1, ..Limits::default() };
    let world = World::with(limits);
    put(&world.space(), "agent/a", "old").await;
    world.store.plan(Plan::Nth(0, Fault::Hang));
    let space = world.space();
    let stuck = tokio::spawn(async move { space.stat("agent/a").await });
    tokio::task::yield_now().await;
    let error = world.space().stat("agent/a").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Busy);
    stuck.abort();
    stuck.await.unwrap_err();
    world.space().stat("agent/a").await.unwrap();
}

/// A caller who waits behind a change of the same file is told that it is about the file.
#[tokio::test(start_paused = true)]
async fn a_file_that_others_change_is_busy() {
    let world = world_with_a_file().await;
    world.store.plan(Plan::Nth(0, Fault::Hang));
    let space = world.space();
    let stuck = tokio::spawn(async move { space.append("agent/a", "+first").await });
    tokio::task::yield_now().await;
    let error = world.space().append("agent/a", "+second").await.unwrap_err();
    assert_eq!((error.code, error.reason), (ErrorCode::Busy, "contended"));
    stuck.await.unwrap().unwrap_err();
    world.space().append("agent/a", "+third").await.unwrap();
}

/// What a store still holds of writers that were dropped counts until it is gone: their turn
/// cannot make the host hold more than its bound.
#[tokio::test(start_paused = true)]
async fn dropped_writers_keep_their_room_until_nothing_is_left() {
    let world = World::with(Limits { turn_buffer_bytes_max: 32 << 20, ..Limits::default() });
    let space = world.space();
    for writer in ["a", "b"] {
        let mut writer = open_writer(&space, writer).await;
        for _ in 0..4 {
            writer.write(vec![0; 4 << 20].into()).await.unwrap();
        }
        world.store.plan(Plan::Every(Fault::Hang));
        drop(writer);
        tokio::task::yield_now().await;
        world.store.plan(Plan::None);
    }
    let mut third = open_writer(&space, "c").await;
    let error = third.write(vec![0; 1].into()).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Busy, "two uploads are still being given up: {error}");
    let given_up = Duration::from_millis(Limits::default().transfer_ms_max);
    tokio::time::sleep(given_up).await;
    open_writer(&space, "d").await.write(vec![0; 1].into()).await.unwrap();
}

/// Writers that together need far more room than there is are served one after the other: none
/// holds what it has got, and waits for what another one holds.
#[tokio::test(start_paused = true)]
async fn writers_of_large_files_do_not_wait_for_one_another_for_ever() {
    let world = World::with(Limits { host_buffer_bytes_max: 64 << 20, ..Limits::default() });
    let writers: Vec<_> = (0..40)
        .map(|number| {
            let space = world.space();
            tokio::spawn(async move {
                let mut writer = open_writer(&space, &number.to_string()).await;
                for _ in 0..12 {
                    writer.write(vec![0; 1 << 20].into()).await?;
                    tokio::task::yield_now().await;
                }
                writer.finish().await
            })
        })
        .collect();
    for writer in writers {
        assert_eq!(writer.await.unwrap().unwrap().size, 12 << 20);
    }
}

async fn open_writer(space: &Space, name: &str) -> Writer {
    space.open_writer(&format!("session/{name}"), Precondition::Always).await.unwrap()
}
