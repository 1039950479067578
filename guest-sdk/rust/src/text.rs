//! Text verbs, done by the host: the bytes of a file stay there.

use crate::bindings::bailiwick::storage::text as host;
use crate::{File, Precondition, Result};

pub use host::{Match, Matches, Occurrence, Position, Slice};

/// Up to `lines` whole lines, at most 256 KiB, of a text file or of the text read out of a
/// document. [`Slice::next`] is where the next one begins. One line longer than the bound is
/// cut, and `next` goes on inside it.
///
/// # Errors
/// [`crate::ErrorCode::NoText`] if the file has none, [`crate::ErrorCode::TextPending`] while a
/// document is being read out; as [`crate::files::read`].
pub fn read(path: &str, start: Position, lines: u32) -> Result<Slice> {
    Ok(host::read(path, start, lines)?)
}

/// Replaces `old` by `new`, where it must stand exactly once, in a file of at most 16 MiB.
///
/// # Errors
/// [`crate::ErrorCode::NoMatch`] if `old` stands there not once; the message says how often.
pub fn replace(path: &str, old: &str, new: &str) -> Result<File> {
    replace_if(path, old, new, Occurrence::Only, &Precondition::Always)
}

/// [`replace`], at every place.
///
/// # Errors
/// [`crate::ErrorCode::NoMatch`] if `old` stands nowhere.
pub fn replace_every(path: &str, old: &str, new: &str) -> Result<File> {
    replace_if(path, old, new, Occurrence::Every, &Precondition::Always)
}

/// [`replace`] or [`replace_every`], under a precondition.
///
/// # Errors
/// [`crate::ErrorCode::Conflict`] if the precondition fails; as [`replace`].
pub fn replace_if(
    path: &str,
    old: &str,
    new: &str,
    occurrence: Occurrence,
    precondition: &Precondition,
) -> Result<File> {
    Ok(host::replace(path, old, new, occurrence, precondition)?)
}

/// Appends to a file of at most 16 MiB, creating it if absent. Two appends never lose one
/// another, and none happens twice.
///
/// # Errors
/// [`crate::ErrorCode::TooLarge`] past 16 MiB; [`crate::ErrorCode::Denied`] where the turn may
/// not write.
pub fn append(path: &str, text: &str) -> Result<File> {
    Ok(host::append(path, text)?)
}

/// Lines that match a regular expression (syntax of the Rust `regex` crate) in the files under
/// a folder; the empty folder is all that the turn can reach.
#[must_use]
pub fn search(folder: &str, pattern: &str) -> Search {
    Search {
        folder: folder.to_owned(),
        pattern: pattern.to_owned(),
        glob: None,
        state: State::Page(None),
        found: Vec::new().into_iter(),
    }
}

/// One page of a search: `after` is [`Matches::next`] of the page before, `limit` is 1 to 1000.
/// A page may be empty and not last.
///
/// # Errors
/// [`crate::ErrorCode::Invalid`] on a pattern, glob, cursor or limit that is none.
pub fn search_page(
    folder: &str,
    glob: Option<&str>,
    pattern: &str,
    after: Option<&str>,
    limit: u32,
) -> Result<Matches> {
    Ok(host::search(folder, glob, pattern, after, limit)?)
}

/// A search, as an iterator over its matches; pages are asked for as they are needed, and an
/// error is its last item.
#[derive(Debug)]
pub struct Search {
    folder: String,
    pattern: String,
    glob: Option<String>,
    state: State,
    found: std::vec::IntoIter<Match>,
}

#[derive(Debug)]
enum State {
    Page(Option<String>),
    Done,
}

impl Search {
    /// Narrows by path, as in a `.gitignore`: `*.md`, `reference/**`.
    #[must_use]
    pub fn glob(mut self, glob: &str) -> Self {
        self.glob = Some(glob.to_owned());
        self
    }
}

impl Iterator for Search {
    type Item = Result<Match>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(found) = self.found.next() {
                return Some(Ok(found));
            }
            let State::Page(after) = std::mem::replace(&mut self.state, State::Done) else {
                return None;
            };
            let page = search_page(
                &self.folder,
                self.glob.as_deref(),
                &self.pattern,
                after.as_deref(),
                1000,
            );
            match page {
                Ok(page) => {
                    self.found = page.found.into_iter();
                    self.state = page.next.map_or(State::Done, |next| State::Page(Some(next)));
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
