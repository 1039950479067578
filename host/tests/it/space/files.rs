use bailiwick::limits::{Limits, READ_BYTES_MAX, READ_FIRST_BYTES, WRITE_BYTES_MAX};
use bailiwick::space::ErrorCode;
use bailiwick::store::{Precondition, Revision};

use super::{World, cat, put};

/// What a verb returned can be handed to the next: one path, one revision.
#[tokio::test]
async fn a_file_is_seen_the_same_by_every_verb() {
    let space = World::new().space();
    let written = space.write("agent/a b.csv", "1,2".into(), Precondition::IfAbsent).await.unwrap();
    assert_eq!((written.path.as_str(), written.size), ("agent/a b.csv", 3));
    assert_eq!(written.media_type, "text/csv");
    assert_eq!(space.stat("agent/a b.csv").await.unwrap(), written);
    assert_eq!(space.read("agent/a b.csv", 1, 9).await.unwrap().revision, written.revision);
    assert_eq!(*space.open_reader("agent/a b.csv").await.unwrap().file(), written);
    let again = space.write("agent/a b.csv", "1".into(), Precondition::IfAbsent).await;
    assert_eq!(again.unwrap_err().code, ErrorCode::Conflict);
    let kept = Precondition::IfRevision(written.revision);
    space.delete("agent/a b.csv", kept).await.unwrap();
    let gone = space.delete("agent/a b.csv", Precondition::Always).await.unwrap_err();
    assert_eq!(gone.code, ErrorCode::NotFound);
}

/// A number from a guest is an attack: none overflows, none allocates what is not there.
#[tokio::test]
async fn huge_numbers_read_nothing_or_are_refused() {
    let space = World::new().space();
    put(&space, "session/a", "abc").await;
    for offset in [3, 4, u64::MAX - 1, u64::MAX] {
        let chunk = space.read("session/a", offset, READ_BYTES_MAX).await.unwrap();
        assert_eq!((chunk.bytes.len(), chunk.size), (0, 3));
    }
    for length in [READ_BYTES_MAX + 1, u32::MAX] {
        let error = space.read("session/a", 0, length).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::TooLarge);
    }
    let mut reader = space.open_reader("session/a").await.unwrap();
    reader.seek(u64::MAX);
    assert!(reader.read(READ_BYTES_MAX).await.unwrap().is_empty());
    let huge = vec![0; WRITE_BYTES_MAX + 1].into();
    let error = space.write("session/b", huge, Precondition::Always).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::TooLarge);
}

/// A reader is pinned to what it was opened at.
#[tokio::test]
async fn a_reader_never_mixes_two_contents() {
    let space = World::new().space();
    let times = READ_FIRST_BYTES as usize;
    put(&space, "session/a", &"first".repeat(times)).await;
    let mut reader = space.open_reader("session/a").await.unwrap();
    assert_eq!(reader.read(2).await.unwrap(), "fi");
    put(&space, "session/a", &"other".repeat(times)).await;
    assert_eq!(reader.read(2).await.unwrap(), "rs", "what is at hand is of the first");
    assert_eq!(reader.read(READ_FIRST_BYTES).await.unwrap_err().code, ErrorCode::Conflict);
    space.delete("session/a", Precondition::Always).await.unwrap();
    assert_eq!(reader.read(READ_FIRST_BYTES).await.unwrap_err().code, ErrorCode::Conflict);
}

/// Nothing is at a writer's path until it is finished; after an error nothing ever will be.
#[tokio::test]
async fn a_poisoned_writer_stays_closed() {
    let space = World::new().space();
    put(&space, "session/a", "old").await;
    let mut writer = space.open_writer("session/a", Precondition::Always).await.unwrap();
    writer.write("new".into()).await.unwrap();
    assert_eq!(cat(&space, "session/a").await, "old");
    let error = writer.write(vec![0; 5 << 20].into()).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::TooLarge);
    assert_eq!(writer.write("x".into()).await.unwrap_err().code, ErrorCode::Closed);
    assert_eq!(writer.finish().await.unwrap_err().code, ErrorCode::Closed);
    writer.abort().await;
    assert_eq!(cat(&space, "session/a").await, "old");
    let mut writer = space.open_writer("session/a", Precondition::IfAbsent).await.unwrap();
    writer.write("new".into()).await.unwrap();
    assert_eq!(writer.finish().await.unwrap_err().code, ErrorCode::Conflict);
    assert_eq!(cat(&space, "session/a").await, "old");
}

/// Readers and writers are bounded, and closing one makes room.
#[tokio::test]
async fn open_handles_are_bounded() {
    let space = World::new().space();
    put(&space, "session/a", "x").await;
    let limits = Limits::default();
    let mut readers = Vec::new();
    for _ in 0..limits.turn_readers_max {
        readers.push(space.open_reader("session/a").await.unwrap());
    }
    assert_eq!(space.open_reader("session/a").await.unwrap_err().code, ErrorCode::TooLarge);
    readers.pop();
    space.open_reader("session/a").await.unwrap();
    let mut writers = Vec::new();
    for _ in 0..limits.turn_writers_max {
        writers.push(space.open_writer("session/a", Precondition::Always).await.unwrap());
    }
    let error = space.open_writer("session/a", Precondition::Always).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::TooLarge);
}

/// A move is a copy of what was there and its deletion; onto itself it would be a loss.
#[tokio::test]
async fn a_move_never_loses_the_file() {
    let space = World::new().space();
    put(&space, "session/a", "x").await;
    let onto_itself = space.relocate("session/a", "session/a", Precondition::Always).await;
    assert_eq!(onto_itself.unwrap_err().code, ErrorCode::Invalid);
    put(&space, "session/b", "kept").await;
    let taken = space.relocate("session/a", "session/b", Precondition::IfAbsent).await;
    assert_eq!(taken.unwrap_err().code, ErrorCode::Conflict);
    assert_eq!(cat(&space, "session/b").await, "kept");
    space.relocate("session/a", "session/c", Precondition::IfAbsent).await.unwrap();
    assert_eq!(cat(&space, "session/c").await, "x");
    assert_eq!(space.stat("session/a").await.unwrap_err().code, ErrorCode::NotFound);
    let missing = space.relocate("session/a", "session/d", Precondition::Always).await.unwrap_err();
    assert!(missing.message.contains("session/a"), "{missing}");
}

/// A source that is changed while it is moved stays, and so does its copy.
#[tokio::test]
async fn a_source_that_changes_meanwhile_stays() {
    let world = World::new();
    let (space, other) = (world.space(), world.another_host().space());
    put(&space, "session/a", "old").await;
    // The third call, after the look at the source and the copy, is the deletion.
    world.store.meanwhile(2, async move { put(&other, "session/a", "newer").await });
    let moved = space.relocate("session/a", "session/b", Precondition::IfAbsent).await;
    let error = moved.unwrap_err();
    assert_eq!((error.code, error.reason), (ErrorCode::Conflict, "source-changed"));
    assert_eq!(cat(&space, "session/a").await, "newer");
    assert_eq!(cat(&space, "session/b").await, "old");
}

/// What is too large to show is kept under a name of its content: a retry writes the same file.
#[tokio::test]
async fn a_spilled_result_names_its_file() {
    let space = World::new().space();
    let small = space.spill("x.txt", "short".into()).await.unwrap();
    assert_eq!((small.text.as_str(), small.path), ("short", None));
    let lines: String = (0..10_000).map(|line| format!("line {line}\n")).collect();
    let spilled = space.spill("out.log", lines.clone().into()).await.unwrap();
    let path = spilled.path.unwrap();
    assert!(path.starts_with("session/spill/out-") && path.ends_with(".log"), "{path}");
    assert_eq!(cat(&space, &path).await, lines);
    assert!(spilled.text.starts_with("line 0\nline 1\n"));
    assert!(spilled.text.contains("line 9999\n") && spilled.text.contains(&path));
    assert!(spilled.text.len() <= Limits::default().spill_bytes_min);
    let cut = |line: &str| !line.starts_with("line ") || lines.contains(&format!("{line}\n"));
    assert!(spilled.text.lines().all(cut), "whole lines alone");
    assert_eq!(space.spill("out.log", lines.into()).await.unwrap().path, Some(path));
    let binary = space.spill("a.bin", vec![0xff; 10].into()).await.unwrap();
    assert!(binary.text.contains("not text") && binary.path.is_some());
    for name in ["", "..", "a/b", ".bailiwick-x", "a\0b"] {
        let error = space.spill(name, vec![0xff].into()).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Invalid, "{name:?}");
    }
}

/// A skill reads like any other folder, and never changes.
#[tokio::test]
async fn a_bound_skill_is_read_by_its_table() {
    let world = World::new();
    let space = world.with_skill().await;
    assert_eq!(cat(&space, "skill/pdf/guide.md").await, "read me");
    let stat = space.stat("skill/pdf/guide.md").await.unwrap();
    assert_eq!((stat.size, stat.revision.0.len()), (7, 64));
    let mut reader = space.open_reader("skill/pdf/guide.md").await.unwrap();
    assert_eq!(reader.read(99).await.unwrap(), "read me");
    space.copy("skill/pdf/guide.md", "session/guide.md", Precondition::IfAbsent).await.unwrap();
    assert_eq!(cat(&space, "session/guide.md").await, "read me");
    let stale = Precondition::IfRevision(Revision("x".into()));
    let denied = space.write("skill/pdf/guide.md", "x".into(), stale).await.unwrap_err();
    assert_eq!(denied.code, ErrorCode::Denied);
}
