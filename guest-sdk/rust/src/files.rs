//! Files of the turn's scopes.
//!
//! A path is `<scope>/<rest>`. The host resolves every path; one that breaks a rule is refused
//! with a sentence that names the rule. Any path that an answer holds can be handed back.

use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

use crate::bindings::bailiwick::storage::files as host;
use crate::reader::READ_BYTES_MAX;
use crate::{Error, ErrorCode, File, Precondition, Reader, Result, Writer};

pub use host::{Chunk, Depth, Page};

/// Most bytes of one `write`.
const WRITE_BYTES_MAX: usize = 16 << 20;

/// Up to `length` bytes from `offset`, at most 4 MiB. Fewer only at the end of the file; empty
/// at or past it.
///
/// # Errors
/// [`ErrorCode::NotFound`], [`ErrorCode::Denied`], or [`ErrorCode::Invalid`] on a path that
/// breaks a rule.
pub fn read(path: &str, offset: u64, length: u32) -> Result<Chunk> {
    Ok(host::read(path, offset, length)?)
}

/// The whole of a file, of one revision, however many calls that takes.
///
/// # Errors
/// As [`read`]; [`ErrorCode::Conflict`] if the file is replaced meanwhile and its pinned bytes
/// are gone.
pub fn read_all(path: &str) -> Result<Vec<u8>> {
    let first = read(path, 0, READ_BYTES_MAX)?;
    if first.bytes.len() as u64 == first.size {
        return Ok(first.bytes);
    }
    let mut bytes = first.bytes;
    let mut reader = Reader::open(path)?;
    if reader.file().revision == first.revision {
        reader.seek(SeekFrom::Start(bytes.len() as u64)).map_err(host_error)?;
    } else {
        bytes.clear();
    }
    reader.read_to_end(&mut bytes).map_err(host_error)?;
    Ok(bytes)
}

/// The whole of a UTF-8 text file, of one revision.
///
/// # Errors
/// [`ErrorCode::NoText`] if it is not UTF-8; as [`read_all`].
pub fn read_to_string(path: &str) -> Result<String> {
    String::from_utf8(read_all(path)?).map_err(|_| {
        Error::new(ErrorCode::NoText, "not-utf-8", format!("`{path}` is not UTF-8 text."))
    })
}

/// Creates or replaces a file, whole, at most 16 MiB. All or nothing: a reader sees the old
/// bytes or the new ones.
///
/// # Errors
/// [`ErrorCode::TooLarge`] past 16 MiB, where [`write_all`] goes on;
/// [`ErrorCode::Denied`] where the turn may not write.
pub fn write(path: &str, bytes: impl AsRef<[u8]>) -> Result<File> {
    write_if(path, bytes, &Precondition::Always)
}

/// [`write()`], under a precondition.
///
/// # Errors
/// [`ErrorCode::Conflict`] if the precondition fails; as [`write()`].
pub fn write_if(path: &str, bytes: impl AsRef<[u8]>, precondition: &Precondition) -> Result<File> {
    Ok(host::write(path, bytes.as_ref(), precondition)?)
}

/// Creates or replaces a file, whole, of any size: by one [`write()`] where it fits, else by a
/// [`Writer`].
///
/// # Errors
/// As [`write()`] and [`Writer`], but for the bound.
pub fn write_all(path: &str, bytes: impl AsRef<[u8]>) -> Result<File> {
    let bytes = bytes.as_ref();
    if bytes.len() <= WRITE_BYTES_MAX {
        return write(path, bytes);
    }
    let mut writer = Writer::create(path)?;
    writer.write_all(bytes).map_err(host_error)?;
    writer.finish()
}

/// Removes a file.
///
/// # Errors
/// [`ErrorCode::NotFound`] if it is missing; [`ErrorCode::Denied`] where the turn may not write.
pub fn delete(path: &str) -> Result<()> {
    delete_if(path, &Precondition::Always)
}

/// [`delete`], under a precondition.
///
/// # Errors
/// [`ErrorCode::Conflict`] if the precondition fails; as [`delete`].
pub fn delete_if(path: &str, precondition: &Precondition) -> Result<()> {
    Ok(host::delete(path, precondition)?)
}

/// A file's size, revision, time and media type.
///
/// # Errors
/// As [`read`].
pub fn stat(path: &str) -> Result<File> {
    Ok(host::stat(path)?)
}

/// Whether a file is there.
///
/// # Errors
/// As [`stat`], but for [`ErrorCode::NotFound`].
pub fn exists(path: &str) -> Result<bool> {
    match stat(path) {
        Ok(_) => Ok(true),
        Err(error) if error.code == ErrorCode::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Copies a file within what the turn can reach, without the bytes passing through the guest.
///
/// # Errors
/// [`ErrorCode::Denied`] unless the turn may read the one and write the other.
pub fn copy(source: &str, target: &str) -> Result<File> {
    copy_if(source, target, &Precondition::Always)
}

/// [`copy`], under a precondition on the target.
///
/// # Errors
/// [`ErrorCode::Conflict`] if the precondition fails; as [`copy`].
pub fn copy_if(source: &str, target: &str, precondition: &Precondition) -> Result<File> {
    Ok(host::copy(source, target, precondition)?)
}

/// Moves a file: a copy of the source as it is now, then its deletion if it is still the same.
///
/// # Errors
/// [`ErrorCode::Conflict`] if the source changed meanwhile, and both stay; as [`copy`].
pub fn rename(source: &str, target: &str) -> Result<File> {
    rename_if(source, target, &Precondition::Always)
}

/// [`rename`], under a precondition on the target.
///
/// # Errors
/// [`ErrorCode::Conflict`] if the precondition fails; as [`rename`].
pub fn rename_if(source: &str, target: &str, precondition: &Precondition) -> Result<File> {
    Ok(host::move_(source, target, precondition)?)
}

/// One page of a listing: `after` is [`Page::next`] of the page before, `limit` is 1 to 1000.
/// A page may be empty and not last.
///
/// # Errors
/// [`ErrorCode::Invalid`] on a cursor or limit that is none; as [`read`].
pub fn list_page(folder: &str, depth: Depth, after: Option<&str>, limit: u32) -> Result<Page> {
    Ok(host::list_files(folder, depth, after, limit)?)
}

/// All files under a folder, in byte order of their paths where the store lists so; the empty
/// folder is all that the turn can reach.
pub fn list(folder: &str) -> impl Iterator<Item = Result<File>> {
    pages(folder, Depth::All).flat_map(|page| match page {
        Ok(page) => page.files.into_iter().map(Ok).collect(),
        Err(error) => vec![Err(error)],
    })
}

/// The pages of a listing, asked for as they are needed. An error is the last item.
#[must_use]
pub fn pages(folder: &str, depth: Depth) -> Pages {
    Pages { folder: folder.to_owned(), depth, state: State::Page(None) }
}

/// A listing, as an iterator over its pages.
#[derive(Debug)]
pub struct Pages {
    folder: String,
    depth: Depth,
    state: State,
}

#[derive(Debug)]
enum State {
    Page(Option<String>),
    Done,
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        let State::Page(after) = std::mem::replace(&mut self.state, State::Done) else {
            return None;
        };
        let page = list_page(&self.folder, self.depth, after.as_deref(), 1000);
        if let Ok(Page { next: Some(next), .. }) = &page {
            self.state = State::Page(Some(next.clone()));
        }
        Some(page)
    }
}

/// The host's error inside an `io::Error` that a [`Reader`] or [`Writer`] gave.
fn host_error(error: std::io::Error) -> Error {
    error
        .downcast::<Error>()
        .unwrap_or_else(|error| Error::new(ErrorCode::Invalid, "io", error.to_string()))
}
