//! Setting up what a program finds as its folders.

use crate::catalog::{Catalog, CatalogError};
use crate::engine::Component;
use crate::scope::{Access, AgentId, Scope};
use crate::space::{Error, ErrorCode, Space};

/// What it means for a turn that a folder cannot be set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mounting {
    /// It goes on without it: its program is not given that folder, and its log says so.
    #[default]
    BestEffort,
    /// It fails.
    Required,
}

/// Why the agent's folder cannot be set up; for the log.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// It is not known whether it was set up before.
    #[error("the catalog failed: {0:#}")]
    Catalog(#[from] CatalogError),
    /// The page that explains it cannot be written.
    #[error("the store failed: {0}")]
    Store(#[from] Error),
}

/// Sets the agent's folder up for a program that may use it: once in the agent's life it gets a
/// `README.md`, which is never written again, even when it is deleted.
///
/// # Errors
/// [`MountError`]; nothing was lost, and the next turn tries again.
pub async fn mount(
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
