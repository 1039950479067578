//! What a path may look like. Refused, never repaired: a repaired path reads the wrong file and
//! reports success.

use std::fmt;

use super::{Refusal, RefusalKind, Scope};
use crate::limits::{PATH_REST_BYTES_MAX, PATH_SEGMENT_BYTES_MAX, SLUG_BYTES_MAX};

/// What segments of the host's own objects start with.
const RESERVED: &str = ".bailiwick-";
/// What the agent's scope is called in a session that is seen as a folder: no file has this name.
pub const AGENT_FILES: &str = "agent-files";
/// No legal path is longer: the longest scope, a `/` and the longest rest.
const PATH_BYTES_MAX: usize = "skill/".len() + SLUG_BYTES_MAX + 1 + PATH_REST_BYTES_MAX;

/// A caller's name for a file: `<scope>/<rest>`, legal in every part. It has one spelling: what
/// was read is what [`fmt::Display`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuestPath<'a> {
    pub(super) scope: Scope<'a>,
    pub(super) rest: &'a str,
}

impl<'a> GuestPath<'a> {
    /// Reads a path. What breaks a rule is refused, never repaired: a repaired path reads the
    /// wrong file and reports success.
    ///
    /// # Errors
    /// [`RefusalKind::Invalid`] naming the rule, and the right spelling where there is one;
    /// [`RefusalKind::NoScope`] if the first segment is no scope.
    pub fn parse(path: &'a str) -> Result<Self, Refusal> {
        match Self::plain(path) {
            Some(plain) => Ok(plain),
            None => Self::by_the_rules(path),
        }
    }

    pub(super) fn by_the_rules(path: &'a str) -> Result<Self, Refusal> {
        check_shape(path)?;
        let (scope, rest) = split_scope(path)?;
        if rest.is_empty() {
            let message =
                format!("`{path}` is a folder: name a file in it, such as `{path}/notes.md`");
            return Err(Refusal::invalid("names-a-folder", message));
        }
        check_rest_by_the_rules(rest, path)?;
        check_not_agent_files(scope, rest)?;
        Ok(Self { scope, rest })
    }

    /// Reads a path that is legal at a glance, as nearly every one is: each call of a guest comes
    /// through here. `None` leaves it to the rules.
    pub(super) fn plain(path: &'a str) -> Option<Self> {
        if path.len() > PATH_BYTES_MAX {
            return None;
        }
        let (scope, rest) = split_scope(path).ok()?;
        let is_plain_scope = match scope {
            Scope::Skill(slug) => is_plain(slug),
            Scope::Session | Scope::Agent | Scope::Workspace => true,
        };
        let is_plain = is_plain_scope && is_plain_rest(rest) && !is_agent_files(scope, rest);
        is_plain.then_some(Self { scope, rest })
    }

    /// Where it hangs from.
    pub fn scope(&self) -> Scope<'a> {
        self.scope
    }

    /// What stands below the scope.
    pub fn rest(&self) -> &'a str {
        self.rest
    }

    /// The path as it is written.
    pub fn spelled(&self) -> String {
        let (scope, slug) = match self.scope {
            Scope::Session => ("session/", ""),
            Scope::Agent => ("agent/", ""),
            Scope::Workspace => ("workspace/", ""),
            Scope::Skill(slug) => ("skill/", slug),
        };
        let gap = if slug.is_empty() { "" } else { "/" };
        [scope, slug, gap, self.rest].concat()
    }
}

impl fmt::Display for GuestPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spelled())
    }
}

/// A caller's name for a folder. A trailing `/`, which listings end a folder in, is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderPath<'a> {
    /// The empty path: every mount.
    Root,
    /// `skill`: every skill bound.
    Skills,
    /// A scope, or a folder below it (then `rest` ends in `/`; it is empty for the scope itself).
    Below {
        /// Where it hangs from.
        scope: Scope<'a>,
        /// What stands below the scope: empty, or ending in `/`.
        rest: String,
    },
}

impl<'a> FolderPath<'a> {
    /// Reads a folder's path.
    ///
    /// # Errors
    /// As [`GuestPath::parse`].
    pub fn parse(path: &'a str) -> Result<Self, Refusal> {
        if path.is_empty() {
            return Ok(Self::Root);
        }
        let path = path.strip_suffix('/').unwrap_or(path);
        check_shape(path)?;
        if path == "skill" {
            return Ok(Self::Skills);
        }
        let (scope, rest) = split_scope(path)?;
        if rest.is_empty() {
            return Ok(Self::Below { scope, rest: String::new() });
        }
        check_rest(rest, path)?;
        check_not_agent_files(scope, rest)?;
        Ok(Self::Below { scope, rest: format!("{rest}/") })
    }
}

/// Whether a path below a session is what stands for the agent's scope there.
pub(super) fn is_agent_files(scope: Scope<'_>, rest: &str) -> bool {
    // Each path of each call comes through here, and nearly none of them starts so.
    if !matches!(scope, Scope::Session) || rest.as_bytes().first() != AGENT_FILES.as_bytes().first()
    {
        return false;
    }
    let below = rest.strip_prefix(AGENT_FILES);
    below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

fn check_not_agent_files(scope: Scope<'_>, rest: &str) -> Result<(), Refusal> {
    if !is_agent_files(scope, rest) {
        return Ok(());
    }
    let rule = "`session/agent-files` is no folder of the session: it stands for `agent/`";
    let meant = ["agent", &rest[AGENT_FILES.len()..]].concat();
    Err(Refusal::invalid("reserved", rule).suggest(Some(meant)))
}

fn split_scope(path: &str) -> Result<(Scope<'_>, &str), Refusal> {
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let scope = match first {
        "session" => Scope::Session,
        "agent" => Scope::Agent,
        "workspace" => Scope::Workspace,
        "skill" => {
            let (slug, rest) = rest.split_once('/').unwrap_or((rest, ""));
            if slug.is_empty() {
                let message =
                    "`skill` is a folder: name a skill and a file, as in `skill/<slug>/SKILL.md`";
                return Err(Refusal::invalid("names-a-folder", message));
            }
            return Ok((Scope::Skill(slug), rest));
        }
        _ => {
            let message = format!(
                "`{path}` names no scope: a path starts with `session/`, `agent/`, `workspace/` or `skill/<slug>/`"
            );
            return Err(Refusal::new(RefusalKind::NoScope, "no-scope", message));
        }
    };
    Ok((scope, rest))
}

/// Whether a segment breaks no rule, at a glance. Where it may, the rules below decide.
fn is_plain(segment: &str) -> bool {
    // `0xc2` starts the control characters beyond ASCII, and a few others.
    let is_odd = |byte: u8| byte < b' ' || matches!(byte, b'\\' | 0x7f | 0xc2);
    let is_special = || matches!(segment, "." | "..") || segment.starts_with(RESERVED);
    (1..=PATH_SEGMENT_BYTES_MAX).contains(&segment.len())
        && !segment.bytes().any(is_odd)
        && !(segment.starts_with('.') && is_special())
}

/// The same of all that stands below a scope.
fn is_plain_rest(rest: &str) -> bool {
    rest.len() <= PATH_REST_BYTES_MAX && rest.split('/').all(is_plain)
}

/// The rules that hold for every segment, the scope's included.
fn check_shape(path: &str) -> Result<(), Refusal> {
    let Some((reason, rule)) = broken_rule(path) else { return Ok(()) };
    let suggestion = respelled(path, reason).filter(|path| GuestPath::parse(path).is_ok());
    Err(Refusal::invalid(reason, rule).suggest(suggestion))
}

fn broken_rule(path: &str) -> Option<(&'static str, &'static str)> {
    let segments = || path.split('/');
    if path.is_empty() {
        Some(("empty", "a path cannot be empty"))
    } else if path.len() > PATH_BYTES_MAX {
        Some(("path-too-long", "a path is at most 768 bytes long below its scope"))
    } else if path.chars().any(char::is_control) {
        Some(("control-character", "a path holds no control characters"))
    } else if path.split(['/', '\\']).any(|segment| segment == "..") {
        Some(("climbs-out", "`..` is not a segment of a path: write the whole path from its scope"))
    } else if path.contains('\\') {
        Some(("backslash", "segments of a path are separated by `/`"))
    } else if path.starts_with('/') {
        Some(("absolute", "a path starts with its scope, not with `/`"))
    } else if path.ends_with('/') {
        Some(("trailing-slash", "a file's path does not end in `/`"))
    } else if segments().any(str::is_empty) {
        Some(("empty-segment", "a path has no empty segments"))
    } else if segments().any(|segment| segment == ".") {
        Some(("dot-segment", "`.` is not a segment of a path"))
    } else {
        None
    }
}

/// The spelling that was meant, where the broken rule leaves no doubt about it.
fn respelled(path: &str, reason: &str) -> Option<String> {
    if matches!(reason, "empty" | "path-too-long" | "control-character" | "climbs-out") {
        return None;
    }
    let segments = path.split(['/', '\\']);
    let kept: Vec<_> = segments.filter(|segment| !matches!(*segment, "" | ".")).collect();
    Some(kept.join("/"))
}

/// The rules for what stands below a scope.
pub(super) fn check_rest(rest: &str, path: &str) -> Result<(), Refusal> {
    match is_plain_rest(rest) {
        true => Ok(()),
        false => check_rest_by_the_rules(rest, path),
    }
}

fn check_rest_by_the_rules(rest: &str, path: &str) -> Result<(), Refusal> {
    check_shape(rest)?;
    if rest.len() > PATH_REST_BYTES_MAX {
        let message = format!("a path is at most {PATH_REST_BYTES_MAX} bytes long below its scope");
        return Err(Refusal::invalid("path-too-long", message));
    }
    for segment in rest.split('/') {
        if segment.len() > PATH_SEGMENT_BYTES_MAX {
            let message =
                format!("a segment of a path is at most {PATH_SEGMENT_BYTES_MAX} bytes long");
            return Err(Refusal::invalid("segment-too-long", message));
        }
        if segment.starts_with(RESERVED) {
            let message = format!(
                "`{path}` is not a file's name: segments that start with `{RESERVED}` are the host's own"
            );
            return Err(Refusal::invalid("reserved", message));
        }
    }
    Ok(())
}
