//! The resolution file: what a path means in one turn, and whether the turn may.
//!
//! Pure: no I/O, no async. The only place that knows how objects are laid out in a store, and
//! the only one that can make an [`ObjectKey`] or a [`KeyPrefix`]; a store takes nothing else.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use uuid::Uuid;

use crate::limits::{
    KEY_BYTES_MAX, OPERATOR_PREFIX_BYTES_MAX, PATH_REST_BYTES_MAX, PATH_SEGMENT_BYTES_MAX,
    SLUG_BYTES_MAX,
};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }
    };
}

id!(
    /// A workspace, as the catalog made it; never used twice.
    WorkspaceId
);
id!(
    /// An agent of a workspace; never used twice.
    AgentId
);
id!(
    /// A session of an agent; never used twice.
    SessionId
);

/// Address of a turn: what `session/`, `agent/` and `workspace/` stand for in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coordinates {
    /// Whose `workspace/` it is.
    pub workspace: WorkspaceId,
    /// Whose `agent/` it is.
    pub agent: AgentId,
    /// Whose `session/` it is; `None` for a caller outside a conversation, who has no such scope.
    pub session: Option<SessionId>,
}

/// A level that files hang from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// One conversation.
    Session,
    /// One agent, across its sessions.
    Agent,
    /// All agents of a workspace.
    Workspace,
    /// One read-only package, by its slug.
    Skill(String),
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session => f.write_str("session"),
            Self::Agent => f.write_str("agent"),
            Self::Workspace => f.write_str("workspace"),
            Self::Skill(slug) => write!(f, "skill/{slug}"),
        }
    }
}

/// What a grant allows. Writing implies reading; no grant is the absence of an `Access`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Reading, listing, searching.
    ReadOnly,
    /// All of it.
    ReadWrite,
}

/// What a verb is about to do at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Learn something: bytes, size, existence.
    Read,
    /// Change something.
    Write,
}

/// The levels of one turn, fixed when it starts. The session is always read-write, a skill
/// always read-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// On `agent/`; `None` denies it.
    pub agent: Option<Access>,
    /// On `workspace/`; `None` denies it.
    pub workspace: Option<Access>,
}

impl Default for Grant {
    fn default() -> Self {
        Self { agent: Some(Access::ReadWrite), workspace: Some(Access::ReadOnly) }
    }
}

/// SHA-256 of the bytes of a skill's file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256(pub [u8; 32]);

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One file of a skill's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkillFile {
    /// Its content.
    pub sha256: Sha256,
    /// Its bytes.
    pub size: u64,
    /// When the version was published, in milliseconds since the Unix epoch.
    pub modified_ms: u64,
}

/// One version of a skill: immutable, its files named by content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    owner: WorkspaceId,
    files: BTreeMap<String, SkillFile>,
}

impl Skill {
    /// A version owned by `owner`, whose files stand at paths relative to it.
    ///
    /// # Errors
    /// If a path is not a legal one.
    pub fn new(
        owner: WorkspaceId,
        files: impl IntoIterator<Item = (String, SkillFile)>,
    ) -> Result<Self, Refusal> {
        let files: BTreeMap<_, _> = files.into_iter().collect();
        for path in files.keys() {
            check_rest(path, path)?;
        }
        Ok(Self { owner, files })
    }

    /// Its files, in byte order of their paths below the skill.
    pub fn files(&self) -> &BTreeMap<String, SkillFile> {
        &self.files
    }
}

/// The skills a turn may read: the exact table that the turn was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillTable(BTreeMap<String, Arc<Skill>>);

impl SkillTable {
    /// Binds a skill. Where the slug is taken, the first stays reachable and the answer is `false`.
    ///
    /// # Errors
    /// If `slug` is not 1 to 64 of `a` to `z`, `0` to `9` and `-`.
    pub fn bind(&mut self, slug: &str, skill: Arc<Skill>) -> Result<bool, Refusal> {
        let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if slug.is_empty() || slug.len() > SLUG_BYTES_MAX || !slug.bytes().all(legal) {
            return Err(Refusal::invalid("slug", "a slug is 1 to 64 of a-z, 0-9 and `-`"));
        }
        if self.0.contains_key(slug) {
            return Ok(false);
        }
        self.0.insert(slug.to_owned(), skill);
        Ok(true)
    }

    /// The skill bound to a slug.
    pub fn skill(&self, slug: &str) -> Option<&Arc<Skill>> {
        self.0.get(slug)
    }

    fn slugs(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// Why a path was not resolved, in words for whoever wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What kind of refusal.
    pub kind: RefusalKind,
    /// A stable word within the kind.
    pub reason: &'static str,
    /// A sentence that names the rule.
    pub message: String,
    /// Paths to try instead.
    pub suggestions: Vec<String>,
}

/// What kind of [`Refusal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The path names no scope.
    NoScope,
    /// The path breaks a rule.
    Invalid,
    /// The grant does not allow it, whether or not the file exists.
    Denied,
    /// There is no such skill, or no such file in it.
    NotFound,
}

impl Refusal {
    fn new(kind: RefusalKind, reason: &'static str, message: impl Into<String>) -> Self {
        Self { kind, reason, message: message.into(), suggestions: Vec::new() }
    }

    fn invalid(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(RefusalKind::Invalid, reason, message)
    }

    fn suggest(mut self, suggestion: Option<String>) -> Self {
        self.suggestions.extend(suggestion);
        self
    }
}

/// A caller's name for a file: `<scope>/<rest>`, legal in every part.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuestPath {
    scope: Scope,
    rest: String,
}

impl GuestPath {
    /// Reads a path. What breaks a rule is refused, never repaired: a repaired path reads the
    /// wrong file and reports success.
    ///
    /// # Errors
    /// [`RefusalKind::Invalid`] naming the rule, and the right spelling where there is one;
    /// [`RefusalKind::NoScope`] if the first segment is no scope.
    pub fn parse(path: &str) -> Result<Self, Refusal> {
        check_shape(path)?;
        let (scope, rest) = split_scope(path)?;
        if rest.is_empty() {
            let message =
                format!("`{path}` is a folder: name a file in it, such as `{path}/notes.md`");
            return Err(Refusal::invalid("names-a-folder", message));
        }
        check_rest(rest, path)?;
        Ok(Self { scope, rest: rest.to_owned() })
    }

    /// Where it hangs from.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// What stands below the scope.
    pub fn rest(&self) -> &str {
        &self.rest
    }
}

impl fmt::Display for GuestPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.scope, self.rest)
    }
}

/// A caller's name for a folder. A trailing `/`, which listings end a folder in, is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderPath {
    /// The empty path: every mount.
    Root,
    /// `skill`: every skill bound.
    Skills,
    /// A scope, or a folder below it (then `rest` ends in `/`; it is empty for the scope itself).
    Below {
        /// Where it hangs from.
        scope: Scope,
        /// What stands below the scope: empty, or ending in `/`.
        rest: String,
    },
}

impl FolderPath {
    /// Reads a folder's path.
    ///
    /// # Errors
    /// As [`GuestPath::parse`].
    pub fn parse(path: &str) -> Result<Self, Refusal> {
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
        Ok(Self::Below { scope, rest: format!("{rest}/") })
    }
}

fn split_scope(path: &str) -> Result<(Scope, &str), Refusal> {
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
            return Ok((Scope::Skill(slug.to_owned()), rest));
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
fn check_rest(rest: &str, path: &str) -> Result<(), Refusal> {
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

/// What segments of the host's own objects start with.
const RESERVED: &str = ".bailiwick-";
const LAYOUT_MARKER: &str = ".bailiwick-layout";
const PROBE_PREFIX: &str = ".bailiwick-probe/";

/// The version of the layout below, as the marker in a store says it.
pub const LAYOUT_VERSION: u32 = 1;

/// No legal path is longer: the longest scope, a `/` and the longest rest.
const PATH_BYTES_MAX: usize = "skill/".len() + SLUG_BYTES_MAX + 1 + PATH_REST_BYTES_MAX;
const ID_BYTES: usize = 36;
const SCOPE_PREFIX_BYTES_MAX: usize = "sessions/".len() + 3 * (ID_BYTES + 1);
const EXTRACTED_PREFIX: &str = "extracted/";
const _: () = assert!(
    OPERATOR_PREFIX_BYTES_MAX
        + EXTRACTED_PREFIX.len()
        + SCOPE_PREFIX_BYTES_MAX
        + PATH_REST_BYTES_MAX
        <= KEY_BYTES_MAX
);
const _: () = assert!("workspaces/".len() + ID_BYTES < SCOPE_PREFIX_BYTES_MAX);
const _: () = assert!("skills/".len() + ID_BYTES + 1 + 64 <= SCOPE_PREFIX_BYTES_MAX);

/// The store's name for an object. Only this file makes one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey(String);

impl ObjectKey {
    /// The key, below whatever prefix the operator chose.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where a store says which layout it holds.
    pub fn layout_marker() -> Self {
        Self(LAYOUT_MARKER.to_owned())
    }

    /// An object with which a store's abilities are tried out.
    pub fn probe(name: Uuid) -> Self {
        Self(format!("{PROBE_PREFIX}{name}"))
    }
}

impl Borrow<str> for ObjectKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

// A key holds ids: it is for logs alone, and says so where it is printed.
impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectKey({})", self.0)
    }
}

/// The start of keys; always ends in `/`, so that `foo` never matches `foobar`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyPrefix(String);

impl KeyPrefix {
    /// The prefix, `/` included, below whatever prefix the operator chose.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Rebuilds a key that a listing under this prefix returned. `None`, so that it is left
    /// out, if it does not stand under the prefix or is no legal path there.
    pub fn key(&self, listed: &str) -> Option<ObjectKey> {
        check_rest(listed.strip_prefix(&self.0)?, "").ok()?;
        Some(ObjectKey(listed.to_owned()))
    }

    /// Rebuilds a folder directly under this prefix that a listing returned, as [`Self::key`] does.
    pub fn folder(&self, listed: &str) -> Option<Self> {
        let segment = listed.strip_prefix(&self.0)?.strip_suffix('/')?;
        if segment.contains('/') || check_rest(segment, "").is_err() {
            return None;
        }
        Some(Self(listed.to_owned()))
    }

    /// Where a store's abilities are tried out.
    pub fn probes() -> Self {
        Self(PROBE_PREFIX.to_owned())
    }
}

impl fmt::Debug for KeyPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyPrefix({})", self.0)
    }
}

/// One place a turn can reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// What starts every path in it.
    pub scope: Scope,
    /// What may be done there.
    pub access: Access,
}

/// A folder, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Folder {
    /// The root: every mount.
    Root,
    /// Every skill bound.
    Skills,
    /// A folder of a scope that lives in the store.
    Stored(KeyPrefix),
    /// A folder of a skill: the files of its table under `rest`.
    Skill {
        /// The skill's slug.
        slug: String,
        /// Empty, or ending in `/`.
        rest: String,
    },
}

/// A file, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The store's name for it.
    pub key: ObjectKey,
    /// Set for a file of a skill: what it holds is known without asking the store.
    pub skill_file: Option<SkillFile>,
}

/// What the scopes of one turn stand for, and what the turn may do in them.
#[derive(Clone, Debug)]
pub struct MountTable {
    coordinates: Coordinates,
    grant: Grant,
    skills: SkillTable,
}

impl MountTable {
    /// The table of a turn; what `grant` does not name is denied.
    pub fn new(coordinates: Coordinates, grant: Grant, skills: SkillTable) -> Self {
        Self { coordinates, grant, skills }
    }

    /// The address of the turn.
    pub fn coordinates(&self) -> &Coordinates {
        &self.coordinates
    }

    /// What the turn can reach, in the order in which people think of it.
    pub fn mounts(&self) -> Vec<Mount> {
        let stored = [Scope::Session, Scope::Agent, Scope::Workspace];
        let skills = self.skills.slugs().map(|slug| Scope::Skill(slug.to_owned()));
        let reachable = |scope: Scope| self.access(&scope).map(|access| Mount { scope, access });
        stored.into_iter().chain(skills).filter_map(reachable).collect()
    }

    /// The key of a file, if the turn may do there what it is about to.
    ///
    /// # Errors
    /// [`RefusalKind::Denied`], the same whether or not the file exists;
    /// [`RefusalKind::NotFound`] for a skill that is not bound or a file that it does not have.
    pub fn resolve(&self, path: &GuestPath, need: Need) -> Result<Resolved, Refusal> {
        self.check(&path.scope, need)?;
        let Scope::Skill(slug) = &path.scope else {
            let key = ObjectKey(format!("{}{}", self.prefix(&path.scope)?, path.rest));
            return Ok(Resolved { key, skill_file: None });
        };
        let skill = self.bound(slug)?;
        let Some(file) = skill.files.get(&path.rest) else {
            let message = format!("there is no file `{path}` in that skill");
            return Err(Refusal::new(RefusalKind::NotFound, "not-found", message));
        };
        Ok(Resolved { key: skill_blob(skill.owner, file.sha256), skill_file: Some(*file) })
    }

    /// A folder, if the turn may list it.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn resolve_folder(&self, path: &FolderPath) -> Result<Folder, Refusal> {
        let (scope, rest) = match path {
            FolderPath::Root => return Ok(Folder::Root),
            FolderPath::Skills => return Ok(Folder::Skills),
            FolderPath::Below { scope, rest } => (scope, rest),
        };
        self.check(scope, Need::Read)?;
        if let Scope::Skill(slug) = scope {
            self.bound(slug)?;
            return Ok(Folder::Skill { slug: slug.clone(), rest: rest.clone() });
        }
        Ok(Folder::Stored(KeyPrefix(format!("{}{rest}", self.prefix(scope)?))))
    }

    /// The path under which this turn knows a stored object; `None` if it knows it under none.
    pub fn path_of(&self, key: &ObjectKey) -> Option<GuestPath> {
        [Scope::Session, Scope::Agent, Scope::Workspace].into_iter().find_map(|scope| {
            self.access(&scope)?;
            let rest = key.0.strip_prefix(&self.prefix(&scope).ok()?)?;
            check_rest(rest, "").ok()?;
            Some(GuestPath { scope, rest: rest.to_owned() })
        })
    }

    /// As [`Self::path_of`], for a folder; ends in `/`.
    pub fn folder_path_of(&self, prefix: &KeyPrefix) -> Option<String> {
        let key = ObjectKey(prefix.0.strip_suffix('/')?.to_owned());
        self.path_of(&key).map(|path| format!("{path}/"))
    }

    /// The skill bound to a slug.
    ///
    /// # Errors
    /// [`RefusalKind::NotFound`], naming up to ten that are bound.
    pub fn bound(&self, slug: &str) -> Result<&Arc<Skill>, Refusal> {
        self.skills.skill(slug).ok_or_else(|| {
            let bound: Vec<_> =
                self.skills.slugs().take(10).map(|slug| format!("skill/{slug}/")).collect();
            let which =
                if bound.is_empty() { "none is" } else { "see the suggestions for those that are" };
            let message = format!("no skill of that name is bound in this turn; {which}");
            let mut refusal = Refusal::new(RefusalKind::NotFound, "skill-not-bound", message);
            refusal.suggestions = bound;
            refusal
        })
    }

    /// Adds what only the table knows to a refusal: the same path under each scope in reach.
    pub fn explain(&self, path: &str, refusal: Refusal) -> Refusal {
        if refusal.kind != RefusalKind::NoScope {
            return refusal;
        }
        let candidates = self.mounts().into_iter().map(|mount| format!("{}/{path}", mount.scope));
        let suggestions = candidates.filter(|path| GuestPath::parse(path).is_ok()).collect();
        Refusal { suggestions, ..refusal }
    }

    fn access(&self, scope: &Scope) -> Option<Access> {
        match scope {
            Scope::Session => self.coordinates.session.map(|_| Access::ReadWrite),
            Scope::Agent => self.grant.agent,
            Scope::Workspace => self.grant.workspace,
            Scope::Skill(_) => Some(Access::ReadOnly),
        }
    }

    fn check(&self, scope: &Scope, need: Need) -> Result<(), Refusal> {
        let denied = |reason, message| Err(Refusal::new(RefusalKind::Denied, reason, message));
        match (self.access(scope), need) {
            (Some(Access::ReadWrite), _) | (Some(Access::ReadOnly), Need::Read) => Ok(()),
            (Some(Access::ReadOnly), Need::Write) => {
                denied("read-only", format!("`{scope}/` is read-only in this turn"))
            }
            (None, _) => denied("not-granted", format!("this turn has no grant on `{scope}/`")),
        }
    }

    fn prefix(&self, scope: &Scope) -> Result<String, Refusal> {
        let Coordinates { workspace, agent, session } = self.coordinates;
        match (scope, session) {
            (Scope::Session, Some(session)) => {
                Ok(format!("sessions/{workspace}/{agent}/{session}/"))
            }
            (Scope::Agent, _) => Ok(format!("agents/{workspace}/{agent}/")),
            (Scope::Workspace, _) => Ok(format!("workspaces/{workspace}/")),
            (Scope::Session, None) | (Scope::Skill(_), _) => {
                let message = format!("this turn has no grant on `{scope}/`");
                Err(Refusal::new(RefusalKind::Denied, "not-granted", message))
            }
        }
    }
}

/// Where a skill's file is published, by its content.
pub fn skill_blob(owner: WorkspaceId, sha256: Sha256) -> ObjectKey {
    ObjectKey(format!("skills/{owner}/{sha256}"))
}

#[cfg(test)]
mod tests;
