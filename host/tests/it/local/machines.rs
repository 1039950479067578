//! Machines that cannot: full disks, read-only ones, folders that are none.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bailiwick::clock::SystemClock;
use bailiwick::store::{Depth, LocalStore, ObjectStore, Precondition, StoreError};
use bytes::Bytes;

use super::{key, open, prefix, tree};
use crate::conformance::{content, read_whole};

/// A small filesystem in memory, unmounted in the end.
struct Small {
    folder: tempfile::TempDir,
}

impl Small {
    /// `None`, loudly, where this user may not mount; there, `CI` makes it a failure.
    fn mount(options: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "bailiwick-test"])
            .arg(folder.path())
            .output();
        let error = match mounted {
            Ok(output) if output.status.success() => return Some(Self { folder }),
            Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
            Err(error) => error.to_string(),
        };
        assert!(std::env::var_os("CI").is_none(), "cannot mount a tmpfs: {error}");
        eprintln!("SKIPPED: this user cannot mount a tmpfs: {error}");
        None
    }

    fn path(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    fn remount(&self, options: &str) {
        let status =
            Command::new("mount").args(["-o", options]).arg(self.folder.path()).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let status = Command::new("umount").arg("-l").arg(self.folder.path()).status();
        assert!(status.is_ok_and(|status| status.success()), "left mounted");
    }
}

/// On a full disk a write says that storage is full, leaves nothing half-done, and what is there
/// can be read and deleted; with room made, writes go on.
#[tokio::test]
async fn a_full_disk_is_told_and_nothing_is_half_done() {
    let Some(small) = Small::mount("size=1m") else { return };
    let store = open(&small.path());
    let kept = content(1, 300 << 10);
    store.put(&key("kept"), kept.clone(), &Precondition::Always).await.unwrap();

    let big = content(2, 900 << 10);
    let put = store.put(&key("new/big"), big.clone(), &Precondition::Always).await;
    assert!(matches!(put, Err(StoreError::Full)), "{put:?}");
    let put = store.put(&key("kept"), big.clone(), &Precondition::Always).await;
    assert!(matches!(put, Err(StoreError::Full)), "{put:?}");
    let mut upload = store.upload(&key("new/upload"), Precondition::Always).await.unwrap();
    for _ in 0..2 {
        upload.write(big.clone()).await.unwrap();
    }
    let completed = upload.complete().await;
    assert!(matches!(completed, Err(StoreError::Full)), "{completed:?}");
    for copy in 0..10 {
        let target = key(&format!("copy-{copy}"));
        match store.copy(&key("kept"), None, &target, &Precondition::Always).await {
            Ok(_) => {}
            Err(StoreError::Full) => break,
            Err(error) => panic!("{error:?}"),
        }
        assert!(copy < 3, "more copies than there is room");
    }
    let page = store.list(&prefix(""), Depth::All, None, 100).await.unwrap();
    for (key, _) in &page.objects {
        assert!(read_whole(&store, key).await == kept, "{key:?}");
    }
    assert_eq!(tree(&small.path().join(".bailiwick-tmp")), [""; 0]);

    store.delete(&page.objects[0].0, &Precondition::Always).await.unwrap();
    store.put(&key("again"), kept, &Precondition::Always).await.unwrap();
}

/// Who writes on and on is told that the disk is full while it writes, whatever the size of its
/// calls, and never waits for room that no thread makes any more.
#[tokio::test]
async fn a_full_disk_is_told_to_who_writes_on() {
    let Some(small) = Small::mount("size=1m") else { return };
    let store = open(&small.path());
    for call in [10_000, 700 << 10, 3 << 20] {
        let piece = content(3, call);
        let mut upload = store.upload(&key("endless"), Precondition::Always).await.unwrap();
        let may_be_held = (1 << 20) + upload.held_bytes_max() + 2 * call;
        let written = async {
            for _ in 0..=may_be_held / call {
                upload.write(piece.clone()).await?;
            }
            Ok(())
        };
        let written: Result<(), StoreError> =
            tokio::time::timeout(Duration::from_secs(60), written).await.expect("no answer");
        assert!(matches!(written, Err(StoreError::Full)), "calls of {call}: {written:?}");
        upload.write(piece).await.expect_err("there is no going on after it");
        upload.complete().await.expect_err("nor an end");
        assert!(matches!(store.head(&key("endless")).await, Err(StoreError::NotFound)));
        assert_eq!(tree(&small.path().join(".bailiwick-tmp")), [""; 0]);
    }
    store.put(&key("again"), content(1, 300 << 10), &Precondition::Always).await.unwrap();
}

/// On a disk without a free byte the store still opens, reads and deletes.
#[tokio::test]
async fn a_disk_without_a_byte_left_can_be_cleared() {
    let Some(small) = Small::mount("size=256k") else { return };
    let store = open(&small.path());
    let mut files = 0;
    while store
        .put(&key(&format!("file-{files}")), Bytes::from(vec![0; 4096]), &Precondition::Always)
        .await
        .is_ok()
    {
        files += 1;
        assert!(files < 100, "the disk never fills up");
    }
    drop(store);
    let store = open(&small.path());
    let keys: Vec<_> = (0..files).map(|file| key(&format!("file-{file}"))).collect();
    for key in &keys {
        assert_eq!(read_whole(&store, key).await.len(), 4096);
    }
    store.delete_many(&keys).await.unwrap();
    store.put(&key("again"), "room".into(), &Precondition::Always).await.unwrap();
}

fn refusal(folder: &Path) -> String {
    let opened = LocalStore::open_ambient(folder, Arc::new(SystemClock));
    format!("{:#}", opened.expect_err("a store that cannot be"))
}

/// A read-only filesystem is named as such when the store is opened.
#[test]
fn a_read_only_filesystem_is_named() {
    let Some(small) = Small::mount("size=1m") else { return };
    for made_before in [false, true] {
        if made_before {
            drop(open(&small.path()));
        }
        small.remount("remount,ro");
        let refusal = refusal(&small.path());
        assert!(refusal.contains("mounted read-only"), "{refusal}");
        assert!(refusal.contains(&small.path().display().to_string()), "{refusal}");
        small.remount("remount,rw");
    }
}

/// A folder that this user may not write to is named as such.
#[test]
fn a_folder_without_rights_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("locked");
    std::fs::create_dir(&inside).unwrap();
    std::fs::set_permissions(&inside, std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::write(inside.join("probe"), "").is_ok() {
        // No failure in CI: the read-only filesystem above is the same answer, and needs root.
        return eprintln!("SKIPPED: permissions do not bind this user (root)");
    }
    let refusal = refusal(&inside);
    assert!(refusal.contains("make it readable and writable"), "{refusal}");
}

/// A file in place of the folder, or of one above it, is named as such.
#[test]
fn a_file_in_place_of_the_folder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    for path in [file.clone(), file.join("below")] {
        let refusal = refusal(&path);
        assert!(refusal.contains("it is not a folder: name a folder"), "{refusal}");
    }
}

/// A store of another layout is refused, and left as it is.
#[test]
fn another_layout_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (marker, told) in [("2\n", "layout 2"), ("", "cannot be read"), ("soon", "cannot be read")]
    {
        std::fs::write(folder.path().join(".bailiwick-layout"), marker).unwrap();
        let refusal = refusal(folder.path());
        assert!(refusal.contains(told) && refusal.contains("name another store"), "{refusal}");
        assert_eq!(tree(folder.path()), [".bailiwick-layout"]);
    }
}
