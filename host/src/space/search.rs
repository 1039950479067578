//! Search: lines that match a pattern, a bounded number of bytes per call.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

use super::listing::{At, check_limit};
use super::{Error, ErrorCode, File, Space};
use crate::limits::{SEARCH_MATCH_MS_MAX, SEARCH_READ_BYTES_MAX};
use crate::store::{Depth, Effect, StoreError};

mod files;
mod pattern;
mod scan;

use files::{Files, Start, Within, compile_glob};
use pattern::Pattern;
use scan::{Scan, Scanned, Text};

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
    /// The line, cut to [`crate::limits::SEARCH_LINE_BYTES_MAX`] bytes; what is not UTF-8 is replaced.
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
const LISTED_FILES: usize = 1000;
const LISTINGS_MAX: usize = 2;
/// Read at once of one file, and of files that are searched together.
const CHUNK_BYTES: u32 = 1 << 20;
/// Files searched together: handing work to another thread costs as much as reading several.
const BATCH_FILES: usize = 100;
/// Files that are read at once, within the bounds of the turn and the host.
const AHEAD_FILES: usize = 8;

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
    pattern: Arc<Pattern>,
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
            pattern: Arc::new(Pattern::compile(search.pattern)?),
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
            files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
            files.retain(|file| progress.done.as_ref().is_none_or(|done| file.path > *done));
            let mut files = Files { left: files.into_iter(), within };
            let mut due = self.load(&mut files, call.bytes_left, progress.inside.take()).await?;
            while let Some(batch) = due {
                if call.is_over() {
                    progress.inside = batch.inside;
                    return Ok(Some(progress));
                }
                let (stopped, ahead) = self.search_batch(&batch, &mut files, call).await?;
                if let Some(stopped) = stopped {
                    return Ok(Some(batch.stopped(stopped, progress)));
                }
                progress.done = batch.files.into_iter().next_back().map(|file| file.path);
                due = match ahead {
                    Some(ahead) => ahead?,
                    None => self.load(&mut files, call.bytes_left, None).await?,
                };
            }
            let Some(page) = next else { return Ok(None) };
            progress = Progress { page, ..Progress::default() };
        }
        Ok(Some(progress))
    }

    /// Searches what was loaded; answers where it stopped if the call is over before its end,
    /// and the next files where they were loaded meanwhile.
    async fn search_batch(
        &self,
        batch: &Batch,
        files: &mut Files<'_>,
        call: &mut Call,
    ) -> Result<(Option<Inside>, Option<Loaded>), Error> {
        let Some(texts) = &batch.texts else {
            let stopped = match batch.files.first() {
                Some(file) => self.search_alone(&batch.start(file), call).await?,
                None => None,
            };
            return Ok((stopped, None));
        };
        let read = texts.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() as u64;
        call.bytes_left = call.bytes_left.saturating_sub(read);
        let bytes_left = call.bytes_left;
        let ahead = async {
            match bytes_left {
                0 => None,
                _ => Some(self.load(files, bytes_left, None).await),
            }
        };
        let (stopped, ahead) = tokio::join!(self.search_together(batch, texts, call), ahead);
        Ok((stopped?, ahead))
    }

    /// The next files, and the text of those that are searched together.
    async fn load(&self, files: &mut Files<'_>, bytes_left: u64, inside: Option<Inside>) -> Loaded {
        let Some(files) = files.next_batch(bytes_left).await else { return Ok(None) };
        let mut batch = Batch { files, inside, texts: None };
        if batch.files.len() > 1 {
            let reads: Vec<_> =
                batch.files.iter().map(|file| self.load_one(&batch, file)).collect();
            let read = stream::iter(reads).buffered(AHEAD_FILES).try_collect::<Vec<_>>().await?;
            let texts = read.into_iter().enumerate();
            batch.texts = Some(texts.filter_map(|(at, bytes)| Some((at, bytes?))).collect());
        }
        Ok(Some(batch))
    }

    async fn load_one(&self, batch: &Batch, file: &File) -> Result<Option<Bytes>, Error> {
        let read = self.search_read(&batch.start(file)).await?;
        Ok(read.map(|(bytes, _)| bytes))
    }

    /// Searches one file; answers where it stopped if the call is over before its end.
    async fn search_alone(
        &self,
        start: &Start<'_>,
        call: &mut Call,
    ) -> Result<Option<Inside>, Error> {
        let mut start = *start;
        loop {
            let Some((bytes, end)) = self.search_read(&start).await? else { return Ok(None) };
            call.bytes_left = call.bytes_left.saturating_sub(bytes.len() as u64);
            let bytes = if end == End::OfFile { bytes } else { whole_lines(bytes) };
            let stopped = self.scan(vec![start.text(&bytes)], call).await?.stopped;
            let used = stopped.map_or(bytes.len(), |stopped| stopped.used);
            start = start.after(&bytes[..used]);
            if start.offset >= start.file.size || used == 0 {
                return Ok(None);
            }
            if stopped.is_some() || call.is_over() {
                return Ok(Some(start.inside()));
            }
        }
    }

    /// Searches small files, all matched in one go.
    async fn search_together(
        &self,
        batch: &Batch,
        texts: &[(usize, Bytes)],
        call: &mut Call,
    ) -> Result<Option<Inside>, Error> {
        let start = |at: &usize| batch.start(&batch.files[*at]);
        let scanned = texts.iter().map(|(at, bytes)| start(at).text(bytes)).collect();
        let Some(stopped) = self.scan(scanned, call).await?.stopped else { return Ok(None) };
        let (at, bytes) = &texts[stopped.text];
        Ok(Some(start(at).after(&bytes[..stopped.used]).inside()))
    }

    /// Text of a file as it was listed; `None` if it is none, or is gone.
    async fn search_read(&self, start: &Start<'_>) -> Result<Option<(Bytes, End)>, Error> {
        let Start { file, offset, .. } = *start;
        let left = file.size.saturating_sub(offset);
        if left == 0 {
            return Ok(None);
        }
        let length = u32::try_from(left).unwrap_or(u32::MAX).min(CHUNK_BYTES);
        let read = self.read_pinned(&file.path, offset, length, Some(&file.revision)).await;
        let bytes = match read {
            Ok(chunk) => chunk.bytes,
            // Deleted or replaced since it was listed: what it was is gone.
            Err(error) if matches!(error.code, ErrorCode::NotFound | ErrorCode::Conflict) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let end = if bytes.len() as u64 >= left { End::OfFile } else { End::OfChunk };
        Ok(memchr::memchr(0, &bytes).is_none().then_some((bytes, end)))
    }

    /// Matches on a thread of its own: a pattern can be slow, and no turn may wait for another's.
    async fn scan(&self, texts: Vec<Text>, call: &mut Call) -> Result<Scanned, Error> {
        let matches_max = call.limit.saturating_sub(call.found.len());
        let (pattern, time_left) = (call.pattern.clone(), call.time_left);
        let scan = Scan { pattern, texts, matches_max, time_left };
        let scanned = async {
            tokio::task::spawn_blocking(|| scan.run()).await.map_err(StoreError::unchanged)
        };
        let mut scanned = self.operate("the folder", Effect::None, scanned).await?;
        call.time_left = call.time_left.saturating_sub(scanned.took);
        call.found.append(&mut scanned.found);
        Ok(scanned)
    }
}

/// The next files, if there are any.
type Loaded = Result<Option<Batch>, Error>;

/// Files that are searched in one go.
struct Batch {
    files: Vec<File>,
    /// Where an earlier call stopped inside one of them.
    inside: Option<Inside>,
    /// The text of those that are text, by their place; `None` for one that is searched alone,
    /// as it is read.
    texts: Option<Vec<(usize, Bytes)>>,
}

impl Batch {
    fn start<'a>(&self, file: &'a File) -> Start<'a> {
        Start::of(file, self.inside.as_ref())
    }

    /// How far a search came that stopped inside one of the files: what stands before is done,
    /// also where nothing of this one is.
    fn stopped(&self, inside: Inside, progress: Progress) -> Progress {
        let before = self.files.iter().take_while(|file| file.path < inside.path).last();
        let done = before.map(|file| file.path.clone()).or(progress.done);
        Progress { done, inside: Some(inside), ..progress }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    OfFile,
    OfChunk,
}

/// As much of a chunk as is whole lines; all of it where it holds no line's end.
fn whole_lines(bytes: Bytes) -> Bytes {
    match memchr::memrchr(b'\n', &bytes) {
        Some(end) => bytes.slice(..=end),
        None => bytes,
    }
}

#[cfg(test)]
mod tests;
