//! Scopes as folders: `wasi:filesystem`, served from a space, for programs that use plain files.
//!
//! No folder of the host is opened for a guest. Each call becomes one of the space's, which checks
//! it as ever; what a store cannot do is refused, and not imitated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::time::Instant;
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
mod shared;
mod streams;
mod tasks;
mod times;

pub use closing::{Unstored, UnstoredWhy};

pub(super) use closing::Publish;
pub(super) use gathered::HostGathering;
pub(super) use tasks::{ProgramPre, add_to_linker as add_tasks_to_linker};

use bindings::wasi::filesystem;
use error::Answer;
use file::OpenFile;
use gathered::{Gathering, GatheringBounds};
use path::Link;
use shared::Shared;
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

/// The folders of a turn. What a guest does in them is kept from its first call on: most turns
/// make none.
pub(super) struct TurnFolders {
    space: Space,
    journal: Arc<Journal>,
    bounds: GatheringBounds,
    host: Arc<HostGathering>,
    unmounted: Vec<Unmounted>,
    shared: Option<Shared>,
}

impl TurnFolders {
    pub(super) fn new(
        space: Space,
        journal: Arc<Journal>,
        limits: &Limits,
        host: Arc<HostGathering>,
        unmounted: Vec<Unmounted>,
    ) -> Self {
        if unmounted.contains(&Unmounted::Agent) {
            let line = "the folder `/agent` could not be set up, and is not available in this turn; nothing in it was lost";
            journal.log(Level::Warn, line);
        }
        let bounds = GatheringBounds::of(limits);
        Self { space, journal, bounds, host, unmounted, shared: None }
    }

    /// What is in them, for the calls of the guest.
    fn shared(&mut self) -> &Shared {
        let Self { space, journal, bounds, host, unmounted, shared } = self;
        shared.get_or_insert_with(|| {
            let reaches_agent = scopes(space, unmounted).any(|scope| scope == Scope::Agent);
            let link = if reaches_agent { Link::There } else { Link::Missing };
            let gathering = Arc::new(Gathering::new(*bounds, host.clone()));
            Shared::new(Folders::new(space.clone(), journal.clone(), gathering, link), link)
        })
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

    /// Whether the guest did nothing in them.
    pub(super) fn are_untouched(&self) -> bool {
        self.shared.is_none()
    }

    /// Stores what is to be stored at the end of a turn, and says what is not where it was to be.
    /// Nothing else is under way any more.
    pub(super) async fn finish(&mut self, publish: Publish, until: Instant) -> Vec<Unstored> {
        match &self.shared {
            None => Vec::new(),
            Some(shared) => shared.ending().await.finish(publish, until).await,
        }
    }
}

/// What is in the folders of one turn.
struct Folders {
    space: Space,
    gathering: Arc<Gathering>,
    journal: Arc<Journal>,
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
    fn new(space: Space, journal: Arc<Journal>, gathering: Arc<Gathering>, link: Link) -> Self {
        Self {
            space,
            gathering,
            journal,
            link,
            files: BTreeMap::new(),
            emptied: BTreeSet::new(),
            times: BTreeMap::new(),
            unstored: Vec::new(),
        }
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
