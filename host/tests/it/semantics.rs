//! `SEMANTICS.md` promises nothing that no test holds.

use std::path::Path;

/// Where tests are.
const FOLDERS: [&str; 3] = ["host/src", "host/tests", "guest-sdk/rust"];

#[expect(clippy::disallowed_methods, reason = "the sources are this test's data")]
fn read(path: &Path) -> String {
    String::from_utf8(std::fs::read(path).unwrap()).unwrap()
}

fn sources(folder: &Path, found: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push_str(&read(&path));
        }
    }
}

/// Every promise names the tests that hold it, and there are such tests.
#[test]
fn every_promise_is_held_by_a_test() {
    // Where cargo runs tests, whatever checkout they were built in.
    let root = Path::new("..");
    let mut tests = String::new();
    FOLDERS.iter().for_each(|folder| sources(&root.join(folder), &mut tests));
    let semantics = read(&root.join("SEMANTICS.md"));
    let promises: Vec<_> = semantics.lines().filter_map(|line| line.strip_prefix("- ")).collect();
    assert!(promises.len() > 50, "the promises are found");
    for promise in promises {
        let held = promise.split_once(" <!-- ").and_then(|(_, names)| names.strip_suffix(" -->"));
        let names = held.unwrap_or_else(|| panic!("no test is named for: {promise}"));
        for name in names.split(' ') {
            let is_there = tests.contains(&format!("fn {name}("));
            assert!(is_there, "there is no test `{name}`, which holds: {promise}");
        }
    }
}
