//! Setting up what a program finds as its folders.

use crate::catalog::{Catalog, CatalogError};
use crate::engine::{Component, End};
use crate::scope::{Access, AgentId, Scope};
use crate::space::{Error, ErrorCode, Space, Unmounted};

/// What it means for a turn that a folder cannot be set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mounting {
    /// It goes on without it: its program is not given that folder, and its log says so.
    #[default]
    BestEffort,
    /// It fails.
    Required,
}

impl Mounting {
    /// Sets up what a program finds as its folders, and answers those that its turn goes on without.
    /// Once in the agent's life its folder gets a `README.md`, which is never written again, even
    /// when it is deleted.
    ///
    /// # Errors
    /// How the turn ends that may not go on without one. Nothing was lost, and the next turn tries
    /// again.
    pub async fn mount(
        self,
        catalog: &Catalog,
        space: &Space,
        component: &Component,
        agent: AgentId,
    ) -> Result<Vec<Unmounted>, End> {
        let Err(error) = welcome(catalog, space, component, agent).await else {
            return Ok(Vec::new());
        };
        tracing::warn!(%agent, error = format!("{error:#}"), "an agent's folder was not set up");
        match self {
            Self::BestEffort => Ok(vec![Unmounted::Agent]),
            Self::Required => {
                let why = "the agent's folder could not be set up, and this host requires it";
                Err(End::HostFault(why.to_owned()))
            }
        }
    }
}

/// Why the agent's folder cannot be set up; for the log.
#[derive(Debug, thiserror::Error)]
enum MountError {
    /// It is not known whether it was set up before.
    #[error("the catalog failed: {0:#}")]
    Catalog(#[from] CatalogError),
    /// The page that explains it cannot be written.
    #[error("the store failed: {0}")]
    Store(#[from] Error),
}

/// Writes the page for a program that may use the agent's folder, unless it was written before.
async fn welcome(
    catalog: &Catalog,
    space: &Space,
    component: &Component,
    agent: AgentId,
) -> Result<(), MountError> {
    let is_writable = |scope, access| scope == Scope::Agent && access == Access::ReadWrite;
    let mounts = space.mounts();
    let has_folder = mounts.iter().any(|mount| is_writable(mount.scope, mount.access));
    if !has_folder || !component.has_folders() || !catalog.claim_welcome(agent).await? {
        return Ok(());
    }
    match space.write_welcome().await {
        Ok(_) => Ok(()),
        // Somebody wrote a page of their own.
        Err(error) if error.code == ErrorCode::Conflict => Ok(()),
        Err(error) => {
            catalog.unclaim_welcome(agent).await?;
            Err(error.into())
        }
    }
}
