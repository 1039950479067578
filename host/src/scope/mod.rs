//! The resolution file: what a path means in one turn, and whether the turn may.
//!
//! Pure: no I/O, no async. The only place that knows how objects are laid out in a store, and
//! the only one that can make an [`ObjectKey`] or a [`KeyPrefix`]; a store takes nothing else.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use uuid::Uuid;

use crate::limits::{KEY_BYTES_MAX, OPERATOR_PREFIX_BYTES_MAX, PATH_REST_BYTES_MAX};

mod deletion;
mod path;
mod skill;

pub use deletion::{Deletion, LifetimeOf};
pub use path::{AGENT_FILES, FolderPath, GuestPath};
pub use skill::{NoSha256, Sha256, Skill, SkillFile, SkillTable, Slug};

use path::{check_rest, is_agent_files};

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

/// A level that files hang from, as a path or a table names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope<'a> {
    /// One conversation.
    Session,
    /// One agent, across its sessions.
    Agent,
    /// All agents of a workspace.
    Workspace,
    /// One read-only package, by its slug.
    Skill(&'a str),
}

impl fmt::Display for Scope<'_> {
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

const LAYOUT_MARKER: &str = ".bailiwick-layout";
const PROBE_PREFIX: &str = ".bailiwick-probe/";
/// Stands in a folder that is to be there though it may be empty.
const FOLDER_MARKER: &str = ".bailiwick-folder";

/// The version of the layout below, as the marker in a store says it.
pub const LAYOUT_VERSION: u32 = 1;

const ID_BYTES: usize = 36;
const SCOPE_PREFIX_BYTES_MAX: usize = "sessions/".len() + 3 * (ID_BYTES + 1);
const EXTRACTED_PREFIX: &str = "extracted/";
/// Longest prefix of a [`Deletion`], in bytes.
pub(crate) const DELETION_PREFIX_BYTES_MAX: usize = EXTRACTED_PREFIX.len() + SCOPE_PREFIX_BYTES_MAX;
const _: () = assert!(
    OPERATOR_PREFIX_BYTES_MAX
        + EXTRACTED_PREFIX.len()
        + SCOPE_PREFIX_BYTES_MAX
        + PATH_REST_BYTES_MAX
        + "/".len()
        + FOLDER_MARKER.len()
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
    pub fn key(&self, listed: impl Into<String>) -> Option<ObjectKey> {
        let listed: String = listed.into();
        let below = listed.strip_prefix(&self.0)?;
        let rest = below_scope(&listed).unwrap_or(below);
        check_rest(marked_folder(rest).unwrap_or(rest), "").ok()?;
        Some(ObjectKey(listed))
    }

    /// Rebuilds a name that stands under this prefix, legal or not, for whoever removes all of
    /// it. No verb leads to one that is no legal path.
    pub fn remnant(&self, listed: impl Into<String>) -> Option<ObjectKey> {
        let listed: String = listed.into();
        (listed.len() > self.0.len() && listed.starts_with(&self.0)).then_some(ObjectKey(listed))
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

/// The folder that a marker below a scope stands in.
fn marked_folder(rest: &str) -> Option<&str> {
    rest.strip_suffix(FOLDER_MARKER)?.strip_suffix('/')
}

impl fmt::Debug for KeyPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyPrefix({})", self.0)
    }
}

/// One place a turn can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mount<'a> {
    /// What starts every path in it.
    pub scope: Scope<'a>,
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
    prefixes: Prefixes,
    grant: Grant,
    skills: SkillTable,
}

impl MountTable {
    /// The table of a turn; what `grant` does not name is denied.
    pub fn new(coordinates: Coordinates, grant: Grant, skills: SkillTable) -> Self {
        Self { coordinates, prefixes: Prefixes::new(coordinates), grant, skills }
    }

    /// The address of the turn.
    pub fn coordinates(&self) -> &Coordinates {
        &self.coordinates
    }

    /// What the turn can reach, in the order in which people think of it.
    pub fn mounts(&self) -> Vec<Mount<'_>> {
        let stored = [Scope::Session, Scope::Agent, Scope::Workspace];
        let skills = self.skills.slugs().map(Scope::Skill);
        let reachable = |scope| self.access(scope).map(|access| Mount { scope, access });
        stored.into_iter().chain(skills).filter_map(reachable).collect()
    }

    /// The key of a file, if the turn may do there what it is about to.
    ///
    /// # Errors
    /// [`RefusalKind::Denied`], the same whether or not the file exists;
    /// [`RefusalKind::NotFound`] for a skill that is not bound or a file that it does not have.
    pub fn resolve(&self, path: &GuestPath<'_>, need: Need) -> Result<Resolved, Refusal> {
        self.check(path.scope, need)?;
        let Scope::Skill(slug) = path.scope else {
            let key = ObjectKey([self.prefix(path.scope)?, path.rest].concat());
            return Ok(Resolved { key, skill_file: None });
        };
        let skill = self.bound(slug)?;
        let Some(file) = skill.files.get(path.rest) else {
            let message = format!("there is no file `{path}` in that skill");
            return Err(Refusal::new(RefusalKind::NotFound, "not-found", message));
        };
        Ok(Resolved { key: skill_blob(skill.owner, file.sha256), skill_file: Some(*file) })
    }

    /// A folder, if the turn may list it.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn resolve_folder(&self, path: &FolderPath<'_>) -> Result<Folder, Refusal> {
        let (scope, rest) = match path {
            FolderPath::Root => return Ok(Folder::Root),
            FolderPath::Skills => return Ok(Folder::Skills),
            FolderPath::Below { scope, rest } => (*scope, rest),
        };
        self.check(scope, Need::Read)?;
        if let Scope::Skill(slug) = scope {
            self.bound(slug)?;
            return Ok(Folder::Skill { slug: slug.to_owned(), rest: rest.clone() });
        }
        Ok(Folder::Stored(KeyPrefix(format!("{}{rest}", self.prefix(scope)?))))
    }

    /// The path under which this turn knows a stored object; `None` if it knows it under none.
    pub fn path_of<'k>(&self, key: &'k ObjectKey) -> Option<GuestPath<'k>> {
        self.path_of_key(&key.0)
    }

    fn path_of_key<'k>(&self, key: &'k str) -> Option<GuestPath<'k>> {
        [Scope::Session, Scope::Agent, Scope::Workspace].into_iter().find_map(|scope| {
            self.access(scope)?;
            let rest = key.strip_prefix(self.prefix(scope).ok()?)?;
            check_rest(rest, "").ok()?;
            (!is_agent_files(scope, rest)).then_some(GuestPath { scope, rest })
        })
    }

    /// As [`Self::path_of`], for a folder; ends in `/`.
    pub fn folder_path_of(&self, prefix: &KeyPrefix) -> Option<String> {
        let path = self.path_of_key(prefix.0.strip_suffix('/')?)?;
        Some(format!("{path}/"))
    }

    /// The marker that keeps a folder though it may be empty, if the turn may do there what it is
    /// about to.
    ///
    /// # Errors
    /// As [`Self::resolve`]; [`RefusalKind::Invalid`] for a scope, which needs none.
    pub fn resolve_marker(
        &self,
        folder: &FolderPath<'_>,
        need: Need,
    ) -> Result<ObjectKey, Refusal> {
        let FolderPath::Below { scope, rest } = folder else { return Err(always_there()) };
        self.check(*scope, need)?;
        if rest.is_empty() || matches!(scope, Scope::Skill(_)) {
            return Err(always_there());
        }
        Ok(ObjectKey([self.prefix(*scope)?, rest, FOLDER_MARKER].concat()))
    }

    /// The folder that a stored object is the marker of, under the path that this turn knows it by;
    /// it ends in `/`.
    pub fn marked_by(&self, key: &ObjectKey) -> Option<String> {
        let folder = self.path_of_key(marked_folder(&key.0)?)?;
        Some(format!("{folder}/"))
    }

    /// What tells files and folders of a turn apart, whatever they hold and whoever asks. Holds ids:
    /// it is only ever hashed.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn identity(&self, path: &FolderPath<'_>) -> Result<String, Refusal> {
        Ok(match self.resolve_folder(path)? {
            Folder::Root => format!("root of {:?}", self.coordinates),
            Folder::Skills => format!("skills of {:?}", self.coordinates),
            Folder::Stored(prefix) => prefix.0,
            Folder::Skill { slug, rest } => {
                format!("skill {slug}/{rest} of {:?}", self.coordinates)
            }
        })
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

    fn access(&self, scope: Scope<'_>) -> Option<Access> {
        match scope {
            Scope::Session => self.coordinates.session.map(|_| Access::ReadWrite),
            Scope::Agent => self.grant.agent,
            Scope::Workspace => self.grant.workspace,
            Scope::Skill(_) => Some(Access::ReadOnly),
        }
    }

    fn check(&self, scope: Scope<'_>, need: Need) -> Result<(), Refusal> {
        match (self.access(scope), need) {
            (Some(Access::ReadWrite), _) | (Some(Access::ReadOnly), Need::Read) => Ok(()),
            (Some(Access::ReadOnly), Need::Write) => {
                let message = format!("`{scope}/` is read-only in this turn");
                Err(Refusal::new(RefusalKind::Denied, "read-only", message))
            }
            (None, _) => Err(not_granted(scope)),
        }
    }

    fn prefix(&self, scope: Scope<'_>) -> Result<&str, Refusal> {
        let prefix = match scope {
            Scope::Session => self.prefixes.session.as_ref(),
            Scope::Agent => Some(&self.prefixes.agent),
            Scope::Workspace => Some(&self.prefixes.workspace),
            Scope::Skill(_) => None,
        };
        prefix.map(KeyPrefix::as_str).ok_or_else(|| not_granted(scope))
    }
}

/// What the scopes of one turn stand for in a store.
#[derive(Clone, Debug)]
struct Prefixes {
    session: Option<KeyPrefix>,
    agent: KeyPrefix,
    workspace: KeyPrefix,
}

impl Prefixes {
    /// Made for each turn, so without the machinery of `format!`.
    fn new(Coordinates { workspace, agent, session }: Coordinates) -> Self {
        let (mut first, mut second, mut third) =
            (Uuid::encode_buffer(), Uuid::encode_buffer(), Uuid::encode_buffer());
        let workspace: &str = workspace.0.as_hyphenated().encode_lower(&mut first);
        let agent: &str = agent.0.as_hyphenated().encode_lower(&mut second);
        let session = session.map(|session| &*session.0.as_hyphenated().encode_lower(&mut third));
        let of_session = |session| ["sessions/", workspace, "/", agent, "/", session, "/"].concat();
        Self {
            session: session.map(of_session).map(KeyPrefix),
            agent: KeyPrefix(["agents/", workspace, "/", agent, "/"].concat()),
            workspace: KeyPrefix(["workspaces/", workspace, "/"].concat()),
        }
    }
}

/// What stands below the ids in the key of a scope's file: the part that the bounds of a path
/// are about, also where a listing began further up.
fn below_scope(key: &str) -> Option<&str> {
    let key = key.strip_prefix(EXTRACTED_PREFIX).unwrap_or(key);
    let ids = match key.split('/').next()? {
        "sessions" => 3,
        "agents" => 2,
        "workspaces" | "skills" => 1,
        _ => return None,
    };
    key.splitn(ids + 2, '/').nth(ids + 1)
}

fn always_there() -> Refusal {
    Refusal::invalid("always-there", "a scope is always there: it is neither made nor removed")
}

fn not_granted(scope: Scope<'_>) -> Refusal {
    let message = format!("this turn has no grant on `{scope}/`");
    Refusal::new(RefusalKind::Denied, "not-granted", message)
}

/// Where a skill's file is published, by its content.
pub fn skill_blob(owner: WorkspaceId, sha256: Sha256) -> ObjectKey {
    let mut id = Uuid::encode_buffer();
    let id: &str = owner.0.as_hyphenated().encode_lower(&mut id);
    ObjectKey(["skills/", id, "/", sha256.write_hex(&mut [0; skill::HEX_BYTES])].concat())
}

#[cfg(any(test, fuzzing))]
#[cfg_attr(
    test,
    expect(clippy::expect_used, reason = "a property that fails says so by panicking")
)]
pub(crate) mod properties;
#[cfg(test)]
mod tests;
