//! What a request is told when it is refused: problem details, one place for all of them.
//! <https://www.rfc-editor.org/rfc/rfc9457>

use axum::Json;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};

use super::token::TokenError;
use crate::catalog::CatalogError;
use crate::space::{Error, ErrorCode};

const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");
/// How long whoever found the host short of room should wait, in seconds.
const BUSY_S: HeaderValue = HeaderValue::from_static("1");

/// Why a request is refused, in words for whoever sent it.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) status: StatusCode,
    code: &'static str,
    detail: String,
    suggestions: Vec<String>,
    /// What its status wants said in a field.
    field: Option<Box<(HeaderName, HeaderValue)>>,
}

/// The body of a refusal.
#[derive(Serialize)]
struct Body<'a> {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    code: &'static str,
    detail: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    suggestions: &'a [String],
}

impl Problem {
    pub(super) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        let (detail, suggestions) = (detail.into(), Vec::new());
        Self { status, code, detail, suggestions, field: None }
    }

    /// The one answer to whoever asks for what is not there, or not for them.
    pub(super) fn nothing_here() -> Self {
        let detail = "there is nothing here that this token may do or see";
        Self::new(StatusCode::NOT_FOUND, "nothing-here", detail)
    }

    /// No token, or none that is accepted: the same for every path.
    pub(super) fn unauthorized(error: Option<TokenError>) -> Self {
        let detail = error.map_or_else(
            || "a token is needed: `Authorization: Bearer …`".to_owned(),
            |error| error.to_string(),
        );
        let challenge = match error {
            None => "Bearer",
            Some(_) => "Bearer error=\"invalid_token\"",
        };
        Self::new(StatusCode::UNAUTHORIZED, "token", detail)
            .with(WWW_AUTHENTICATE, HeaderValue::from_static(challenge))
    }

    pub(super) fn bad_request(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    /// A condition of the request does not hold.
    pub(super) fn precondition() -> Self {
        let detail = "the file is not as the request's conditions say: look again, then decide";
        Self::new(StatusCode::PRECONDITION_FAILED, "precondition", detail)
    }

    pub(super) fn busy() -> Self {
        Error::busy().into()
    }

    /// A component that this host cannot run; why, in a sentence.
    pub(super) fn unfit(sentence: String) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unfit", sentence)
    }

    /// The host failed in a way that nothing foresaw.
    pub(super) fn fault() -> Self {
        let detail = "this host failed; look before you repeat a change";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "fault", detail)
    }

    pub(super) fn method_not_allowed() -> Self {
        let detail = "this path is there, but not for that method";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method", detail)
    }

    /// Whether what was asked about is gone, or not for whoever asks.
    pub(super) fn is_for_good(&self) -> bool {
        matches!(self.status, StatusCode::NOT_FOUND | StatusCode::GONE)
    }

    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.field = Some(Box::new((name, value)));
        self
    }
}

/// The body of a refusal, as a document describes it.
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["type", "title", "status", "code", "detail"],
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "code": { "type": "string", "description": "a stable word" },
            "detail": { "type": "string", "description": "a sentence for people and models" },
            "suggestions": { "type": "array", "items": { "type": "string" } },
        },
    })
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = Body {
            r#type: "about:blank",
            title: self.status.canonical_reason().unwrap_or("Refused"),
            status: self.status.as_u16(),
            code: self.code,
            detail: &self.detail,
            suggestions: &self.suggestions,
        };
        let mut response = (self.status, Json(body)).into_response();
        if let Some((name, value)) = self.field.map(|field| *field) {
            response.headers_mut().insert(name, value);
        }
        response.headers_mut().insert(CONTENT_TYPE, MEDIA_TYPE);
        response
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let status = match error.code {
            // Whether or not it is there.
            ErrorCode::Denied => return Self::nothing_here(),
            ErrorCode::NoScope | ErrorCode::Invalid => StatusCode::BAD_REQUEST,
            ErrorCode::NotFound => StatusCode::NOT_FOUND,
            ErrorCode::Conflict => StatusCode::CONFLICT,
            ErrorCode::NoMatch | ErrorCode::NoText | ErrorCode::Unsupported => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorCode::TextPending | ErrorCode::Busy | ErrorCode::Unavailable => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            ErrorCode::Closed => StatusCode::GONE,
        };
        let problem = Self {
            suggestions: error.suggestions,
            ..Self::new(status, error.reason, error.message)
        };
        match status {
            StatusCode::SERVICE_UNAVAILABLE => problem.with(RETRY_AFTER, BUSY_S),
            _ => problem,
        }
    }
}

impl From<CatalogError> for Problem {
    fn from(error: CatalogError) -> Self {
        match error {
            CatalogError::Unavailable { ref source } => {
                tracing::error!(error = format!("{source:#}"), "the catalog failed");
                let detail = "the catalog did not answer; look before you repeat a change";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "catalog", detail)
                    .with(RETRY_AFTER, BUSY_S)
            }
            CatalogError::Deleted => Self::nothing_here(),
            CatalogError::Swept => Self::new(StatusCode::GONE, "swept", error.to_string()),
            CatalogError::NoComponent => {
                Self::new(StatusCode::NOT_FOUND, "component", error.to_string())
            }
            CatalogError::NoSkill => Self::new(StatusCode::NOT_FOUND, "skill", error.to_string()),
            CatalogError::BeingRemoved => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", error.to_string())
                    .with(RETRY_AFTER, BUSY_S)
            }
            CatalogError::TooLarge { .. } => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", error.to_string())
            }
            CatalogError::QueueFull | CatalogError::TooMany { .. } => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many", error.to_string())
                    .with(RETRY_AFTER, BUSY_S)
            }
            CatalogError::Closed => Self::new(StatusCode::CONFLICT, "closed", error.to_string()),
            CatalogError::Held => Self::new(StatusCode::CONFLICT, "held", error.to_string()),
            CatalogError::StillToCome(_)
            | CatalogError::TurnRunning { .. }
            | CatalogError::TurnsQueued
            | CatalogError::InUse { .. }
            | CatalogError::QuestionOpen(_)
            | CatalogError::NoQuestion
            | CatalogError::AlreadyAnswered
            | CatalogError::RequestReused
            | CatalogError::LeaseLost => {
                Self::new(StatusCode::CONFLICT, "in-use", error.to_string())
            }
        }
    }
}
