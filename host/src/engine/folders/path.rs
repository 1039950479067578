//! From what a program writes to the path of a space. Pure.

use super::error::{Answer, ErrorCode};
use crate::limits::FOLDER_PATH_BYTES_MAX;
use crate::scope::AGENT_FILES;

/// What stands for the agent's scope in the session's folder.
const LINK: [&str; 2] = ["session", AGENT_FILES];

/// Where a program's path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// As a space knows it: `session`, `session/a/b`, `skill`, `skill/pdf/SKILL.md`.
    pub(super) path: String,
    /// It ended in `/`, so that it can only be a folder.
    pub(super) is_folder: bool,
    /// Its last name is the link to the agent's scope.
    pub(super) is_link: bool,
}

/// Whether the turn reaches the agent's scope, so that the link to it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    There,
    Missing,
}

/// Follows a path from a folder, which it cannot leave upwards.
pub(super) fn resolve(folder: &str, path: &str, link: Link) -> Answer<Place> {
    if path.is_empty() {
        return Err(ErrorCode::NoEntry.into());
    }
    if path.len() > FOLDER_PATH_BYTES_MAX {
        return Err(ErrorCode::NameTooLong.into());
    }
    if path.starts_with('/') {
        return Err(ErrorCode::NotPermitted.into());
    }
    if path.contains('\0') {
        return Err(ErrorCode::Invalid.into());
    }
    let base = folder.split('/').count();
    let mut names: Vec<&str> = folder.split('/').collect();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." if names.len() == base => return Err(ErrorCode::NotPermitted.into()),
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    let is_folder = path.ends_with('/') || path.ends_with("/.") || path == ".";
    let leads_on = link == Link::There && names.starts_with(&LINK);
    let is_link = leads_on && names.len() == LINK.len();
    if leads_on {
        names.splice(..LINK.len(), ["agent"]);
    }
    Ok(Place { path: names.join("/"), is_folder, is_link: is_link && !is_folder })
}

/// Whether a path is that of a scope, or of the folder of all skills: it is always there, and
/// nothing can take its place.
pub(super) fn is_root(path: &str) -> bool {
    match path.split_once('/') {
        None => true,
        Some(("skill", rest)) => !rest.contains('/'),
        Some(_) => false,
    }
}

/// The folder that a path stands in; none for a root.
pub(super) fn parent(path: &str) -> Option<&str> {
    if is_root(path) {
        return None;
    }
    path.rsplit_once('/').map(|(parent, _)| parent)
}

/// The scope that a path hangs from.
pub(super) fn scope(path: &str) -> &str {
    let end = match path.strip_prefix("skill/") {
        Some(below) => below.find('/').map(|at| at + "skill/".len()),
        None => path.find('/'),
    };
    &path[..end.unwrap_or(path.len())]
}

/// Whether a path is a folder's, or of something in it.
pub(super) fn is_within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::folders::error::Failure;

    fn followed(folder: &str, path: &str) -> Result<(String, bool, bool), ErrorCode> {
        match resolve(folder, path, Link::There) {
            Ok(Place { path, is_folder, is_link }) => Ok((path, is_folder, is_link)),
            Err(Failure::Code(code)) => Err(code),
            Err(Failure::Fatal(error)) => panic!("{error}"),
        }
    }

    fn leads(folder: &str, path: &str) -> Result<String, ErrorCode> {
        followed(folder, path).map(|(path, ..)| path)
    }

    /// However it is spelled, a path leads to what is below its folder.
    #[test]
    fn a_path_leads_below_its_folder() {
        for (path, to) in [
            ("a", "session/a"),
            ("./a//b/", "session/a/b"),
            ("a/../b", "session/b"),
            ("a/./b/..", "session/a"),
            (".", "session"),
            ("a\\..\\b", "session/a\\..\\b"),
        ] {
            assert_eq!(leads("session", path), Ok(to.to_owned()), "{path}");
        }
        assert_eq!(leads("skill/pdf", "SKILL.md"), Ok("skill/pdf/SKILL.md".to_owned()));
    }

    /// No path leads out of the folder that it starts from.
    #[test]
    fn no_path_leads_out_of_its_folder() {
        for (path, code) in [
            ("", ErrorCode::NoEntry),
            ("/", ErrorCode::NotPermitted),
            ("/agent/a", ErrorCode::NotPermitted),
            ("..", ErrorCode::NotPermitted),
            ("../agent", ErrorCode::NotPermitted),
            ("a/../../agent", ErrorCode::NotPermitted),
            ("a/../..", ErrorCode::NotPermitted),
            ("a\0b", ErrorCode::Invalid),
        ] {
            assert_eq!(leads("session", path), Err(code), "{path}");
            assert_eq!(leads("session/below", path), Err(code), "{path}");
        }
        assert_eq!(leads("agent", "../session"), Err(ErrorCode::NotPermitted));
        assert_eq!(leads("session", &"a/".repeat(4096)), Err(ErrorCode::NameTooLong));
    }

    /// The link in the session's folder leads to the agent's scope, and nothing else of that name
    /// does.
    #[test]
    fn the_link_leads_to_the_agents_scope() {
        let found = |path: &str| followed("session", path);
        assert_eq!(found("agent-files"), Ok(("agent".to_owned(), false, true)));
        assert_eq!(found("agent-files/"), Ok(("agent".to_owned(), true, false)));
        assert_eq!(found("agent-files/a"), Ok(("agent/a".to_owned(), false, false)));
        assert_eq!(found("agent-files/../a"), Ok(("session/a".to_owned(), false, false)));
        assert_eq!(found("x/agent-files"), Ok(("session/x/agent-files".to_owned(), false, false)));
        assert_eq!(leads("workspace", "agent-files"), Ok("workspace/agent-files".to_owned()));
        assert_eq!(leads("agent", "agent-files"), Ok("agent/agent-files".to_owned()));
    }

    /// Each path hangs from one scope, and a scope from nothing.
    #[test]
    fn a_path_hangs_from_its_scope() {
        for (path, of, above) in [
            ("session", "session", None),
            ("agent/a/b", "agent", Some("agent/a")),
            ("skill", "skill", None),
            ("skill/pdf", "skill/pdf", None),
            ("skill/pdf/a", "skill/pdf", Some("skill/pdf")),
        ] {
            assert_eq!((scope(path), parent(path)), (of, above), "{path}");
        }
        assert!(is_within("session/a/b", "session/a") && is_within("session/a", "session/a"));
        assert!(!is_within("session/ab", "session/a"));
    }
}
