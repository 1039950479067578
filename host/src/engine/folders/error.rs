//! What a program is told when a call on a folder fails. Errors are converted here and nowhere else.

use std::io;

use wasmtime::component::ResourceTableError;

pub(super) use super::bindings::wasi::filesystem::types::ErrorCode;
use crate::space::{self, ErrorCode as Refused};

/// Why a call was not answered with what it asked for.
#[derive(Debug)]
pub(in crate::engine) enum Failure {
    /// A refusal, for the program.
    Code(ErrorCode),
    /// The end of the turn.
    Fatal(wasmtime::Error),
}

/// What a call of a program comes to.
pub(super) type Answer<T> = Result<T, Failure>;

impl Failure {
    /// What the program is told, unless the turn ends by it.
    pub(super) fn told(self) -> wasmtime::Result<ErrorCode> {
        match self {
            Self::Code(code) => Ok(code),
            Self::Fatal(error) => Err(error),
        }
    }
}

impl From<ErrorCode> for Failure {
    fn from(code: ErrorCode) -> Self {
        Self::Code(code)
    }
}

impl From<ResourceTableError> for Failure {
    fn from(error: ResourceTableError) -> Self {
        Self::Fatal(error.into())
    }
}

impl From<space::Error> for Failure {
    fn from(error: space::Error) -> Self {
        if let Some(source) = error.source_for_log() {
            let source = format!("{source:#}");
            tracing::debug!(
                reason = error.reason,
                source,
                "a program's call failed below the host"
            );
        }
        Self::Code(code(&error))
    }
}

/// A temporary file of the host failed.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let is_full = matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        );
        tracing::warn!(%error, "a temporary file of this host failed");
        Self::Code(if is_full { ErrorCode::InsufficientSpace } else { ErrorCode::Io })
    }
}

fn code(error: &space::Error) -> ErrorCode {
    match (error.code, error.reason) {
        (Refused::Invalid, "path-too-long" | "segment-too-long") => ErrorCode::NameTooLong,
        (Refused::Invalid, "reserved" | "always-there") => ErrorCode::NotPermitted,
        (Refused::Invalid, "names-a-folder") => ErrorCode::IsDirectory,
        (Refused::Invalid, _) => ErrorCode::Invalid,
        (Refused::Denied, "read-only") => ErrorCode::ReadOnly,
        (Refused::Denied, _) => ErrorCode::Access,
        (Refused::NotFound | Refused::NoScope, _) => ErrorCode::NoEntry,
        (Refused::TooLarge, "readers" | "writers" | "calls") => ErrorCode::InsufficientMemory,
        (Refused::TooLarge, _) => ErrorCode::FileTooLarge,
        (Refused::Unsupported, "name") => ErrorCode::Invalid,
        (Refused::Unsupported, _) => ErrorCode::Unsupported,
        (Refused::Busy, _) => ErrorCode::Busy,
        (Refused::Unavailable, "full") => ErrorCode::InsufficientSpace,
        (
            Refused::Conflict
            | Refused::NoMatch
            | Refused::NoText
            | Refused::TextPending
            | Refused::Closed
            | Refused::Unavailable,
            _,
        ) => ErrorCode::Io,
    }
}
