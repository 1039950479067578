//! What every program of plain files relies on, over each kind of store.

use bailiwick::scope::{Deletion, Grant};
use bailiwick::store::Depth;
use serde_json::{Value, json};

use super::{Ground, NOT_EMPTY, another_session, done, error, ok};
use crate::guests;
use crate::space::{cat, put};

/// A program finds its scopes as folders, by these names and no others, and works in the session's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_finds_its_scopes_as_folders() {
    let Some(ground) = Ground::new() else { return };
    let ground = ground.with_skill().await;
    let variables = json!([
        ["BAILIWICK_SESSION_DIR", "/session"],
        ["BAILIWICK_AGENT_DIR", "/agent"],
        ["BAILIWICK_WORKSPACE_DIR", "/workspace"],
    ]);
    let folders = json!(["/session", "/agent", "/workspace", "/skill", "/"]);
    ground
        .hold(&[
            (json!(["environment"]), ok(variables)),
            (json!(["arguments"]), ok(json!(["guest"]))),
            (json!(["raw-folders"]), ok(folders)),
            (json!(["write", "plain.txt", "in the session"]), done()),
            (json!(["read", "/session/plain.txt"]), ok("in the session")),
            (json!(["ls", "/skill"]), ok(json!([["pdf", "folder"]]))),
            (json!(["ls", "/skill/pdf"]), ok(json!([["SKILL.md", "file"], ["forms", "folder"]]))),
            (json!(["read", "/skill/pdf/SKILL.md"]), ok("read me")),
            (json!(["stat", "/skill/pdf/forms"]), ok(json!({"kind": "folder", "size": 0}))),
            (json!(["read", "/skill/other/SKILL.md"]), error("NotFound")),
            (json!(["read", "/etc/passwd"]), error("NotFound")),
        ])
        .await;
}

/// What was not granted is neither there nor named.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_granted_is_no_folder() {
    let Some(mut ground) = Ground::new() else { return };
    ground.grant = Grant { agent: None, workspace: None };
    ground
        .hold(&[
            (json!(["environment"]), ok(json!([["BAILIWICK_SESSION_DIR", "/session"]]))),
            (json!(["raw-folders"]), ok(json!(["/session", "/"]))),
            (json!(["ls", "/session"]), ok(json!([]))),
            (json!(["lstat", "/session/agent-files"]), error("NotFound")),
            (json!(["write", "/session/agent-files", "x"]), error("PermissionDenied")),
            (json!(["mkdir", "/session/agent-files"]), error("PermissionDenied")),
        ])
        .await;
}

/// What a program writes is there for every verb, and the other way round.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_programs_are_those_of_the_verbs() {
    for ground in Ground::each().await {
        let space = ground.space();
        put(&space, "agent/from/verbs.txt", "by a verb").await;
        ground
            .hold(&[
                (json!(["read", "/agent/from/verbs.txt"]), ok("by a verb")),
                (json!(["mkdirs", "/agent/from/programs"]), done()),
                (json!(["write", "/agent/from/programs/a.txt", "by a program"]), done()),
                (json!(["append", "/agent/from/programs/a.txt", ", twice"]), done()),
                (
                    json!(["ls", "/agent/from"]),
                    ok(json!([["programs", "folder"], ["verbs.txt", "file"]])),
                ),
                (
                    json!(["stat", "/agent/from/programs/a.txt"]),
                    ok(json!({"kind": "file", "size": 19})),
                ),
                (json!(["copy", "/agent/from/verbs.txt", "/workspace/copy.txt"]), ok(9)),
                (json!(["write", "/workspace/none/a", "x"]), error("NotFound")),
                (json!(["write", "/agent/from", "x"]), error("IsADirectory")),
                (json!(["ls", "/agent/from/verbs.txt"]), error("NotADirectory")),
            ])
            .await;
        assert_eq!(cat(&space, "agent/from/programs/a.txt").await, "by a program, twice");
        assert_eq!(cat(&space, "workspace/copy.txt").await, "by a verb");
        // A later turn of another session finds what is the agent's.
        let later = ground.storage().space(another_session(&ground));
        assert_eq!(cat(&later, "agent/from/programs/a.txt").await, "by a program, twice");
    }
}

/// The working folder has a link to the agent's; it is followed, shown as a link, and never removed
/// or replaced. No verb knows it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_working_folder_has_a_link_to_the_agents() {
    for ground in Ground::each().await {
        ground
            .hold(&[
                (json!(["write", "agent-files/note.md", "durable"]), done()),
                (json!(["read", "/agent/note.md"]), ok("durable")),
                (json!(["ls", "."]), ok(json!([["agent-files", "link"]]))),
                (json!(["stat", "agent-files"]), ok(json!({"kind": "folder", "size": 0}))),
                (json!(["lstat", "agent-files"]), ok(json!({"kind": "link", "size": 0}))),
                (json!(["readlink", "agent-files"]), ok("/agent")),
                (json!(["ls", "agent-files"]), ok(json!([["note.md", "file"]]))),
                (json!(["rm", "agent-files"]), error("PermissionDenied")),
                (json!(["rmdir", "agent-files"]), error("NotADirectory")),
                (json!(["mkdir", "agent-files"]), error("AlreadyExists")),
                (json!(["rename", "agent-files", "other"]), error("PermissionDenied")),
                (json!(["write", "x", "x"]), done()),
                (json!(["rename", "x", "agent-files"]), error("PermissionDenied")),
                (json!(["rename", "x", "agent-files/x"]), error("CrossesDevices")),
                (
                    json!(["raw-stat", "/session", "agent-files/..", ""]),
                    ok(json!(["DescriptorType::Directory", 0, 1])),
                ),
            ])
            .await;
        let space = ground.space();
        let listed = space.list("session", Depth::All, None, 100).await.unwrap();
        assert_eq!(listed.files.len(), 1, "{}", ground.name);
        for path in ["session/agent-files", "session/agent-files/note.md"] {
            let refused = space.stat(path).await.unwrap_err();
            assert_eq!(refused.reason, "reserved");
            let meant = path.replace("session/agent-files", "agent");
            assert_eq!(refused.suggestions, [meant], "{path}");
        }
    }
}

/// Who lists the files that were edited last finds files alone: not the link, nor through it what
/// is the agent's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_latest_edited_files_are_files_alone() {
    for ground in Ground::each().await {
        ground
            .hold(&[
                (json!(["mkdir", "d"]), done()),
                (json!(["write", "d/older", "1"]), done()),
                (json!(["raw-touch-at", "/session", "d/older", 1_000_000_000]), done()),
                (json!(["write", "newer", "2"]), done()),
                (json!(["write", "agent-files/durable", "3"]), done()),
                (json!(["latest", "."]), ok(json!(["./newer", "./d/older"]))),
                (json!(["latest", "/agent"]), ok(json!(["/agent/durable"]))),
            ])
            .await;
        let listed = ground.space().list("session", Depth::All, None, 100).await.unwrap();
        let files: Vec<_> = listed.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(files, ["session/d/older", "session/newer"], "{}", ground.name);
        assert!(listed.folders.is_empty(), "{}: {:?}", ground.name, listed.folders);
    }
}

/// A file is read from anywhere and written anywhere, also past its end, by handles that see one
/// another's bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handles_of_a_file_see_one_another() {
    for ground in Ground::each().await {
        ground
            .hold(&[
                (json!(["h-open", "one", "/agent/a", "rwc"]), done()),
                (json!(["h-write", "one", "0123456789"]), done()),
                (json!(["h-open", "two", "/agent/a", "rw"]), done()),
                (json!(["h-seek", "two", 5]), ok(5)),
                (json!(["h-write", "two", "five"]), done()),
                (json!(["h-seek", "one", 0]), ok(0)),
                (json!(["h-read", "one"]), ok("01234five9")),
                (json!(["h-truncate", "two", 4]), done()),
                (json!(["h-size", "one"]), ok(4)),
                (json!(["h-seek", "two", 6]), ok(6)),
                (json!(["h-write", "two", "!"]), done()),
                (json!(["h-open", "end", "/agent/a", "a"]), done()),
                (json!(["h-write", "end", "end"]), done()),
                (json!(["read", "/agent/a"]), ok("0123\0\0!end")),
                (json!(["stat", "/agent/a"]), ok(json!({"kind": "file", "size": 10}))),
                (json!(["h-close", "one"]), done()),
                (json!(["h-close", "two"]), done()),
                (json!(["h-close", "end"]), done()),
                (json!(["h-open", "again", "/agent/a", "rw"]), done()),
                (json!(["h-seek", "again", 1]), ok(1)),
                (json!(["h-write", "again", "_"]), done()),
                (json!(["h-read", "again"]), ok("23\0\0!end")),
            ])
            .await;
        assert_eq!(cat(&ground.space(), "agent/a").await, "0_23\0\0!end", "{}", ground.name);
    }
}

/// An empty folder is there until it is removed, and no verb shows what keeps it; a folder whose last
/// file went stays as well. Deleting the agent leaves nothing of either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_folder_is_kept() {
    for ground in Ground::each().await {
        ground
            .hold(&[
                (json!(["mkdir", "/agent/empty"]), done()),
                (json!(["mkdir", "/agent/empty"]), error("AlreadyExists")),
                (json!(["mkdir", "/agent/no/parent"]), error("NotFound")),
                (json!(["mkdirs", "/agent/was/filled"]), done()),
                (json!(["write", "/agent/was/filled/a", "a"]), done()),
                (json!(["rmdir", "/agent/was/filled"]), error(NOT_EMPTY)),
                (json!(["rm", "/agent/was/filled/a"]), done()),
                (json!(["rm", "/agent/was/filled/a"]), error("NotFound")),
                (json!(["ls", "/agent/empty"]), ok(json!([]))),
                (json!(["rm", "/agent/empty"]), error("IsADirectory")),
            ])
            .await;
        ground
            .hold(&[
                (json!(["ls", "/agent"]), ok(json!([["empty", "folder"], ["was", "folder"]]))),
                (json!(["ls", "/agent/was/filled"]), ok(json!([]))),
                (json!(["rmdir", "/agent/was"]), error(NOT_EMPTY)),
                (json!(["rmdir", "/agent/empty"]), done()),
                (json!(["stat", "/agent/empty"]), error("NotFound")),
                (json!(["mkdir", "/agent/kept"]), done()),
            ])
            .await;
        let space = ground.space();
        let listed = space.list("agent", Depth::All, None, 100).await.unwrap();
        assert_eq!((listed.files.len(), listed.next), (0, None), "{}", ground.name);
        let marker = space.stat("agent/kept/.bailiwick-folder").await.unwrap_err();
        assert_eq!(marker.reason, "reserved");
        let (workspace, agent) =
            (ground.world.coordinates.workspace, ground.world.coordinates.agent);
        ground.storage().empty(Deletion::Agent(workspace, agent)).await.unwrap();
        ground.hold(&[(json!(["ls", "/agent"]), ok(json!([])))]).await;
    }
}

/// A tree is made, walked and removed as on a disk.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_is_removed_as_on_a_disk() {
    for ground in Ground::each().await {
        ground
            .hold(&[
                (json!(["mkdirs", "tree/a/b"]), done()),
                (json!(["write", "tree/a/one", "1"]), done()),
                (json!(["write", "tree/a/b/two", "2"]), done()),
                (json!(["rmtree", "tree"]), done()),
                (json!(["stat", "tree"]), error("NotFound")),
                (json!(["ls", "/session"]), ok(json!([["agent-files", "link"]]))),
            ])
            .await;
    }
}

/// A rename moves a file or a folder within its scope, with what has it open, onto a file or an empty
/// folder; across scopes it is refused as across devices.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rename_moves_within_a_scope() {
    for ground in Ground::each().await {
        ground
            .hold(&[
                (json!(["write", "/agent/a", "a"]), done()),
                (json!(["write", "/agent/b", "b"]), done()),
                (json!(["h-open", "b", "/agent/b", "r"]), done()),
                (json!(["rename", "/agent/a", "/agent/b"]), done()),
                (json!(["read", "/agent/b"]), ok("a")),
                (json!(["h-read", "b"]), ok("b")),
                (json!(["stat", "/agent/a"]), error("NotFound")),
                (json!(["rename", "/agent/b", "/agent/b"]), done()),
                (json!(["rename", "/agent/b", "/session/b"]), error("CrossesDevices")),
                (json!(["rename", "/agent/none", "/agent/c"]), error("NotFound")),
                (json!(["rename", "/agent/b", "/agent/none/c"]), error("NotFound")),
                (json!(["mkdirs", "/agent/tree/below/empty"]), done()),
                (json!(["write", "/agent/tree/one", "1"]), done()),
                (json!(["write", "/agent/tree/below/two", "2"]), done()),
                (json!(["h-open", "two", "/agent/tree/below/two", "rw"]), done()),
                (json!(["h-write", "two", "II"]), done()),
                (json!(["rename", "/agent/tree", "/agent/tree/below/x"]), error("InvalidInput")),
                (json!(["rename", "/agent/tree", "/agent/b"]), error("NotADirectory")),
                (json!(["rename", "/agent/b", "/agent/tree"]), error("IsADirectory")),
                (json!(["mkdir", "/agent/moved"]), done()),
                (json!(["rename", "/agent/tree", "/agent/moved"]), done()),
                (json!(["stat", "/agent/tree"]), error("NotFound")),
                (
                    json!(["ls", "/agent/moved/below"]),
                    ok(json!([["empty", "folder"], ["two", "file"]])),
                ),
                (json!(["h-write", "two", "!"]), done()),
                (json!(["read", "/agent/moved/below/two"]), ok("II!")),
                (json!(["rename", "/agent/moved/below", "/agent/moved"]), error(NOT_EMPTY)),
            ])
            .await;
        let space = ground.space();
        assert_eq!(cat(&space, "agent/moved/below/two").await, "II!", "{}", ground.name);
        assert_eq!(cat(&space, "agent/moved/one").await, "1");
    }
}

/// A file that was removed, or replaced by a rename, stays with who has it open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_file_stays_with_who_has_it_open() {
    for ground in Ground::each().await {
        put(&ground.space(), "agent/a", "was there").await;
        ground
            .hold(&[
                (json!(["h-open", "a", "/agent/a", "rw"]), done()),
                (json!(["rm", "/agent/a"]), done()),
                (json!(["h-read", "a"]), ok("was there")),
                (json!(["h-write", "a", ", is gone"]), done()),
                (json!(["h-sync", "a"]), done()),
                (json!(["stat", "/agent/a"]), error("NotFound")),
                (json!(["create-new", "/agent/a"]), done()),
                (json!(["create-new", "/agent/a"]), error("AlreadyExists")),
                (json!(["h-close", "a"]), done()),
                (json!(["read", "/agent/a"]), ok("")),
            ])
            .await;
        assert_eq!(cat(&ground.space(), "agent/a").await, "", "{}", ground.name);
    }
}

/// A folder of more files than one page has is listed in order, each once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_folder_is_listed_in_order() {
    let Some(ground) = Ground::new() else { return };
    let space = ground.space();
    for number in 0..2_100 {
        put(&space, &format!("agent/many/{number:05}"), "").await;
    }
    let came = ground
        .run(json!([["h-open", "x", "/agent/many/00003.5", "wc"], ["ls", "/agent/many"]]))
        .await;
    let names: Vec<_> = came[1]["ok"].as_array().unwrap().iter().map(|entry| &entry[0]).collect();
    assert_eq!(names.len(), 2_101);
    let names: Vec<_> = names.into_iter().map(|name| name.as_str().unwrap()).collect();
    assert!(names.is_sorted(), "in order");
    assert_eq!(&names[3..6], ["00003", "00003.5", "00004"]);
}

/// A file and a folder of one name are both there: who opens the name has the file, who walks has
/// both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_and_a_folder_of_one_name_are_both_found() {
    for ground in Ground::each().await {
        let space = ground.space();
        if ground.name == "SeaweedFS" {
            // It keeps no file beside a folder that is there.
            continue;
        }
        put(&space, "agent/a/b", "below").await;
        put(&space, "agent/a", "the file").await;
        ground
            .hold(&[
                (json!(["ls", "/agent"]), ok(json!([["a", "file"], ["a", "folder"]]))),
                (json!(["read", "/agent/a"]), ok("the file")),
                (json!(["read", "/agent/a/b"]), ok("below")),
                (json!(["ls", "/agent/a"]), ok(json!([["b", "file"]]))),
            ])
            .await;
    }
}

/// What tells a file from others is the same in every turn, another one for each, and says nothing of
/// where it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_tells_files_apart_stays() {
    for ground in Ground::each().await {
        let steps = json!([
            ["write", "/agent/a", "a"],
            ["write", "/agent/b", "b"],
            ["raw-hash", "/agent", "a"],
            ["raw-hash", "/agent", "b"],
            ["raw-hash", "/agent", "."],
            ["raw-hash", "/session", "agent-files/a"],
            ["raw-same", "/agent", "a", "./a"],
            ["raw-same", "/agent", "a", "b"],
        ]);
        let (first, second) = (ground.run(steps.clone()).await, ground.run(steps).await);
        assert_eq!(first[2..], second[2..], "{}", ground.name);
        assert_eq!(first[2], first[5]);
        assert!(first[2] != first[3] && first[3] != first[4] && first[2] != first[4]);
        assert_eq!((&first[6], &first[7]), (&ok(true), &ok(false)));
    }
}

/// A program of WASI 0.1 finds the same through its adapter.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_of_an_older_wasi_finds_the_same() {
    let Some(program) = guests::program("folders-wasip1") else { return };
    for ground in Ground::each().await {
        let ground = Ground { program: program.clone(), ..ground };
        ground
            .hold(&[
                (json!(["mkdirs", "a/b"]), done()),
                (json!(["write", "a/b/c.txt", "text"]), done()),
                (json!(["append", "/session/a/b/c.txt", ", more"]), done()),
                (json!(["rename", "a/b/c.txt", "a/d.txt"]), done()),
                (json!(["read", "a/d.txt"]), ok("text, more")),
                (json!(["ls", "a"]), ok(json!([["b", "folder"], ["d.txt", "file"]]))),
                (json!(["read", "/session/../agent/x"]), error("PermissionDenied")),
                (json!(["fill", "/agent/large", 3_000_000]), ok(3_000_000)),
                (json!(["copy-large", "/agent/large", "/agent/copy"]), done()),
            ])
            .await;
        let sums = ground.run(json!([["sum", "/agent/large"], ["sum", "/agent/copy"]])).await;
        assert_eq!(sums[0], sums[1], "{}", ground.name);
        let size: &Value = &sums[0]["ok"][0];
        assert_eq!(size, 3_000_000);
    }
}
