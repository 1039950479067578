//! How long things are kept: saying so for one session, and seeing what would go.

use super::desks::Wanted;
use super::{Desk, OfDeployment, OfSession, OfWorkspace, Right};
use crate::api::authority::Authority;
use crate::api::problem::Problem;
use crate::catalog::{SettledQuestion, TurnId, Walk};
use crate::retention::{Foreseen, Preview, Settled, foresee};
use crate::scope::WorkspaceId;

use super::{Auditing, Hosting};

/// To hold what may not go, and release it.
#[derive(Debug)]
pub(in crate::api) enum Holding {}

/// To see what would go.
#[derive(Debug)]
pub(in crate::api) enum Foreseeing {}

impl Wanted for Holding {
    const RIGHT: Right = Right::AnyOf(&[Authority::RetentionWrite]);
}

impl Wanted for Foreseeing {
    const RIGHT: Right = Right::AnyOf(&[Authority::RetentionWrite, Authority::Admin]);
}

impl Desk<OfSession, Hosting> {
    pub(in crate::api) async fn close(&self) -> Result<(), Problem> {
        Ok(self.host.0.catalog.close_session(self.owner.0).await?)
    }

    pub(in crate::api) async fn reopen(&self) -> Result<(), Problem> {
        Ok(self.host.0.catalog.reopen_session(self.owner.0).await?)
    }
}

impl Desk<OfSession, Holding> {
    pub(in crate::api) async fn hold(&self) -> Result<(), Problem> {
        Ok(self.host.0.catalog.hold_session(self.owner.0).await?)
    }

    pub(in crate::api) async fn release(&self) -> Result<(), Problem> {
        Ok(self.host.0.catalog.release_session(self.owner.0).await?)
    }
}

/// Whose desk shows what would go: everybody's, or that of one workspace.
pub(in crate::api) trait Foreseer: super::Owner {
    fn of(&self) -> Option<WorkspaceId>;
}

impl Foreseer for OfDeployment {
    fn of(&self) -> Option<WorkspaceId> {
        None
    }
}

impl Foreseer for OfWorkspace {
    fn of(&self) -> Option<WorkspaceId> {
        Some(self.0)
    }
}

impl<O: Foreseer> Desk<O, Foreseeing> {
    /// What becomes of some sessions, and the time that it is now, in milliseconds since the Unix
    /// epoch.
    pub(in crate::api) async fn foresee(
        &self,
        behind: Walk,
        limit: u32,
    ) -> Result<(Foreseen, u64), Problem> {
        let shared = &self.host.0;
        let (limits, clock) = (shared.storage.limits().clone(), shared.storage.clock().clone());
        let settled = Settled::new(limits, clock);
        let preview = Preview { of: Foreseer::of(&self.owner), behind, limit };
        let foreseen = foresee(&shared.catalog, &settled, &preview).await?;
        Ok((foreseen, settled.now_ms()))
    }
}

impl Desk<OfWorkspace, Auditing> {
    /// Settled questions, the latest first.
    pub(in crate::api) async fn questions(
        &self,
        before: Option<TurnId>,
        limit: u32,
    ) -> Result<Vec<SettledQuestion>, Problem> {
        Ok(self.host.0.catalog.settled_questions(self.owner.0, before, limit).await?)
    }
}
