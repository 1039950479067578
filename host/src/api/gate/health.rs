//! What whoever runs the host may ask of it, without a token.

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use tokio::sync::Mutex;
use tokio::time::Instant;
use uuid::Uuid;

use super::{Door, Host, Needs, On, Right};
use crate::api::problem::Problem;
use crate::limits::READY_KNOWN_MS_MAX;
use crate::scope::WorkspaceId;

/// Whether the host is well. Says nothing about what is in it.
#[derive(Debug)]
pub(in crate::api) struct Health(Host);

/// What was found out about being ready, and when: asking often costs the store nothing.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<Option<(Instant, Ready)>>);

/// What answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::api) struct Ready {
    pub(in crate::api) catalog: bool,
    pub(in crate::api) store: bool,
}

impl Door for Health {
    const NEEDS: Needs = Needs { on: On::Nothing, right: Right::Anyone };
}

impl FromRequestParts<Host> for Health {
    type Rejection = Problem;

    async fn from_request_parts(_: &mut Parts, host: &Host) -> Result<Self, Problem> {
        Ok(Self(host.clone()))
    }
}

impl Health {
    /// Whether the catalog and the store answer, as of a moment ago.
    pub(in crate::api) async fn ready(&self) -> Ready {
        // Held while it is found out: whoever asks meanwhile is told the same.
        let mut known = self.0.0.known.0.lock().await;
        let fresh = Duration::from_millis(READY_KNOWN_MS_MAX);
        if let Some((_, ready)) = known.filter(|(since, _)| since.elapsed() < fresh) {
            return ready;
        }
        let ready = self.find_out().await;
        *known = Some((Instant::now(), ready));
        ready
    }

    async fn find_out(&self) -> Ready {
        let shared = &self.0.0;
        let nobodys = WorkspaceId(Uuid::nil());
        let (catalog, store) =
            tokio::join!(shared.catalog.workspace_by_id(nobodys), shared.storage.ready());
        Ready { catalog: catalog.is_ok(), store: store.is_ok() }
    }

    /// What was counted, for Prometheus.
    pub(in crate::api) fn metrics(&self) -> String {
        self.0.0.metrics.text()
    }
}
