//! Reading ahead, over a store whose reads take their time.

use bailiwick::limits::{
    Limits, READ_AHEAD_BLOCK_BYTES_MAX, READ_AHEAD_BYTES_MAX, READ_AHEAD_IDLE_MS_MAX,
    READ_FIRST_BYTES, SPARE_SHARE,
};
use bailiwick::space::{ErrorCode, Reader, Space};
use bailiwick::store::Precondition;
use bytes::Bytes;
use std::time::Duration;

use super::World;
use crate::conformance::content;
use crate::faulty::{Fault, Plan};
use crate::slow::{Pace, Slow};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

async fn put(space: &Space, bytes: &Bytes) {
    let mut writer = space.open_writer("session/a", Precondition::Always).await.unwrap();
    for at in (0..bytes.len()).step_by(4 * MIB) {
        writer.write(bytes.slice(at..bytes.len().min(at + 4 * MIB))).await.unwrap();
    }
    writer.finish().await.unwrap();
}

/// A reader of a file of so many bytes, opened, and nothing read of it.
async fn reader_of(size: usize) -> (World, Slow, Reader, Bytes) {
    let (world, slow) = World::slow(Limits::default());
    let (space, bytes) = (world.space(), content(1, size));
    put(&space, &bytes).await;
    let reader = space.open_reader("session/a").await.unwrap();
    slow.forget();
    (world, slow, reader, bytes)
}

/// Reads on until what is read ahead never comes.
async fn read_ahead_for_good(slow: &Slow, reader: &mut Reader) {
    for _ in 0..8 {
        reader.read(MIB as u32).await.unwrap();
    }
    slow.go(Pace::Never);
    while slow.reads().flying == 0 {
        reader.read(MIB as u32).await.unwrap();
    }
}

/// Lets tasks that were ended end.
async fn settle() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

/// Opening a small file, an empty one among them, and reading all of it is one request.
#[tokio::test(start_paused = true)]
async fn a_small_file_is_opened_and_read_in_one_request() {
    let (world, slow) = World::slow(Limits::default());
    let space = world.space();
    for size in [0, 1, READ_FIRST_BYTES as usize] {
        let bytes = content(1, size);
        put(&space, &bytes).await;
        let whole = space.stat("session/a").await.unwrap();
        world.store.plan(Plan::None);
        let mut reader = space.open_reader("session/a").await.unwrap();
        assert_eq!(*reader.file(), whole);
        assert!(reader.read(READ_FIRST_BYTES).await.unwrap() == bytes);
        assert!(reader.read(1).await.unwrap().is_empty());
        reader.seek(u64::MAX);
        assert!(reader.read(1).await.unwrap().is_empty());
        assert_eq!(world.store.calls(), 1, "{size} bytes");
        assert_eq!(slow.reads().ranges.last(), Some(&(0..u64::from(READ_FIRST_BYTES))));
    }
    let missing = space.open_reader("session/b").await.unwrap_err();
    assert_eq!(missing.code, ErrorCode::NotFound);
}

/// Whatever comes first, a reader that goes on gets the bytes in order; ranges are fetched at
/// once, within bounds, and none twice.
#[tokio::test(start_paused = true)]
async fn bytes_come_in_order_whichever_range_comes_first() {
    for length in [100 * KIB, MIB, 3 * MIB + 7, 4 * MIB] {
        let (_world, slow, mut reader, bytes) = reader_of(80 * MIB + 3).await;
        let mut at = 0;
        loop {
            let read = reader.read(u32::try_from(length).unwrap()).await.unwrap();
            assert!(read == bytes.slice(at..bytes.len().min(at + length)), "from {at}");
            at += read.len();
            if read.is_empty() {
                break;
            }
        }
        assert_eq!(at, bytes.len());
        let reads = slow.reads();
        let asked: u64 = reads.ranges.iter().map(|range| range.end - range.start).sum();
        assert_eq!(asked, (bytes.len() - READ_FIRST_BYTES as usize) as u64, "none twice");
        let limits = Limits::default();
        assert!((4..=1 + limits.turn_operations_max / SPARE_SHARE).contains(&reads.flying_most));
        assert!(reads.flying_bytes_most <= READ_AHEAD_BYTES_MAX + 4 * MIB as u64);
        assert!(
            reads
                .ranges
                .iter()
                .all(|range| range.end - range.start
                    <= READ_AHEAD_BLOCK_BYTES_MAX.max(length as u64))
        );
    }
}

/// A guest that reads here and there gets what it asks for, and nothing is read ahead.
#[tokio::test(start_paused = true)]
async fn random_reads_ask_for_nothing_else() {
    let (_world, slow, mut reader, bytes) = reader_of(8 * MIB).await;
    let mut expected = Vec::new();
    for step in 1..50_usize {
        let at = step * 7_777_777 % (7 * MIB) + READ_FIRST_BYTES as usize;
        reader.seek(at as u64);
        assert!(reader.read(4096).await.unwrap() == bytes.slice(at..at + 4096));
        expected.push(at as u64..at as u64 + 4096);
    }
    assert_eq!(slow.reads().ranges, expected);
    assert_eq!(slow.reads().flying_most, 1);
}

/// Where a reader goes on elsewhere, is dropped, or its space is revoked, nothing that it has
/// not asked for stays under way.
#[tokio::test(start_paused = true)]
async fn nothing_is_under_way_for_a_reader_that_stopped() {
    for end in ["seek", "drop", "revoke", "idle"] {
        let (world, slow) = World::slow(Limits::default());
        let (space, bytes) = (world.space(), content(1, 64 * MIB));
        put(&space, &bytes).await;
        let mut reader = space.open_reader("session/a").await.unwrap();
        read_ahead_for_good(&slow, &mut reader).await;
        let before = slow.reads().ranges.len();
        match end {
            "seek" => reader.seek(50 * MIB as u64),
            "drop" => drop(reader),
            "revoke" => space.revoke(),
            _ => tokio::time::sleep(Duration::from_millis(2 * READ_AHEAD_IDLE_MS_MAX)).await,
        }
        settle().await;
        assert_eq!(slow.reads().flying, 0, "{end}");
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(slow.reads().ranges.len(), before, "{end}");
        // All room is there again.
        world.storage.settled(Duration::from_millis(1)).await;
        all_room_is_free(&world).await;
    }
}

/// A turn with all the room of the host gets it at once.
async fn all_room_is_free(world: &World) {
    let started = tokio::time::Instant::now();
    world.storage.settled(Duration::from_secs(60)).await;
    assert!(started.elapsed() < Duration::from_secs(1), "room is still taken");
}

/// A range that fails, fails the read that it belongs to, and no other; the same read works once
/// the store does.
#[tokio::test(start_paused = true)]
async fn a_failure_is_told_by_the_read_it_belongs_to() {
    for nth in 1..8 {
        let (world, _slow, mut reader, bytes) = reader_of(16 * MIB).await;
        world.store.plan(Plan::Nth(nth, Fault::Before));
        let (mut at, mut failures) = (0, 0);
        while at < bytes.len() {
            match reader.read(MIB as u32).await {
                Ok(read) => {
                    assert!(read == bytes.slice(at..at + read.len()), "from {at}");
                    at += read.len();
                }
                Err(error) => {
                    assert_eq!(error.code, ErrorCode::Unavailable);
                    failures += 1;
                }
            }
        }
        assert_eq!(failures, 1, "call {nth}");
    }
}

/// A file that is replaced while it is read ahead is a conflict from where its bytes are gone.
#[tokio::test(start_paused = true)]
async fn a_file_replaced_while_it_is_read_ahead_is_a_conflict() {
    let (world, _slow, mut reader, bytes) = reader_of(64 * MIB).await;
    let mut at = 0;
    for _ in 0..6 {
        at += reader.read(MIB as u32).await.unwrap().len();
    }
    put(&world.space(), &content(2, 64 * MIB)).await;
    let error = loop {
        match reader.read(MIB as u32).await {
            Ok(read) => {
                assert!(read == bytes.slice(at..at + read.len()), "another file's bytes at {at}");
                at += read.len();
            }
            Err(error) => break error,
        }
    };
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(at < bytes.len());
    assert_eq!(reader.read(1).await.unwrap_err().code, ErrorCode::Conflict);
}

/// However many readers are left open, what they read ahead stays within its share, others find
/// room at once, and soon all of it is free again.
#[tokio::test(start_paused = true)]
async fn readers_left_open_starve_nobody() {
    let limits = Limits { host_buffer_bytes_max: 32 << 20, ..Limits::default() };
    let (world, slow) = World::slow(limits.clone());
    put(&world.space(), &content(1, 32 * MIB)).await;
    let mut left_open = Vec::new();
    for _ in 0..100 {
        let mut reader = world.space().open_reader("session/a").await.unwrap();
        for _ in 0..4 {
            reader.read(64 * KIB as u32).await.unwrap();
        }
        left_open.push(reader);
    }
    let share = (limits.host_buffer_bytes_max / SPARE_SHARE) as u64;
    assert!(slow.reads().flying_bytes_most <= share + 64 * KIB as u64);
    let started = tokio::time::Instant::now();
    world.space().write("session/b", content(1, 16 * MIB), Precondition::Always).await.unwrap();
    assert!(started.elapsed() < Duration::from_millis(1), "a write waited for idle readers");
    tokio::time::sleep(Duration::from_millis(2 * READ_AHEAD_IDLE_MS_MAX)).await;
    all_room_is_free(&world).await;
    for reader in &mut left_open {
        assert_eq!(reader.read(64 * KIB as u32).await.unwrap().len(), 64 * KIB);
    }
}

/// What a turn asks for goes before what it reads ahead.
#[tokio::test(start_paused = true)]
async fn what_is_read_ahead_gives_way_to_what_is_asked_for() {
    let limits = Limits { turn_buffer_bytes_max: 17 << 20, ..Limits::default() };
    let (world, slow) = World::slow(limits);
    let space = world.space();
    put(&space, &content(1, 32 * MIB)).await;
    let mut reader = space.open_reader("session/a").await.unwrap();
    read_ahead_for_good(&slow, &mut reader).await;
    let started = tokio::time::Instant::now();
    space.write("session/b", content(1, 16 * MIB), Precondition::Always).await.unwrap();
    assert!(started.elapsed() < Duration::from_millis(1), "waited {:?}", started.elapsed());
    slow.go(Pace::Uneven);
    assert_eq!(reader.read(MIB as u32).await.unwrap().len(), MIB);
}

/// A read whose caller goes away takes nothing from the next one.
#[tokio::test(start_paused = true)]
async fn a_read_that_was_dropped_is_made_again() {
    let (_world, _slow, mut reader, bytes) = reader_of(32 * MIB).await;
    let mut at = 0;
    while at < bytes.len() {
        let dropped = tokio::time::timeout(Duration::from_millis(5), reader.read(MIB as u32)).await;
        let read = match dropped {
            Ok(read) => read.unwrap(),
            Err(_) => reader.read(MIB as u32).await.unwrap(),
        };
        assert!(read == bytes.slice(at..at + read.len()), "from {at}");
        at += read.len();
    }
}
