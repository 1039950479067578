//! Callers that stop waiting.

use std::fs::File;
use std::time::Duration;

use bailiwick::store::{Depth, LocalStore, ObjectStore, Precondition};

use super::{key, open, prefix};
use crate::conformance::read_whole;

/// A change whose caller is gone, as that of a turn that is over, does not take effect later,
/// however far it was.
#[tokio::test]
async fn a_change_that_nobody_waits_for_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for rest in ["there", "doomed"] {
        store.put(&key(rest), "before".into(), &ALWAYS).await.unwrap();
    }
    for change in ["put", "new", "upload", "copy", "delete", "delete many"] {
        let commits = File::open(folder.path().join(".bailiwick-commit")).unwrap();
        commits.lock().unwrap();
        let given_up = tokio::time::timeout(Duration::from_millis(100), make(&store, change)).await;
        assert!(given_up.is_err(), "{change} waited for the lock");
        commits.unlock().unwrap();
    }
    // Behind all of them in the queue for the lock, or nearly so.
    store.put(&key("last"), "last".into(), &ALWAYS).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let listed = store.list(&prefix(""), Depth::All, None, 10).await.unwrap().objects;
    let listed: Vec<_> = listed.into_iter().map(|(found, _)| found).collect();
    assert_eq!(listed, ["doomed", "last", "there"].map(key));
    assert_eq!(read_whole(&store, &key("there")).await, "before");
}

const ALWAYS: Precondition = Precondition::Always;

async fn make(store: &LocalStore, change: &str) {
    match change {
        "put" => drop(store.put(&key("there"), "after".into(), &ALWAYS).await.unwrap()),
        "new" => drop(store.put(&key("new/folder/file"), "after".into(), &ALWAYS).await.unwrap()),
        "upload" => {
            let mut upload = store.upload(&key("there"), ALWAYS).await.unwrap();
            upload.write("after".into()).await.unwrap();
            upload.complete().await.unwrap();
        }
        "copy" => drop(store.copy(&key("doomed"), None, &key("copy"), &ALWAYS).await.unwrap()),
        "delete" => store.delete(&key("doomed"), &ALWAYS).await.unwrap(),
        _ => store.delete_many(&[key("doomed")]).await.unwrap(),
    }
}
