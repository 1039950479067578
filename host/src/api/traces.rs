//! Requests, as whoever traces them sees them: by their route, and never by their path, which
//! names files.

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use super::metrics::known;
use crate::scope::{AgentId, SessionId, WorkspaceId};

/// What is asked of every host every few seconds.
const UNTRACED: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// Makes a span of a request, until its answer begins.
pub(super) async fn trace(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    if UNTRACED.contains(&route) {
        return next.run(request).await;
    }
    let method = known(request.method());
    let span = tracing::info_span!(
        "request",
        otel.name = format!("{method} {route}"),
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = method,
        http.route = route,
        http.response.status_code = Empty,
        workspace = Empty,
        agent = Empty,
        session = Empty,
    );
    let response = next.run(request).instrument(span.clone()).await;
    span.record("http.response.status_code", response.status().as_u16());
    if response.status().is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
    response
}

/// Says in the span of this request what it is about; once it may be.
pub(super) fn about(
    workspace: Option<WorkspaceId>,
    agent: Option<AgentId>,
    session: Option<SessionId>,
) {
    let span = Span::current();
    if let Some(workspace) = workspace {
        span.record("workspace", tracing::field::display(workspace));
    }
    if let Some(agent) = agent {
        span.record("agent", tracing::field::display(agent));
    }
    if let Some(session) = session {
        span.record("session", tracing::field::display(session));
    }
}
