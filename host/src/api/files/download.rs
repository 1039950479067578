use std::ops::Range;

use axum::body::Body;
use axum::http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, ETAG, LAST_MODIFIED};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt as _, try_unfold};

use crate::api::gate::{Files, Place};
use crate::api::http::conditions::{Conditions, Reading, modified};
use crate::api::http::disposition::{UNKNOWN, describe};
use crate::api::http::input::FilePath;
use crate::api::http::range::{Asked, asked};
use crate::api::http::sniff::sniff;
use crate::api::http::tags::tag;
use crate::api::problem::Problem;
use crate::limits::{BODY_PIECE_BYTES, SNIFF_BYTES};
use crate::space::{Error, File, Reader};

/// `GET …/files/{path}`
pub(in crate::api) async fn get<P: Place>(
    files: Files<P>,
    FilePath(path): FilePath,
    conditions: Conditions,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    answer(files.open(&path).await?, &conditions, &headers).await
}

/// A file that was opened, or a range of it, or that its reader has it already.
pub(in crate::api) async fn answer(
    mut reader: Reader,
    conditions: &Conditions,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let file = reader.file().clone();
    if conditions.on_read(&file)? == Reading::NotModified {
        return Ok(not_modified(&file));
    }
    let asked = match conditions.allow_range(&file) {
        true => asked(headers, file.size),
        false => Asked::Whole,
    };
    let (status, range) = match asked {
        Asked::Whole => (StatusCode::OK, 0..file.size),
        Asked::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
        Asked::Beyond => return Err(beyond(&file)),
    };
    let (media_type, start) = media_type(&mut reader).await;
    let mut headers = described(&file, media_type);
    if status == StatusCode::PARTIAL_CONTENT {
        let shown = format!("bytes {}-{}/{}", range.start, range.end - 1, file.size);
        headers.insert(CONTENT_RANGE, text(&shown));
    }
    let sent = range.end - range.start;
    headers.insert(CONTENT_LENGTH, sent.into());
    let body = Body::from_stream(pieces_after(start, reader, range));
    Ok((status, headers, body).into_response())
}

/// `HEAD …/files/{path}`
pub(in crate::api) async fn head<P: Place>(
    files: Files<P>,
    FilePath(path): FilePath,
    conditions: Conditions,
) -> Result<Response, Problem> {
    let file = files.stat(&path).await?;
    if conditions.on_read(&file)? == Reading::NotModified {
        return Ok(not_modified(&file));
    }
    let (file, media_type) = match file.media_type {
        UNKNOWN => {
            let mut reader = files.open(&path).await?;
            (reader.file().clone(), media_type(&mut reader).await.0)
        }
        by_name => (file, by_name),
    };
    let mut headers = described(&file, media_type);
    headers.insert(CONTENT_LENGTH, file.size.into());
    Ok((StatusCode::OK, headers).into_response())
}

/// What a file is: by its name, or by its first bytes, which are then no more to be read. Where they
/// cannot be had, it is bytes.
async fn media_type(reader: &mut Reader) -> (&'static str, Bytes) {
    match reader.file().media_type {
        UNKNOWN => {
            let start = reader.read(SNIFF_BYTES).await.unwrap_or_default();
            (sniff(&start), start)
        }
        by_name => (by_name, Bytes::new()),
    }
}

fn beyond(file: &File) -> Problem {
    let detail = format!("the file has {} bytes, and that range none of them", file.size);
    Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "range", detail)
        .with(CONTENT_RANGE, text(&format!("bytes */{}", file.size)))
}

fn not_modified(file: &File) -> Response {
    (StatusCode::NOT_MODIFIED, identified(file)).into_response()
}

/// Which content it is.
fn identified(file: &File) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(tag) = tag(&file.revision) {
        headers.insert(ETAG, tag);
    }
    headers.insert(LAST_MODIFIED, text(&httpdate::fmt_http_date(modified(file))));
    headers
}

fn described(file: &File, media_type: &str) -> HeaderMap {
    let mut headers = identified(file);
    let name = file.path.rsplit('/').next().unwrap_or_default();
    describe(&mut headers, name, media_type);
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers
}

/// As [`pieces`], where what the file starts with has been read.
fn pieces_after(
    start: Bytes,
    reader: Reader,
    range: Range<u64>,
) -> impl Stream<Item = Result<Bytes, Error>> + Send {
    let within = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(start.len());
    let first = start.slice(within(range.start)..within(range.end));
    let rest = range.start + first.len() as u64..range.end;
    let first = (!first.is_empty()).then_some(Ok(first));
    stream::iter(first).chain(pieces(reader, rest))
}

/// Bytes of a range, piece by piece, as they are asked for. A failure on the way breaks the
/// answer off, which its length then tells.
pub(super) fn pieces(
    mut reader: Reader,
    range: Range<u64>,
) -> impl Stream<Item = Result<Bytes, Error>> + Send {
    reader.seek(range.start);
    try_unfold((reader, range), |(mut reader, range)| async move {
        if range.start >= range.end {
            return Ok(None);
        }
        let length = (range.end - range.start).min(u64::from(BODY_PIECE_BYTES));
        let bytes = reader.read(u32::try_from(length).unwrap_or(BODY_PIECE_BYTES)).await?;
        let next = range.start + bytes.len() as u64;
        Ok(Some((bytes, (reader, next..range.end))))
    })
}

/// Digits and ASCII words are legal in a field.
fn text(value: &str) -> HeaderValue {
    HeaderValue::from_str(value).unwrap_or(HeaderValue::from_static(""))
}
