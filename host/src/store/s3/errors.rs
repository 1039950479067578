//! What a server's refusal means. The only place that reads its codes.

use std::error::Error;
use std::fmt::Debug;

use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ConnectorError, ProvideErrorMetadata, SdkError};

use crate::store::StoreError;

/// Why one request did not succeed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) kind: FailureKind,
    /// All that is known, for logs.
    pub(super) source: anyhow::Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// No such object.
    NotFound,
    /// No such bucket.
    NoBucket,
    /// No such upload: completed, aborted or never begun.
    NoUpload,
    /// A condition of the request does not hold.
    Condition,
    /// What was to be copied is not there any more as it was.
    SourceChanged,
    /// The range starts past the end.
    Range,
    /// The object, or one part of it, is too large for the server.
    TooLarge,
    /// No room left.
    Full,
    /// Whoever asks may not.
    Denied,
    /// The server does not know how.
    NotImplemented,
    /// The server was never reached.
    Unreached,
    /// Nothing was done, and the same request may succeed now.
    Again,
    /// It is not known whether it was done: the answer was lost, or is no answer.
    Lost,
    /// Nothing was done, and asking again does not help.
    Refused,
}

impl Failure {
    pub(super) fn new(kind: FailureKind, source: impl Into<anyhow::Error>) -> Self {
        Self { kind, source: source.into() }
    }

    pub(super) fn lost(what: &'static str) -> Self {
        Self::new(FailureKind::Lost, anyhow::Error::msg(what))
    }

    /// No answer came.
    pub(super) fn unanswered(error: ConnectorError) -> Self {
        let kind = if never_connected(&error) { FailureKind::Unreached } else { FailureKind::Lost };
        Self { kind, source: anyhow::Error::new(error).context("S3 gave no answer") }
    }

    /// An answer that is none of a success.
    pub(super) fn answered(status: u16, code: &str, message: &str) -> Self {
        let shown = if code.is_empty() { "none" } else { code };
        let source = anyhow::anyhow!("S3 answered {status}, code {shown}: {message}");
        Self { kind: by_answer(status, code), source }
    }

    /// The same failure, told together with another that came of it.
    pub(super) fn after(self, other: Self) -> Self {
        Self { source: self.source.context(format!("then: {:#}", other.source)), ..self }
    }

    /// What it says of a change that no earlier request can have made.
    pub(super) fn into_error(self) -> StoreError {
        match self.kind {
            FailureKind::NotFound => StoreError::NotFound,
            FailureKind::Condition | FailureKind::SourceChanged => StoreError::PreconditionFailed,
            FailureKind::TooLarge => StoreError::TooLarge(OBJECT_BYTES_MAX),
            FailureKind::Full => StoreError::Full,
            FailureKind::Lost => StoreError::ambiguous(self.source),
            FailureKind::NoBucket
            | FailureKind::NoUpload
            | FailureKind::Range
            | FailureKind::Denied
            | FailureKind::NotImplemented
            | FailureKind::Unreached
            | FailureKind::Again
            | FailureKind::Refused => StoreError::unchanged(self.source),
        }
    }

    /// Whether a request that changes nothing is worth sending again.
    pub(super) fn passes(&self) -> bool {
        matches!(self.kind, FailureKind::Unreached | FailureKind::Again | FailureKind::Lost)
    }
}

/// Largest object that S3 holds, in bytes.
/// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html>
pub(super) const OBJECT_BYTES_MAX: u64 = 5 << 40;

impl<E> From<SdkError<E, HttpResponse>> for Failure
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    fn from(error: SdkError<E, HttpResponse>) -> Self {
        let kind = kind_of(&error);
        let answer = error.raw_response().map(|answer| answer.status().as_u16());
        let code = error.code().unwrap_or("none").to_owned();
        let message = error.message().unwrap_or_default().to_owned();
        let source = anyhow::Error::new(error);
        let source = match answer {
            Some(status) => source.context(format!("S3 answered {status}, code {code}: {message}")),
            None => source.context("S3 gave no answer"),
        };
        Self { kind, source }
    }
}

fn kind_of<E>(error: &SdkError<E, HttpResponse>) -> FailureKind
where
    E: ProvideErrorMetadata + Error + 'static,
{
    match error {
        SdkError::ConstructionFailure(_) => FailureKind::Refused,
        SdkError::TimeoutError(_) => FailureKind::Lost,
        SdkError::DispatchFailure(failure) => match failure.as_connector_error() {
            Some(connection) if never_connected(connection) => FailureKind::Unreached,
            _ => FailureKind::Lost,
        },
        // An answer that cannot be read, an error inside of a 200 among them.
        SdkError::ResponseError(_) => FailureKind::Lost,
        SdkError::ServiceError(answer) => {
            by_answer(answer.raw().status().as_u16(), answer.err().code().unwrap_or_default())
        }
        _ => FailureKind::Lost,
    }
}

/// Whether no connection came about, so that nothing can have been sent.
fn never_connected(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let client = error.downcast_ref::<hyper_util::client::legacy::Error>();
        if client.is_some_and(hyper_util::client::legacy::Error::is_connect) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// <https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html>
fn by_answer(status: u16, code: &str) -> FailureKind {
    match (status, code) {
        (_, "NoSuchBucket") => FailureKind::NoBucket,
        (_, "NoSuchUpload") => FailureKind::NoUpload,
        (_, "EntityTooLarge") => FailureKind::TooLarge,
        (507, _) | (_, "XMinioStorageFull" | "QuotaExceeded" | "InsufficientStorage") => {
            FailureKind::Full
        }
        (_, "SlowDown" | "Throttling" | "RequestTimeout" | "RequestTimeTooSkewed")
        | (_, "ConditionalRequestConflict" | "OperationAborted")
        | (429, _) => FailureKind::Again,
        (404, _) => FailureKind::NotFound,
        (409 | 412, "PreconditionFailed") | (412, _) => FailureKind::Condition,
        (416, _) => FailureKind::Range,
        (401 | 403, _) => FailureKind::Denied,
        (501, _) | (_, "NotImplemented") => FailureKind::NotImplemented,
        (500.., _) => FailureKind::Lost,
        (..300, _) => FailureKind::Lost,
        _ => FailureKind::Refused,
    }
}

#[cfg(test)]
mod tests;
