//! How a segment of a key is named on disk: as it is, wherever a filesystem can hold it.
//!
//! `%` and two hexadecimal digits stand for a byte that some filesystem refuses; the rules do not
//! depend on the one at hand, so that a folder can be copied to another machine. A `%` at the end
//! marks a file that gave way to a folder of its name. `%long-` and a hash stand for a name too
//! long for a filesystem; the name itself is in a file beside it, `%long-<hash>.name`.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::scope::ObjectKey;

/// What a file's name ends in once a folder has taken its place. No other name ends so.
pub(super) const DISPLACED: char = '%';
/// Longest name of a file, in bytes, and room for [`DISPLACED`].
const NAME_BYTES_MAX: usize = 254;
const LONG: &str = "%long-";
const LONG_NAME: &str = ".name";
const HASH_DIGITS: usize = 64;

/// A segment, as it is named on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DiskName {
    segment: String,
    name: String,
}

impl DiskName {
    /// The name of a segment.
    pub(super) fn of(segment: &str) -> Self {
        let mut name = String::with_capacity(segment.len() + 8);
        push(&mut name, segment);
        Self { segment: segment.to_owned(), name }
    }

    /// The name of its folder, and of its file while there is no such folder.
    pub(super) fn plain(&self) -> &str {
        &self.name
    }

    /// The name of its file once there was a folder of its name.
    pub(super) fn displaced(&self) -> String {
        format!("{}{DISPLACED}", self.name)
    }

    /// For a name stored under its hash: the file beside it that holds the name, and the name.
    pub(super) fn beside(&self) -> Option<(String, &str)> {
        is_long(&self.name).then(|| (beside(&self.name), self.segment.as_str()))
    }
}

/// What a name found on disk stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// This segment.
    Segment(String),
    /// The segment that the file of this name holds.
    Beside(String),
}

/// Reads a name found on disk, without the mark of a displaced file. `None` if this store did
/// not make it.
pub(super) fn read(name: &str) -> Option<Read> {
    if is_as_it_is(name) {
        return Some(Read::Segment(name.to_owned()));
    }
    if is_long(name) {
        return Some(Read::Beside(beside(name)));
    }
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(after.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &after[2..];
    }
    let segment = String::from_utf8(bytes).ok()?;
    (DiskName::of(&segment).name == name).then_some(Read::Segment(segment))
}

/// The name of the file that stands beside a hash.
pub(super) fn beside(hashed: &str) -> String {
    format!("{hashed}{LONG_NAME}")
}

/// The hash that a file stands beside, by its name.
pub(super) fn of_beside(name: &str) -> Option<&str> {
    name.strip_suffix(LONG_NAME).filter(|hashed| is_long(hashed))
}

/// The segments of a key; never none.
pub(super) fn segments(key: &ObjectKey) -> Vec<DiskName> {
    key.as_str().split('/').map(DiskName::of).collect()
}

/// The path of a key below the root, as its file is named while no folder has its name.
pub(super) fn path(key: &ObjectKey) -> String {
    let mut path = String::with_capacity(key.as_str().len() + 16);
    for segment in key.as_str().split('/') {
        if !path.is_empty() {
            path.push('/');
        }
        push(&mut path, segment);
    }
    path
}

fn is_long(name: &str) -> bool {
    let Some(hash) = name.strip_prefix(LONG) else { return false };
    hash.len() == HASH_DIGITS
        && hash.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

fn push(path: &mut String, segment: &str) {
    // Nearly every segment, and every read of a file comes through here.
    if is_as_it_is(segment) {
        return path.push_str(segment);
    }
    let start = path.len();
    let last = segment.len() - 1;
    let device = is_device(segment);
    for (at, letter) in segment.char_indices() {
        let refused = u8::try_from(letter).is_ok_and(is_refused)
            || (at == last && is_refused_last(letter))
            || (at == 0 && device);
        match refused {
            true => escape(path, letter),
            false => path.push(letter),
        }
    }
    if path.len() - start > NAME_BYTES_MAX {
        path.truncate(start);
        path.push_str(LONG);
        for byte in Sha256::digest(segment.as_bytes()) {
            escape_digits(path, byte, HexCase::Lower);
        }
    }
}

/// Whether a segment's name on disk is the segment.
pub(super) fn is_as_it_is(segment: &str) -> bool {
    segment.len() <= NAME_BYTES_MAX
        && !segment.bytes().any(is_refused)
        && !segment.ends_with(is_refused_last)
        && !is_device(segment)
}

/// Looked up: every byte of every key comes through here.
const REFUSED: [bool; 256] = {
    let mut refused = [false; 256];
    let mut byte = 0;
    while byte < refused.len() {
        refused[byte] = (byte as u8).is_ascii_control()
            || matches!(
                byte as u8,
                b'%' | b'<' | b'>' | b':' | b'"' | b'|' | b'?' | b'*' | b'\\' | b'/'
            );
        byte += 1;
    }
    refused
};

fn is_refused(byte: u8) -> bool {
    REFUSED[usize::from(byte)]
}

fn is_refused_last(letter: char) -> bool {
    matches!(letter, '.' | ' ')
}

/// All refused letters are ASCII: one byte each.
fn escape(path: &mut String, letter: char) {
    path.push('%');
    let mut bytes = [0; 4];
    for byte in letter.encode_utf8(&mut bytes).bytes() {
        escape_digits(path, byte, HexCase::Upper);
    }
}

#[derive(Clone, Copy)]
enum HexCase {
    Upper,
    Lower,
}

fn escape_digits(path: &mut String, byte: u8, case: HexCase) {
    // Writing to a string cannot fail.
    let _infallible = match case {
        HexCase::Upper => write!(path, "{byte:02X}"),
        HexCase::Lower => write!(path, "{byte:02x}"),
    };
}

/// Names that Windows gives to devices, whatever extension follows.
fn is_device(segment: &str) -> bool {
    let first = segment.as_bytes().first();
    if !first.is_some_and(|first| b"acnplACNPL".contains(first)) {
        return false;
    }
    let stem = segment.split('.').next().unwrap_or(segment).trim_end();
    let (name, number) = match stem.len() {
        3 => (stem, None),
        4 if stem.is_char_boundary(3) => (&stem[..3], stem.as_bytes().get(3).copied()),
        _ => return false,
    };
    let names: &[&str] = match number {
        None => &["con", "prn", "aux", "nul"],
        Some(number) if number.is_ascii_digit() => &["com", "lpt"],
        Some(_) => return false,
    };
    names.iter().any(|device| name.eq_ignore_ascii_case(device))
}

#[cfg(test)]
mod tests;
