//! What a verb answers when it cannot. One message for the caller; what happened below is for
//! the log alone, and never part of the message.

use crate::limits::ERROR_MESSAGE_BYTES_MAX;
use crate::scope::{Refusal, RefusalKind};
use crate::store::{Effect, StoreError};

/// What kind of refusal; the words of `bailiwick:storage/types.error-code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// The path names no scope.
    NoScope,
    /// A malformed argument.
    Invalid,
    /// The grant does not allow it.
    Denied,
    /// Nothing is there.
    NotFound,
    /// A precondition failed.
    Conflict,
    /// The text to replace does not stand there, or not exactly once.
    NoMatch,
    /// Over a size, count or length bound, or a quota.
    TooLarge,
    /// The file has no text.
    NoText,
    /// The text of a document is still being read out.
    TextPending,
    /// The handle was finished, closed or poisoned, or the turn is over.
    Closed,
    /// This store or this host cannot do it.
    Unsupported,
    /// The host is short of room, or others change the file all the time; ask again.
    Busy,
    /// Storage did not answer.
    Unavailable,
}

/// A refusal in words that the caller can act on.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What kind.
    pub code: ErrorCode,
    /// A stable word within the code.
    pub reason: &'static str,
    /// One or two sentences, at most [`ERROR_MESSAGE_BYTES_MAX`] bytes. Never holds a key,
    /// bucket, endpoint, path of the host, or an id that the caller did not supply.
    pub message: String,
    /// Paths to try instead.
    pub suggestions: Vec<String>,
    // Not `#[source]`: whoever prints the chain of an error must not print this to a guest.
    for_log: Option<anyhow::Error>,
}

impl Error {
    /// An error of the host's own making.
    pub fn new(code: ErrorCode, reason: &'static str, message: impl Into<String>) -> Self {
        let mut message: String = message.into();
        if message.len() > ERROR_MESSAGE_BYTES_MAX {
            message.truncate(message.floor_char_boundary(ERROR_MESSAGE_BYTES_MAX - '…'.len_utf8()));
            message.push('…');
        }
        Self { code, reason, message, suggestions: Vec::new(), for_log: None }
    }

    pub(super) fn invalid(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Invalid, reason, message)
    }

    pub(super) fn too_large(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorCode::TooLarge, reason, message)
    }

    pub(super) fn not_found(path: &str) -> Self {
        Self::new(ErrorCode::NotFound, "not-found", format!("there is no file `{path}`"))
    }

    pub(super) fn conflict(path: &str) -> Self {
        let message =
            format!("`{path}` is not as the precondition says: read it again, then decide");
        Self::new(ErrorCode::Conflict, "precondition", message)
    }

    pub(super) fn closed(what: &str) -> Self {
        Self::new(ErrorCode::Closed, "closed", format!("this {what} is closed"))
    }

    pub(crate) fn busy() -> Self {
        Self::new(ErrorCode::Busy, "busy", "the host is short of room: ask again shortly")
    }

    pub(super) fn contended(path: &str) -> Self {
        let message = format!("others change `{path}` all the time: ask again shortly");
        Self::new(ErrorCode::Busy, "contended", message)
    }

    /// What happened below, for the log; a caller never sees it.
    pub fn source_for_log(&self) -> Option<&anyhow::Error> {
        self.for_log.as_ref()
    }

    /// What a store's answer about `path` means to the caller.
    pub(super) fn from_store(error: StoreError, path: &str) -> Self {
        match error {
            StoreError::NotFound => Self::not_found(path),
            StoreError::PreconditionFailed => Self::conflict(path),
            StoreError::Unsupported(what) => Self::new(ErrorCode::Unsupported, "store", what),
            StoreError::Unrepresentable(why) => Self::new(ErrorCode::Unsupported, "name", why),
            StoreError::TooLarge(bytes) => {
                Self::too_large("object", format!("a file is at most {bytes} bytes here"))
            }
            StoreError::Full => {
                Self::new(ErrorCode::Unavailable, "full", "storage is full; nothing changed")
            }
            StoreError::Unavailable { effect, source } => Self::unavailable(effect, source),
        }
    }

    /// A promotion without its receipt.
    pub(super) fn unrecorded(message: &str, source: anyhow::Error) -> Self {
        tracing::warn!(error = format!("{source:#}"), "a promotion was not recorded");
        Self { for_log: Some(source), ..Self::new(ErrorCode::Unavailable, "receipt", message) }
    }

    fn unavailable(effect: Effect, source: anyhow::Error) -> Self {
        let message = match effect {
            Effect::None => "storage did not answer; nothing changed",
            Effect::Unknown => {
                "storage did not answer; the change may have taken effect: look before you repeat it"
            }
        };
        tracing::warn!(error = format!("{source:#}"), ?effect, "storage failed");
        Self { for_log: Some(source), ..Self::new(ErrorCode::Unavailable, "storage", message) }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal.kind {
            RefusalKind::NoScope => ErrorCode::NoScope,
            RefusalKind::Invalid => ErrorCode::Invalid,
            RefusalKind::Denied => ErrorCode::Denied,
            RefusalKind::NotFound => ErrorCode::NotFound,
        };
        Self {
            suggestions: refusal.suggestions,
            ..Self::new(code, refusal.reason, refusal.message)
        }
    }
}
