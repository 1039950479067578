//! What the host answers when it does not do what was asked.

use std::{fmt, io};

use crate::ErrorCode;
use crate::bindings::bailiwick::storage::types;

/// A host call that was refused or failed. `Display` is the host's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What kind of refusal.
    pub code: ErrorCode,
    /// A stable word within the code, such as `climbs-out`; new ones may come.
    pub reason: String,
    /// One or two sentences a model can act on.
    pub message: String,
    /// Paths to try instead; empty unless there is a good one.
    pub suggestions: Vec<String>,
}

/// The answer of a host call.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(code: ErrorCode, reason: &str, message: impl Into<String>) -> Self {
        let (reason, message) = (reason.to_owned(), message.into());
        Self { code, reason, message, suggestions: Vec::new() }
    }

    /// The message, and the paths to try instead: what to put in front of a model.
    #[must_use]
    pub fn advice(&self) -> String {
        if self.suggestions.is_empty() {
            return self.message.clone();
        }
        let paths: Vec<_> = self.suggestions.iter().map(|path| format!("`{path}`")).collect();
        format!("{}. Try: {}.", self.message.trim_end_matches('.'), paths.join(", "))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<types::Error> for Error {
    fn from(error: types::Error) -> Self {
        let types::Error { code, reason, message, suggestions } = error;
        Self { code, reason, message, suggestions }
    }
}

/// With a kind that fits; the [`Error`] itself stays inside, and `downcast` takes it out again.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::new(error.code.kind(), error)
    }
}

impl ErrorCode {
    /// The name of the code in the contract, such as `not-found`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoScope => "no-scope",
            Self::Invalid => "invalid",
            Self::Denied => "denied",
            Self::NotFound => "not-found",
            Self::Conflict => "conflict",
            Self::NoMatch => "no-match",
            Self::TooLarge => "too-large",
            Self::NoText => "no-text",
            Self::TextPending => "text-pending",
            Self::Closed => "closed",
            Self::Unsupported => "unsupported",
            Self::Busy => "busy",
            Self::Unavailable => "unavailable",
        }
    }

    fn kind(self) -> io::ErrorKind {
        match self {
            Self::NoScope | Self::Invalid => io::ErrorKind::InvalidInput,
            Self::Denied => io::ErrorKind::PermissionDenied,
            Self::NotFound => io::ErrorKind::NotFound,
            Self::NoMatch | Self::NoText => io::ErrorKind::InvalidData,
            Self::TooLarge => io::ErrorKind::FileTooLarge,
            Self::TextPending | Self::Busy => io::ErrorKind::ResourceBusy,
            Self::Closed => io::ErrorKind::BrokenPipe,
            Self::Unsupported => io::ErrorKind::Unsupported,
            Self::Unavailable => io::ErrorKind::TimedOut,
            Self::Conflict => io::ErrorKind::Other,
        }
    }
}

#[cfg(test)]
mod tests;
