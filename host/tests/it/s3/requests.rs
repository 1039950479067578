//! How many requests each verb costs, counted on their way to a server.

use std::sync::Arc;

use bailiwick::clock::SystemClock;
use bailiwick::limits::Limits;
use bailiwick::scope::{
    Access, AgentId, Coordinates, Grant, MountTable, SessionId, SkillTable, WorkspaceId,
};
use bailiwick::space::{ErrorCode, Space, Storage};
use bailiwick::store::s3::{S3Config, S3Store};
use bailiwick::store::{Depth, ObjectStore, Precondition, StoreError};
use uuid::Uuid;

use crate::conformance::{Place, content};
use crate::proxy::{Losses, Proxy};
use crate::servers;

const ALWAYS: Precondition = Precondition::Always;

struct Counted {
    /// By way of the proxy.
    space: Space,
    /// Of another host, past it.
    other: Space,
    proxy: Proxy,
}

impl Counted {
    async fn new(server: &'static servers::Server) -> Self {
        let proxy = Proxy::before(server.port, Losses::NONE).await;
        let config = server.config(proxy.port);
        let store = servers::open(&config).await;
        // What a server can be relied on for is tried out once, and not counted.
        store.report().await.unwrap();
        let past = S3Config { endpoint: server.config(server.port).endpoint, ..config };
        let other = servers::open(&past).await;
        let place = coordinates();
        let (space, other) = (space(store, place), space(other, place));
        proxy.take_lines();
        Self { space, other, proxy }
    }

    #[track_caller]
    fn assert_cost(&self, verb: &str, methods: &[&str]) {
        let lines = self.proxy.take_lines();
        let sent: Vec<_> = lines.iter().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(sent, methods, "{verb}: {lines:#?}");
    }
}

fn coordinates() -> Coordinates {
    Coordinates {
        workspace: WorkspaceId(Uuid::new_v4()),
        agent: AgentId(Uuid::new_v4()),
        session: Some(SessionId(Uuid::new_v4())),
    }
}

fn space(store: S3Store, place: Coordinates) -> Space {
    let storage = Storage::new(Arc::new(store), Arc::new(SystemClock), Limits::default());
    let all = Some(Access::ReadWrite);
    let grant = Grant { agent: all, workspace: all };
    storage.space(MountTable::new(place, grant, SkillTable::default()))
}

/// A small file costs one request to write, to read and to look at, and so does a page of a
/// listing.
#[tokio::test]
async fn a_small_file_costs_one_request_a_verb() {
    let Some(server) = servers::seaweed() else { return };
    let counted = Counted::new(server).await;
    let space = &counted.space;
    let written = space.write("agent/notes.md", "notes".into(), Precondition::IfAbsent);
    let written = written.await.unwrap();
    counted.assert_cost("write if absent", &["PUT"]);
    space.write("agent/other.md", "other".into(), ALWAYS).await.unwrap();
    counted.assert_cost("write", &["PUT"]);
    let unchanged = Precondition::IfRevision(written.revision);
    space.write("agent/notes.md", "more notes".into(), unchanged).await.unwrap();
    counted.assert_cost("write if unchanged", &["PUT"]);
    assert_eq!(space.read("agent/notes.md", 0, 4096).await.unwrap().bytes, "more notes");
    counted.assert_cost("read", &["GET"]);
    space.stat("agent/notes.md").await.unwrap();
    counted.assert_cost("stat", &["HEAD"]);
    space.list("agent", Depth::All, None, 1000).await.unwrap();
    counted.assert_cost("list", &["GET"]);
    let mut writer = space.open_writer("agent/small.md", ALWAYS).await.unwrap();
    writer.write("small".into()).await.unwrap();
    writer.finish().await.unwrap();
    counted.assert_cost("writer", &["PUT"]);
}

/// A server that checks what it got refuses bytes that are not those that were sent, whole files
/// and parts alike.
#[tokio::test]
async fn bytes_that_change_on_their_way_are_refused() {
    let Some(server) = servers::seaweed() else { return };
    let config = server.config(server.port);
    let past = servers::open(&config).await;
    let proxy = Proxy::changing_bodies_before(server.port).await;
    let endpoint = server.config(proxy.port).endpoint;
    let store = servers::open(&S3Config { endpoint, ..config }).await;
    let key = Place::new().key("file");
    let written = store.put(&key, "bytes".into(), &ALWAYS).await;
    assert!(written.is_err(), "{written:?}");
    let mut upload = store.upload(&key, ALWAYS).await.unwrap();
    let sent = upload.write(content(1, (8 << 20) + 1)).await;
    assert!(sent.is_err() || upload.complete().await.is_err(), "{sent:?}");
    assert!(matches!(past.head(&key).await, Err(StoreError::NotFound)));
}

/// A copy of what this process knows costs one request; of what it does not, one more; and of
/// what has changed since, what it takes to find out.
#[tokio::test]
async fn a_copy_of_a_known_file_costs_one_request() {
    let Some(server) = servers::seaweed() else { return };
    let counted = Counted::new(server).await;
    let space = &counted.space;
    space.write("agent/source", "first".into(), ALWAYS).await.unwrap();
    counted.assert_cost("write", &["PUT"]);
    space.copy("agent/source", "agent/copy", ALWAYS).await.unwrap();
    counted.assert_cost("copy of what was written", &["PUT"]);
    assert_eq!(space.read("agent/copy", 0, 4096).await.unwrap().bytes, "first");
    counted.assert_cost("read", &["GET"]);
    space.copy("agent/copy", "workspace/copy", Precondition::IfAbsent).await.unwrap();
    counted.assert_cost("copy of what was read", &["PUT"]);
    space.relocate("agent/copy", "agent/moved", ALWAYS).await.unwrap();
    counted.assert_cost("move", &["HEAD", "PUT", "DELETE"]);
}

/// A copy of a file that another host has changed meanwhile is one of what is there now, on a
/// condition about its target as well.
#[tokio::test]
async fn a_copy_of_what_others_changed_is_a_copy_of_what_is_there() {
    let Some(server) = servers::seaweed() else { return };
    let counted = Counted::new(server).await;
    let (space, other) = (&counted.space, &counted.other);
    for (name, when) in [("always", ALWAYS), ("if-absent", Precondition::IfAbsent)] {
        let target = format!("agent/{name}");
        space.write("agent/source", "old".into(), ALWAYS).await.unwrap();
        other.write("agent/source", "new".into(), ALWAYS).await.unwrap();
        counted.proxy.take_lines();
        space.copy("agent/source", &target, when).await.unwrap();
        counted.assert_cost(name, &["PUT", "HEAD", "HEAD", "PUT"]);
        assert_eq!(other.read(&target, 0, 99).await.unwrap().bytes, "new");
    }
    other.delete("agent/source", ALWAYS).await.unwrap();
    let gone = space.copy("agent/source", "agent/none", ALWAYS).await.unwrap_err();
    assert_eq!(gone.code, ErrorCode::NotFound, "{gone:?}");
    let late = space.copy("agent/always", "agent/if-absent", Precondition::IfAbsent).await;
    assert_eq!(late.unwrap_err().code, ErrorCode::Conflict);
}
