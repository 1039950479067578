//! Files of the turn's scopes, by calls that may overlap. Each function does what its namesake
//! in [`crate::files`] does.
//!
//! A call that is dropped before it is answered is given up: it may or may not have had its
//! effect.

use super::Reading;
use super::bindings::bailiwick::storage::async_files as host;
use crate::{Error, ErrorCode, File, Precondition, Result};

pub use crate::files::{Chunk, Depth, Page};

/// What the first read of a whole file asks for: sixteen at once fit in what the host holds for
/// a turn.
const FIRST_READ_BYTES: u32 = 1 << 20;

/// Up to `length` bytes from `offset`, at most 4 MiB. Fewer only at the end of the file; empty
/// at or past it.
///
/// # Errors
/// As [`crate::files::read`]; [`ErrorCode::TooLarge`] with too many calls under way (1,024, by
/// default), as with every call.
pub async fn read(path: &str, offset: u64, length: u32) -> Result<Chunk> {
    Ok(host::read(path.to_owned(), offset, length).await?)
}

/// The whole of a file, of one revision, however many calls that takes.
///
/// # Errors
/// As [`crate::files::read_all`].
pub async fn read_all(path: &str) -> Result<Vec<u8>> {
    let first = read(path, 0, FIRST_READ_BYTES).await?;
    if first.bytes.len() as u64 == first.size {
        return Ok(first.bytes);
    }
    let rest = Reading::open_at(path, first.bytes.len() as u64).await?;
    if rest.file().revision != first.revision {
        return Reading::open(path).await?.rest().await;
    }
    let mut bytes = first.bytes;
    bytes.append(&mut rest.rest().await?);
    Ok(bytes)
}

/// The whole of a UTF-8 text file, of one revision.
///
/// # Errors
/// As [`crate::files::read_to_string`].
pub async fn read_to_string(path: &str) -> Result<String> {
    String::from_utf8(read_all(path).await?).map_err(|_| {
        Error::new(ErrorCode::NoText, "not-utf-8", format!("`{path}` is not UTF-8 text."))
    })
}

/// Creates or replaces a file, whole, at most 16 MiB.
///
/// # Errors
/// As [`crate::files::write()`]; [`ErrorCode::TooLarge`] too if the calls under way have more
/// than 33 MiB to write together.
pub async fn write(path: &str, bytes: impl Into<Vec<u8>>) -> Result<File> {
    write_if(path, bytes, &Precondition::Always).await
}

/// [`write()`], under a precondition.
///
/// # Errors
/// [`ErrorCode::Conflict`] if the precondition fails; as [`write()`].
pub async fn write_if(
    path: &str,
    bytes: impl Into<Vec<u8>>,
    precondition: &Precondition,
) -> Result<File> {
    Ok(host::write(path.to_owned(), bytes.into(), precondition.clone()).await?)
}

/// Removes a file.
///
/// # Errors
/// As [`crate::files::delete`].
pub async fn delete(path: &str) -> Result<()> {
    delete_if(path, &Precondition::Always).await
}

/// [`delete`], under a precondition.
///
/// # Errors
/// [`ErrorCode::Conflict`] if the precondition fails; as [`delete`].
pub async fn delete_if(path: &str, precondition: &Precondition) -> Result<()> {
    Ok(host::delete(path.to_owned(), precondition.clone()).await?)
}

/// A file's size, revision, time and media type.
///
/// # Errors
/// As [`crate::files::stat`].
pub async fn stat(path: &str) -> Result<File> {
    Ok(host::stat(path.to_owned()).await?)
}

/// Copies a file within what the turn can reach, without the bytes passing through the guest.
///
/// # Errors
/// As [`crate::files::copy`].
pub async fn copy(source: &str, target: &str) -> Result<File> {
    copy_if(source, target, &Precondition::Always).await
}

/// [`copy`], under a precondition on the target.
///
/// # Errors
/// [`ErrorCode::Conflict`] if the precondition fails; as [`copy`].
pub async fn copy_if(source: &str, target: &str, precondition: &Precondition) -> Result<File> {
    Ok(host::copy(source.to_owned(), target.to_owned(), precondition.clone()).await?)
}

/// Moves a file: a copy of the source as it is now, then its deletion if it is still the same.
///
/// # Errors
/// As [`crate::files::rename`].
pub async fn rename(source: &str, target: &str) -> Result<File> {
    rename_if(source, target, &Precondition::Always).await
}

/// [`rename`], under a precondition on the target.
///
/// # Errors
/// [`ErrorCode::Conflict`] if the precondition fails; as [`rename`].
pub async fn rename_if(source: &str, target: &str, precondition: &Precondition) -> Result<File> {
    Ok(host::move_(source.to_owned(), target.to_owned(), precondition.clone()).await?)
}

/// One page of a listing: `after` is [`Page::next`] of the page before, `limit` is 1 to 1000.
/// A page may be empty and not last.
///
/// # Errors
/// As [`crate::files::list_page`].
pub async fn list_page(
    folder: &str,
    depth: Depth,
    after: Option<&str>,
    limit: u32,
) -> Result<Page> {
    Ok(host::list_files(folder.to_owned(), depth, after.map(str::to_owned), limit).await?)
}

/// All files under a folder, in byte order of their paths where the store lists so; the empty
/// folder is all that the turn can reach.
///
/// # Errors
/// As [`list_page`].
pub async fn list(folder: &str) -> Result<Vec<File>> {
    let mut page = list_page(folder, Depth::All, None, 1000).await?;
    let mut files = page.files;
    while let Some(next) = page.next {
        page = list_page(folder, Depth::All, Some(&next), 1000).await?;
        files.append(&mut page.files);
    }
    Ok(files)
}
