//! From paths and names to a space.

use bailiwick::catalog::{Catalog, CatalogError, Name, Promoter};
use bailiwick::receipts::Receipts;
use bailiwick::scope::{
    Access, AgentId, Coordinates, FolderPath, Grant, MountTable, Scope, SkillTable, WorkspaceId,
};
use bailiwick::space::{self, ErrorCode, Space, Terms};
use bailiwick::store::Precondition;
use clap::Args;
use uuid::Uuid;

use super::super::desk::Desk;
use super::super::failure::Failure;
use super::super::names::{InAgent, InSession, InWorkspace};

/// Whose files they are; only the scopes that a path names need theirs.
#[derive(Clone, Debug, Args)]
pub(super) struct Names {
    /// Name of the workspace: for every path.
    #[arg(long, short = 'w', env = "BAILIWICK_WORKSPACE", value_name = "NAME")]
    workspace: Option<Name>,
    /// Name of the agent: for paths in `agent/` and `session/`.
    #[arg(long, short = 'a', env = "BAILIWICK_AGENT", value_name = "NAME")]
    agent: Option<Name>,
    /// Name of the session: for paths in `session/`.
    #[arg(long, short = 's', env = "BAILIWICK_SESSION", value_name = "NAME")]
    session: Option<Name>,
}

/// What becomes of names that nothing has yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    Refuse,
    Make,
}

/// How far down the names must go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Workspace,
    Agent,
    Session,
}

/// A space of a person, who may do everything in what they named.
#[derive(Debug)]
pub(super) struct Reach {
    pub(super) space: Space,
    coordinates: Coordinates,
    level: Level,
}

impl Names {
    /// A space that reaches the scopes of all these paths.
    pub(super) async fn reach(
        &self,
        desk: &Desk,
        paths: &[&str],
        missing: Missing,
    ) -> Result<Reach, Failure> {
        let mut level = Level::Workspace;
        for path in paths {
            level = level.max(self.level_of(path)?);
        }
        let coordinates = self.coordinates(&desk.catalog, level, missing).await?;
        let grant = Grant {
            agent: (level >= Level::Agent).then_some(Access::ReadWrite),
            workspace: Some(Access::ReadWrite),
        };
        let table = MountTable::new(coordinates, grant, SkillTable::default());
        let by = Promoter::Operator;
        let receipts = Receipts::of_person(Catalog::clone(&desk.catalog), coordinates, by);
        let terms = Terms { receipts: Some(receipts), ..Terms::default() };
        Ok(Reach { space: desk.storage.space_on(terms, table), coordinates, level })
    }

    fn level_of(&self, path: &str) -> Result<Level, Failure> {
        let scope = match FolderPath::parse(path).map_err(space::Error::from)? {
            FolderPath::Root => return Ok(self.deepest()),
            FolderPath::Skills => return Err(no_skills()),
            FolderPath::Below { scope, .. } => scope,
        };
        match scope {
            Scope::Workspace => Ok(Level::Workspace),
            Scope::Agent => Ok(Level::Agent),
            Scope::Session => Ok(Level::Session),
            Scope::Skill(_) => Err(no_skills()),
        }
    }

    /// As far as there are names.
    fn deepest(&self) -> Level {
        match (&self.agent, &self.session) {
            (Some(_), Some(_)) => Level::Session,
            (Some(_), None) => Level::Agent,
            (None, _) => Level::Workspace,
        }
    }

    async fn coordinates(
        &self,
        catalog: &Catalog,
        level: Level,
        missing: Missing,
    ) -> Result<Coordinates, Failure> {
        // An agent that no grant names: never looked at.
        let nobody = AgentId(Uuid::nil());
        match level {
            Level::Workspace => {
                let names = self.in_workspace()?;
                let workspace = match missing {
                    Missing::Refuse => names.find(catalog).await?,
                    Missing::Make => names.make(catalog).await?,
                };
                Ok(Coordinates { workspace, agent: nobody, session: None })
            }
            Level::Agent => {
                let names = self.in_agent()?;
                let (workspace, agent) = match missing {
                    Missing::Refuse => names.find(catalog).await?,
                    Missing::Make => names.make(catalog).await?,
                };
                Ok(Coordinates { workspace, agent, session: None })
            }
            Level::Session => {
                let names = self.in_session()?;
                let (workspace, agent, session) = match missing {
                    Missing::Refuse => names.find(catalog).await?,
                    Missing::Make => names.make(catalog).await?,
                };
                Ok(Coordinates { workspace, agent, session: Some(session) })
            }
        }
    }

    fn in_workspace(&self) -> Result<InWorkspace, Failure> {
        let needed = || Failure::new("whose files? Name the workspace: --workspace NAME");
        Ok(InWorkspace { workspace: self.workspace.clone().ok_or_else(needed)? })
    }

    fn in_agent(&self) -> Result<InAgent, Failure> {
        let needed = || Failure::new("whose `agent/`? Name the agent as well: --agent NAME");
        let workspace = self.in_workspace()?;
        Ok(InAgent { workspace, agent: self.agent.clone().ok_or_else(needed)? })
    }

    fn in_session(&self) -> Result<InSession, Failure> {
        let needed = || Failure::new("which `session/`? Name the session as well: --session NAME");
        let agent = self.in_agent()?;
        Ok(InSession { agent, session: self.session.clone().ok_or_else(needed)? })
    }

    /// Makes sure that a file just written belongs to something: what was put into a thing that
    /// went meanwhile would stay there for ever, so it is taken back.
    pub(super) async fn keep(
        &self,
        catalog: &Catalog,
        reach: &Reach,
        path: &str,
    ) -> Result<(), Failure> {
        let Some(gone) = self.gone(catalog, reach, path).await? else { return Ok(()) };
        match reach.space.delete(path, Precondition::Always).await {
            Err(error) if error.code != ErrorCode::NotFound => return Err(error.into()),
            _ => {}
        }
        Err(Failure::new(format!("{gone}: nothing is kept")))
    }

    /// Makes sure that there is something that a file would belong to, right before it is put there.
    pub(super) async fn check_there(
        &self,
        catalog: &Catalog,
        reach: &Reach,
        path: &str,
    ) -> Result<(), Failure> {
        self.gone(catalog, reach, path).await?.map_or(Ok(()), |gone| Err(Failure::new(gone)))
    }

    /// Why what a file belongs to is not there any more, if it is not; else it is noted that
    /// something happens there.
    async fn gone(
        &self,
        catalog: &Catalog,
        reach: &Reach,
        path: &str,
    ) -> Result<Option<String>, Failure> {
        if !self.still_mean(catalog, reach).await? {
            return Ok(Some(format!("what `{path}` belongs to was deleted meanwhile")));
        }
        let (Some(session), Level::Session) = (reach.coordinates.session, reach.level) else {
            return Ok(None);
        };
        match catalog.note_write(session).await {
            Ok(()) => Ok(None),
            Err(gone @ (CatalogError::Swept | CatalogError::Deleted)) => Ok(Some(gone.to_string())),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the names stand for what they stood for.
    async fn still_mean(&self, catalog: &Catalog, reach: &Reach) -> Result<bool, Failure> {
        let Coordinates { workspace, agent, .. } = reach.coordinates;
        if self.workspace_now(catalog).await? != Some(workspace) {
            return Ok(false);
        }
        match (&self.agent, reach.level >= Level::Agent) {
            (Some(name), true) => Ok(catalog.agent(workspace, name).await? == Some(agent)),
            _ => Ok(true),
        }
    }

    async fn workspace_now(&self, catalog: &Catalog) -> Result<Option<WorkspaceId>, Failure> {
        let Some(name) = &self.workspace else { return Ok(None) };
        Ok(catalog.workspace(name).await?)
    }
}

fn no_skills() -> Failure {
    Failure::new(
        "skills belong to a turn: give one to it with `bailiwick run --skill SLUG=DIR`, and look at its files in DIR",
    )
}
