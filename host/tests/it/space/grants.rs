use bailiwick::scope::Grant;
use bailiwick::space::{Error, ErrorCode, Occurrence, Position, Search, Space};
use bailiwick::store::{Depth, Precondition};

use super::{World, cat, coordinates, put};
use crate::faulty::Plan;

/// Every verb that reads `path`, every verb that changes it.
async fn reads(space: &Space, path: &str) -> Vec<Error> {
    let folder = path.rsplit_once('/').unwrap().0;
    let search = Search { folder, glob: None, pattern: "a", after: None, limit: 10 };
    vec![
        space.read(path, 0, 10).await.unwrap_err(),
        space.stat(path).await.unwrap_err(),
        space.open_reader(path).await.unwrap_err(),
        space.read_text(path, Position::Line(1), 10).await.unwrap_err(),
        space.list(folder, Depth::All, None, 10).await.unwrap_err(),
        space.list(folder, Depth::Children, None, 10).await.unwrap_err(),
        space.search(search).await.unwrap_err(),
        space.copy(path, "session/stolen", Precondition::Always).await.unwrap_err(),
    ]
}

async fn changes(space: &Space, path: &str) -> Vec<Error> {
    let always = || Precondition::Always;
    vec![
        space.write(path, "x".into(), always()).await.unwrap_err(),
        space.write(path, "x".into(), Precondition::IfAbsent).await.unwrap_err(),
        space.delete(path, always()).await.unwrap_err(),
        space.open_writer(path, always()).await.unwrap_err(),
        space.append(path, "x").await.unwrap_err(),
        space.replace(path, "a", "b", Occurrence::Every, always()).await.unwrap_err(),
        space.copy("session/mine", path, always()).await.unwrap_err(),
        space.relocate("session/mine", path, always()).await.unwrap_err(),
        space.relocate(path, "session/mine", always()).await.unwrap_err(),
    ]
}

/// What a grant does not allow is denied by every verb, whether or not the file exists, and
/// no store is asked.
#[tokio::test]
async fn a_denied_verb_never_reaches_the_store() {
    let world = World::new();
    put(&world.space(), "agent/there", "secret").await;
    put(&world.space(), "workspace/there", "shared").await;
    put(&world.space(), "session/mine", "mine").await;
    let nothing = world.granted(Grant { agent: None, workspace: None });
    let read_only = world.granted(Grant::default());
    world.store.plan(Plan::None);
    let mut refusals = Vec::new();
    for path in ["agent/there", "agent/missing", "workspace/there"] {
        refusals.extend(reads(&nothing, path).await);
        refusals.extend(changes(&nothing, path).await);
    }
    for path in ["workspace/there", "workspace/missing", "skill/pdf/guide.md"] {
        refusals.extend(changes(&read_only, path).await);
    }
    assert!(refusals.iter().all(|error| error.code == ErrorCode::Denied), "{refusals:?}");
    assert_eq!(world.store.calls(), 0);
    assert_eq!(cat(&world.space(), "workspace/there").await, "shared");
}

/// Another agent, session or workspace has other files under the same paths.
#[tokio::test]
async fn each_address_has_files_of_its_own() {
    let mut world = World::new();
    let first = world.space();
    for path in ["session/a", "agent/a", "workspace/a"] {
        put(&first, path, "first").await;
    }
    let other = coordinates(2);
    for (session, agent, workspace, kept) in [
        (other.session, world.coordinates.agent, world.coordinates.workspace, 2),
        (other.session, other.agent, world.coordinates.workspace, 1),
        (world.coordinates.session, world.coordinates.agent, other.workspace, 0),
    ] {
        world.coordinates.session = session;
        world.coordinates.agent = agent;
        world.coordinates.workspace = workspace;
        let page = world.space().list("", Depth::All, None, 10).await.unwrap();
        assert_eq!(page.files.len(), kept);
        world.coordinates = coordinates(1);
    }
}

/// A revoked space, its clones, readers and writers change nothing any more.
#[tokio::test]
async fn a_revoked_space_is_over_for_all_that_was_opened_in_it() {
    let world = World::new();
    let space = world.space();
    put(&space, "session/a", "old").await;
    let mut reader = space.open_reader("session/a").await.unwrap();
    let mut writer = space.open_writer("session/a", Precondition::Always).await.unwrap();
    writer.write("new".into()).await.unwrap();
    space.clone().revoke();
    assert_eq!(reader.read(1).await.unwrap_err().code, ErrorCode::Closed);
    assert_eq!(writer.finish().await.unwrap_err().code, ErrorCode::Closed);
    assert!(changes(&space, "session/b").await.iter().all(|error| error.code == ErrorCode::Closed));
    assert_eq!(space.list("", Depth::Children, None, 9).await.unwrap_err().code, ErrorCode::Closed);
    assert_eq!(cat(&world.space(), "session/a").await, "old");
}
