//! What a request brings: its query, a body of JSON, a body of bytes, the path of a file.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE};
use axum::http::request::Parts;
use bytes::{Bytes, BytesMut};
use http_body::Frame;
use http_body_util::BodyExt as _;
use serde::de::DeserializeOwned;

use crate::api::gate::parameter;
use crate::api::problem::Problem;
use crate::limits::{JSON_BODY_BYTES_MAX, REQUEST_IDLE_MS_MAX, WRITER_CALL_BYTES_MAX};

/// The query of a request; what it does not have or not so is refused.
#[derive(Debug)]
pub(in crate::api) struct Options<T>(pub(in crate::api) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Options<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(options)) => Ok(Self(options)),
            Err(error) => Err(Problem::bad_request("query", error.body_text())),
        }
    }
}

macro_rules! part {
    ($(#[$doc:meta])* $name:ident, $parameter:literal) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(in crate::api) struct $name(pub(in crate::api) String);

        impl<S: Send + Sync> FromRequestParts<S> for $name {
            type Rejection = Problem;

            async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
                let part = parameter(parts, $parameter).await;
                let detail = "a part of a path is UTF-8, percent-encoded once";
                part.map(Self).ok_or_else(|| Problem::bad_request("path", detail))
            }
        }
    };
}

part!(
    /// The path of a file, as it stands after `/files/`, decoded once. Whether it is legal is
    /// for resolution to say.
    FilePath,
    "path"
);
part!(
    /// Who takes part in a session.
    Subject,
    "subject"
);
part!(
    /// What a token is called.
    TokenId,
    "token"
);
part!(
    /// Which turn.
    TurnPart,
    "turn"
);
part!(
    /// Which wakeup.
    WakeupPart,
    "wakeup"
);
part!(
    /// What a component is called.
    ComponentName,
    "component"
);

part!(
    /// What a skill is called.
    SkillPart,
    "skill"
);
part!(
    /// Which version of a skill.
    VersionPart,
    "version"
);

/// Which file of a version of a skill.
#[derive(Debug)]
pub(in crate::api) struct VersionFile {
    pub(in crate::api) skill: String,
    pub(in crate::api) version: String,
    pub(in crate::api) path: String,
}

impl<S: Send + Sync> FromRequestParts<S> for VersionFile {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let SkillPart(skill) = SkillPart::from_request_parts(parts, state).await?;
        let VersionPart(version) = VersionPart::from_request_parts(parts, state).await?;
        let FilePath(path) = FilePath::from_request_parts(parts, state).await?;
        Ok(Self { skill, version, path })
    }
}

/// A body of JSON; what it does not have or not so is refused.
#[derive(Debug)]
pub(in crate::api) struct Json<T>(pub(in crate::api) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let content_type = request.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let essence = content_type.and_then(|value| value.split(';').next()).unwrap_or_default();
        if !essence.trim().eq_ignore_ascii_case("application/json") {
            let detail = "the body is JSON: say so, with `Content-Type: application/json`";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-type", detail));
        }
        let bytes =
            Incoming::from_request(request, state).await?.whole(JSON_BODY_BYTES_MAX).await?;
        serde_json::from_slice(&bytes).map(Self).map_err(|error| {
            Problem::bad_request("body", format!("the body is not as it must be: {error}"))
        })
    }
}

/// A body of bytes, as it comes.
#[derive(Debug)]
pub(in crate::api) struct Incoming {
    body: Body,
    /// What came and was not given out yet.
    rest: Bytes,
    /// If the request says.
    length: Option<u64>,
    idle: Duration,
}

/// How long nothing of a body may come: of a server's requests, an extension.
#[derive(Clone, Copy, Debug)]
pub(in crate::api) struct Idle(pub(in crate::api) Duration);

impl<S: Send + Sync> FromRequest<S> for Incoming {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let headers = request.headers();
        // A part of a file, taken for the whole of it, would lose the rest.
        // <https://www.rfc-editor.org/rfc/rfc9110#section-14.5>
        if headers.contains_key(CONTENT_RANGE) {
            let detail = "a file is sent whole: `Content-Range` is not for requests here";
            return Err(Problem::bad_request("content-range", detail));
        }
        if headers.get(CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
            let detail = "a file is sent as it is: without `Content-Encoding`";
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "content-encoding",
                detail,
            ));
        }
        let length = headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
        let idle = request.extensions().get::<Idle>().map(|Idle(idle)| *idle);
        let idle = idle.unwrap_or(Duration::from_millis(REQUEST_IDLE_MS_MAX));
        Ok(Self { body: request.into_body(), rest: Bytes::new(), length, idle })
    }
}

impl Incoming {
    /// The next bytes, as many as one call of a writer takes at most; `None` at the end.
    ///
    /// # Errors
    /// If the body breaks off, or nothing comes for too long.
    pub(in crate::api) async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        while self.rest.is_empty() {
            match self.frame().await? {
                // Trailers say nothing here.
                Some(frame) => self.rest = frame.into_data().unwrap_or_default(),
                None => return Ok(None),
            }
        }
        let length = self.rest.len().min(WRITER_CALL_BYTES_MAX);
        Ok(Some(self.rest.split_to(length)))
    }

    async fn frame(&mut self) -> Result<Option<Frame<Bytes>>, Problem> {
        let Ok(frame) = tokio::time::timeout(self.idle, self.body.frame()).await else {
            let detail = "nothing of the body came for too long; nothing changed";
            return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "idle", detail));
        };
        let cut = |_| Problem::bad_request("cut", "the body broke off; nothing changed");
        frame.transpose().map_err(cut)
    }

    /// All of it, if it is at most so long.
    ///
    /// # Errors
    /// As [`Self::next`], and if it is longer: before it is read, where the request says so.
    pub(in crate::api) async fn whole(mut self, bytes_max: usize) -> Result<Bytes, Problem> {
        let too_large = || {
            let detail = format!("a body is at most {bytes_max} bytes here");
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
        };
        let fits = |length: u64| length <= u64::try_from(bytes_max).unwrap_or(u64::MAX);
        if !self.length.is_none_or(fits) {
            return Err(too_large());
        }
        let mut whole = BytesMut::new();
        while let Some(bytes) = self.next().await? {
            if whole.len() + bytes.len() > bytes_max {
                return Err(too_large());
            }
            whole.extend_from_slice(&bytes);
        }
        Ok(whole.freeze())
    }
}
