use bytes::Bytes;
use tokio::time::timeout;
use uuid::Uuid;

use super::*;
use crate::clock::SystemClock;
use crate::scope::{AgentId, Coordinates, Grant, MountTable, SessionId, SkillTable, WorkspaceId};
use crate::space::{Storage, Terms};
use crate::store::{MemoryStore, Precondition};

fn followed(journal: &Journal) -> Space {
    let clock = Arc::new(SystemClock);
    let storage = Storage::new(Arc::new(MemoryStore::new(clock.clone())), clock, Limits::default());
    let id = Uuid::from_u128(1);
    let coordinates = Coordinates {
        workspace: WorkspaceId(id),
        agent: AgentId(id),
        session: Some(SessionId(id)),
    };
    let table = MountTable::new(coordinates, Grant::default(), SkillTable::default());
    let changed = Some(journal.changed());
    let space = storage.space_on(Terms { changed, ..Terms::default() }, table);
    journal.follow(space.clone());
    space
}

async fn write(space: &Space, files: usize) {
    for file in 0..files {
        let path = format!("session/{file}");
        space.write(path, Bytes::from_static(b"x"), Precondition::Always).await.unwrap();
    }
}

/// What a guest does with a few files is recorded a second later, though it says nothing; what one
/// does with many waits for the next renewal, so that no guest makes a host write all the time.
#[tokio::test(start_paused = true)]
async fn a_few_files_are_recorded_soon_and_many_are_not() {
    let journal = Journal::default();
    let space = followed(&journal);
    timeout(RENEW, journal.gathered()).await.unwrap_err();
    write(&space, 2).await;
    timeout(2 * GATHER_FILES, journal.gathered()).await.unwrap();
    assert_eq!(journal.take().events.len(), 2);
    timeout(RENEW, journal.gathered()).await.unwrap_err();
    write(&space, FILES_AT_ONCE + 1).await;
    timeout(RENEW, journal.gathered()).await.unwrap_err();
    assert_eq!(journal.take().events.len(), FILES_AT_ONCE + 1);
    write(&space, 1).await;
    timeout(2 * GATHER_FILES, journal.gathered()).await.unwrap();
}

/// What a guest says is not held up by what it does with files.
#[tokio::test(start_paused = true)]
async fn what_is_said_is_recorded_at_once() {
    let journal = Journal::default();
    let space = followed(&journal);
    write(&space, FILES_AT_ONCE + 1).await;
    journal.said("a");
    timeout(2 * GATHER, journal.gathered()).await.unwrap();
    assert_eq!(journal.take().events.len(), FILES_AT_ONCE + 2);
}

/// What was to be recorded and may have been is told again as it was: what is said since comes after it.
#[test]
fn what_may_be_recorded_is_not_added_to() {
    let journal = Journal::default();
    let said = |text: &str| Event::Said { text: text.to_owned() };
    journal.said("a");
    journal.put_back(journal.take());
    journal.said("b");
    journal.said("c");
    let taken = journal.take();
    assert_eq!((taken.recorded, &taken.events[..]), (0, &[said("a"), said("bc")][..]));
    journal.recorded(&taken);
    journal.said("d");
    let taken = journal.take();
    assert_eq!((taken.recorded, &taken.events[..]), (2, &[said("d")][..]));
}
