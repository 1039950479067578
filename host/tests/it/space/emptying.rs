//! Emptying what was deleted: all of it, nothing else, and what that proves.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bailiwick::clock::Clock;
use bailiwick::limits::Limits;
use bailiwick::scope::{Deletion, Sha256};
use bailiwick::space::{Emptied, Emptying, ErrorCode, Ledger, Proof, Unrecorded, page_digest};
use bailiwick::store::{Layer, ObjectStore, Precondition};
use sha2::Digest as _;

use super::{World, coordinates, put};
use crate::faulty::{Fault, Plan};

/// What survives a crash.
#[derive(Clone, Debug, Default)]
struct Book(Arc<Mutex<Emptied>>);

#[async_trait]
impl Ledger for Book {
    async fn record(&mut self, emptied: &Emptied) -> anyhow::Result<()> {
        *self.0.lock().unwrap() = emptied.clone();
        Ok(())
    }
}

/// Keeps nothing, and says so.
#[derive(Debug)]
struct Torn;

#[async_trait]
impl Ledger for Torn {
    async fn record(&mut self, _: &Emptied) -> anyhow::Result<()> {
        anyhow::bail!("torn")
    }
}

/// A clock that stands until it is moved.
#[derive(Debug)]
struct Hands(AtomicU64);

impl Clock for Hands {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

const START_MS: u64 = 1_700_000_000_000;

fn session_of(world: &World) -> Deletion {
    let of = world.coordinates;
    Deletion::Session(of.workspace, of.agent, of.session.unwrap())
}

/// Everything that is left of a deletion, in every layer.
async fn left(world: &World, deletion: Deletion) -> usize {
    let mut left = 0;
    for prefix in deletion.prefixes() {
        for layer in Layer::ALL {
            left += world.store.remains(&prefix, layer, None, 1000).await.unwrap().left.len();
        }
    }
    left
}

/// A session with files, earlier versions, marks of deletions and an upload whose host is gone.
async fn lived_in(clock: Arc<dyn Clock>) -> World {
    let world = World::versioned(clock);
    let space = world.space();
    for name in ["session/a", "session/b/c", "session/a", "agent/kept", "workspace/kept"] {
        put(&space, name, name).await;
    }
    space.delete("session/b/c", Precondition::Always).await.unwrap();
    let neighbour = World { coordinates: coordinates(2), ..world.another_host() };
    put(&neighbour.space(), "session/kept", "kept").await;
    let prefix = &session_of(&world).prefixes()[0];
    let key = prefix.key(format!("{}large", prefix.as_str())).unwrap();
    std::mem::forget(world.store.upload(&key, Precondition::Always).await.unwrap());
    world
}

/// What a listing does not show goes as well, and is counted.
#[tokio::test]
async fn what_no_listing_shows_is_removed() {
    let world = lived_in(Arc::new(super::Ticks::default())).await;
    let deletion = session_of(&world);
    let emptied = world.storage.empty(deletion).await.unwrap();
    let Emptied { files, versions, markers, uploads, bytes, unseen, resumed, .. } = emptied;
    assert_eq!((files, versions, markers, uploads), (1, 2, 1, 1));
    assert_eq!(bytes, 9 + 9 + 11);
    assert!(unseen.is_empty() && resumed == 0, "{unseen:?} {resumed}");
    assert_eq!(left(&world, deletion).await, 0);
}

/// Whichever store call fails, before or after it took effect, and wherever it is gone on from:
/// all of the deletion goes, nothing else does, and what was removed is on the record.
#[tokio::test]
async fn a_crash_at_any_call_of_an_emptying_loses_nothing() {
    for fault in [Fault::Before, Fault::After] {
        for nth in 0.. {
            let world = lived_in(Arc::new(super::Ticks::default())).await;
            let (deletion, mut book) = (session_of(&world), Book::default());
            let begun = |so_far| Emptying { deletion, deleted_ms: 0, so_far };
            world.store.plan(Plan::Nth(nth, fault));
            let first = world.storage.empty_on(begun(Emptied::default()), &mut book).await;
            let was_reached = world.store.calls() > nth;
            world.store.plan(Plan::None);
            let so_far = book.0.lock().unwrap().clone();
            let emptied = match first {
                Ok((emptied, _)) => emptied,
                Err(_) => world.storage.empty_on(begun(so_far), &mut book).await.unwrap().0,
            };
            assert_eq!(left(&world, deletion).await, 0, "call {nth}, {fault:?}");
            let Emptied { files, versions, markers, uploads, .. } = emptied;
            assert_eq!((files, versions, markers, uploads), (1, 2, 1, 1), "call {nth}, {fault:?}");
            let space = world.space();
            for path in ["agent/kept", "workspace/kept"] {
                space.stat(path).await.unwrap();
            }
            let neighbour = World { coordinates: coordinates(2), ..world.another_host() };
            neighbour.space().stat("session/kept").await.unwrap();
            if !was_reached {
                assert!(nth > 5, "few calls were made: {nth}");
                break;
            }
        }
    }
}

/// Nothing is removed that is not on the record first.
#[tokio::test]
async fn a_page_is_recorded_before_it_is_removed() {
    let world = lived_in(Arc::new(super::Ticks::default())).await;
    let deletion = session_of(&world);
    let before = left(&world, deletion).await;
    let emptying = Emptying { deletion, deleted_ms: 0, so_far: Emptied::default() };
    let error = world.storage.empty_on(emptying, &mut Torn).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable);
    assert_eq!(left(&world, deletion).await, before);
}

/// A look proves something only once no change that had begun before can take effect any more.
#[tokio::test]
async fn a_proof_waits_for_changes_under_way() {
    let hands = Arc::new(Hands(AtomicU64::new(START_MS)));
    let world = lived_in(hands.clone()).await;
    let (deletion, lease_ms) = (session_of(&world), Limits::default().change_ms_max());
    let emptying = |so_far| Emptying { deletion, deleted_ms: START_MS, so_far };
    let (emptied, proof) =
        world.storage.empty_on(emptying(Emptied::default()), &mut Unrecorded).await.unwrap();
    assert_eq!(proof, Proof::Due { at_ms: START_MS + lease_ms });
    // One that was under way.
    put(&world.space(), "session/late", "late").await;
    hands.0.store(START_MS + lease_ms - 1, Ordering::SeqCst);
    let (emptied, proof) =
        world.storage.empty_on(emptying(emptied), &mut Unrecorded).await.unwrap();
    assert_eq!((emptied.files, proof), (2, Proof::Due { at_ms: START_MS + lease_ms }));
    hands.0.store(START_MS + lease_ms, Ordering::SeqCst);
    let (emptied, proof) =
        world.storage.empty_on(emptying(emptied), &mut Unrecorded).await.unwrap();
    assert_eq!((emptied.files, proof), (2, Proof::Made { at_ms: START_MS + lease_ms }));
}

/// Who knows what was in a store can check what the record says was removed.
#[tokio::test]
async fn a_digest_can_be_made_again() {
    let world = World::new();
    for name in ["session/b", "session/a"] {
        put(&world.space(), name, "xy").await;
    }
    let deletion = session_of(&world);
    let prefix = deletion.prefixes()[0].as_str().to_owned();
    let lines = format!("object\0{prefix}a\0\02\nobject\0{prefix}b\0\02\n");
    let page = sha2::Sha256::digest(lines);
    let page_of = world.store.remains(&deletion.prefixes()[0], Layer::Objects, None, 9).await;
    assert_eq!(page_digest(&page_of.unwrap().left), Sha256(page.into()));
    let all = sha2::Sha256::new().chain_update([0; 32]).chain_update(page).finalize();
    assert_eq!(world.storage.empty(deletion).await.unwrap().digest, Sha256(all.into()));
}
