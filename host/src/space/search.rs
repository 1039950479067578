//! Search: lines that match a pattern, a bounded number of bytes per call.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use regex::bytes::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::listing::{At, Listed, check_limit};
use super::{Error, ErrorCode, File, Space};
use crate::limits::{
    SEARCH_LINE_BYTES_MAX, SEARCH_MATCH_MS_MAX, SEARCH_PATTERN_BYTES_MAX, SEARCH_PIECE_BYTES_MAX,
    SEARCH_PROGRAM_BYTES_MAX, SEARCH_READ_BYTES_MAX,
};
use crate::store::{Depth, Effect, StoreError};

/// What to look for, and where.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// Under which folder.
    pub folder: &'a str,
    /// Which files, by a pattern as in `.gitignore`, relative to the folder.
    pub glob: Option<&'a str>,
    /// A regular expression of the `regex` crate, for one line.
    pub pattern: &'a str,
    /// Where an earlier page of the same search ended.
    pub after: Option<&'a str>,
    /// Most matches, 1 to 1,000.
    pub limit: u32,
}

/// A line that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// In which file.
    pub path: String,
    /// Which line, from 1.
    pub line: u32,
    /// The line, cut to [`SEARCH_LINE_BYTES_MAX`] bytes; what is not UTF-8 is replaced.
    pub text: String,
}

/// One page of matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// In the order of the files' listing, then of lines.
    pub found: Vec<Match>,
    /// Where to go on; absent on the last page. A page may be empty and not the last.
    pub next: Option<String>,
}

/// Names looked at per listing, and listings per call.
const LISTED_FILES: usize = 250;
const LISTINGS_MAX: usize = 8;
/// Read at once.
const CHUNK_BYTES: u32 = 1 << 20;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Progress {
    /// The page of the listing that is being worked through.
    page: At,
    /// The last file of that page that is done.
    done: Option<String>,
    /// The file that is half done.
    inside: Option<Inside>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Inside {
    path: String,
    revision: String,
    offset: u64,
    line: u32,
}

/// One call's work: what to match, what is found, what may still be read and how long matched.
struct Call {
    regex: Arc<Regex>,
    limit: usize,
    found: Vec<Match>,
    bytes_left: u64,
    time_left: Duration,
}

impl Call {
    fn is_over(&self) -> bool {
        self.found.len() >= self.limit || self.bytes_left == 0 || self.time_left.is_zero()
    }
}

impl Space {
    /// Lines that match, in text files under a folder. Binary files are passed over.
    ///
    /// # Errors
    /// `invalid` for a pattern, glob, limit or cursor that is not one; `too-large` for a
    /// pattern over its bounds.
    pub async fn search(&self, search: Search<'_>) -> Result<Matches, Error> {
        check_limit(search.limit)?;
        let mut call = Call {
            regex: Arc::new(compile(search.pattern)?),
            limit: search.limit as usize,
            found: Vec::new(),
            bytes_left: SEARCH_READ_BYTES_MAX,
            time_left: Duration::from_millis(SEARCH_MATCH_MS_MAX),
        };
        let globs = search.glob.map(compile_glob).transpose()?;
        let listed = self.listed(search.folder, Depth::All)?;
        let identity = format!("search {} {:?} {:?}", listed.identity, search.glob, search.pattern);
        let seal = &self.0.storage.seal;
        let progress = search.after.map(|cursor| seal.open(&identity, cursor)).transpose()?;
        let within = Within { listed: &listed, folder: search.folder, globs: globs.as_ref() };
        let next = self.search_pages(&within, progress.unwrap_or_default(), &mut call).await?;
        let next = next.map(|progress| seal.seal(&identity, &progress)).transpose()?;
        Ok(Matches { found: call.found, next })
    }

    async fn search_pages(
        &self,
        within: &Within<'_>,
        mut progress: Progress,
        call: &mut Call,
    ) -> Result<Option<Progress>, Error> {
        for _ in 0..LISTINGS_MAX {
            let at = progress.page.clone();
            let (page, next) = self.list_from(within.listed, at, LISTED_FILES).await?;
            let mut files = page.files;
            files.sort_by(|one, other| one.path.cmp(&other.path));
            for file in files {
                if progress.done.as_ref().is_some_and(|done| file.path <= *done) {
                    continue;
                }
                if within.globs.is_some() {
                    // A glob can take milliseconds for one path: others may run in between.
                    tokio::task::yield_now().await;
                }
                if !within.covers(&file.path) {
                    continue;
                }
                if call.is_over() {
                    return Ok(Some(progress));
                }
                let inside = progress.inside.take().filter(|inside| inside.path == file.path);
                progress.inside = self.search_file(&file, inside, call).await?;
                if progress.inside.is_some() {
                    return Ok(Some(progress));
                }
                progress.done = Some(file.path);
            }
            let Some(page) = next else { return Ok(None) };
            progress = Progress { page, ..Progress::default() };
        }
        Ok(Some(progress))
    }

    /// Searches one file; answers where it stopped if the call is over before its end.
    async fn search_file(
        &self,
        file: &File,
        inside: Option<Inside>,
        call: &mut Call,
    ) -> Result<Option<Inside>, Error> {
        let inside = inside.filter(|inside| inside.revision == file.revision.0);
        let (mut offset, mut line) = inside.map_or((0, 1), |inside| (inside.offset, inside.line));
        loop {
            let chunk = match self
                .read_pinned(&file.path, offset, CHUNK_BYTES, Some(&file.revision))
                .await
            {
                Ok(chunk) => chunk,
                // Deleted or replaced since it was listed: what it was is gone.
                Err(error) if matches!(error.code, ErrorCode::NotFound | ErrorCode::Conflict) => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            };
            call.bytes_left = call.bytes_left.saturating_sub(chunk.bytes.len() as u64);
            let is_end = offset.saturating_add(chunk.bytes.len() as u64) >= chunk.size;
            if chunk.bytes.contains(&0) {
                return Ok(None);
            }
            let scanned = self.scan(&file.path, whole(&chunk.bytes, is_end), line, call).await?;
            offset += scanned.used as u64;
            line = line.saturating_add(scanned.lines);
            if offset >= chunk.size || chunk.bytes.is_empty() {
                return Ok(None);
            }
            if call.is_over() {
                let (path, revision) = (file.path.clone(), file.revision.0.clone());
                return Ok(Some(Inside { path, revision, offset, line }));
            }
        }
    }
}

impl Space {
    /// Matches on a thread of its own: a pattern can be slow, and no turn may wait for another's.
    async fn scan(
        &self,
        path: &str,
        bytes: Bytes,
        first_line: u32,
        call: &mut Call,
    ) -> Result<Scanned, Error> {
        let matches_max = call.limit.saturating_sub(call.found.len());
        let (regex, path, time_left) = (call.regex.clone(), path.to_owned(), call.time_left);
        let scan = Scan { regex, path, bytes, first_line, matches_max, time_left };
        let scanned = async {
            tokio::task::spawn_blocking(|| scan.run()).await.map_err(StoreError::unchanged)
        };
        let mut scanned = self.operate("the folder", Effect::None, scanned).await?;
        call.time_left = call.time_left.saturating_sub(scanned.took);
        call.found.append(&mut scanned.found);
        Ok(scanned)
    }
}

/// The files that a search is about.
struct Within<'a> {
    listed: &'a Listed,
    folder: &'a str,
    globs: Option<&'a Gitignore>,
}

impl Within<'_> {
    fn covers(&self, path: &str) -> bool {
        let folder = self.folder.trim_end_matches('/');
        let below = path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/');
        self.globs.is_none_or(|globs| globs.matched_path_or_any_parents(below, false).is_ignore())
    }
}

/// As much of a chunk as is whole lines; all of it at the end, or where it holds no line's end.
fn whole(bytes: &Bytes, is_end: bool) -> Bytes {
    let end = memchr::memrchr(b'\n', bytes).filter(|_| !is_end);
    end.map_or_else(|| bytes.clone(), |end| bytes.slice(..=end))
}

/// Lines to look at.
struct Scan {
    regex: Arc<Regex>,
    path: String,
    bytes: Bytes,
    first_line: u32,
    matches_max: usize,
    time_left: Duration,
}

/// What was looked at: how many bytes and lines, how long, and what is there.
struct Scanned {
    used: usize,
    lines: u32,
    took: Duration,
    found: Vec<Match>,
}

impl Scan {
    /// Looks at pieces until there are matches enough or the time is over; at one in any case.
    fn run(self) -> Scanned {
        let started = Instant::now();
        let mut scanned = Scanned { used: 0, lines: 0, took: Duration::ZERO, found: Vec::new() };
        // A line is shown once, whichever of its pieces match.
        let mut is_shown = false;
        for piece in pieces(&self.bytes) {
            if !is_shown && scanned.found.len() >= self.matches_max {
                break;
            }
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            if !is_shown && self.regex.is_match(text) {
                let line = self.first_line.saturating_add(scanned.lines);
                scanned.found.push(Match { path: self.path.clone(), line, text: shown(text) });
                is_shown = true;
            }
            scanned.used += piece.len();
            if piece.ends_with(b"\n") {
                scanned.lines += 1;
                is_shown = false;
            }
            scanned.took = started.elapsed();
            if !is_shown && scanned.took >= self.time_left {
                break;
            }
        }
        scanned
    }
}

/// The lines, their ends included; a longer one in pieces.
fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.flat_map(|line| line.chunks(SEARCH_PIECE_BYTES_MAX))
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

fn compile(pattern: &str) -> Result<Regex, Error> {
    if pattern.len() > SEARCH_PATTERN_BYTES_MAX {
        let message = format!("a pattern is at most {SEARCH_PATTERN_BYTES_MAX} bytes");
        return Err(Error::too_large("pattern", message));
    }
    let built = RegexBuilder::new(pattern)
        .size_limit(SEARCH_PROGRAM_BYTES_MAX)
        .dfa_size_limit(2 * SEARCH_PROGRAM_BYTES_MAX)
        .nest_limit(64)
        .build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => {
            Error::too_large("pattern", "that pattern is too large once compiled: repeat less")
        }
        error => Error::invalid("pattern", format!("that is not a regular expression: {error}")),
    })
}

fn compile_glob(glob: &str) -> Result<Gitignore, Error> {
    if glob.len() > SEARCH_PATTERN_BYTES_MAX {
        return Err(Error::too_large(
            "glob",
            format!("a glob is at most {SEARCH_PATTERN_BYTES_MAX} bytes"),
        ));
    }
    let mut builder = GitignoreBuilder::new("");
    let added = builder.add_line(None, glob).and_then(|builder| builder.build());
    added.map_err(|error| Error::invalid("glob", format!("that is not a glob: {error}")))
}
