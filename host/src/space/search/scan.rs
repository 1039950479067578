//! Looking through texts, for a bounded time.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::Match;
use super::pattern::Pattern;
use crate::limits::{SEARCH_LINE_BYTES_MAX, SEARCH_PIECE_BYTES_MAX};

/// Texts to look through.
pub(super) struct Scan {
    pub(super) pattern: Arc<Pattern>,
    pub(super) texts: Vec<Text>,
    pub(super) matches_max: usize,
    pub(super) time_left: Duration,
}

/// Lines of a file.
pub(super) struct Text {
    pub(super) path: String,
    pub(super) bytes: Bytes,
    /// The number of its first line.
    pub(super) first_line: u32,
}

/// What is there, how long it took to find, and where it stopped before the end.
pub(super) struct Scanned {
    pub(super) found: Vec<Match>,
    pub(super) took: Duration,
    pub(super) stopped: Option<Stopped>,
}

/// Where a scan stopped: so many bytes into a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopped {
    pub(super) text: usize,
    pub(super) used: usize,
}

impl Scan {
    /// Looks at pieces until there are matches enough or the time is over; at one in any case.
    pub(super) fn run(self) -> Scanned {
        let started = Instant::now();
        let mut found = Vec::new();
        let mut stopped = None;
        for (index, text) in self.texts.iter().enumerate() {
            let mut lines = Lines { text, pattern: &self.pattern, at: 0, counted: (0, 0) };
            while lines.at < text.bytes.len() {
                if found.len() >= self.matches_max
                    || (lines.at + index > 0 && started.elapsed() >= self.time_left)
                {
                    stopped = Some(Stopped { text: index, used: lines.at });
                    break;
                }
                lines.piece(&mut found, self.matches_max);
            }
            if stopped.is_some() {
                break;
            }
        }
        Scanned { found, took: started.elapsed(), stopped }
    }
}

/// The lines of a text, as they are gone through.
struct Lines<'a> {
    text: &'a Text,
    pattern: &'a Pattern,
    at: usize,
    /// Up to which offset line ends were counted, and how many they are.
    counted: (usize, u32),
}

impl Lines<'_> {
    /// Goes through what is matched at once, or up to the last match that is wanted.
    fn piece(&mut self, found: &mut Vec<Match>, matches_max: usize) {
        let rest = &self.text.bytes[self.at..];
        let most = rest.len().min(SEARCH_PIECE_BYTES_MAX);
        let whole = match memchr::memrchr(b'\n', &rest[..most]) {
            Some(end) => end + 1,
            None => most,
        };
        if whole < rest.len() && rest[whole - 1] != b'\n' {
            return self.part_of_a_long_line(whole, found);
        }
        let piece = &rest[..whole];
        // Windows ends its lines in two characters, and the first is none of the line's.
        match memchr::memchr(b'\r', piece) {
            Some(_) => self.line_by_line(piece, found, matches_max),
            None => self.all_lines(piece, found, matches_max),
        }
    }

    fn all_lines(&mut self, piece: &[u8], found: &mut Vec<Match>, matches_max: usize) {
        let start = self.at;
        // Nothing follows the last end of a line, not even an empty one.
        let lines = piece.strip_suffix(b"\n").unwrap_or(piece);
        let mut from = 0;
        while from <= lines.len() && found.len() < matches_max {
            let Some(hit) = self.pattern.find_from(lines, from) else { break };
            let first = memchr::memrchr(b'\n', &lines[..hit]).map_or(0, |end| end + 1);
            let last = memchr::memchr(b'\n', &lines[hit..]).map_or(lines.len(), |end| hit + end);
            self.found(start + first, &lines[first..last], found);
            from = last + 1;
            self.at = start + from.min(piece.len());
        }
        if found.len() < matches_max {
            self.at = start + piece.len();
        }
    }

    fn line_by_line(&mut self, piece: &[u8], found: &mut Vec<Match>, matches_max: usize) {
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            if found.len() >= matches_max {
                return;
            }
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            if self.pattern.find_from(text, 0).is_some() {
                self.found(self.at, text, found);
            }
            self.at += line.len();
        }
    }

    /// A line that is longer than what is matched at once is shown once, whichever part matches.
    fn part_of_a_long_line(&mut self, bytes: usize, found: &mut Vec<Match>) {
        let rest = &self.text.bytes[self.at..];
        let part = &rest[..bytes];
        if self.pattern.find_from(part, 0).is_none() {
            self.at += bytes;
            return;
        }
        self.found(self.at, part, found);
        self.at += memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
    }

    fn found(&mut self, offset: usize, line: &[u8], found: &mut Vec<Match>) {
        let (counted, ends) = self.counted;
        let ends = ends.saturating_add(lines(&self.text.bytes[counted..offset]));
        self.counted = (offset, ends);
        let line_number = self.text.first_line.saturating_add(ends);
        found.push(Match { path: self.text.path.clone(), line: line_number, text: shown(line) });
    }
}

/// How many lines end in some bytes.
pub(super) fn lines(bytes: &[u8]) -> u32 {
    u32::try_from(memchr::memchr_iter(b'\n', bytes).count()).unwrap_or(u32::MAX)
}

fn shown(line: &[u8]) -> String {
    let cut = &line[..line.len().min(SEARCH_LINE_BYTES_MAX)];
    let mut text = String::from_utf8_lossy(cut).into_owned();
    if cut.len() < line.len() {
        text.truncate(text.trim_end_matches('\u{fffd}').len());
        text.push('…');
    }
    text
}
