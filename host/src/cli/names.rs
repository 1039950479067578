//! Names on the command line, and what they stand for.

use bailiwick::catalog::{Catalog, Made, Name};
use bailiwick::scope::{AgentId, SessionId, WorkspaceId};
use clap::Args;

use super::failure::{Failure, say};

/// Which workspace a command is about.
#[derive(Debug, Args)]
pub(super) struct InWorkspace {
    /// Name of the workspace.
    #[arg(long, short = 'w', env = "BAILIWICK_WORKSPACE", value_name = "NAME")]
    pub(super) workspace: Name,
}

/// Which agent a command is about.
#[derive(Debug, Args)]
pub(super) struct InAgent {
    #[command(flatten)]
    pub(super) workspace: InWorkspace,
    /// Name of the agent in the workspace.
    #[arg(long, short = 'a', env = "BAILIWICK_AGENT", value_name = "NAME")]
    pub(super) agent: Name,
}

/// Which session a command is about.
#[derive(Debug, Args)]
pub(super) struct InSession {
    #[command(flatten)]
    pub(super) agent: InAgent,
    /// Name of the session of the agent.
    #[arg(long, short = 's', env = "BAILIWICK_SESSION", value_name = "NAME")]
    pub(super) session: Name,
}

/// What a session's names stand for.
pub(super) type Ids = (WorkspaceId, AgentId, SessionId);

impl InWorkspace {
    pub(super) async fn find(&self, catalog: &Catalog) -> Result<WorkspaceId, Failure> {
        catalog.workspace(&self.workspace).await?.ok_or_else(|| no_workspace(&self.workspace))
    }

    pub(super) async fn make(&self, catalog: &Catalog) -> Result<WorkspaceId, Failure> {
        let made = catalog.make_workspace(&self.workspace).await?;
        Ok(announce(made, "workspace", &self.workspace))
    }
}

impl InAgent {
    pub(super) async fn find(&self, catalog: &Catalog) -> Result<(WorkspaceId, AgentId), Failure> {
        let workspace = self.workspace.find(catalog).await?;
        let agent = catalog.agent(workspace, &self.agent).await?;
        Ok((workspace, agent.ok_or_else(|| no_agent(&self.workspace.workspace, &self.agent))?))
    }

    pub(super) async fn make(&self, catalog: &Catalog) -> Result<(WorkspaceId, AgentId), Failure> {
        let workspace = self.workspace.make(catalog).await?;
        let made = catalog.make_agent(workspace, &self.agent).await?;
        Ok((workspace, announce(made, "agent", &self.agent)))
    }
}

impl InSession {
    pub(super) async fn make(&self, catalog: &Catalog) -> Result<Ids, Failure> {
        let (workspace, agent) = self.agent.make(catalog).await?;
        let made = catalog.make_session(agent, &self.session).await?;
        Ok((workspace, agent, announce(made, "session", &self.session)))
    }

    pub(super) async fn find(&self, catalog: &Catalog) -> Result<Ids, Failure> {
        let (workspace, agent) = self.agent.find(catalog).await?;
        let session = catalog.session(agent, &self.session).await?;
        let session = session.ok_or_else(|| no_session(&self.agent, &self.session))?;
        Ok((workspace, agent, session))
    }
}

/// A name mistyped makes a new thing, so what is made is said.
fn announce<I>(made: Made<I>, kind: &str, name: &Name) -> I {
    if matches!(made, Made::New(_)) {
        say(&format!("made {kind} `{name}`"));
    }
    made.id()
}

fn no_workspace(name: &Name) -> Failure {
    Failure::new(format!(
        "there is no workspace `{name}` in this store: `bailiwick workspaces ls` shows those that there are, `bailiwick workspaces new {name}` makes it"
    ))
}

fn no_agent(workspace: &Name, name: &Name) -> Failure {
    Failure::new(format!(
        "there is no agent `{name}` in workspace `{workspace}`: `bailiwick agents ls -w {workspace}` shows those that there are"
    ))
}

fn no_session(agent: &InAgent, name: &Name) -> Failure {
    let (workspace, agent) = (&agent.workspace.workspace, &agent.agent);
    Failure::new(format!(
        "agent `{agent}` has no session `{name}`: `bailiwick sessions ls -w {workspace} -a {agent}` shows those that there are"
    ))
}
