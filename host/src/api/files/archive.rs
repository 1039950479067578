//! `GET …/archive`: a folder as one zip, made while it is sent.
//!
//! Its names are listed first, so that what cannot be told apart in a tree can be renamed, and
//! that a folder too large is refused before anything is sent. A file that fails on the way,
//! or that is gone by then, breaks the answer off: a zip without its directory at the end opens
//! nowhere, so what is missing is noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream::try_unfold;
use serde::Deserialize;
use time::{OffsetDateTime, PrimitiveDateTime};
use tokio::sync::OwnedSemaphorePermit;
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::api::gate::{Files, Place};
use crate::api::http::disposition::disposition;
use crate::api::http::input::Options;
use crate::api::problem::Problem;
use crate::limits::{ARCHIVE_FILES_MAX, BODY_PIECE_BYTES, PAGE_FILES_MAX};
use crate::space::{File, Reader};
use crate::store::Depth;

/// Which folder.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct ArchiveOptions {
    /// Empty for all scopes.
    #[serde(default)]
    folder: String,
}

/// Quickly: a zip is sent once, and by a host that has other things to do.
const EFFORT: i64 = 1;

/// `GET …/archive`
pub(in crate::api) async fn archive<P: Place>(
    files: Files<P>,
    Options(ArchiveOptions { folder }): Options<ArchiveOptions>,
) -> Result<Response, Problem> {
    let place = files.place_for_archive()?;
    let folder = folder.strip_suffix('/').unwrap_or(&folder).to_owned();
    let entries = entries(&files, &folder).await?;
    let name = folder.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("files");
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/zip")),
        (CONTENT_DISPOSITION, disposition("attachment", &format!("{name}.zip"))),
    ];
    let archive = Archive::new(files, entries, place);
    let body = try_unfold(archive, |mut archive| async move {
        let piece = archive.next().await.map_err(|error| {
            tracing::warn!(error = format!("{error:#}"), "an archive was broken off");
            io::Error::other("the archive was broken off")
        })?;
        Ok::<_, io::Error>(piece.map(|piece| (piece, archive)))
    });
    Ok((StatusCode::OK, headers, Body::from_stream(body)).into_response())
}

/// A file and its name in the archive.
#[derive(Debug)]
struct Entry {
    file: File,
    name: String,
}

async fn entries<P: Place>(files: &Files<P>, folder: &str) -> Result<Vec<Entry>, Problem> {
    let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let mut found = BTreeMap::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = files.list(folder, Depth::All, cursor.as_deref(), PAGE_FILES_MAX).await?;
        for file in page.files {
            let name = file.path.strip_prefix(&prefix).unwrap_or(&file.path).to_owned();
            found.insert(name, file);
        }
        if found.len() > ARCHIVE_FILES_MAX {
            let detail = format!(
                "an archive has at most {ARCHIVE_FILES_MAX} files: take a folder further down"
            );
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "archive", detail));
        }
        let Some(next) = page.next else { break };
        cursor = Some(next);
    }
    Ok(named(found))
}

/// Where a file has the name of a folder, the folder keeps it, and the file gets another one.
fn named(found: BTreeMap<String, File>) -> Vec<Entry> {
    let mut taken: BTreeSet<String> = found.keys().cloned().collect();
    taken.extend(found.keys().flat_map(|name| folders(name)));
    let rename = |(name, file): (String, File)| {
        let below = format!("{name}/");
        let is_folder =
            taken.range(below.clone()..).next().is_some_and(|next| next.starts_with(&below));
        if !is_folder {
            return Entry { file, name };
        }
        let mut free = format!("{name} (file)");
        while !taken.insert(free.clone()) {
            free.push('_');
        }
        Entry { file, name: free }
    };
    found.into_iter().map(rename).collect()
}

/// The folders that a name stands in.
fn folders(name: &str) -> impl Iterator<Item = String> {
    name.match_indices('/').map(|(at, _)| name[..at].to_owned())
}

/// An archive on its way.
struct Archive<P> {
    files: Files<P>,
    entries: std::vec::IntoIter<Entry>,
    /// The file that is being added, and how much of it is to come.
    open: Option<(Reader, u64)>,
    zip: Option<ZipWriter<StreamWriter<Sink>>>,
    sink: Sink,
    _place: OwnedSemaphorePermit,
}

/// What was written and not yet sent.
#[derive(Clone, Debug, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn holds(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl<P: Place> Archive<P> {
    fn new(files: Files<P>, entries: Vec<Entry>, place: OwnedSemaphorePermit) -> Self {
        let sink = Sink::default();
        let zip = Some(ZipWriter::new_stream(sink.clone()));
        Self { files, entries: entries.into_iter(), open: None, zip, sink, _place: place }
    }

    /// The next bytes of the archive; `None` once its directory was sent.
    async fn next(&mut self) -> anyhow::Result<Option<Bytes>> {
        while self.sink.holds() < BODY_PIECE_BYTES as usize {
            let Some(zip) = self.zip.as_mut() else { break };
            if let Some((reader, left)) = self.open.as_mut() {
                let length = (*left).min(u64::from(BODY_PIECE_BYTES));
                let bytes = reader.read(u32::try_from(length)?).await?;
                zip.write_all(&bytes)?;
                *left -= bytes.len() as u64;
                if *left == 0 {
                    self.open = None;
                }
                continue;
            }
            match self.entries.next() {
                Some(entry) => {
                    let reader = self.open(&entry).await?;
                    self.begin(&entry.name, &reader)?;
                    let size = reader.file().size;
                    self.open = (size > 0).then_some((reader, size));
                }
                None => self.finish()?,
            }
        }
        let piece = self.sink.take();
        Ok((!piece.is_empty()).then(|| piece.into()))
    }

    async fn open(&self, entry: &Entry) -> anyhow::Result<Reader> {
        let opened = self.files.open(&entry.file.path).await;
        opened.map_err(|problem| anyhow::anyhow!("a file that was listed: {problem:?}"))
    }

    fn begin(&mut self, name: &str, reader: &Reader) -> anyhow::Result<()> {
        let options = options(reader.file());
        let zip = self.zip.as_mut().ok_or_else(|| anyhow::anyhow!("the archive is at its end"))?;
        Ok(zip.start_file(name, options)?)
    }

    fn finish(&mut self) -> anyhow::Result<()> {
        if let Some(zip) = self.zip.take() {
            zip.finish()?;
        }
        Ok(())
    }
}

/// How a file is written; sizes that need it have room for 64 bits.
fn options(file: &File) -> SimpleFileOptions {
    // Also what grows when it is compressed has room.
    const LARGE_BYTES_MIN: u64 = u32::MAX as u64 - (64 << 20);
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(EFFORT))
        .last_modified_time(date(file.modified_ms))
        .unix_permissions(0o644)
        .large_file(file.size >= LARGE_BYTES_MIN)
}

/// As a zip can say it: from 1980 on, by two seconds, in UTC.
fn date(modified_ms: u64) -> DateTime {
    let seconds = i64::try_from(modified_ms / 1000).unwrap_or(i64::MAX);
    let Ok(time) = OffsetDateTime::from_unix_timestamp(seconds) else { return DateTime::default() };
    DateTime::try_from(PrimitiveDateTime::new(time.date(), time.time())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Revision;

    fn file(path: &str, size: u64) -> File {
        let (path, revision) = (path.to_owned(), Revision("r".to_owned()));
        File { path, size, revision, modified_ms: 0, media_type: "text/plain" }
    }

    fn names(paths: &[&str]) -> Vec<(String, String)> {
        let found = paths.iter().map(|path| ((*path).to_owned(), file(path, 0))).collect();
        named(found).into_iter().map(|entry| (entry.file.path, entry.name)).collect()
    }

    /// The folder keeps the name, each file has one, and no two have the same.
    #[test]
    fn a_file_beside_a_folder_of_its_name_gets_another_one() {
        let paths = ["a", "a (file)", "a (file)_/x", "a!", "a/b", "a/b/c", "ab/c", "d"];
        let named = names(&paths);
        let of = |path: &str| named.iter().find(|(from, _)| from == path).unwrap().1.clone();
        assert_eq!(of("a"), "a (file)__");
        assert_eq!(of("a/b"), "a/b (file)");
        for same in ["a (file)", "a!", "a/b/c", "ab/c", "d"] {
            assert_eq!(of(same), same);
        }
        let all: BTreeSet<_> = named.iter().map(|(_, name)| name).collect();
        assert_eq!(all.len(), paths.len());
    }

    /// Any time has a date that a zip can hold.
    #[test]
    fn every_time_has_a_date() {
        for (ms, year) in [(0, 1980), (1_700_000_000_000, 2023), (u64::MAX, 1980)] {
            assert_eq!(date(ms).year(), year, "{ms}");
        }
    }

    /// Sizes of 64 bits, and more entries than 16 bits count, are read back.
    #[test]
    fn large_archives_are_read_back() {
        let sink = Sink::default();
        let mut zip = ZipWriter::new_stream(sink.clone());
        for (name, size) in [("small", 4), ("large", 5 << 30)] {
            zip.start_file(name, options(&file(name, size))).unwrap();
            zip.write_all(b"text").unwrap();
        }
        for number in 0..70_000 {
            zip.start_file(format!("{number}"), options(&file("x", 0))).unwrap();
        }
        zip.finish().unwrap();
        let mut archive = zip::ZipArchive::new(io::Cursor::new(sink.take())).unwrap();
        assert_eq!(archive.len(), 70_002);
        for name in ["small", "large"] {
            let mut text = String::new();
            io::Read::read_to_string(&mut archive.by_name(name).unwrap(), &mut text).unwrap();
            assert_eq!(text, "text", "{name}");
        }
    }
}
