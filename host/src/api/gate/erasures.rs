//! Erasures: asking for them, seeing how they stand, and working on them.

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::{Admitted, Door, Host, Needs, On, Right, id, label};
use crate::api::authority::Authority;
use crate::api::problem::Problem;
use crate::catalog::{AskErasure, Erasure, ErasureId, Label, Made};
use crate::erasure::Eraser;
use crate::limits::{ERASING_MS, ERASING_OPEN_MS};
use crate::proofs::ReceiptKey;
use crate::scope::WorkspaceId;

const RIGHT: Right = Right::AnyOf(&[Authority::RetentionWrite, Authority::Admin]);

/// Erasures in one workspace.
#[derive(Debug)]
pub(in crate::api) struct Erasures {
    host: Host,
    workspace: WorkspaceId,
    by: Label,
}

impl Door for Erasures {
    const NEEDS: Needs = Needs { on: On::Workspace, right: RIGHT };
}

impl FromRequestParts<Host> for Erasures {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, host: &Host) -> Result<Self, Problem> {
        let Admitted { caller, found } = host.admit(parts, Self::NEEDS).await?;
        let workspace = found.workspace().ok_or_else(Problem::nothing_here)?;
        Ok(Self { host: host.clone(), workspace, by: label(&caller.subject)? })
    }
}

impl Erasures {
    /// Asks for all of the workspace to be erased, or for the sessions that a subject opened.
    pub(in crate::api) async fn ask(
        &self,
        subject: Option<&str>,
        deadline_ms: u64,
    ) -> Result<Made<ErasureId>, Problem> {
        if deadline_ms <= self.host.0.storage.clock().now_ms() {
            return Err(Problem::bad_request("deadline_ms", "a deadline is still to come"));
        }
        let subject = subject.map(label).transpose()?;
        let asked = AskErasure {
            workspace: self.workspace,
            subject: subject.as_ref(),
            by: Some(&self.by),
            deadline_ms,
        };
        let made = self.host.0.catalog.ask_erasure(asked).await?;
        self.host.0.erasing.notify_one();
        Ok(made)
    }
}

/// One erasure, of a workspace that may be gone.
#[derive(Debug)]
pub(in crate::api) struct OneErasure(pub(in crate::api) Erasure);

impl Door for OneErasure {
    const NEEDS: Needs = Needs { on: On::Erasure, right: RIGHT };
}

impl FromRequestParts<Host> for OneErasure {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, host: &Host) -> Result<Self, Problem> {
        host.admit(parts, Self::NEEDS).await?;
        let id = id(parts, "erasure").await.ok_or_else(Problem::nothing_here)?;
        let erasure = host.0.catalog.erasure(ErasureId(id)).await?;
        erasure.map(Self).ok_or_else(Problem::nothing_here)
    }
}

impl Host {
    /// Works on erasures for ever: soon after one was asked for here, and every now and then.
    pub(in crate::api) async fn erase_for_ever(self, key: ReceiptKey) {
        let shared = &self.0;
        let (limits, clock) = (shared.storage.limits().clone(), shared.storage.clock().clone());
        let metrics = std::sync::Arc::new(shared.metrics.clone());
        let eraser = Eraser::new(shared.catalog.clone(), key, limits, clock, metrics);
        loop {
            let pause_ms = match eraser.tick().await {
                Ok(0) => ERASING_MS,
                Ok(_) => {
                    // What was deleted is to be emptied, and looked at again.
                    shared.deleted.notify_one();
                    ERASING_OPEN_MS
                }
                Err(error) => {
                    let error = format!("{:#}", anyhow::Error::from(error));
                    tracing::warn!(error, "erasures did not go on; they are tried again");
                    ERASING_MS
                }
            };
            let pause = Duration::from_millis(pause_ms);
            let _ = tokio::time::timeout(pause, shared.erasing.notified()).await;
        }
    }
}
