//! Scopes as folders: `wasi:filesystem`, served from a space, for programs that use plain files.
//!
//! No folder of the host is opened for a guest. Each call becomes one of the space's, which checks
//! it as ever; what a store cannot do is refused, and not imitated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wasmtime::component::{HasSelf, Linker};

use super::journal::Journal;
use super::state::TurnState;
use super::turn::Level;
use crate::limits::Limits;
use crate::scope::Scope;
use crate::space::{FolderState, Space, Unmounted};

mod bindings;
mod change;
mod closing;
mod commit;
mod descriptor;
mod entries;
mod error;
mod file;
mod gathered;
mod look;
mod open;
mod path;
mod rename;
mod streams;
mod times;

pub use closing::{Unstored, UnstoredWhy};

pub(super) use closing::Publish;
pub(super) use gathered::HostGathering;

use bindings::wasi::filesystem;
use error::Answer;
use file::OpenFile;
use gathered::Gathering;
use path::Link;
use times::Times;

/// Adds the interfaces to what a guest may import, in the place of WASI's own.
pub(super) fn add_to_linker(linker: &mut Linker<TurnState>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    filesystem::types::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    filesystem::preopens::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    linker.allow_shadowing(false);
    Ok(())
}

/// The scopes that a turn has as folders.
fn scopes<'s>(space: &'s Space, unmounted: &[Unmounted]) -> impl Iterator<Item = Scope<'s>> {
    let is_agent_missing = unmounted.contains(&Unmounted::Agent);
    let scopes = space.mounts().into_iter().map(|mount| mount.scope);
    scopes.filter(move |scope| *scope != Scope::Agent || !is_agent_missing)
}

/// The folders of one turn.
pub(super) struct Folders {
    space: Space,
    gathering: Arc<Gathering>,
    journal: Arc<Journal>,
    unmounted: Vec<Unmounted>,
    link: Link,
    /// Files that are open, or that are still to be stored, by their paths.
    files: BTreeMap<String, Arc<OpenFile>>,
    /// Folders out of which something went in this turn: they are there until they are removed.
    emptied: BTreeSet<String>,
    /// Times that the program set.
    times: BTreeMap<String, Times>,
    unstored: Vec<Unstored>,
}

impl Folders {
    pub(super) fn new(
        space: Space,
        journal: Arc<Journal>,
        limits: &Limits,
        host: Arc<HostGathering>,
        unmounted: Vec<Unmounted>,
    ) -> Self {
        let reaches_agent = scopes(&space, &unmounted).any(|scope| scope == Scope::Agent);
        if unmounted.contains(&Unmounted::Agent) {
            let line = "the folder `/agent` could not be set up, and is not available in this turn; nothing in it was lost";
            journal.log(Level::Warn, line);
        }
        Self {
            gathering: Arc::new(Gathering::new(limits, host)),
            journal,
            unmounted,
            link: if reaches_agent { Link::There } else { Link::Missing },
            files: BTreeMap::new(),
            emptied: BTreeSet::new(),
            times: BTreeMap::new(),
            unstored: Vec::new(),
            space,
        }
    }

    /// Where the program finds each scope that it can reach, and the path of it.
    fn mounted(&self) -> Vec<(&'static str, &'static str)> {
        let scopes: Vec<_> = scopes(&self.space, &self.unmounted).collect();
        let has = |scope: Scope<'_>| scopes.contains(&scope);
        let has_skills = scopes.iter().any(|scope| matches!(scope, Scope::Skill(_)));
        let all = [
            (has(Scope::Session), "/session", "session"),
            (has(Scope::Agent), "/agent", "agent"),
            (has(Scope::Workspace), "/workspace", "workspace"),
            (has_skills, "/skill", "skill"),
            // Where programs work: what they name without a `/` at the start.
            (has(Scope::Session), "/", "session"),
        ];
        let there = all.into_iter().filter(|(is_there, ..)| *is_there);
        there.map(|(_, name, path)| (name, path)).collect()
    }

    /// The variables of the environment that name them.
    pub(super) fn variables(&self) -> Vec<(&'static str, &'static str)> {
        let name = |scope: Scope<'_>| match scope {
            Scope::Session => Some(("BAILIWICK_SESSION_DIR", "/session")),
            Scope::Agent => Some(("BAILIWICK_AGENT_DIR", "/agent")),
            Scope::Workspace => Some(("BAILIWICK_WORKSPACE_DIR", "/workspace")),
            Scope::Skill(_) => None,
        };
        scopes(&self.space, &self.unmounted).filter_map(name).collect()
    }

    /// Whether a folder is there: because something is in it, or because it is kept.
    async fn has_folder(&self, path: &str) -> Answer<bool> {
        let is_always_there = path::is_root(path) && !path.contains('/');
        if is_always_there || self.emptied.contains(path) || self.has_open_files(path) {
            return Ok(true);
        }
        Ok(self.stored_state(path).await? != FolderState::Missing)
    }

    /// Whether a file in a folder is open, or still to be stored.
    fn has_open_files(&self, folder: &str) -> bool {
        let below = format!("{folder}/");
        let first = self.files.range(below.clone()..).next();
        first.is_some_and(|(path, _)| path.starts_with(&below))
    }

    /// What the store has of a folder; one that cannot be, is not there.
    async fn stored_state(&self, path: &str) -> Answer<FolderState> {
        match self.space.folder_state(path).await {
            Ok(state) => Ok(state),
            Err(error) if look::is_nowhere(&error) => Ok(FolderState::Missing),
            Err(error) => Err(error.into()),
        }
    }

    fn tell(&self, line: &str) {
        self.journal.log(Level::Warn, line);
    }
}
