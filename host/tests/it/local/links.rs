//! Links that somebody planted in a store's folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bailiwick::clock::SystemClock;
use bailiwick::store::{Depth, LocalStore, ObjectStore, Precondition, StoreError};

use super::{key, on_disk, open, open_alone, prefix, tree};

/// Where a planted link points.
const TARGETS: [Target; 5] = [
    Target::OutsideFile,
    Target::OutsideFolder,
    Target::InsideFile,
    Target::InsideFolder,
    Target::Dangling,
];

#[derive(Clone, Copy, Debug)]
enum Target {
    OutsideFile,
    OutsideFolder,
    InsideFile,
    InsideFolder,
    Dangling,
}

/// A store with a file that is somebody else's, and a folder outside with one more.
struct Scene {
    _guard: tempfile::TempDir,
    root: PathBuf,
    outside: PathBuf,
}

impl Scene {
    async fn new() -> (Self, LocalStore) {
        let guard = tempfile::tempdir().unwrap();
        let (root, outside) = (guard.path().join("store"), guard.path().join("outside"));
        fs::create_dir_all(outside.join("folder")).unwrap();
        fs::write(outside.join("file"), "outside").unwrap();
        fs::write(outside.join("folder/c"), "outside").unwrap();
        let store = open(&root);
        store.put(&key("victim/c"), "victim".into(), &Precondition::Always).await.unwrap();
        (Self { _guard: guard, root, outside }, store)
    }

    fn target(&self, target: Target) -> PathBuf {
        let victim = on_disk(&self.root).join("victim");
        match target {
            Target::OutsideFile => self.outside.join("file"),
            Target::OutsideFolder => self.outside.join("folder"),
            Target::InsideFile => victim.join("c"),
            Target::InsideFolder => victim,
            Target::Dangling => self.outside.join("made-by-following"),
        }
    }

    /// The way from a link to what it points to. An absolute link would not be followed by a
    /// mere confinement to the root either; one within the root is followed by that.
    fn relative(&self, link: &Path, aim: &Path) -> PathBuf {
        let Ok(aim) = aim.strip_prefix(&self.root) else { return aim.to_owned() };
        let up = link.strip_prefix(&self.root).unwrap().components().count() - 1;
        std::iter::repeat_n(Path::new(".."), up).chain([aim]).collect()
    }

    fn assert_untouched(&self, case: &str) {
        assert_eq!(tree(&self.outside), ["file", "folder", "folder/c"], "{case}");
        let victim = on_disk(&self.root).join("victim");
        assert_eq!(tree(&victim), ["c"], "{case}");
        for (path, bytes) in [
            (self.outside.join("file"), "outside"),
            (self.outside.join("folder/c"), "outside"),
            (victim.join("c"), "victim"),
        ] {
            assert_eq!(fs::read_to_string(path).unwrap(), bytes, "{case}");
        }
    }
}

/// No verb follows a link, whether it stands for a folder above the file, for the file, or for
/// the file that gave way, and wherever it points.
#[tokio::test]
async fn no_verb_follows_a_planted_link() {
    // Under the root: the scope's folder, a folder in the middle, the last folder, the file.
    let places = ["planted-root", "planted/b/c", "a/planted/c", "a/b/planted", "a/b/planted%"];
    for target in TARGETS {
        for place in places {
            let (scene, store) = Scene::new().await;
            let here = on_disk(&scene.root);
            let link = match place {
                "planted-root" => {
                    // The whole scope turned into a link: what was there is put aside.
                    fs::rename(scene.root.join("workspaces"), scene.root.join("aside")).unwrap();
                    scene.root.join("workspaces")
                }
                place => {
                    let end = place.find("planted").unwrap();
                    let name = if place.ends_with('%') { "planted%" } else { "planted" };
                    fs::create_dir_all(here.join(&place[..end])).unwrap();
                    here.join(&place[..end]).join(name)
                }
            };
            let aim = match (place, target) {
                ("planted-root", Target::InsideFolder) => scene.root.join("aside"),
                _ => scene.target(target),
            };
            symlink(scene.relative(&link, &aim), &link).unwrap();
            let rest = match place {
                "planted-root" => "victim/c",
                "a/b/planted%" => "a/b/planted",
                place => place,
            };
            let case = format!("{place} -> {target:?}");
            try_every_verb(&store, rest, &case).await;
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{case}: the link is gone");
            if place == "planted-root" {
                fs::remove_file(&link).unwrap();
                fs::rename(scene.root.join("aside"), scene.root.join("workspaces")).unwrap();
            }
            scene.assert_untouched(&case);
            let left = tree(&scene.root.join(".bailiwick-tmp"));
            assert!(left.is_empty(), "{case}: {left:?}");
        }
    }
}

async fn try_every_verb(store: &LocalStore, rest: &str, case: &str) {
    let (planted, other) = (key(rest), key("other"));
    store.put(&other, "other".into(), &Precondition::Always).await.ok();
    refused(store.head(&planted).await, case);
    refused(store.get(&planted, 0..99, None).await, case);
    for when in [Precondition::Always, Precondition::IfAbsent] {
        refused(store.put(&planted, "followed".into(), &when).await, case);
        refused(store.copy(&other, None, &planted, &when).await, case);
        let mut upload = store.upload(&planted, when).await.unwrap();
        upload.write("followed".into()).await.unwrap();
        refused(upload.complete().await, case);
    }
    refused(store.copy(&planted, None, &other, &Precondition::Always).await, case);
    refused(store.delete(&planted, &Precondition::Always).await, case);
    refused(store.delete_many(std::slice::from_ref(&planted)).await, case);
    // One level deeper: the link stands for a folder now.
    let below = format!("{rest}/c");
    refused(store.head(&key(&below)).await, case);
    if !case.starts_with("a/b/planted%") {
        refused(store.put(&key(&below), "followed".into(), &Precondition::Always).await, case);
        refused(store.delete(&key(&below), &Precondition::Always).await, case);
    }
    for depth in [Depth::All, Depth::Children] {
        for folder in ["", "a", rest] {
            let Ok(page) = store.list(&prefix(folder), depth, None, 100).await else { continue };
            let shown = format!("{:?} {:?}", page.objects, page.folders);
            assert!(!shown.contains("planted"), "{case}: listed {shown}");
        }
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(answer: Result<T, StoreError>, case: &str) {
    match answer {
        Err(StoreError::Unavailable { .. } | StoreError::NotFound) => {}
        other => panic!("{case}: {other:?}"),
    }
}

/// A link in place of a file or folder of the store's own is refused when the store is opened.
#[tokio::test]
async fn a_link_for_one_of_the_stores_own_is_refused() {
    let own = [
        ".bailiwick-alive",
        ".bailiwick-changing",
        ".bailiwick-clock",
        ".bailiwick-commit",
        ".bailiwick-layout",
        ".bailiwick-tmp",
    ];
    for name in own {
        for target in TARGETS {
            let (scene, store) = Scene::new().await;
            drop(store);
            let planted = scene.root.join(name);
            match name {
                ".bailiwick-tmp" | ".bailiwick-changing" => fs::remove_dir(&planted).unwrap(),
                _ => fs::remove_file(&planted).unwrap(),
            }
            symlink(scene.relative(&planted, &scene.target(target)), &planted).unwrap();
            let case = format!("{name} -> {target:?}");
            let error = LocalStore::open_ambient(&scene.root, Arc::new(SystemClock)).unwrap_err();
            let error = format!("{error:#}");
            assert!(error.contains(name) && error.contains("link"), "{case}: {error}");
            scene.assert_untouched(&case);
        }
    }
}

/// A link planted in the folder for temporary files is swept as the link that it is.
#[tokio::test]
async fn a_link_among_temporary_files_is_swept_and_not_followed() {
    for target in TARGETS {
        let (scene, store) = Scene::new().await;
        drop(store);
        let planted = scene.root.join(".bailiwick-tmp/planted");
        symlink(scene.relative(&planted, &scene.target(target)), planted).unwrap();
        drop(open_alone(&scene.root));
        scene.assert_untouched(&format!("{target:?}"));
    }
}

/// A pipe or a socket where a file should be neither stops a turn nor is read.
#[tokio::test]
async fn special_files_are_refused_and_stop_nobody() {
    let (scene, store) = Scene::new().await;
    let here = on_disk(&scene.root);
    let fifo = std::process::Command::new("mkfifo").arg(here.join("pipe")).status();
    assert!(fifo.is_ok_and(|status| status.success()), "mkfifo is part of every Unix");
    let _socket = std::os::unix::net::UnixListener::bind(here.join("socket")).unwrap();
    for rest in ["pipe", "socket"] {
        refused(store.head(&key(rest)).await, rest);
        refused(store.get(&key(rest), 0..9, None).await, rest);
        refused(store.put(&key(rest), "x".into(), &Precondition::Always).await, rest);
        refused(
            store.put(&key(&format!("{rest}/b")), "x".into(), &Precondition::Always).await,
            rest,
        );
        refused(store.copy(&key(rest), None, &key("c"), &Precondition::Always).await, rest);
        refused(store.delete(&key(rest), &Precondition::Always).await, rest);
    }
    let page = store.list(&prefix(""), Depth::All, None, 10).await.unwrap();
    assert_eq!(page.objects.len(), 1, "{page:?}");
}
