//! Attacks through folders: the calls as they are, past every library.

use bailiwick::scope::Grant;
use bailiwick::store::Depth;
use serde_json::{Value, json};

use super::{BAD_DESCRIPTOR, Ground, bounds, error};
use crate::faulty::{Fault, POISON, Plan};
use crate::space::{cat, put};

/// No spelling of a path leaves the folder that it starts from, and none that a scope refuses is
/// repaired.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_path_of_a_program_leaves_its_folder() {
    let long = "n".repeat(256);
    let deep = "d/".repeat(400);
    let paths = [
        ("", "no-entry"),
        ("/", "not-permitted"),
        ("/agent/secret", "not-permitted"),
        ("//agent/secret", "not-permitted"),
        ("..", "not-permitted"),
        ("../agent/secret", "not-permitted"),
        ("./../agent/secret", "not-permitted"),
        ("a/../../agent/secret", "not-permitted"),
        ("a/b/../../../session/secret", "not-permitted"),
        ("nul\0/secret", "invalid"),
        ("secret\0", "invalid"),
        ("back\\slash", "invalid"),
        ("..\\agent", "invalid"),
        ("line\nfeed", "invalid"),
        ("escape\u{1b}", "invalid"),
        (".bailiwick-folder", "not-permitted"),
        ("a/.bailiwick-x", "not-permitted"),
        (&long, "name-too-long"),
        (&deep, "name-too-long"),
    ];
    for ground in Ground::each_of_both().await {
        let space = ground.space();
        put(&space, "agent/secret", "kept").await;
        put(&space, "workspace/a/b/c", "here").await;
        for (path, code) in paths {
            let came = ground
                .run(json!([
                    ["raw-write", "/workspace", path, "changed", 0],
                    ["raw-mkdir", "/workspace", path],
                    ["raw-unlink", "/workspace", path],
                    ["raw-rmdir", "/workspace", path],
                    ["raw-rename", "/workspace", "a/b/c", "/workspace", path],
                    ["raw-rename", "/workspace", path, "/workspace", "x"],
                    ["raw-touch", "/workspace", path, ""],
                    ["raw-open", "/workspace", path, 1, 0, 1],
                    ["raw-stat", "/workspace", path, ""],
                    ["raw-hash", "/workspace", path, ""],
                    ["raw-readlink", "/workspace", path],
                    ["raw-link", "/workspace", path, "/workspace", "x"],
                    ["raw-symlink", "/workspace", path, "target"],
                ]))
                .await;
            for (step, came) in came.iter().enumerate() {
                let told = came["error"]
                    .as_str()
                    .unwrap_or_else(|| panic!("{}: step {step} of {path:?}: {came}", ground.name));
                // A reserved name is one that is not there; a link is refused as one.
                let others = match step {
                    7..=10 if code == "not-permitted" => ["no-entry", "invalid"],
                    11 | 12 => ["unsupported", code],
                    _ => [code, code],
                };
                assert!(
                    told == code || others.contains(&told),
                    "{}: step {step} of {path:?}: {told}",
                    ground.name
                );
            }
        }
        assert_eq!(cat(&space, "agent/secret").await, "kept");
        assert_eq!(cat(&space, "workspace/a/b/c").await, "here");
        let listed = space.list("", Depth::All, None, 100).await.unwrap();
        assert_eq!(listed.files.len(), 2, "{}: {listed:?}", ground.name);
    }
}

/// What ends in `/` can only be a folder; slashes and dots between names mean nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slashes_mean_folders_and_nothing_else() {
    for ground in Ground::each_of_both().await {
        put(&ground.space(), "agent/d/a", "a").await;
        let steps = [
            (json!(["raw-stat", "/agent", "d/a/", ""]), "not-directory"),
            (json!(["raw-open", "/agent", "d/a/", 1, 0, 1]), "not-directory"),
            (json!(["raw-open", "/agent", "d/a/.", 1, 0, 1]), "not-directory"),
            (json!(["raw-unlink", "/agent", "d/a/"]), "not-directory"),
            (json!(["raw-rmdir", "/agent", "d/a/"]), "not-directory"),
            (json!(["raw-rename", "/agent", "d/a/", "/agent", "x"]), "not-directory"),
            (json!(["raw-rename", "/agent", "d/a", "/agent", "x/"]), "not-directory"),
            (json!(["raw-write", "/agent", "d/new/", "x", 0]), "is-directory"),
            (json!(["raw-open", "/agent", "d/a", 1, 2, 1]), "not-directory"),
            (json!(["raw-unlink", "/agent", "d/"]), "is-directory"),
            (json!(["raw-mkdir", "/agent", "d/a/"]), "exist"),
            (json!(["raw-rmdir", "/agent", "."]), "invalid"),
            (json!(["raw-rename", "/agent", ".", "/agent", "x"]), "invalid"),
            (json!(["raw-rename", "/agent", "d", "/agent", "."]), "invalid"),
        ];
        for (step, code) in steps {
            let came = ground.run(json!([step])).await;
            assert_eq!(came[0], error(code), "{}: {step}", ground.name);
        }
        let found = ground.run(json!([["raw-stat", "/agent", ".//d/./../d//a", ""]])).await;
        assert_eq!(found[0]["ok"][1], 1, "{found:?}");
    }
}

/// However a file of a scope without write is opened, nothing of it can be changed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_flags_change_what_is_read_only() {
    for ground in Ground::each_of_both().await {
        put(&ground.space(), "workspace/a", "as it was").await;
        put(&ground.space(), "workspace/d/b", "b").await;
        let ground = Ground { grant: Grant::default(), ..ground }.with_skill().await;
        for (folder, path) in [
            ("/workspace", "a"),
            ("/workspace", "new"),
            ("/skill", "pdf/SKILL.md"),
            ("/skill", "pdf/new"),
        ] {
            let came = ground.run(json!([["raw-open-all-flags", folder, path]])).await;
            let all = came[0]["ok"].as_array().unwrap();
            assert_eq!(all.len(), 16 * 64);
            for one in all {
                let (open, flags) = (one[0].as_u64().unwrap(), one[1].as_u64().unwrap());
                let told = one[2].as_str().unwrap();
                assert!(
                    !["changed", "touched"].contains(&told),
                    "{}: {folder} {path}: {one}",
                    ground.name
                );
                let writes = flags & 2 != 0 || open & 8 != 0;
                let is_folder = open & 2 != 0;
                if writes && !is_folder {
                    assert_eq!(told, "read-only", "{}: {folder} {path}: {one}", ground.name);
                }
            }
        }
        let refused = [
            json!(["raw-write", "/workspace", "a", "changed", 0]),
            json!(["raw-unlink", "/workspace", "a"]),
            json!(["raw-mkdir", "/workspace", "x"]),
            json!(["raw-rmdir", "/workspace", "d"]),
            json!(["raw-rename", "/workspace", "a", "/workspace", "x"]),
            json!(["raw-touch", "/workspace", "a", ""]),
            json!(["raw-unlink", "/skill", "pdf/SKILL.md"]),
            json!(["raw-mkdir", "/skill", "pdf/x"]),
            json!(["raw-rename", "/skill", "pdf/SKILL.md", "/skill", "pdf/x"]),
        ];
        for step in refused {
            let came = ground.run(json!([step])).await;
            assert_eq!(came[0], error("read-only"), "{}: {step}", ground.name);
        }
        let across = [
            json!(["raw-rename", "/workspace", "a", "/agent", "a"]),
            json!(["raw-rename", "/agent", "a", "/workspace", "a"]),
            json!(["raw-rename", "/skill", "pdf/SKILL.md", "/agent", "a"]),
        ];
        for step in across {
            let came = ground.run(json!([step])).await;
            assert_eq!(came[0], error("cross-device"), "{}: {step}", ground.name);
        }
        for step in [json!(["raw-mkdir", "/skill", "x"]), json!(["raw-rmdir", "/skill", "pdf"])] {
            let came = ground.run(json!([step])).await;
            assert!(came[0]["error"].is_string(), "{}: {step}: {came:?}", ground.name);
        }
        let space = ground.space();
        assert_eq!(cat(&space, "workspace/a").await, "as it was");
        assert_eq!(cat(&space, "skill/pdf/SKILL.md").await, "read me");
        let listed = space.list("workspace", Depth::All, None, 10).await.unwrap();
        assert_eq!(listed.files.len(), 2, "{}", ground.name);
    }
}

/// A file that is open for one thing is not for another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handle_does_what_it_was_opened_for() {
    let Some(ground) = Ground::new() else { return };
    put(&ground.space(), "agent/a", "as it was").await;
    let came = ground.run(json!([["raw-open-all-flags", "/agent", "a"]])).await;
    for one in came[0]["ok"].as_array().unwrap() {
        let flags = one[1].as_u64().unwrap();
        let open = one[0].as_u64().unwrap();
        let is_opened = open & 2 == 0 && open & 5 != 5;
        assert_eq!(one[2] == "changed", is_opened && flags & 2 != 0, "{one}");
    }
    let write_only: Value = json!([["h-open", "a", "/agent/b", "wc"], ["h-read", "a"]]);
    let came = ground.run(write_only).await;
    assert_eq!(came[1], error(BAD_DESCRIPTOR), "{came:?}");
}

/// Links are refused, wherever they stand and wherever they would lead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_are_not_made() {
    for ground in [Ground::new(), Ground::with_tasks(bounds())].into_iter().flatten() {
        put(&ground.space(), "agent/a", "a").await;
        for step in [
            json!(["raw-symlink", "/agent", "link", "a"]),
            json!(["raw-symlink", "/agent", "link", "../../workspace"]),
            json!(["raw-symlink", "/agent", "link", "/etc/passwd"]),
            json!(["raw-link", "/agent", "a", "/agent", "link"]),
            json!(["raw-link", "/agent", "a", "/session", "link"]),
        ] {
            let came = ground.run(json!([step, ["raw-stat", "/agent", "link", ""]])).await;
            assert_eq!(came, [error("unsupported"), error("no-entry")], "{step}");
        }
    }
    let Some(ground) = Ground::new() else { return };
    put(&ground.space(), "agent/a", "a").await;
    let came = ground
        .run(json!([["raw-readlink", "/agent", "a"], ["link", "/agent/a", "/agent/b"]]))
        .await;
    assert_eq!(came, [error("invalid"), error("Unsupported")]);
}

/// Whatever fails below, a program is told a code, and nothing of what it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_to_a_program_holds_what_failed_below() {
    for ground in [Ground::new(), Ground::with_tasks(bounds())].into_iter().flatten() {
        no_answer_holds_what_failed_below(&ground).await;
    }
}

async fn no_answer_holds_what_failed_below(ground: &Ground) {
    put(&ground.space(), "agent/d/a", "a").await;
    let steps = [
        json!(["read", "/agent/d/a"]),
        json!(["write", "/agent/d/b", "b"]),
        json!(["rm", "/agent/d/a"]),
        json!(["ls", "/agent/d"]),
        json!(["stat", "/agent/d/a"]),
        json!(["mkdir", "/agent/d/x"]),
        json!(["rmdir", "/agent/d"]),
        json!(["rename", "/agent/d", "/agent/e"]),
        json!(["truncate", "/agent/d/a", 0]),
    ];
    for step in steps {
        ground.world.store.plan(Plan::Every(Fault::Before));
        let report = ground.report(json!([step])).await;
        let told = format!("{report:?}");
        for word in POISON {
            assert!(!told.contains(word), "{step}: {told}");
        }
        let came: Value = match &report.end {
            bailiwick::engine::End::Reply(reply) => serde_json::from_str(reply).unwrap(),
            end => panic!("{step}: {end:?}"),
        };
        assert!(came[0]["error"].is_string(), "{step}: {came}");
    }
    ground.world.store.plan(Plan::None);
    assert_eq!(cat(&ground.space(), "agent/d/a").await, "a");
}
