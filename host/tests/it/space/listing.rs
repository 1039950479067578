use std::sync::Arc;

use bailiwick::limits::Limits;
use bailiwick::scope::{Grant, MountTable, SkillTable};
use bailiwick::space::{ErrorCode, SealKey, Space, Storage};
use bailiwick::store::{Depth, Precondition};

use super::{Ticks, World, coordinates, put};

async fn all(space: &Space, folder: &str, depth: Depth, limit: u32) -> Vec<String> {
    let (mut names, mut after) = (Vec::new(), None);
    loop {
        let page = space.list(folder, depth, after.as_deref(), limit).await.unwrap();
        assert!(page.files.len() + page.folders.len() <= limit as usize);
        names.extend(page.files.into_iter().map(|file| file.path));
        names.extend(page.folders);
        match page.next {
            Some(next) => after = Some(next),
            None => return names,
        }
    }
}

/// The root lists every mount, page by page, each file once.
#[tokio::test]
async fn the_root_is_every_mount() {
    let world = World::new();
    let space = world.with_skill().await;
    for path in ["session/s", "agent/a/deep", "agent/a-b"] {
        put(&space, path, "x").await;
    }
    put(&world.space(), "workspace/w", "x").await;
    for limit in [1, 2, 3, 1000] {
        let files = all(&space, "", Depth::All, limit).await;
        let skill = ["skill/pdf/forms/a.txt", "skill/pdf/forms/b.txt", "skill/pdf/guide.md"];
        assert_eq!(files[..3], ["agent/a-b", "agent/a/deep", "session/s"]);
        assert_eq!(files[3..6], skill);
        assert_eq!(files[6..], ["workspace/w"]);
        let mounts = all(&space, "", Depth::Children, limit).await;
        assert_eq!(mounts, ["agent/", "session/", "skill/", "workspace/"]);
        assert_eq!(all(&space, "skill", Depth::Children, limit).await, ["skill/pdf/"]);
        assert_eq!(all(&space, "skill/", Depth::All, limit).await, skill);
        let mut children = all(&space, "skill/pdf", Depth::Children, limit).await;
        children.sort();
        assert_eq!(children, ["skill/pdf/forms/", "skill/pdf/guide.md"]);
        assert_eq!(all(&space, "skill/pdf/forms/", Depth::All, limit).await, skill[..2]);
        let mut children = all(&space, "agent", Depth::Children, limit).await;
        children.sort();
        assert_eq!(children, ["agent/a-b", "agent/a/"]);
    }
}

/// A mount without a grant is not there to be listed.
#[tokio::test]
async fn what_is_not_granted_is_not_listed() {
    let world = World::new();
    put(&world.space(), "agent/a", "x").await;
    let space = world.granted(Grant { agent: None, workspace: None });
    assert_eq!(all(&space, "", Depth::Children, 9).await, ["session/"]);
    assert!(all(&space, "", Depth::All, 9).await.is_empty());
}

/// A cursor belongs to its listing: forged, altered, of another folder, depth, agent or verb, it
/// is refused; and it holds nothing that can be read.
#[tokio::test]
async fn a_forged_cursor_is_refused() {
    let mut world = World::new();
    let space = world.space();
    for name in ["a", "b", "c"] {
        put(&space, &format!("session/f/{name}"), "x").await;
    }
    let cursor = space.list("session/f", Depth::All, None, 1).await.unwrap().next.unwrap();
    space.list("session/f/", Depth::All, Some(&cursor), 1).await.unwrap();
    let mut altered = cursor.clone().into_bytes();
    *altered.last_mut().unwrap() ^= 1;
    let altered = String::from_utf8(altered).unwrap();
    let huge = "A".repeat(1 << 20);
    for forged in ["", "x", "AAAA", &cursor[1..], &altered, &huge, "session/f/a"] {
        let error = space.list("session/f", Depth::All, Some(forged), 1).await.unwrap_err();
        assert_eq!((error.code, error.reason), (ErrorCode::Invalid, "cursor"));
    }
    for (folder, depth) in [("session", Depth::All), ("session/f", Depth::Children)] {
        space.list(folder, depth, Some(&cursor), 1).await.unwrap_err();
    }
    world.coordinates = coordinates(2);
    world.space().list("session/f", Depth::All, Some(&cursor), 1).await.unwrap_err();
}

/// A cursor survives the deletion of the file it stands at.
#[tokio::test]
async fn a_listing_goes_on_past_a_deleted_file() {
    let space = World::new().space();
    for name in ["a", "b", "c"] {
        put(&space, &format!("session/{name}"), "x").await;
    }
    let page = space.list("session", Depth::All, None, 2).await.unwrap();
    space.delete("session/b", Precondition::Always).await.unwrap();
    let rest = space.list("session", Depth::All, page.next.as_deref(), 2).await.unwrap();
    assert_eq!(rest.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["session/c"]);
}

/// A limit is 1 to 1,000.
#[tokio::test]
async fn limits_out_of_bounds_are_refused() {
    let space = World::new().space();
    for limit in [0, 1001, u32::MAX] {
        let error = space.list("", Depth::All, None, limit).await.unwrap_err();
        assert_eq!((error.code, error.reason), (ErrorCode::Invalid, "limit"));
    }
}

/// A listing that one host began another goes on with, if it has the same key, and no other.
#[tokio::test]
async fn a_listing_goes_on_at_a_host_with_the_same_key() {
    let world = World::new();
    for name in ["a", "b"] {
        put(&world.space(), &format!("session/{name}"), "x").await;
    }
    let host = |secret: &str| {
        let (store, key) = (Arc::new(world.store.clone()), SealKey::of(secret.as_bytes()));
        let storage = Storage::sealed(store, Arc::new(Ticks::default()), Limits::default(), &key);
        storage.space(MountTable::new(world.coordinates, Grant::default(), SkillTable::default()))
    };
    let cursor = host("s").list("session", Depth::All, None, 1).await.unwrap().next.unwrap();
    let page = host("s").list("session", Depth::All, Some(&cursor), 1).await.unwrap();
    assert_eq!(page.files[0].path, "session/b");
    for other in [host("t"), host(""), world.space()] {
        other.list("session", Depth::All, Some(&cursor), 1).await.unwrap_err();
    }
}
