//! Files of skills that are kept in memory.

use std::time::Duration;

use bailiwick::limits::{BLOB_KEPT_MS_MAX, Limits};
use bailiwick::scope::Deletion;
use bailiwick::space::ErrorCode;

use super::{World, cat};

/// A skill's file that was slow to get is asked for once, by whatever verb and turn it is read,
/// and asked for again after its time.
#[tokio::test(start_paused = true)]
async fn a_slow_file_of_a_skill_is_asked_for_once() {
    let (world, slow) = World::slow(Limits::default());
    for _ in 0..3 {
        let space = world.with_skill().await;
        assert_eq!(cat(&space, "skill/pdf/guide.md").await, "read me");
        let chunk = space.read("skill/pdf/guide.md", 5, 99).await.unwrap();
        assert_eq!((&chunk.bytes[..], chunk.size), (&b"me"[..], 7));
        assert!(space.read("skill/pdf/guide.md", u64::MAX, 9).await.unwrap().bytes.is_empty());
        let mut reader = space.open_reader("skill/pdf/guide.md").await.unwrap();
        assert_eq!(reader.read(4).await.unwrap(), "read");
        assert_eq!(reader.read(99).await.unwrap(), " me");
    }
    assert_eq!(slow.reads().ranges.len(), 1);
    tokio::time::sleep(Duration::from_millis(BLOB_KEPT_MS_MAX)).await;
    assert_eq!(cat(&world.with_skill().await, "skill/pdf/guide.md").await, "read me");
    assert_eq!(slow.reads().ranges.len(), 2);
}

/// Where it is quick to get, nothing is kept.
#[tokio::test(start_paused = true)]
async fn a_quick_file_of_a_skill_is_asked_for_again() {
    let world = World::new();
    let space = world.with_skill().await;
    let before = world.store.calls();
    for _ in 0..3 {
        assert_eq!(cat(&space, "skill/pdf/guide.md").await, "read me");
    }
    assert_eq!(world.store.calls(), before + 3);
}

/// What was deleted is not kept, and who was not given a skill reads nothing that is kept of it.
#[tokio::test(start_paused = true)]
async fn a_deleted_file_of_a_skill_is_not_kept() {
    let (world, _slow) = World::slow(Limits::default());
    let space = world.with_skill().await;
    assert_eq!(cat(&space, "skill/pdf/guide.md").await, "read me");
    let stranger = world.space().read("skill/pdf/guide.md", 0, 9).await.unwrap_err();
    assert_eq!(stranger.code, ErrorCode::NotFound);
    world.storage.empty(Deletion::Workspace(world.coordinates.workspace)).await.unwrap();
    let gone = space.read("skill/pdf/guide.md", 0, 9).await.unwrap_err();
    assert_eq!(gone.code, ErrorCode::NotFound);
}
