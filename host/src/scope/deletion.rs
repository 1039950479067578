//! What is deleted or bounded in its lifetime: whose files, and where they are.

use super::{AgentId, EXTRACTED_PREFIX, KeyPrefix, SessionId, WorkspaceId};

/// Files owed to deletion: whose they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deletion {
    /// The files of one session.
    Session(WorkspaceId, AgentId, SessionId),
    /// The files of an agent and of all its sessions.
    Agent(WorkspaceId, AgentId),
    /// The files and skills of a workspace, of all its agents and of all their sessions.
    Workspace(WorkspaceId),
}

impl Deletion {
    /// Where those files are, and what was read out of them: nothing else stands under these
    /// prefixes.
    pub fn prefixes(&self) -> Vec<KeyPrefix> {
        let prefixes = match self {
            Self::Session(workspace, agent, session) => {
                vec![format!("sessions/{workspace}/{agent}/{session}/")]
            }
            Self::Agent(workspace, agent) => {
                vec![
                    format!("sessions/{workspace}/{agent}/"),
                    format!("agents/{workspace}/{agent}/"),
                ]
            }
            Self::Workspace(workspace) => ["sessions", "agents", "workspaces", "skills"]
                .map(|class| format!("{class}/{workspace}/"))
                .into(),
        };
        let extracted: Vec<_> =
            prefixes.iter().map(|prefix| format!("{EXTRACTED_PREFIX}{prefix}")).collect();
        prefixes.into_iter().chain(extracted).map(KeyPrefix).collect()
    }
}

/// Files whose lifetime a store itself can bound, by where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifetimeOf {
    /// Those of sessions.
    Sessions,
    /// Those of agents.
    Agents,
    /// Those of workspaces.
    Workspaces,
}

impl LifetimeOf {
    /// Where they are, of one workspace or of all, and what was read out of them.
    pub fn prefixes(self, workspace: Option<WorkspaceId>) -> [KeyPrefix; 2] {
        let class = match self {
            Self::Sessions => "sessions/",
            Self::Agents => "agents/",
            Self::Workspaces => "workspaces/",
        };
        let of = workspace.map(|workspace| format!("{workspace}/")).unwrap_or_default();
        let files = format!("{class}{of}");
        let texts = format!("{EXTRACTED_PREFIX}{files}");
        [files, texts].map(KeyPrefix)
    }
}

#[cfg(test)]
mod tests;
