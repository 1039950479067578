use proptest::prelude::*;

use super::properties::{check, table};
use super::*;

fn refusal(path: &str) -> (RefusalKind, &'static str, Vec<String>) {
    let table = table(Grant::default());
    let parsed = GuestPath::parse(path).map_err(|refusal| table.explain(path, refusal));
    let refusal = parsed.and_then(|path| table.resolve(&path, Need::Read)).unwrap_err();
    (refusal.kind, refusal.reason, refusal.suggestions)
}

/// What breaks a rule is refused, never repaired; the right spelling is named where there is one.
#[test]
fn each_rule_refuses_and_names_the_spelling_that_was_meant() {
    let long = format!("session/{}", "a/".repeat(400) + "b");
    let segment = format!("session/{}", "x".repeat(256));
    let huge = "/".repeat(1 << 20);
    let cases: &[(&str, &str, &[&str])] = &[
        ("", "empty", &[]),
        ("/session/a", "absolute", &["session/a"]),
        ("session/a/", "trailing-slash", &["session/a"]),
        ("session//a", "empty-segment", &["session/a"]),
        ("session/./a", "dot-segment", &["session/a"]),
        ("./session/a", "dot-segment", &["session/a"]),
        ("session/../agent/a", "climbs-out", &[]),
        ("session/a/..", "climbs-out", &[]),
        ("..", "climbs-out", &[]),
        ("..\\session\\a", "climbs-out", &[]),
        ("session\\a", "backslash", &["session/a"]),
        ("session/a\0", "control-character", &[]),
        ("session/a\nb", "control-character", &[]),
        ("session/a\u{85}b", "control-character", &[]),
        ("session", "names-a-folder", &[]),
        ("skill", "names-a-folder", &[]),
        ("skill/pdf", "names-a-folder", &[]),
        ("session/.bailiwick-layout", "reserved", &[]),
        ("agent/a/.bailiwick-x/b", "reserved", &[]),
        (&long, "path-too-long", &[]),
        (&segment, "segment-too-long", &[]),
        (&huge, "path-too-long", &[]),
    ];
    for (path, reason, suggestions) in cases {
        let (kind, found, suggested) = refusal(path);
        assert_eq!((kind, found), (RefusalKind::Invalid, *reason), "{path:.40}");
        assert_eq!(suggested, *suggestions, "{path:.40}");
    }
}

/// Everything else is a legal name.
#[test]
fn awkward_names_are_legal_and_keep_their_spelling() {
    let longest = format!("{}/{}", "y".repeat(255), vec!["z".repeat(255); 2].join("/") + "z");
    let names = [
        "a b",
        "%2e%2e",
        "100%",
        "a+b",
        "#1",
        "[...slug]",
        "report..final.md",
        "...",
        ".env",
        "..a",
        "caf\u{e9}",
        "cafe\u{301}",
        "文書.md",
        "🦀",
        " ",
        "CON",
        "a:b",
        "a?b",
        "*",
        "~",
        "-rf",
        "bailiwick-x",
        longest.strip_suffix('z').unwrap(),
    ];
    for name in names {
        let path = format!("workspace/{name}");
        let path = GuestPath::parse(&path).unwrap();
        assert_eq!(path.rest(), name);
        table(Grant::default()).resolve(&path, Need::Read).unwrap();
    }
}

/// A path without a scope is answered with the same path under each scope in reach.
#[test]
fn a_path_without_a_scope_is_answered_with_the_scopes_in_reach() {
    let (kind, reason, suggestions) = refusal("notes.md");
    assert_eq!((kind, reason), (RefusalKind::NoScope, "no-scope"));
    let expected =
        ["session/notes.md", "agent/notes.md", "workspace/notes.md", "skill/pdf/notes.md"];
    assert_eq!(suggestions, expected);
    assert_eq!(refusal("Session/notes.md").0, RefusalKind::NoScope);
    assert_eq!(refusal("sessions/notes.md").0, RefusalKind::NoScope);
}

/// An ungranted scope is denied, whatever is there; a read-only one denies writing alone.
#[test]
fn grants_decide_alone() {
    let resolve = |grant, path: &str, need| {
        let path = GuestPath::parse(path).unwrap();
        table(grant)
            .resolve(&path, need)
            .map(drop)
            .map_err(|refusal| (refusal.kind, refusal.reason))
    };
    let nothing = Grant { agent: None, workspace: None };
    let not_granted = Err((RefusalKind::Denied, "not-granted"));
    let read_only = Err((RefusalKind::Denied, "read-only"));
    assert_eq!(resolve(nothing, "agent/a", Need::Read), not_granted);
    assert_eq!(resolve(nothing, "workspace/a", Need::Write), not_granted);
    assert_eq!(resolve(nothing, "session/a", Need::Write), Ok(()));
    assert_eq!(resolve(Grant::default(), "agent/a", Need::Write), Ok(()));
    assert_eq!(resolve(Grant::default(), "workspace/a", Need::Read), Ok(()));
    assert_eq!(resolve(Grant::default(), "workspace/a", Need::Write), read_only);
    assert_eq!(resolve(Grant::default(), "skill/pdf/guide.md", Need::Read), Ok(()));
    assert_eq!(resolve(Grant::default(), "skill/pdf/guide.md", Need::Write), read_only);
    assert_eq!(resolve(Grant::default(), "skill/other/x", Need::Write), read_only);
}

/// A caller outside a conversation has no session scope.
#[test]
fn without_a_session_its_scope_is_denied() {
    let coordinates = Coordinates { session: None, ..*table(Grant::default()).coordinates() };
    let table = MountTable::new(coordinates, Grant::default(), SkillTable::default());
    let path = GuestPath::parse("session/a").unwrap();
    assert_eq!(table.resolve(&path, Need::Read).unwrap_err().kind, RefusalKind::Denied);
    assert!(table.mounts().iter().all(|mount| mount.scope != Scope::Session));
}

/// A skill that was not bound is not found, naming those that were.
#[test]
fn an_unbound_skill_is_not_found_and_names_the_bound_ones() {
    assert_eq!(refusal("skill/nope/a").0, RefusalKind::NotFound);
    assert_eq!(refusal("skill/nope/a").2, ["skill/pdf/"]);
    assert_eq!(refusal("skill/pdf/missing.md").0, RefusalKind::NotFound);
}

/// The first skill of a slug stays reachable, and a slug is a plain name.
#[test]
fn the_first_skill_of_a_slug_wins() {
    let table = table(Grant::default());
    let skill = table.bound("pdf").unwrap().clone();
    let mut skills = SkillTable::default();
    assert!(skills.bind("pdf", skill.clone()).unwrap());
    assert!(!skills.bind("pdf", skill.clone()).unwrap());
    for slug in ["", "a/b", "..", "A", "a b", &"x".repeat(65)] {
        skills.bind(slug, skill.clone()).unwrap_err();
    }
}

/// What a listing returns is rebuilt by the prefix that listed it, and fails closed.
#[test]
fn listed_keys_that_are_not_ours_are_left_out() {
    let prefix = KeyPrefix("workspaces/w/a/".to_owned());
    assert!(prefix.key("workspaces/w/a/b").is_some());
    for foreign in
        ["workspaces/w/ab", "workspaces/w/a/", "workspaces/w/a//b", "workspaces/w/a/../b", "b", ""]
    {
        assert!(prefix.key(foreign).is_none(), "{foreign}");
    }
    assert!(prefix.folder("workspaces/w/a/b/").is_some());
    for foreign in
        ["workspaces/w/a/", "workspaces/w/a/b", "workspaces/w/a/b/c/", "workspaces/w/a//", "b/"]
    {
        assert!(prefix.folder(foreign).is_none(), "{foreign}");
    }
}

/// A listing ends a folder in `/`, and takes it back so.
#[test]
fn folders_are_named_with_or_without_their_slash() {
    assert_eq!(FolderPath::parse("").unwrap(), FolderPath::Root);
    assert_eq!(FolderPath::parse("skill/").unwrap(), FolderPath::Skills);
    assert_eq!(FolderPath::parse("session"), FolderPath::parse("session/"));
    assert_eq!(FolderPath::parse("agent/a/b"), FolderPath::parse("agent/a/b/"));
    for path in ["/", "//", "session//", "agent/a//", "..", "agent/../session"] {
        FolderPath::parse(path).unwrap_err();
    }
}

/// Parsing, checking and resolving a path allocates the key and nothing else.
#[test]
fn resolving_allocates_the_key_alone() {
    let table = table(Grant::default());
    for path in ["session/a/b.md", "agent/.env", "workspace/\u{a9}", "skill/pdf/guide.md"] {
        let counted = allocation_counter::measure(|| {
            let path = GuestPath::parse(path).unwrap();
            drop(table.resolve(&path, Need::Read).unwrap());
        });
        assert_eq!(counted.count_total, 1, "{path}");
    }
}

fn paths() -> impl Strategy<Value = String> {
    let scope = prop_oneof![
        Just("session"),
        Just("agent"),
        Just("workspace"),
        Just("skill/pdf"),
        Just("skill"),
        Just("")
    ];
    let piece = prop_oneof![
        Just("/"),
        Just("."),
        Just(".."),
        Just("a"),
        Just("b"),
        Just("\\"),
        Just("%2e"),
        Just("\0"),
        Just(".bailiwick-"),
        Just("guide.md"),
        Just("é"),
        Just(" "),
    ];
    let made = (scope, proptest::collection::vec(piece, 0..8))
        .prop_map(|(scope, pieces)| format!("{scope}/{}", pieces.concat()));
    prop_oneof![4 => made, 1 => any::<String>()]
}

proptest! {
    /// Whatever the strings: a key starts with exactly the prefix of a granted mount, two paths
    /// have two keys, a listed key leads back to its path, and a refusal names no id.
    #[test]
    fn resolution_holds_for_every_string(path in paths(), other in paths()) {
        check(&path, &other);
    }
}
