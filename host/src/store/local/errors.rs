//! What the operating system's errors mean to a caller. The only place that knows.

use std::io::{Error, ErrorKind};

use anyhow::anyhow;
use rustix::io::Errno;

use crate::store::{Effect, StoreError};

/// An error before anything changed. `doing` is for the log: "reading an object".
pub(super) fn unchanged(doing: &'static str) -> impl FnOnce(Error) -> StoreError {
    move |error| translate(error, Effect::None, doing)
}

/// An error after something may have changed.
pub(super) fn ambiguous(doing: &'static str) -> impl FnOnce(Error) -> StoreError {
    move |error| translate(error, Effect::Unknown, doing)
}

fn translate(error: Error, effect: Effect, doing: &'static str) -> StoreError {
    match (error.kind(), effect) {
        // Only what has not happened for want of room may be told as such.
        (ErrorKind::StorageFull | ErrorKind::QuotaExceeded, Effect::None) => StoreError::Full,
        (ErrorKind::InvalidFilename, _) => {
            StoreError::Unrepresentable("this store's filesystem cannot hold a name that long")
        }
        (kind, effect) => {
            let source = match advice(kind) {
                Some(advice) => anyhow::Error::new(error).context(advice),
                None => anyhow::Error::new(error),
            };
            StoreError::Unavailable { effect, source: source.context(doing) }
        }
    }
}

fn advice(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::PermissionDenied => {
            Some("the store's folder has to be readable and writable for the user of this process")
        }
        ErrorKind::ReadOnlyFilesystem => {
            Some("the store's folder is on a filesystem that is mounted read-only")
        }
        _ => None,
    }
}

/// Something stands in the store that it did not put there: a link, a device, a pipe.
pub(super) fn foreign(name: &str) -> StoreError {
    StoreError::unchanged(anyhow!(
        "`{name}` in the store's folder is neither a file nor a folder of the store; links are not followed: remove it"
    ))
}

/// Whether it says that a link stands there, or something that cannot be opened as a file.
pub(super) fn is_foreign(error: &Error) -> bool {
    let number = error.raw_os_error();
    number == Some(Errno::LOOP.raw_os_error()) || number == Some(Errno::NXIO.raw_os_error())
}

/// What [`is_foreign`] finds.
pub(super) fn foreign_error() -> Error {
    Errno::LOOP.into()
}

/// Two names that the filesystem takes for one.
pub(super) const TWINS: StoreError = StoreError::Unrepresentable(
    "this store's filesystem cannot hold two names that differ only in case or in how their letters are composed",
);

/// In words for whoever started the host, why its folder cannot be used.
pub(super) fn at_open(error: Error, what: &'static str) -> anyhow::Error {
    let advice = match error.kind() {
        _ if is_foreign(&error) => {
            "it is a link or a special file, and none is followed: remove it"
        }
        ErrorKind::NotADirectory => "it is not a folder: name a folder, or one to be made",
        ErrorKind::PermissionDenied => "make it readable and writable for this user",
        ErrorKind::ReadOnlyFilesystem => {
            "its filesystem is mounted read-only: name a folder that can be written"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "its filesystem is full: make room, or name another folder"
        }
        ErrorKind::Unsupported => {
            "its filesystem lacks something that a store needs: name a folder on a local disk"
        }
        _ => "see to it, or name another folder",
    };
    anyhow::Error::new(error).context(format!("{what}: {advice}"))
}
