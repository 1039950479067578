use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

use super::Emptied;
use crate::clock::SystemClock;
use crate::limits::Limits;
use crate::scope::Access;
use crate::scope::{
    AgentId, Coordinates, Deletion, Grant, MountTable, SessionId, SkillTable, WorkspaceId,
};
use crate::space::Storage;
use crate::store::{Depth, MemoryStore, Precondition};

fn table(workspace: u128, agent: u128, session: u128) -> MountTable {
    let coordinates = Coordinates {
        workspace: WorkspaceId(Uuid::from_u128(workspace)),
        agent: AgentId(Uuid::from_u128(agent)),
        session: Some(SessionId(Uuid::from_u128(session))),
    };
    let grant = Grant { agent: Some(Access::ReadWrite), workspace: Some(Access::ReadWrite) };
    MountTable::new(coordinates, grant, SkillTable::default())
}

/// What was deleted goes, over any number of pages, and its neighbours stay.
#[tokio::test]
async fn all_files_of_a_deletion_go_and_no_others() {
    let clock = Arc::new(SystemClock);
    let storage = Storage::new(Arc::new(MemoryStore::new(clock.clone())), clock, Limits::default());
    let (doomed, sibling) = (storage.space(table(1, 2, 3)), storage.space(table(1, 2, 4)));
    for number in 0..1_001 {
        let path = format!("session/{number}.txt");
        doomed.write(&path, Bytes::from_static(b"ab"), Precondition::Always).await.unwrap();
    }
    for path in ["session/kept.txt", "agent/kept.txt"] {
        sibling.write(path, Bytes::from_static(b"c"), Precondition::Always).await.unwrap();
    }
    let [workspace, agent, session] = [1, 2, 3].map(Uuid::from_u128);
    let (workspace, agent) = (WorkspaceId(workspace), AgentId(agent));
    let deletion = Deletion::Session(workspace, agent, SessionId(session));
    let first = storage.empty(deletion).await.unwrap();
    assert_eq!((first.files, first.bytes, first.pages), (1_001, 2_002, 2));
    assert_eq!(storage.empty(deletion).await.unwrap(), Emptied::default());
    assert_eq!(sibling.list("", Depth::All, None, 10).await.unwrap().files.len(), 2);
    let all = storage.empty(Deletion::Workspace(workspace)).await.unwrap();
    assert_eq!((all.files, all.bytes), (2, 2));
}
