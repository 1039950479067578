//! People's files: what is in a session, an agent, a workspace.

use axum::Json as Answer;
use axum::http::header::ETAG;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::gate::{Files, InSession, Place, Way};
use super::http::conditions::{Change, Conditions};
use super::http::input::{FilePath, Incoming, Json, Options};
use super::http::tags::tag;
use super::problem::Problem;
use crate::limits::{PAGE_FILES_MAX, WRITE_BYTES_MAX};
use crate::scope::Access;
use crate::space::{File, Spilled};
use crate::store::Depth;

mod archive;
mod download;

pub(super) use archive::archive;
pub(super) use download::{answer, get, head};

/// Which files to list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListOptions {
    /// Empty for all scopes.
    #[serde(default)]
    folder: String,
    #[serde(default)]
    depth: DepthOption,
    cursor: Option<String>,
    limit: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DepthOption {
    #[default]
    Children,
    All,
}

/// `GET …/files`
pub(super) async fn list<P: Place>(
    files: Files<P>,
    Options(options): Options<ListOptions>,
) -> Result<Answer<Value>, Problem> {
    let ListOptions { folder, depth, cursor, limit } = options;
    let depth = match depth {
        DepthOption::Children => Depth::Children,
        DepthOption::All => Depth::All,
    };
    let limit = limit.unwrap_or(PAGE_FILES_MAX);
    let page = files.list(&folder, depth, cursor.as_deref(), limit).await?;
    let scopes = files
        .scopes()
        .into_iter()
        .map(|(scope, access)| json!({ "scope": scope, "writable": access == Access::ReadWrite }));
    Ok(Answer(json!({
        "files": page.files.iter().map(as_json).collect::<Vec<_>>(),
        "folders": page.folders,
        "next": page.next,
        "scopes": scopes.collect::<Vec<_>>(),
    })))
}

/// `PUT …/files/{path}`
pub(super) async fn put<P: Place>(
    files: Files<P>,
    FilePath(path): FilePath,
    conditions: Conditions,
    mut body: Incoming,
) -> Result<Response, Problem> {
    let Change { when, was_there } = conditions.on_change(&files, &path).await?;
    let mut upload = files.upload(&path, when).await?;
    while let Some(bytes) = body.next().await? {
        upload.write(bytes).await?;
    }
    let file = upload.finish().await.map_err(|problem| as_asked(problem, &conditions))?;
    Ok(changed(&file, was_there))
}

/// `DELETE …/files/{path}`
pub(super) async fn delete<P: Place>(
    files: Files<P>,
    FilePath(path): FilePath,
    conditions: Conditions,
) -> Result<StatusCode, Problem> {
    let Change { when, .. } = conditions.on_change(&files, &path).await?;
    let deleted = files.delete(&path, when).await;
    deleted.map_err(|problem| as_asked(problem, &conditions))?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST …/copy`; conditions are about the target.
pub(super) async fn copy<P: Place>(
    files: Files<P>,
    conditions: Conditions,
    Json(way): Json<Way>,
) -> Result<Response, Problem> {
    let Change { when, was_there } = conditions.on_change(&files, &way.to).await?;
    let file = files.copy(way, when).await;
    Ok(changed(&file.map_err(|problem| as_asked(problem, &conditions))?, was_there))
}

/// `POST …/move`; conditions are about the target.
pub(super) async fn relocate<P: Place>(
    files: Files<P>,
    conditions: Conditions,
    Json(way): Json<Way>,
) -> Result<Response, Problem> {
    let Change { when, was_there } = conditions.on_change(&files, &way.to).await?;
    let file = files.relocate(way, when).await;
    Ok(changed(&file.map_err(|problem| as_asked(problem, &conditions))?, was_there))
}

/// What a result is called.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SpillOptions {
    name: String,
}

/// `POST …/spill`
pub(super) async fn spill(
    files: Files<InSession>,
    Options(SpillOptions { name }): Options<SpillOptions>,
    body: Incoming,
) -> Result<Answer<Value>, Problem> {
    let _place = files.place_for_spill()?;
    let bytes = body.whole(WRITE_BYTES_MAX).await?;
    let Spilled { text, path, size } = files.spill(name, bytes).await?;
    Ok(Answer(json!({ "text": text, "path": path, "size": size })))
}

/// A conflict with what the request asked for is a condition that does not hold.
fn as_asked(problem: Problem, conditions: &Conditions) -> Problem {
    if problem.status == StatusCode::CONFLICT && conditions.has_tags() {
        return Problem::precondition();
    }
    problem
}

/// The answer to a change: the file as it is now.
fn changed(file: &File, was_there: bool) -> Response {
    let status = if was_there { StatusCode::OK } else { StatusCode::CREATED };
    let mut headers = HeaderMap::new();
    if let Some(tag) = tag(&file.revision) {
        headers.insert(ETAG, tag);
    }
    (status, headers, Answer(as_json(file))).into_response()
}

pub(super) fn as_json(file: &File) -> Value {
    json!({
        "path": file.path,
        "size": file.size,
        "revision": file.revision.0,
        "modified_ms": file.modified_ms,
        "media_type": file.media_type,
    })
}
