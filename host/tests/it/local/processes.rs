//! Several processes on one directory.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bailiwick::store::{LocalStore, ObjectStore, Precondition, StoreError};
use bytes::Bytes;

use super::{key, on_disk, open, open_alone, tree};
use crate::conformance::content;

const ROLE: &str = "BAILIWICK_TEST_ROLE";
const FOLDER: &str = "BAILIWICK_TEST_FOLDER";
const KEYS: &str = "BAILIWICK_TEST_KEYS";

/// This binary again, as a process that works on a store until it is done or killed.
pub(super) fn spawn(role: &str, folder: &Path, keys: &[&str]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "local::processes::child"])
        .env(ROLE, role)
        .env(FOLDER, folder)
        .env(KEYS, keys.join("\n"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "what the tests here run as another process"]
fn child() {
    let (Ok(role), Ok(folder), Ok(keys)) =
        (std::env::var(ROLE), std::env::var(FOLDER), std::env::var(KEYS))
    else {
        return eprintln!("this is run by other tests alone");
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = open(Path::new(&folder));
    let keys: Vec<_> = keys.split('\n').collect();
    match role.as_str() {
        "churn" => runtime.block_on(churn(&store, &keys)),
        "append" => runtime.block_on(append(&store, keys[0], std::process::id())),
        other => panic!("no such role: {other}"),
    }
}

/// Changes its keys, which nobody else changes, for ever; says each change before and after.
async fn churn(store: &LocalStore, keys: &[&str]) {
    for change in 0_u64.. {
        let rest = keys[rand::random_range(0..keys.len())];
        let version = rand::random::<u64>();
        let deletes = rand::random_range(0..4) == 0;
        let said = if deletes { "gone".to_owned() } else { version.to_string() };
        say(&format!("begin {said} {rest}"));
        if deletes {
            store.delete(&key(rest), &Precondition::Always).await.unwrap();
        } else if change % 2 == 0 {
            store.put(&key(rest), bytes_of(version), &Precondition::Always).await.unwrap();
        } else {
            let bytes = bytes_of(version);
            let mut upload = store.upload(&key(rest), Precondition::Always).await.unwrap();
            upload.write(bytes.slice(..bytes.len() / 2)).await.unwrap();
            upload.write(bytes.slice(bytes.len() / 2..)).await.unwrap();
            upload.complete().await.unwrap();
        }
        say(&format!("done {said} {rest}"));
    }
}

/// The bytes of a version: up to a megabyte, and none like another's.
pub(super) fn bytes_of(version: u64) -> Bytes {
    let size = if version.is_multiple_of(8) { 1 << 20 } else { 50_000 };
    content(version, usize::try_from(version % size).unwrap())
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

/// Appends lines by reading, adding and putting back under the revision that was read.
async fn append(store: &LocalStore, rest: &str, who: u32) {
    let key = key(rest);
    for line in 0..100 {
        loop {
            let (object, bytes) = store.get(&key, 0..u64::MAX, None).await.unwrap();
            let mut lines = bytes.to_vec();
            writeln!(lines, "{who} {line}").unwrap();
            let when = Precondition::IfRevision(object.revision);
            match store.put(&key, lines.into(), &when).await {
                Ok(_) => break,
                Err(StoreError::PreconditionFailed) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
    }
}

/// Processes that append to one file by revision lose no line and double none.
#[tokio::test]
async fn appending_processes_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.put(&key("log"), Bytes::new(), &Precondition::Always).await.unwrap();
    let children = [1, 2].map(|_| spawn("append", folder.path(), &["log"]));
    let whos = children.each_ref().map(Child::id);
    for mut child in children {
        // A pipe that nobody reads would stop it.
        BufReader::new(child.stdout.take().unwrap()).lines().for_each(drop);
        assert!(child.wait().unwrap().success());
    }
    let (_, bytes) = store.get(&key("log"), 0..u64::MAX, None).await.unwrap();
    let mut lines: Vec<_> = std::str::from_utf8(&bytes).unwrap().lines().collect();
    lines.sort_unstable();
    let mut expected: Vec<_> =
        whos.iter().flat_map(|who| (0..100).map(move |line| format!("{who} {line}"))).collect();
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

/// What one process is writing is not swept when another one starts.
#[tokio::test]
async fn a_start_sweeps_nothing_of_a_live_process() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path());
    let mut upload = first.upload(&key("slow"), Precondition::IfAbsent).await.unwrap();
    let half = content(1, 3 << 20);
    upload.write(half.clone()).await.unwrap();
    while tree(&folder.path().join(".bailiwick-tmp")).is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let second = open(folder.path());
    assert_eq!(tree(&folder.path().join(".bailiwick-tmp")).len(), 1);
    upload.write(half.clone()).await.unwrap();
    upload.complete().await.unwrap();
    let (_, bytes) = second.get(&key("slow"), 0..99 << 20, None).await.unwrap();
    assert!(bytes == [half.clone(), half].concat());

    let (third, late) = (open(folder.path()), folder.path().join(".bailiwick-tmp/left"));
    std::fs::write(&late, "by a process that was killed").unwrap();
    drop((first, second));
    drop(open(folder.path()));
    assert!(late.exists(), "swept while a process was there");
    drop(third);
    drop(open_alone(folder.path()));
    assert_eq!(tree(&on_disk(folder.path())), ["slow"]);
}
