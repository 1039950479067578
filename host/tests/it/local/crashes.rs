//! Processes that are killed in the middle of whatever they do.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout};
use std::time::Duration;

use bailiwick::store::{Depth, LocalStore, ObjectStore, Precondition};

use super::processes::{bytes_of, spawn};
use super::{OWN, key, open, open_alone, prefix, tree};
use crate::conformance::read_whole;

/// What may be found of a key: what was last acknowledged, and what was begun since.
#[derive(Clone, Debug, Default)]
struct May {
    /// `None` for a file that is not there.
    acknowledged: Option<u64>,
    begun: Option<Option<u64>>,
}

/// A process that changes files, and what it has said of them.
struct Victim {
    process: Child,
    out: BufReader<ChildStdout>,
}

impl Victim {
    /// Returns once it is at work.
    fn start(folder: &Path, keys: &[&str], said: &mut BTreeMap<String, May>) -> Self {
        let mut process = spawn("churn", folder, keys);
        let mut out = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("done ") {
            line.clear();
            assert_ne!(out.read_line(&mut line).unwrap(), 0, "the child ended by itself");
            hear(&line, said);
        }
        Self { process, out }
    }

    /// Kills it, and hears all that it still said.
    fn kill(mut self, said: &mut BTreeMap<String, May>) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        rest.lines().for_each(|line| hear(line, said));
    }
}

fn hear(line: &str, said: &mut BTreeMap<String, May>) {
    let words: Vec<_> = line.trim_end_matches('\n').splitn(3, ' ').collect();
    let [step @ ("begin" | "done"), version, rest] = words[..] else { return };
    let version = version.parse::<u64>().ok();
    let may = said.entry(rest.to_owned()).or_default();
    match step {
        "begin" => may.begun = Some(version),
        _ => *may = May { acknowledged: version, begun: None },
    }
}

/// Every file is whole: what was acknowledged last, or what was begun since. What was found is
/// what holds from here on.
async fn check_files(store: &LocalStore, said: &mut BTreeMap<String, May>) {
    for (rest, may) in &mut *said {
        let found = match store.head(&key(rest)).await {
            Ok(_) => Some(read_whole(store, &key(rest)).await),
            Err(_) => None,
        };
        let allowed = [Some(may.acknowledged), may.begun];
        let is = |version: &Option<u64>| version.map(bytes_of) == found;
        let Some(version) = allowed.into_iter().flatten().find(is) else {
            let size = found.map(|bytes| bytes.len());
            panic!("{rest}: {size:?} bytes are none of {may:?}");
        };
        *may = May { acknowledged: version, begun: None };
    }
}

/// No file is there that nobody wrote, and none is missing.
async fn check_listing(store: &LocalStore, said: &BTreeMap<String, May>) {
    let page = store.list(&prefix(""), Depth::All, None, 1000).await.unwrap();
    let mut listed: Vec<_> = page.objects.into_iter().map(|(key, _)| key).collect();
    listed.sort();
    let there = said.iter().filter(|(_, may)| may.acknowledged.is_some());
    let mut expected: Vec<_> = there.map(|(rest, _)| key(rest)).collect();
    expected.sort();
    assert_eq!(listed, expected);
}

fn nap() {
    std::thread::sleep(Duration::from_millis(rand::random_range(0..25)));
}

/// A hundred times, a process is killed at whatever it does: what it acknowledged is whole, what
/// it did not is whole or not there, and the next start sweeps what it left.
#[tokio::test]
async fn a_hundred_killed_writers_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let long = format!("{}/{}", "x".repeat(255), "%".repeat(200));
    let keys = ["a", "a/b", "a/b/c", "b/1", "b/2", "c%", &long];
    let (mut said, mut leftovers) = (BTreeMap::new(), 0);
    for _ in 0..100 {
        let victim = Victim::start(folder.path(), &keys, &mut said);
        nap();
        victim.kill(&mut said);
        let temporary = folder.path().join(".bailiwick-tmp");
        leftovers += tree(&temporary).len();
        let store = open_alone(folder.path());
        check_files(&store, &mut said).await;
        check_listing(&store, &said).await;
    }
    println!("{leftovers} leftovers of a hundred killed processes were swept");
    assert!(leftovers > 0, "no kill hit a write: the test proves nothing");
}

/// Two processes turn a name from a file into a folder and back, and are killed in turn: neither
/// loses a file, and the other is not disturbed.
#[tokio::test]
async fn killed_while_a_file_becomes_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut said = [BTreeMap::new(), BTreeMap::new()];
    let keys = [&["a", "d/e"][..], &["a/b", "a/b/c", "d"][..]];
    let mut victims =
        [0, 1].map(|who| Some(Victim::start(folder.path(), keys[who], &mut said[who])));
    for round in 0..40 {
        let who = round % 2;
        nap();
        if let Some(victim) = victims[who].take() {
            victim.kill(&mut said[who]);
        }
        // The other one is at work meanwhile, on other keys.
        check_files(&open(folder.path()), &mut said[who]).await;
        victims[who] = Some(Victim::start(folder.path(), keys[who], &mut said[who]));
    }
    for (victim, said) in victims.into_iter().zip(&mut said) {
        victim.unwrap().kill(said);
    }
    let [mut all, others] = said;
    all.extend(others);
    let store = open_alone(folder.path());
    check_files(&store, &mut all).await;
    check_listing(&store, &all).await;

    let keys: Vec<_> = all.keys().map(|rest| key(rest)).collect();
    store.delete_many(&keys).await.unwrap();
    // An empty folder that a kill left goes with the next deletion beside it.
    store.put(&key("last"), "last".into(), &Precondition::Always).await.unwrap();
    store.delete(&key("last"), &Precondition::Always).await.unwrap();
    assert_eq!(tree(folder.path()), OWN);
}

/// Who changes a store marks it until it ends in order. A mark that is left is of one that was
/// killed: the next one that is alone makes durable what that had changed, and removes it.
#[tokio::test]
async fn who_changes_a_store_marks_it_until_an_orderly_end() {
    let folder = tempfile::tempdir().unwrap();
    let marks = folder.path().join(".bailiwick-changing");
    let count = || std::fs::read_dir(&marks).unwrap().count();
    let store = open_alone(folder.path());
    store.list(&prefix(""), Depth::All, None, 1).await.unwrap();
    assert_eq!(count(), 0);
    for _ in 0..2 {
        store.put(&key("a"), "x".into(), &Precondition::Always).await.unwrap();
        assert_eq!(count(), 1);
    }
    let another = open(folder.path());
    another.delete(&key("a"), &Precondition::Always).await.unwrap();
    assert_eq!(count(), 2);
    drop((store, another));
    assert_eq!(count(), 0);
    std::fs::write(marks.join("left"), "").unwrap();
    drop(open_alone(folder.path()));
    assert_eq!(count(), 0);
}
