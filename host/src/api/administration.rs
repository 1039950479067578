//! Settings, and tokens that are taken back.

use axum::Json as Answer;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::gate::{Administering, Desk, Owner};
use super::http::input::{Json, TokenId};
use super::problem::Problem;
use super::token::is_word;
use crate::limits::TOKEN_ID_BYTES_MAX;
use crate::settings::Settings;

/// The end of the year 9999: later than any token that is still of use.
const NEVER_MS: u64 = 253_402_300_799_999;

/// `GET …/settings`: what is said here, what holds, and why.
pub(super) async fn settings<O: Owner>(
    desk: Desk<O, Administering>,
) -> Result<Answer<Value>, Problem> {
    let (said, effective) = desk.settings().await?;
    Ok(Answer(json!({ "said": said.to_json(), "effective": effective.to_json() })))
}

/// `PUT …/settings`: all that is said here; what is left out is inherited.
pub(super) async fn set<O: Owner>(
    desk: Desk<O, Administering>,
    Json(wanted): Json<Value>,
) -> Result<Answer<Value>, Problem> {
    let wanted = Settings::parse(&wanted).map_err(|why| Problem::bad_request("settings", why))?;
    desk.set(&wanted).await?;
    settings(desk).await
}

/// Which token is taken back.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Revocation {
    token_id: String,
    /// When it would have ended; for ever, if that is not known.
    until_ms: Option<u64>,
}

/// `POST …/revocations`
pub(super) async fn revoke<O: Owner>(
    desk: Desk<O, Administering>,
    Json(Revocation { token_id, until_ms }): Json<Revocation>,
) -> Result<StatusCode, Problem> {
    check(&token_id)?;
    desk.revoke(&token_id, until_ms.unwrap_or(NEVER_MS).min(NEVER_MS)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE …/revocations/{token}`
pub(super) async fn accept<O: Owner>(
    desk: Desk<O, Administering>,
    TokenId(token_id): TokenId,
) -> Result<StatusCode, Problem> {
    check(&token_id)?;
    desk.accept(&token_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn check(token_id: &str) -> Result<(), Problem> {
    let detail =
        format!("a token's id is 1 to {TOKEN_ID_BYTES_MAX} bytes without control characters");
    match is_word(token_id, TOKEN_ID_BYTES_MAX) {
        true => Ok(()),
        false => Err(Problem::bad_request("token-id", detail)),
    }
}
