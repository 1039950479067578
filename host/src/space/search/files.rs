//! Which files a search is about, and where it is in them.

use bytes::Bytes;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::scan::{self, Text};
use super::{BATCH_FILES, CHUNK_BYTES, Inside};
use crate::limits::SEARCH_PATTERN_BYTES_MAX;
use crate::space::listing::Listed;
use crate::space::{Error, File};

/// The files that a search is about.
pub(super) struct Within<'a> {
    pub(super) listed: &'a Listed,
    pub(super) folder: &'a str,
    pub(super) globs: Option<&'a Gitignore>,
}

impl Within<'_> {
    fn covers(&self, path: &str) -> bool {
        let folder = self.folder.trim_end_matches('/');
        let below = path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/');
        self.globs.is_none_or(|globs| globs.matched_path_or_any_parents(below, false).is_ignore())
    }
}

/// The files of a page that are still to be searched.
pub(super) struct Files<'a> {
    pub(super) left: std::vec::IntoIter<File>,
    pub(super) within: &'a Within<'a>,
}

impl Files<'_> {
    /// The next ones to be searched together: one that is large stands alone.
    pub(super) async fn next_batch(&mut self, bytes_left: u64) -> Option<Vec<File>> {
        let bytes_max = bytes_left.min(u64::from(CHUNK_BYTES));
        let (mut batch, mut bytes) = (Vec::new(), 0_u64);
        while let Some(file) = self.left.as_slice().first() {
            bytes = bytes.saturating_add(file.size);
            if !batch.is_empty() && (bytes > bytes_max || batch.len() == BATCH_FILES) {
                break;
            }
            let Some(file) = self.left.next() else { break };
            if self.within.globs.is_some() {
                // A glob can take milliseconds for one path: others may run in between.
                tokio::task::yield_now().await;
            }
            match self.within.covers(&file.path) {
                true => batch.push(file),
                false => bytes -= file.size,
            }
        }
        (!batch.is_empty()).then_some(batch)
    }
}

/// Where the search of a file begins.
#[derive(Clone, Copy)]
pub(super) struct Start<'a> {
    pub(super) file: &'a File,
    pub(super) offset: u64,
    /// The number of the line there.
    line: u32,
}

impl<'a> Start<'a> {
    /// Where an earlier call stopped inside the file, if it is as it was then.
    pub(super) fn of(file: &'a File, inside: Option<&Inside>) -> Self {
        let is_it =
            |inside: &&Inside| inside.path == file.path && inside.revision == file.revision.0;
        let (offset, line) =
            inside.filter(is_it).map_or((0, 1), |inside| (inside.offset, inside.line));
        Self { file, offset, line }
    }

    pub(super) fn after(self, searched: &[u8]) -> Self {
        let offset = self.offset.saturating_add(searched.len() as u64);
        Self { offset, line: self.line.saturating_add(scan::lines(searched)), ..self }
    }

    pub(super) fn text(&self, bytes: &Bytes) -> Text {
        Text { path: self.file.path.clone(), bytes: bytes.clone(), first_line: self.line }
    }

    pub(super) fn inside(&self) -> Inside {
        let (path, revision) = (self.file.path.clone(), self.file.revision.0.clone());
        Inside { path, revision, offset: self.offset, line: self.line }
    }
}

pub(super) fn compile_glob(glob: &str) -> Result<Gitignore, Error> {
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
