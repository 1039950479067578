use super::harness::Machine;

/// Workspaces, agents and sessions are made, listed and deleted by name.
#[test]
fn names_are_made_listed_and_deleted() {
    let machine = Machine::new();
    machine.ok(&["workspaces", "new", "acme"]);
    machine.ok(&["agents", "new", "clerk", "-w", "acme"]);
    machine.ok(&["sessions", "new", "monday", "-w", "acme", "-a", "clerk"]);
    let listed = machine.ok(&["sessions", "ls", "-w", "acme", "-a", "clerk", "--json"]);
    let session: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((&session["name"], &session["turns"]), (&"monday".into(), &0.into()));
    let again = machine.refused(&["workspaces", "new", "acme"]);
    assert!(again.contains("`acme` is there already"), "{again}");
    machine.ok(&["agents", "rm", "clerk", "-w", "acme"]);
    assert_eq!(machine.ok(&["agents", "ls", "-w", "acme", "--json"]), "");
    assert!(machine.ok(&["workspaces", "ls"]).contains("acme"));
}

/// A command that only reads makes nothing: a name mistyped is told so.
#[test]
fn reading_commands_make_nothing() {
    let machine = Machine::new();
    for command in [
        ["files", "ls", "workspace"].as_slice(),
        &["files", "cat", "workspace/a.txt"],
        &["files", "rm", "workspace/a.txt"],
        &["agents", "ls"],
    ] {
        let told = machine.refused(&[command, &["-w", "acne"]].concat());
        assert!(told.contains("there is no workspace `acne`"), "{told}");
    }
    assert_eq!(machine.ok(&["workspaces", "ls", "--json"]), "");
}

/// What is kept is its owner's alone, also in a directory that others can read.
#[test]
fn the_data_directory_and_the_catalog_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::new();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
    machine.ok(&["workspaces", "ls"]);
    assert_eq!(mode(&machine.data_dir()) & 0o777, 0o700);
    std::fs::create_dir(machine.path("open")).unwrap();
    machine.ok(&["workspaces", "new", "acme", "--data-dir", "open"]);
    assert_eq!(mode(&machine.path("open/catalog.sqlite")) & 0o777, 0o600);
    // SQLite's own files may be gone once nothing has the catalog open.
    for entry in std::fs::read_dir(machine.path("open")).unwrap().map(Result::unwrap) {
        let is_its_own = entry.file_name().to_string_lossy().starts_with("catalog.sqlite-");
        assert!(!is_its_own || mode(&entry.path()) & 0o777 == 0o600, "{entry:?}");
    }
}

/// Deleting takes the files along, and a name made again begins empty.
#[test]
fn deleting_takes_the_files_along() {
    let machine = Machine::new();
    let local = machine.file("a.txt", b"text");
    let session = ["-w", "acme", "-a", "clerk", "-s", "monday"];
    for path in ["session/a.txt", "agent/a.txt", "workspace/a.txt"] {
        machine.ok(&[&["files", "put", &local, path], session.as_slice()].concat());
    }
    let told = machine.run(&["sessions", "rm", "monday", "-w", "acme", "-a", "clerk"]);
    assert!(told.err.contains("1 file"), "{told:?}");
    let left = machine.ok(&["files", "ls", "-r", "-w", "acme", "-a", "clerk"]);
    assert!(left.contains("agent/a.txt") && left.contains("workspace/a.txt"), "{left}");
    machine.ok(&["workspaces", "rm", "acme"]);
    machine.ok(&["workspaces", "new", "acme"]);
    assert_eq!(machine.ok(&["files", "ls", "-r", "-w", "acme"]), "");
    assert_eq!(files_below(&machine.data_dir().join("files"), "a.txt"), 0);
}

/// A command that died after its deletion was recorded leaves it to the next one.
#[tokio::test]
async fn the_next_command_finishes_a_deletion() {
    let machine = Machine::new();
    let local = machine.file("a.txt", b"text");
    machine.ok(&["files", "put", &local, "workspace/a.txt", "-w", "acme"]);
    let catalog = machine.catalog().await;
    let workspace = catalog.workspace(&"acme".parse().unwrap()).await.unwrap().unwrap();
    catalog.remove_workspace(workspace).await.unwrap();
    let files = machine.data_dir().join("files");
    assert_eq!(files_below(&files, "a.txt"), 1);
    machine.ok(&["workspaces", "ls"]);
    assert_eq!(files_below(&files, "a.txt"), 0);
    assert!(catalog.owed().await.unwrap().is_empty());
}

fn files_below(directory: &std::path::Path, name: &str) -> usize {
    let entries = std::fs::read_dir(directory).unwrap().map(Result::unwrap);
    let count = |entry: std::fs::DirEntry| match entry.file_type().unwrap().is_dir() {
        true => files_below(&entry.path(), name),
        false => usize::from(entry.file_name() == name),
    };
    entries.map(count).sum()
}
