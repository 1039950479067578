//! What the directory store promises beyond what every store does: processes that are killed,
//! links that somebody planted, disks that are full.

#![expect(clippy::disallowed_methods, reason = "files are planted and looked at from outside")]

mod callers;
mod crashes;
mod links;
mod machines;
mod processes;
mod tree;

use std::path::Path;
use std::sync::Arc;

use bailiwick::clock::SystemClock;
use bailiwick::scope::{
    Access, AgentId, Coordinates, Folder, FolderPath, Grant, GuestPath, KeyPrefix, MountTable,
    Need, ObjectKey, SkillTable, WorkspaceId,
};
use bailiwick::store::LocalStore;
use uuid::Uuid;

fn open(folder: &Path) -> LocalStore {
    LocalStore::open_ambient(folder, Arc::new(SystemClock)).unwrap()
}

/// Opens it as the only one there, and returns once leftovers are swept. Another test that starts
/// a process hands it all open files, locks included, for the moment until it is that program.
fn open_alone(folder: &Path) -> LocalStore {
    for _ in 0..200 {
        let store = open(folder);
        if tree(&folder.join(".bailiwick-tmp")).is_empty() {
            return store;
        }
        drop(store);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("leftovers were not swept: {:?}", tree(&folder.join(".bailiwick-tmp")));
}

/// The same workspace in every process.
fn mounts() -> MountTable {
    let coordinates = Coordinates {
        workspace: WorkspaceId(Uuid::from_u128(1)),
        agent: AgentId(Uuid::from_u128(2)),
        session: None,
    };
    let grant = Grant { agent: None, workspace: Some(Access::ReadWrite) };
    MountTable::new(coordinates, grant, SkillTable::default())
}

fn key(rest: &str) -> ObjectKey {
    let path = format!("workspace/{rest}");
    let path = GuestPath::parse(&path).unwrap();
    mounts().resolve(&path, Need::Write).unwrap().key
}

fn prefix(rest: &str) -> KeyPrefix {
    let path = format!("workspace/{rest}");
    let path = FolderPath::parse(&path).unwrap();
    match mounts().resolve_folder(&path).unwrap() {
        Folder::Stored(prefix) => prefix,
        other => panic!("not a stored folder: {other:?}"),
    }
}

/// Where the files of the workspace are on disk.
fn on_disk(folder: &Path) -> std::path::PathBuf {
    folder.join(prefix("").as_str())
}

/// Every path below a folder, in order, links not followed, but for the marks of those who change
/// the store.
fn tree(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            found.push(path.strip_prefix(folder).unwrap().to_string_lossy().into_owned());
            let is_dir = entry.file_type().unwrap().is_dir();
            if is_dir && !path.ends_with(".bailiwick-changing") {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}

/// What a store's folder holds of its own.
const OWN: [&str; 6] = [
    ".bailiwick-alive",
    ".bailiwick-changing",
    ".bailiwick-clock",
    ".bailiwick-commit",
    ".bailiwick-layout",
    ".bailiwick-tmp",
];
