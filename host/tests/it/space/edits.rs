use std::sync::Arc;

use bailiwick::limits::{EDIT_BYTES_MAX, Limits};
use bailiwick::space::{ErrorCode, Occurrence};
use bailiwick::store::{Precondition, Revision};

use super::{World, cat, put};

/// Twenty appenders of a hundred lines each, on two hosts: all two thousand lines are there,
/// each appender's in its order.
#[tokio::test(flavor = "multi_thread")]
async fn appends_never_lose_one_another() {
    let world = World::new();
    let hosts = [Arc::new(world.another_host()), Arc::new(world)];
    let appenders: Vec<_> = (0..20)
        .map(|appender| {
            let space = hosts[appender % 2].space();
            tokio::spawn(async move {
                for line in 0..100 {
                    space.append("agent/log", &format!("{appender} {line}\n")).await.unwrap();
                }
            })
        })
        .collect();
    for appender in appenders {
        appender.await.unwrap();
    }
    let log = cat(&hosts[0].space(), "agent/log").await;
    assert_eq!(log.lines().count(), 2_000);
    for appender in 0..20 {
        let prefix = format!("{appender} ");
        let lines = log.lines().filter_map(|line| line.strip_prefix(&prefix));
        assert!(lines.eq((0..100).map(|line| line.to_string()).collect::<Vec<_>>()));
    }
}

/// `only` replaces what stands there once; the refusal says how often it does.
#[tokio::test]
async fn replace_wants_the_text_as_often_as_it_says() {
    let world = World::new();
    let space = world.space();
    put(&space, "session/a", "one two two").await;
    let replace =
        |old, occurrence| space.replace("session/a", old, "3", occurrence, Precondition::Always);
    let error = replace("two", Occurrence::Only).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::NoMatch);
    assert!(error.message.contains("2 times"), "{error}");
    assert!(replace("four", Occurrence::Every).await.unwrap_err().message.contains("0 times"));
    assert_eq!(replace("", Occurrence::Every).await.unwrap_err().code, ErrorCode::Invalid);
    replace("one", Occurrence::Only).await.unwrap();
    replace("two", Occurrence::Every).await.unwrap();
    assert_eq!(cat(&space, "session/a").await, "3 3 3");
    let gone = space.replace("session/b", "a", "b", Occurrence::Only, Precondition::Always);
    assert_eq!(gone.await.unwrap_err().code, ErrorCode::NotFound);
    let stale = Precondition::IfRevision(Revision("stale".into()));
    let error = space.replace("session/a", "3", "4", Occurrence::Every, stale).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
}

/// A file that is edited stays within its bound, and a short text cannot blow it up.
#[tokio::test]
async fn edits_stay_within_their_bound() {
    let space = World::new().space();
    put(&space, "session/a", &"x".repeat(1 << 20)).await;
    let long = "y".repeat(1 << 20);
    let replace = space.replace("session/a", "x", &long, Occurrence::Every, Precondition::Always);
    assert_eq!(replace.await.unwrap_err().code, ErrorCode::TooLarge);
    let error = space.append("session/a", &"z".repeat(EDIT_BYTES_MAX)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::TooLarge);
    assert_eq!(space.stat("session/a").await.unwrap().size, 1 << 20);
    let mut writer = space.open_writer("session/big", Precondition::Always).await.unwrap();
    for _ in 0..5 {
        writer.write(vec![b'a'; 4 << 20].into()).await.unwrap();
    }
    writer.finish().await.unwrap();
    assert_eq!(space.append("session/big", "b").await.unwrap_err().code, ErrorCode::TooLarge);
}

/// A file of any size up to the bound is edited whole, also where the turn has less room than
/// the edit would take.
#[tokio::test]
async fn an_edit_keeps_the_whole_file() {
    let limits = Limits { turn_buffer_bytes_max: 1 << 20, ..Limits::default() };
    let world = World::with(limits);
    let space = world.space();
    for size in [0, 1, (64 << 10) - 1, 64 << 10, (64 << 10) + 1, 3 << 20] {
        let text = "é".repeat(size / 2) + &"x".repeat(size % 2);
        world
            .another_host()
            .space()
            .write("session/a", text.clone().into(), Precondition::Always)
            .await
            .unwrap();
        space.append("session/a", "end").await.unwrap();
        let chunk = space.read("session/a", 0, 4 << 20).await.unwrap();
        assert_eq!(chunk.bytes, text + "end");
    }
}
