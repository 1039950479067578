use std::io::{Read, Write};
use std::process::Stdio;
use std::time::Duration;

use bailiwick::catalog::{Promoter, ReceiptsOf};
use rustix::process::Signal;

use super::harness::{Machine, finish, piped, signal};

const ACME: [&str; 2] = ["-w", "acme"];

/// `put` makes the workspace, and every verb sees the same file.
#[test]
fn a_file_goes_in_is_seen_and_comes_out() {
    let machine = Machine::new();
    let local = machine.file("prices.csv", b"a,b\n1,2\n");
    let put = machine.run(&["files", "put", &local, "workspace/reference/", "-w", "acme"]);
    assert_eq!(put.out, "workspace/reference/prices.csv (8 bytes)\n");
    assert!(put.err.contains("made workspace `acme`"), "{put:?}");
    let path = "workspace/reference/prices.csv";
    assert_eq!(machine.ok(&["files", "cat", path, "-w", "acme"]), "a,b\n1,2\n");
    let stat = machine.ok(&["files", "stat", path, "-w", "acme", "--json"]);
    let stat: serde_json::Value = serde_json::from_str(&stat).unwrap();
    assert_eq!((&stat["size"], &stat["media_type"]), (&8.into(), &"text/csv".into()));
    let root = machine.ok(&["files", "ls", "-w", "acme"]);
    assert!(root.ends_with("  workspace/\n"), "{root}");
    let folder = machine.ok(&["files", "ls", "workspace", "-w", "acme"]);
    assert!(folder.ends_with("  workspace/reference/\n"), "{folder}");
    let all = machine.ok(&["files", "ls", "-r", "--json", "-w", "acme"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&all).unwrap(), stat);

    machine.ok(&["files", "cp", path, "workspace/copy.csv", "-w", "acme"]);
    let there = ["files", "cp", path, "workspace/copy.csv", "--if-absent", "-w", "acme"];
    let there = machine.refused(&there);
    assert!(there.contains("`workspace/copy.csv` is there already"), "{there}");
    machine.ok(&["files", "mv", "workspace/copy.csv", "workspace/moved/", "-w", "acme"]);
    let gone = machine.refused(&["files", "rm", "workspace/copy.csv", "-w", "acme"]);
    assert!(gone.contains("there is no file `workspace/copy.csv`"), "{gone}");
    machine.ok(&["files", "rm", "-r", "workspace/reference", "workspace/moved/", "-w", "acme"]);
    assert_eq!(machine.ok(&["files", "ls", "-r", "-w", "acme"]), "");
}

/// Only the scopes that a path names need the names of what they belong to, and what is missing
/// is asked for.
#[test]
fn a_scope_asks_for_the_names_that_it_needs() {
    let machine = Machine::new();
    let local = machine.file("a", b"");
    for (arguments, asked) in [
        (["files", "put", &local, "workspace/a"].as_slice(), "--workspace NAME"),
        (&["files", "put", &local, "agent/a", "-w", "acme"], "--agent NAME"),
        (&["files", "put", &local, "session/a", "-w", "acme", "-a", "clerk"], "--session NAME"),
        (&["files", "put", &local, "skill/x/a", "-w", "acme"], "--skill SLUG=DIR"),
        (&["files", "put", &local, "a", "-w", "acme"], "starts with `session/`"),
        (&["files", "put", &local, "workspace/../a", "-w", "acme"], "`..`"),
        (&["files", "put", "-", "workspace/", "-w", "acme"], "name the file"),
        (&["files", "put", "/tmp", "workspace/a", "-w", "acme"], "is a directory"),
        (&["files", "put", "nowhere.txt", "workspace/a", "-w", "acme"], "cannot be read"),
    ] {
        let told = machine.refused(arguments);
        assert!(told.contains(asked), "{arguments:?}: {told}");
    }
    assert_eq!(machine.ok(&["workspaces", "ls", "--json"]), "", "a refusal makes nothing");
}

/// A `put` that is interrupted leaves what was there before.
#[test]
fn an_interrupted_put_changes_nothing() {
    let machine = Machine::new();
    let local = machine.file("a.txt", b"before");
    machine.ok(&["files", "put", &local, "workspace/a.txt", "-w", "acme"]);
    for (sent, code) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let mut command = machine.command(&["files", "put", "-", "workspace/a.txt", "-w", "acme"]);
        let mut child = piped(command.stdin(Stdio::piped()));
        let mut input = child.stdin.take().unwrap();
        input.write_all(&vec![b'x'; 3 << 20]).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        signal(child.id(), sent);
        let done = finish(child);
        assert_eq!(done.code, code, "{done:?}");
        drop(input);
        assert_eq!(machine.ok(&["files", "cat", "workspace/a.txt", "-w", "acme"]), "before");
    }
    let all = machine.ok(&["files", "ls", "-r", "-w", "acme"]);
    assert_eq!(all.lines().count(), 1, "{all}");
}

/// Whoever reads a part and closes the pipe has what they wanted: no error, no panic.
#[test]
fn a_closed_pipe_ends_a_command_quietly() {
    let machine = Machine::new();
    let local = machine.file("big", &vec![b'x'; 4 << 20]);
    machine.ok(&["files", "put", &local, "workspace/big", "-w", "acme"]);
    let mut child = machine.start(&["files", "cat", "workspace/big", "-w", "acme"]);
    let mut output = child.stdout.take().unwrap();
    output.read_exact(&mut [0]).unwrap();
    drop(output);
    let done = finish(child);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
}

/// A variable that was not set deletes nothing.
#[test]
fn an_empty_path_deletes_nothing() {
    let machine = Machine::new();
    let local = machine.file("a", b"kept");
    machine.ok(&[&["files", "put", &local, "workspace/a"], ACME.as_slice()].concat());
    for paths in [["", "workspace/b"], ["workspace/b", ""]] {
        let rm = [&["files", "rm", "-r"], paths.as_slice(), &ACME].concat();
        let refused = machine.refused(&rm);
        assert!(refused.contains("an empty path names nothing to delete"), "{refused}");
    }
    assert_eq!(machine.ok(&[&["files", "cat", "workspace/a"], ACME.as_slice()].concat()), "kept");
}

/// Two spellings of a name that look the same are two files, and `ls` says so.
#[test]
fn twins_are_pointed_out() {
    let machine = Machine::new();
    let local = machine.file("a", b"");
    for path in ["workspace/caf\u{e9}.txt", "workspace/cafe\u{301}.txt"] {
        machine.ok(&[&["files", "put", &local, path], ACME.as_slice()].concat());
    }
    let done = machine.run(&["files", "ls", "workspace", "-w", "acme"]);
    assert_eq!(done.out.lines().count(), 2);
    assert!(done.err.contains("NFC and NFD"), "{done:?}");
}

/// A file that a person promotes by hand leaves a receipt as well.
#[tokio::test]
async fn a_promotion_by_hand_leaves_a_receipt() {
    let machine = Machine::new();
    let local = machine.file("a.txt", b"text");
    let session = ["-w", "acme", "-a", "clerk", "-s", "monday"];
    for command in [
        ["files", "put", &local, "session/a.txt"],
        ["files", "cp", "session/a.txt", "session/b.txt"],
        ["files", "cp", "session/a.txt", "agent/a.txt"],
        ["files", "mv", "agent/a.txt", "workspace/a.txt"],
    ] {
        machine.ok(&[command.as_slice(), &session].concat());
    }
    let catalog = machine.catalog().await;
    let workspace = catalog.workspace(&"acme".parse().unwrap()).await.unwrap().unwrap();
    let receipts = catalog.receipts(ReceiptsOf::Workspace(workspace), None, 10).await.unwrap();
    let targets: Vec<_> = receipts.iter().map(|one| one.target.as_str()).collect();
    assert_eq!(targets, ["workspace/a.txt", "agent/a.txt"]);
    assert!(receipts.iter().all(|one| one.by == Promoter::Operator));
}
