//! What whoever runs the host asks of it.

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde_json::json;

use super::gate::{Anyone, Health, Ready};

/// `GET /healthz`: the process answers.
pub(super) async fn healthz(_: Anyone) -> &'static str {
    "ok\n"
}

/// `GET /readyz`: so do the catalog and the store.
pub(super) async fn readyz(health: Health) -> impl IntoResponse {
    let Ready { catalog, store } = health.ready().await;
    let status = match (catalog, store) {
        (true, true) => StatusCode::OK,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, Json(json!({ "catalog": catalog, "store": store })))
}

/// `GET /metrics`
pub(super) async fn metrics(health: Health) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], health.metrics())
}
