//! The tree on disk, as a person finds it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bailiwick::store::{Depth, ObjectStore, Precondition, StoreError};

use super::{OWN, key, on_disk, open, prefix, tree};

/// A person finds each file under its own name, with its bytes in it.
#[tokio::test]
async fn a_person_can_read_the_tree() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for rest in ["notes.md", "reference/penguins.csv", "100%", "ünï/😀 a+b#c"] {
        store.put(&key(rest), rest.into(), &Precondition::Always).await.unwrap();
    }
    let expected =
        ["100%25", "notes.md", "reference", "reference/penguins.csv", "ünï", "ünï/😀 a+b#c"];
    assert_eq!(tree(&on_disk(folder.path())), expected);
    let bytes = std::fs::read_to_string(on_disk(folder.path()).join("notes.md")).unwrap();
    assert_eq!(bytes, "notes.md");
}

/// A file gives way to the folder of its name, and is found under both: `a%` and `a/`.
#[tokio::test]
async fn a_file_gives_way_to_the_folder_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let before = store.put(&key("a"), "file".into(), &Precondition::Always).await.unwrap();
    assert_eq!(tree(&on_disk(folder.path())), ["a"]);
    store.put(&key("a/b"), "below".into(), &Precondition::Always).await.unwrap();
    assert_eq!(tree(&on_disk(folder.path())), ["a", "a%", "a/b"]);
    assert_eq!(store.head(&key("a")).await.unwrap(), before, "the revision went with the file");
    // Never renamed back; a new file takes the plain name again.
    store.delete(&key("a/b"), &Precondition::Always).await.unwrap();
    assert_eq!(tree(&on_disk(folder.path())), ["a%"]);
    store.put(&key("a"), "again".into(), &Precondition::Always).await.unwrap();
    assert_eq!(tree(&on_disk(folder.path())), ["a%"]);
    store.delete(&key("a"), &Precondition::Always).await.unwrap();
    assert_eq!(tree(folder.path()), OWN);
    store.put(&key("a"), "new".into(), &Precondition::Always).await.unwrap();
    assert_eq!(tree(&on_disk(folder.path())), ["a"]);
}

/// Whatever was stored, once all of it is deleted only the store's own files are left.
#[tokio::test]
async fn nothing_is_left_of_what_was_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let long = "x".repeat(255);
    let rests = ["a".to_owned(), "a/b/c".into(), format!("{long}/{long}"), long, "%/%/%".into()];
    let keys: Vec<_> = rests.iter().map(|rest| key(rest)).collect();
    for way in ["one by one", "all at once"] {
        for key in &keys {
            store.put(key, "x".into(), &Precondition::Always).await.unwrap();
        }
        match way {
            "all at once" => store.delete_many(&keys).await.unwrap(),
            _ => {
                for key in &keys {
                    store.delete(key, &Precondition::Always).await.unwrap();
                }
            }
        }
        assert_eq!(tree(folder.path()), OWN, "{way}");
    }
}

/// What a change that did not happen needed is not left either.
#[tokio::test]
async fn a_refused_change_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let stale = store.put(&key("x"), "x".into(), &Precondition::Always).await.unwrap();
    store.delete(&key("x"), &Precondition::Always).await.unwrap();
    let when = Precondition::IfRevision(stale.revision);
    let put = store.put(&key("a/b/c"), "never".into(), &when).await;
    assert!(matches!(put, Err(StoreError::PreconditionFailed)), "{put:?}");
    let mut upload = store.upload(&key("d/e/f"), when).await.unwrap();
    upload.write("never".into()).await.unwrap();
    let late = upload.complete().await;
    assert!(matches!(late, Err(StoreError::PreconditionFailed)), "{late:?}");
    assert_eq!(tree(folder.path()), OWN);
}

/// Files of people, with names that the store would not have given, are neither listed nor
/// touched, and stand in nobody's way.
#[tokio::test]
async fn files_of_other_programs_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.put(&key("a"), "a".into(), &Precondition::Always).await.unwrap();
    let here = on_disk(folder.path());
    for name in ["50%", "%zz", "%41", "what?", "%long-12", "%long-12.name", ".bailiwick-x"] {
        std::fs::write(here.join(name), "theirs").unwrap();
    }
    std::fs::create_dir(here.join("empty")).unwrap();
    std::fs::write(here.join("plain.md"), "written by hand").unwrap();
    for depth in [Depth::All, Depth::Children] {
        let page = store.list(&prefix(""), depth, None, 100).await.unwrap();
        // `50%` is how the file `50` would be named beside a folder `50`.
        let names: Vec<_> = page.objects.iter().map(|(key, _)| key.clone()).collect();
        assert_eq!(names, [key("50"), key("a"), key("plain.md")]);
        assert!(page.folders.is_empty(), "{:?}", page.folders);
    }
    let (_, bytes) = store.get(&key("plain.md"), 0..99, None).await.unwrap();
    assert_eq!(bytes, "written by hand");
    store.delete_many(&[key("a"), key("plain.md")]).await.unwrap();
    assert_eq!(std::fs::read_to_string(here.join("what?")).unwrap(), "theirs");
}

/// A file changed by hand has another revision: a pinned read does not mix the two.
#[tokio::test]
async fn a_file_changed_by_hand_has_another_revision() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let put = store.put(&key("a"), "before".into(), &Precondition::Always).await.unwrap();
    std::fs::write(on_disk(folder.path()).join("a"), "after!").unwrap();
    let read = store.get(&key("a"), 0..9, Some(&put.revision)).await;
    assert!(matches!(read, Err(StoreError::PreconditionFailed)), "{read:?}");
    let when = Precondition::IfRevision(put.revision);
    let put = store.put(&key("a"), "lost".into(), &when).await;
    assert!(matches!(put, Err(StoreError::PreconditionFailed)), "{put:?}");
}

/// A file that is replaced, or gives way to a folder, while a large folder is being read is in the
/// listing: the system may show a reader neither the old name nor the new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_folder_in_motion_is_listed_whole() {
    const FILES: usize = 4_000;
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(open(folder.path()));
    store.put(&key("n0000"), "".into(), &Precondition::Always).await.unwrap();
    for file in 0..FILES {
        std::fs::write(on_disk(folder.path()).join(format!("n{file:04}")), "").unwrap();
    }
    let stop = Arc::new(AtomicBool::new(false));
    let churns = [1, 2, 3].map(|churn| {
        let (store, stop) = (Arc::clone(&store), Arc::clone(&stop));
        tokio::spawn(async move {
            let mut changes = 0;
            while !stop.load(Ordering::Relaxed) {
                let name = format!("n{:04}", (churn * 1201 + changes * 7) % FILES);
                let (file, below) = (key(&name), key(&format!("{name}/below")));
                store.put(&file, "again".into(), &Precondition::Always).await.unwrap();
                store.put(&below, "below".into(), &Precondition::Always).await.unwrap();
                store.delete(&below, &Precondition::Always).await.unwrap();
                changes += 1;
            }
            changes
        })
    });
    for listing in 0..8 {
        let (mut listed, mut after) = (0, None);
        loop {
            let page =
                store.list(&prefix(""), Depth::Children, after.as_ref(), 1000).await.unwrap();
            listed += page.objects.len();
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(listed, FILES, "listing {listing}");
    }
    stop.store(true, Ordering::Relaxed);
    for churn in churns {
        assert!(churn.await.unwrap() > 0);
    }
}
