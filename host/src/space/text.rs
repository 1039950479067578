//! Text verbs that a model asks for most, done here so that the bytes stay here.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::room::Held;
use super::within::within;
use super::{Error, ErrorCode, File, Space};
use crate::limits::{EDIT_BYTES_MAX, READ_BYTES_MAX, TEXT_SLICE_BYTES_MAX};
use crate::scope::{Need, ObjectKey};
use crate::store::{Effect, Object, Precondition, Revision, StoreError};

/// Where a slice of text begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// A line, counted from 1.
    Line(u32),
    /// The byte offset that an earlier slice gave.
    Offset(u64),
}

/// Some whole lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The lines, their ends included.
    pub text: String,
    /// Where the next slice begins; absent at the end.
    pub next: Option<u64>,
    /// Which content they are of.
    pub revision: Revision,
}

/// Which occurrences a replacement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrence {
    /// The one that there must be.
    Only,
    /// All of them.
    Every,
}

/// Read at once while looking for a line.
const SCAN_BYTES: u32 = 1 << 20;
const _: () = assert!(SCAN_BYTES <= READ_BYTES_MAX);
/// Read at once of a file that is edited.
const SMALL_BYTES: usize = 64 << 10;

impl Space {
    /// Up to `lines` whole lines, at most [`TEXT_SLICE_BYTES_MAX`] bytes of them. A longer line
    /// is cut between characters, and `next` goes on inside it.
    ///
    /// # Errors
    /// `no-text` if the file is not UTF-8 text; `invalid` for line 0, no lines, or an offset
    /// inside a character.
    pub async fn read_text(&self, path: &str, start: Position, lines: u32) -> Result<Slice, Error> {
        if lines == 0 {
            return Err(Error::invalid("lines", "ask for at least one line"));
        }
        let (offset, pinned) = match start {
            Position::Line(line) => self.find_line(path, line).await?,
            Position::Offset(offset) => (offset, None),
        };
        let length = TEXT_SLICE_BYTES_MAX as u32;
        let chunk = self.read_pinned(path, offset, length, pinned.as_ref()).await?;
        let is_end = offset.saturating_add(chunk.bytes.len() as u64) >= chunk.size;
        let text =
            decode(path, &chunk.bytes, Cut { starts_inside: offset > 0, ends_inside: !is_end })?;
        let shown = whole_lines(text, lines as usize, is_end);
        let next = offset.saturating_add(shown.len() as u64);
        let next = Some(next).filter(|next| *next < chunk.size);
        Ok(Slice { text: shown.to_owned(), next, revision: chunk.revision })
    }

    /// The offset of a line, or the end of the file if it has fewer.
    async fn find_line(&self, path: &str, line: u32) -> Result<(u64, Option<Revision>), Error> {
        let mut left =
            line.checked_sub(1).ok_or_else(|| Error::invalid("line", "lines are counted from 1"))?
                as usize;
        let (mut offset, mut pinned) = (0, None);
        while left > 0 {
            let chunk = self.read_pinned(path, offset, SCAN_BYTES, pinned.as_ref()).await?;
            if chunk.bytes.is_empty() {
                break;
            }
            let mut ends = memchr::memchr_iter(b'\n', &chunk.bytes);
            match ends.nth(left - 1) {
                Some(end) => return Ok((offset + end as u64 + 1, Some(chunk.revision))),
                None => left -= memchr::memchr_iter(b'\n', &chunk.bytes).count(),
            }
            offset += chunk.bytes.len() as u64;
            pinned = Some(chunk.revision);
        }
        Ok((offset, pinned))
    }

    /// Replaces `old` by `new` in a file of at most [`EDIT_BYTES_MAX`] bytes; no update is lost.
    ///
    /// # Errors
    /// `no-match` if `old` does not stand there, or, for [`Occurrence::Only`], more than once;
    /// `conflict` if `when` does not hold; `no-text`.
    pub async fn replace(
        &self,
        path: &str,
        old: &str,
        new: &str,
        occurrence: Occurrence,
        when: Precondition,
    ) -> Result<File, Error> {
        if old.is_empty() {
            return Err(Error::invalid("old", "the text to replace cannot be empty"));
        }
        self.edit(path, &when, |current| {
            let current = current.ok_or_else(|| Error::not_found(path))?;
            let text = decode(path, current, Cut::default())?;
            let count = text.matches(old).count();
            if count == 0 || (count > 1 && occurrence == Occurrence::Only) {
                let message = format!("the text to replace stands {count} times in `{path}`: quote more of what is around it, as it is in the file");
                return Err(Error::new(ErrorCode::NoMatch, "no-match", message));
            }
            // Before it is built: a short text may stand there very often.
            let grown = (text.len() - count * old.len()) as u128 + count as u128 * new.len() as u128;
            check_edit_size(grown)?;
            Ok(text.replace(old, new).into_bytes())
        })
        .await
    }

    /// Appends to a file of at most [`EDIT_BYTES_MAX`] bytes, creating it if absent. Two
    /// appends never lose one another, and none happens twice.
    ///
    /// # Errors
    /// `too-large` if the file would become larger.
    pub async fn append(&self, path: &str, text: &str) -> Result<File, Error> {
        self.edit(path, &Precondition::Always, |current| {
            let current = current.unwrap_or_default();
            check_edit_size(current.len() as u128 + text.len() as u128)?;
            Ok([current, text.as_bytes()].concat())
        })
        .await
    }

    /// Reads, changes and puts back, and does it again when another writer was faster.
    async fn edit(
        &self,
        path: &str,
        when: &Precondition,
        change: impl Fn(Option<&[u8]>) -> Result<Vec<u8>, Error> + Send,
    ) -> Result<File, Error> {
        let (_, resolved) = self.resolve(path, Need::Write)?;
        let bound = Duration::from_millis(self.limits().operation_ms_max);
        let until = Instant::now() + bound;
        let lock = self.0.storage.locks.lock(&resolved.key);
        let _lock = within(bound, lock).await.ok_or_else(|| Error::contended(path))?;
        while Instant::now() < until {
            let _room;
            let current = match self.current(path, &resolved.key).await? {
                Some((object, bytes, room)) => {
                    _room = room;
                    Some((object.revision, bytes))
                }
                None => None,
            };
            let revision = current.as_ref().map(|(revision, _)| revision);
            if !when.holds(revision) {
                return Err(Error::conflict(path));
            }
            let unchanged =
                revision.cloned().map_or(Precondition::IfAbsent, Precondition::IfRevision);
            let changed = Bytes::from(change(current.as_ref().map(|(_, bytes)| &bytes[..]))?);
            let put = self.store().put(&resolved.key, changed, &unchanged);
            match self.operate(path, Effect::Unknown, put).await {
                Ok(object) => return Ok(self.written(File::new(path, object))),
                Err(error) if error.is_conflict() => {
                    let pause = rand::random_range(1..20);
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                }
                Err(error) => return Err(error),
            }
        }
        Err(Error::contended(path))
    }

    /// The whole of a file, with the room that it and as much again takes; `None` if there is
    /// none. A small one in a single request.
    async fn current(
        &self,
        path: &str,
        key: &ObjectKey,
    ) -> Result<Option<(Object, Bytes, Held)>, Error> {
        let room = self.0.buffer.take(2 * SMALL_BYTES).await?;
        let absent_is_none = async {
            match self.store().get(key, 0..SMALL_BYTES as u64, None).await {
                Err(StoreError::NotFound) => Ok(None),
                other => other.map(Some),
            }
        };
        let Some((object, bytes)) = self.operate(path, Effect::None, absent_is_none).await? else {
            return Ok(None);
        };
        if object.size <= SMALL_BYTES as u64 {
            return Ok(Some((object, bytes, room)));
        }
        check_edit_size(u128::from(object.size))?;
        drop(room);
        let room = self.0.buffer.take(2 * object.size as usize).await?;
        let get = self.store().get(key, 0..EDIT_BYTES_MAX as u64, None);
        let (object, bytes) = self.operate(path, Effect::None, get).await?;
        // It may have grown since, and must not be cut.
        check_edit_size(u128::from(object.size))?;
        Ok(Some((object, bytes, room)))
    }
}

fn check_edit_size(bytes: u128) -> Result<(), Error> {
    if bytes <= EDIT_BYTES_MAX as u128 {
        return Ok(());
    }
    let message = format!(
        "a file that is edited in place is at most {EDIT_BYTES_MAX} bytes: use a writer for more"
    );
    Err(Error::too_large("edit", message))
}

/// Whether a range of a file may begin or end inside a character.
#[derive(Clone, Copy, Default)]
struct Cut {
    starts_inside: bool,
    ends_inside: bool,
}

fn decode<'a>(path: &str, bytes: &'a [u8], cut: Cut) -> Result<&'a str, Error> {
    let is_continuation = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    if cut.starts_inside && bytes.first().is_some_and(is_continuation) {
        return Err(Error::invalid(
            "offset",
            "that offset is inside a character: use one that a slice gave",
        ));
    }
    if bytes.contains(&0) {
        return Err(no_text(path));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) if cut.ends_inside && error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).map_err(|_| no_text(path))
        }
        Err(_) => Err(no_text(path)),
    }
}

fn no_text(path: &str) -> Error {
    const DOCUMENTS: [&str; 10] =
        ["pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "ods", "odp"];
    let extension = path.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    let message = match extension.filter(|extension| DOCUMENTS.contains(&extension.as_str())) {
        Some(_) => format!(
            "`{path}` is a document, and this host does not read text out of documents: read its bytes"
        ),
        None => format!("`{path}` is not UTF-8 text: read its bytes"),
    };
    Error::new(ErrorCode::NoText, "no-text", message)
}

/// The first `lines` lines of `text`; where more of the file follows, whole ones if there is one.
fn whole_lines(text: &str, lines: usize, is_end: bool) -> &str {
    let mut ends = memchr::memchr_iter(b'\n', text.as_bytes());
    if let Some(end) = ends.nth(lines - 1) {
        return &text[..=end];
    }
    if is_end {
        return text;
    }
    text.rfind('\n').map_or(text, |end| &text[..=end])
}
