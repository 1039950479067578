//! Components: what agents run.

use bytes::Bytes;
use sha2::Digest as _;
use tokio::sync::OwnedSemaphorePermit;

use super::{Administering, Desk, OfAgent, OfWorkspace, Seeing};
use crate::api::problem::Problem;
use crate::catalog::{AgentComponent, Name, Page, Snapshot};
use crate::engine::Verdict;
use crate::scope::Sha256;

impl Desk<OfWorkspace, Seeing> {
    /// The latest component of each name.
    pub(in crate::api) async fn components(
        &self,
        page: Page<'_>,
    ) -> Result<Vec<Snapshot>, Problem> {
        Ok(self.host.0.catalog.components(self.owner.0, page).await?)
    }

    /// What is kept of one name, the newest first.
    pub(in crate::api) async fn snapshots(&self, name: &Name) -> Result<Vec<Snapshot>, Problem> {
        let snapshots = self.host.0.catalog.snapshots(self.owner.0, name).await?;
        if snapshots.is_empty() {
            return Err(Problem::nothing_here());
        }
        Ok(snapshots)
    }
}

impl Desk<OfWorkspace, Administering> {
    /// A place among the components that are held in memory at once.
    pub(in crate::api) fn place_for_component(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.host.0.uploads.clone().try_acquire_owned().map_err(|_| Problem::busy())
    }

    /// Keeps a component under a name, if this host can run it.
    pub(in crate::api) async fn upload(
        &self,
        name: &Name,
        bytes: &Bytes,
    ) -> Result<Snapshot, Problem> {
        if let Verdict::Unfit(sentence) = self.host.0.engine.inspect(bytes).await.verdict {
            return Err(Problem::unfit(sentence));
        }
        let sha256 = Sha256(sha2::Sha256::digest(bytes).into());
        Ok(self.host.0.catalog.upload_component(self.owner.0, name, sha256, bytes).await?)
    }
}

impl Desk<OfAgent, Administering> {
    /// Says what the agent's turns run.
    pub(in crate::api) async fn run(
        &self,
        component: Option<&AgentComponent>,
    ) -> Result<(), Problem> {
        Ok(self.host.0.catalog.set_agent_component(self.owner.0, component).await?)
    }
}
