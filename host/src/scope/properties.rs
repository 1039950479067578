//! What holds for every string; run by the property tests and by the fuzzer.

use std::sync::{Arc, LazyLock};

use uuid::Uuid;

use super::*;
use crate::limits::KEY_BYTES_MAX;

const WORKSPACE: u128 = 0x11111111_1111_4111_8111_111111111111;
const AGENT: u128 = 0x22222222_2222_4222_8222_222222222222;
const SESSION: u128 = 0x33333333_3333_4333_8333_333333333333;

/// Where each scope of [`table`] must lead, spelled out a second time on purpose.
const PREFIXES: [(&str, &str); 3] = [
    (
        "session",
        "sessions/11111111-1111-4111-8111-111111111111/22222222-2222-4222-8222-222222222222/33333333-3333-4333-8333-333333333333/",
    ),
    ("agent", "agents/11111111-1111-4111-8111-111111111111/22222222-2222-4222-8222-222222222222/"),
    ("workspace", "workspaces/11111111-1111-4111-8111-111111111111/"),
];
const SKILL_KEYS: &str = "skills/11111111-1111-4111-8111-111111111111/";

const LEVELS: [Option<Access>; 3] = [None, Some(Access::ReadOnly), Some(Access::ReadWrite)];

pub(crate) fn table(grant: Grant) -> MountTable {
    let coordinates = Coordinates {
        workspace: WorkspaceId(Uuid::from_u128(WORKSPACE)),
        agent: AgentId(Uuid::from_u128(AGENT)),
        session: Some(SessionId(Uuid::from_u128(SESSION))),
    };
    let file = SkillFile { sha256: Sha256([7; 32]), size: 1, modified_ms: 0 };
    let skill = Skill::new(coordinates.workspace, [("guide.md".to_owned(), file)]);
    let mut skills = SkillTable::default();
    if let Ok(skill) = skill {
        assert_eq!(skills.bind("pdf", Arc::new(skill)), Ok(true));
    }
    MountTable::new(coordinates, grant, skills)
}

static TABLES: LazyLock<Vec<MountTable>> = LazyLock::new(|| {
    let grants = LEVELS.map(|agent| LEVELS.map(|workspace| Grant { agent, workspace }));
    grants.into_iter().flatten().map(table).collect()
});

/// Holds every property of resolution against one string, or two, under every grant.
pub(crate) fn check(path: &str, other: &str) {
    let parsed = GuestPath::parse(path);
    let folder = FolderPath::parse(path);
    let other_parsed = GuestPath::parse(other);
    check_glance(path);
    for table in TABLES.iter() {
        for need in [Need::Read, Need::Write] {
            check_file(table, path, &parsed, need);
        }
        check_folder(table, path, &folder);
        if let (Ok(one), Ok(two)) = (&parsed, &other_parsed) {
            check_injective(table, one, two);
        }
    }
}

fn check_file(table: &MountTable, path: &str, parsed: &Result<GuestPath<'_>, Refusal>, need: Need) {
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(refusal) => return check_refusal(&table.explain(path, refusal.clone()), path),
    };
    assert_eq!(parsed.to_string(), path, "a path has one spelling");
    let resolved = match table.resolve(parsed, need) {
        Ok(resolved) => resolved,
        Err(refusal) => return check_refusal(&refusal, path),
    };
    let key = resolved.key.as_str();
    assert!(key.len() + OPERATOR_PREFIX_BYTES_MAX + EXTRACTED_PREFIX.len() <= KEY_BYTES_MAX);
    if matches!(parsed.scope(), Scope::Skill(_)) {
        assert!(need == Need::Read && key.starts_with(SKILL_KEYS));
        return;
    }
    let mounts = table.mounts();
    let mount = mounts.iter().find(|mount| mount.scope == parsed.scope());
    let access = mount.expect("only a granted mount resolves").access;
    assert!(need == Need::Read || access == Access::ReadWrite);
    let within = PREFIXES.iter().filter(|(_, prefix)| key.starts_with(prefix));
    let scopes: Vec<_> = within.map(|(scope, _)| *scope).collect();
    assert_eq!(scopes, [parsed.scope().to_string()], "exactly the prefix of its mount");
    assert!(key.split('/').all(|segment| !matches!(segment, "" | "." | "..")));
    assert_eq!(table.path_of(&resolved.key), Some(*parsed), "a listed key leads back");
    let (_, prefix) = PREFIXES
        .iter()
        .find(|(scope, _)| *scope == parsed.scope().to_string())
        .expect("listed above");
    assert_eq!(KeyPrefix((*prefix).to_owned()).key(key), Some(resolved.key));
}

fn check_folder(table: &MountTable, path: &str, parsed: &Result<FolderPath<'_>, Refusal>) {
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(refusal) => return check_refusal(&table.explain(path, refusal.clone()), path),
    };
    match table.resolve_folder(parsed) {
        Ok(Folder::Stored(prefix)) => {
            let within = |(_, start): &(&str, &str)| prefix.as_str().starts_with(start);
            assert_eq!(PREFIXES.iter().filter(|entry| within(entry)).count(), 1);
            assert!(prefix.as_str().ends_with('/') && !prefix.as_str().contains("//"));
        }
        Ok(Folder::Root | Folder::Skills | Folder::Skill { .. }) => {}
        Err(refusal) => check_refusal(&refusal, path),
    }
}

fn check_injective(table: &MountTable, one: &GuestPath<'_>, two: &GuestPath<'_>) {
    // Skills are named by content: two of their paths may be one object.
    let is_skill = |path: &GuestPath<'_>| matches!(path.scope(), Scope::Skill(_));
    if is_skill(one) || is_skill(two) {
        return;
    }
    if let (Ok(first), Ok(second)) =
        (table.resolve(one, Need::Read), table.resolve(two, Need::Read))
    {
        assert_eq!(first.key == second.key, one == two, "two paths, two keys");
    }
}

fn check_refusal(refusal: &Refusal, path: &str) {
    for id in [WORKSPACE, AGENT, SESSION] {
        let id = Uuid::from_u128(id).to_string();
        let says = |text: &String| text.contains(&id) && !path.contains(&id);
        assert!(!says(&refusal.message) && !refusal.suggestions.iter().any(says));
    }
    for suggestion in &refusal.suggestions {
        assert!(FolderPath::parse(suggestion).is_ok(), "a suggestion can be followed");
    }
}

/// What is legal at a glance is legal by the rules, and reads the same.
fn check_glance(path: &str) {
    if let Some(plain) = GuestPath::plain(path) {
        assert_eq!(GuestPath::by_the_rules(path), Ok(plain));
    }
}
