use std::process::ExitCode;

use bailiwick::catalog::{Name, Page};
use clap::Subcommand;

use super::Outcome;
use super::desk::{Desk, Place};
use super::names::{InAgent, InWorkspace};
use super::workspaces::{List, must_be_new, print};

/// Agents of a workspace.
#[derive(Debug, Subcommand)]
pub(super) enum Agents {
    /// Lists them.
    Ls {
        #[command(flatten)]
        of: InWorkspace,
        #[command(flatten)]
        list: List,
    },
    /// Makes one.
    New {
        /// 1 to 64 letters, digits, `-`, `_` and `.`.
        name: Name,
        #[command(flatten)]
        of: InWorkspace,
    },
    /// Deletes one, with its sessions and all of their files.
    Rm {
        /// Which one.
        name: Name,
        #[command(flatten)]
        of: InWorkspace,
    },
}

impl Agents {
    pub(super) async fn run(self, place: Place) -> Outcome {
        let desk = Desk::open(&place).await?;
        match self {
            Self::Ls { of, list } => {
                let workspace = of.find(&desk.catalog).await?;
                print(list, "sessions", &desk.catalog.agents(workspace, Page::ALL).await?)?;
            }
            Self::New { name, of } => {
                let workspace = of.find(&desk.catalog).await?;
                must_be_new(desk.catalog.make_agent(workspace, &name).await?, "agent", &name)?;
            }
            Self::Rm { name, of } => {
                let in_agent = InAgent { workspace: of, agent: name.clone() };
                let (_, agent) = in_agent.find(&desk.catalog).await?;
                desk.catalog.remove_agent(agent).await?;
                desk.finish_deletion("agent", &name).await?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
