//! The words of `space` in those of the contract. Errors are converted here and nowhere else.

use wasmtime::component::ResourceTableError;

use super::bindings::bailiwick::storage::{files, spill, text, types};
use super::state::TurnState;
use crate::scope::{Access, Mount};
use crate::space::{
    Chunk, Error, ErrorCode, File, Match, Matches, Occurrence, Page, Position, Slice, Spilled,
};
use crate::store::{Depth, Precondition, Revision};

/// Why a call of a guest was not answered with what it asked for.
pub(super) enum Failure {
    /// A refusal, for the guest to read.
    Refused(Error),
    /// The end of the turn.
    Fatal(wasmtime::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<ResourceTableError> for Failure {
    fn from(error: ResourceTableError) -> Self {
        Self::Fatal(error.into())
    }
}

impl types::Host for TurnState {
    fn convert_error(&mut self, failure: Failure) -> wasmtime::Result<types::Error> {
        refused(failure)
    }
}

/// What a guest is answered.
pub(super) fn answer<T>(done: Result<T, Failure>) -> wasmtime::Result<Result<T, types::Error>> {
    done.map_or_else(|failure| refused(failure).map(Err), |answer| Ok(Ok(answer)))
}

fn refused(failure: Failure) -> wasmtime::Result<types::Error> {
    match failure {
        Failure::Refused(error) => Ok(refusal(error)),
        Failure::Fatal(error) => Err(error),
    }
}

/// What a guest reads of a refusal.
pub(super) fn refusal(error: Error) -> types::Error {
    if let Some(source) = error.source_for_log() {
        let source = format!("{source:#}");
        tracing::debug!(reason = error.reason, source, "a guest's call failed below the host");
    }
    let Error { code, reason, message, suggestions, .. } = error;
    types::Error { code: code.into(), reason: reason.to_owned(), message, suggestions }
}

impl From<ErrorCode> for types::ErrorCode {
    fn from(code: ErrorCode) -> Self {
        match code {
            ErrorCode::NoScope => Self::NoScope,
            ErrorCode::Invalid => Self::Invalid,
            ErrorCode::Denied => Self::Denied,
            ErrorCode::NotFound => Self::NotFound,
            ErrorCode::Conflict => Self::Conflict,
            ErrorCode::NoMatch => Self::NoMatch,
            ErrorCode::TooLarge => Self::TooLarge,
            ErrorCode::NoText => Self::NoText,
            ErrorCode::TextPending => Self::TextPending,
            ErrorCode::Closed => Self::Closed,
            ErrorCode::Unsupported => Self::Unsupported,
            ErrorCode::Busy => Self::Busy,
            ErrorCode::Unavailable => Self::Unavailable,
        }
    }
}

impl From<Mount<'_>> for types::Mount {
    fn from(mount: Mount<'_>) -> Self {
        let access = match mount.access {
            Access::ReadOnly => types::Access::ReadOnly,
            Access::ReadWrite => types::Access::ReadWrite,
        };
        Self { name: mount.scope.to_string(), access }
    }
}

impl From<File> for types::File {
    fn from(file: File) -> Self {
        let File { path, size, revision, modified_ms, media_type } = file;
        let media_type = media_type.to_owned();
        Self { path, size, revision: revision.0, modified_ms, media_type }
    }
}

impl From<types::Precondition> for Precondition {
    fn from(precondition: types::Precondition) -> Self {
        match precondition {
            types::Precondition::Always => Self::Always,
            types::Precondition::IfAbsent => Self::IfAbsent,
            types::Precondition::IfRevision(revision) => Self::IfRevision(Revision(revision)),
        }
    }
}

impl From<Chunk> for files::Chunk {
    fn from(chunk: Chunk) -> Self {
        let Chunk { bytes, size, revision } = chunk;
        Self { bytes: bytes.into(), size, revision: revision.0 }
    }
}

impl From<files::Depth> for Depth {
    fn from(depth: files::Depth) -> Self {
        match depth {
            files::Depth::Children => Self::Children,
            files::Depth::All => Self::All,
        }
    }
}

impl From<Page> for files::Page {
    fn from(page: Page) -> Self {
        let Page { files, folders, next } = page;
        Self { files: files.into_iter().map(Into::into).collect(), folders, next }
    }
}

impl From<text::Position> for Position {
    fn from(position: text::Position) -> Self {
        match position {
            text::Position::Line(line) => Self::Line(line),
            text::Position::Offset(offset) => Self::Offset(offset),
        }
    }
}

impl From<Slice> for text::Slice {
    fn from(slice: Slice) -> Self {
        let Slice { text, next, revision } = slice;
        Self { text, next, revision: revision.0 }
    }
}

impl From<text::Occurrence> for Occurrence {
    fn from(occurrence: text::Occurrence) -> Self {
        match occurrence {
            text::Occurrence::Only => Self::Only,
            text::Occurrence::Every => Self::Every,
        }
    }
}

impl From<Match> for text::Match {
    fn from(found: Match) -> Self {
        let Match { path, line, text } = found;
        Self { path, line, text }
    }
}

impl From<Matches> for text::Matches {
    fn from(matches: Matches) -> Self {
        let Matches { found, next } = matches;
        Self { found: found.into_iter().map(Into::into).collect(), next }
    }
}

impl From<Spilled> for spill::Spilled {
    fn from(spilled: Spilled) -> Self {
        let Spilled { text, path, size } = spilled;
        Self { text, path, size }
    }
}
