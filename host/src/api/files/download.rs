use std::ops::Range;

use axum::body::Body;
use axum::http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, ETAG, LAST_MODIFIED};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream::{Stream, try_unfold};

use crate::api::gate::{Files, Place};
use crate::api::http::conditions::{Conditions, Reading, modified};
use crate::api::http::disposition::describe;
use crate::api::http::input::FilePath;
use crate::api::http::range::{Asked, asked};
use crate::api::http::tags::tag;
use crate::api::problem::Problem;
use crate::limits::BODY_PIECE_BYTES;
use crate::space::{Error, File, Reader};

/// `GET …/files/{path}`
pub(in crate::api) async fn get<P: Place>(
    files: Files<P>,
    FilePath(path): FilePath,
    conditions: Conditions,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    answer(files.open(&path).await?, &conditions, &headers)
}

/// A file that was opened, or a range of it, or that its reader has it already.
pub(in crate::api) fn answer(
    reader: Reader,
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
    Ok(match asked {
        Asked::Whole => sent(StatusCode::OK, described(&file), reader, 0..file.size),
        Asked::Part(range) => {
            let mut headers = described(&file);
            let shown = format!("bytes {}-{}/{}", range.start, range.end - 1, file.size);
            headers.insert(CONTENT_RANGE, text(&shown));
            sent(StatusCode::PARTIAL_CONTENT, headers, reader, range)
        }
        Asked::Beyond => return Err(beyond(&file)),
    })
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
    let mut headers = described(&file);
    headers.insert(CONTENT_LENGTH, file.size.into());
    Ok((StatusCode::OK, headers).into_response())
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

fn described(file: &File) -> HeaderMap {
    let mut headers = identified(file);
    let name = file.path.rsplit('/').next().unwrap_or_default();
    describe(&mut headers, name, file.media_type);
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers
}

fn sent(status: StatusCode, mut headers: HeaderMap, reader: Reader, range: Range<u64>) -> Response {
    headers.insert(CONTENT_LENGTH, (range.end - range.start).into());
    (status, headers, Body::from_stream(pieces(reader, range))).into_response()
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
