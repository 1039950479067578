//! Skills: packages of files in versions, published into a workspace and given to its agents.

use axum::Json as Answer;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::files::answer;
use super::gate::{
    Administering, Browsing, Desk, OfAgent, OfDeployment, OfWorkspace, Publishing, Seeing,
};
use super::http::conditions::Conditions;
use super::http::input::{Incoming, Json, Options, SkillPart, VersionFile, VersionPart};
use super::http::multipart::{Part, Parts};
use super::places::{bounded, page};
use super::problem::Problem;
use crate::catalog::{Bind, Binding, Made, Page, SkillOf, SkillVersion};
use crate::limits::{SKILL_BODY_BYTES_MAX, SKILL_FILE_BYTES_MAX};
use crate::scope::{Skill, Slug, WorkspaceId};
use crate::skills::PublishError;
use crate::space::Error;

/// Whose skill is meant.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Of {
    #[default]
    Workspace,
    Platform,
}

impl From<Of> for SkillOf {
    fn from(of: Of) -> Self {
        match of {
            Of::Workspace => Self::Workspace,
            Of::Platform => Self::Platform,
        }
    }
}

/// Which skills to list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListOptions {
    #[serde(default)]
    of: Of,
    after: Option<String>,
    limit: Option<u32>,
}

/// `GET /v1/workspaces/{workspace}/skills`
pub(super) async fn list(
    desk: Desk<OfWorkspace, Browsing>,
    Options(ListOptions { of, after, limit }): Options<ListOptions>,
) -> Result<Answer<Value>, Problem> {
    let (limit, after) = (bounded(limit)?, after.as_deref().map(slug).transpose()?);
    let skills = desk.skills(of.into(), Page::after_slug(after.as_ref(), limit)).await?;
    Ok(page(&skills, limit, |it| it.slug.clone(), as_json))
}

/// Which versions to list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VersionsOptions {
    /// The number of the last one that was seen.
    before: Option<u64>,
    limit: Option<u32>,
}

/// `GET /v1/workspaces/{workspace}/skills/{skill}/versions`
pub(super) async fn versions(
    desk: Desk<OfWorkspace, Browsing>,
    SkillPart(called): SkillPart,
    Options(VersionsOptions { before, limit }): Options<VersionsOptions>,
) -> Result<Answer<Value>, Problem> {
    let limit = bounded(limit)?;
    let versions = desk.versions(&slug(&called)?, before, limit).await?;
    Ok(page(&versions, limit, |it| it.number, as_json))
}

/// `PUT /v1/workspaces/{workspace}/skills/{skill}/versions`
pub(super) async fn publish(
    desk: Desk<OfWorkspace, Publishing>,
    SkillPart(called): SkillPart,
    headers: HeaderMap,
    body: Incoming,
) -> Result<Response, Problem> {
    let slug = slug(&called)?;
    let _place = desk.place_for_version()?;
    let mut parts = Parts::new(&headers, body, SKILL_FILE_BYTES_MAX, SKILL_BODY_BYTES_MAX)?;
    let mut publisher = desk.publisher();
    while let Some(Part { name, bytes }) = parts.next().await? {
        publisher.add(name, bytes).await?;
    }
    Ok(match publisher.finish(&slug).await? {
        Made::New(version) => (StatusCode::CREATED, Answer(as_json(&version))),
        // These files are no new version.
        Made::Found(version) => (StatusCode::OK, Answer(as_json(&version))),
    }
    .into_response())
}

/// `GET /v1/workspaces/{workspace}/skills/{skill}/versions/{version}`
pub(super) async fn show(
    desk: Desk<OfWorkspace, Browsing>,
    SkillPart(called): SkillPart,
    VersionPart(number): VersionPart,
) -> Result<Answer<Value>, Problem> {
    let (version, skill) = desk.version(&slug(&called)?, whole(&number)?).await?;
    let mut shown = as_json(&version);
    shown["contents"] = contents(&skill);
    Ok(Answer(shown))
}

/// `GET /v1/workspaces/{workspace}/skills/{skill}/versions/{version}/files/{path}`
pub(super) async fn read(
    desk: Desk<OfWorkspace, Browsing>,
    file: VersionFile,
    conditions: Conditions,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let VersionFile { skill, version, path } = file;
    let reader = desk.open(&slug(&skill)?, whole(&version)?, &path).await?;
    answer(reader, &conditions, &headers).await
}

/// `DELETE /v1/workspaces/{workspace}/skills/{skill}`
pub(super) async fn remove(
    desk: Desk<OfWorkspace, Publishing>,
    SkillPart(called): SkillPart,
) -> Result<StatusCode, Problem> {
    desk.remove(&slug(&called)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /v1/agents/{agent}/skills`
pub(super) async fn bindings(desk: Desk<OfAgent, Seeing>) -> Result<Answer<Value>, Problem> {
    let bindings = desk.bindings().await?;
    let shown = |Binding { slug, of, version, sent }: &Binding| json!({ "slug": slug, "of": of.as_str(), "version": version, "sent": sent });
    Ok(Answer(json!({ "items": bindings.iter().map(shown).collect::<Vec<_>>() })))
}

/// How an agent is given a skill.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Giving {
    #[serde(default)]
    of: Of,
    /// Without one, the newest there is when a turn is queued.
    version: Option<u64>,
}

/// `PUT /v1/agents/{agent}/skills/{skill}`
pub(super) async fn bind(
    desk: Desk<OfAgent, Administering>,
    SkillPart(called): SkillPart,
    Json(Giving { of, version }): Json<Giving>,
) -> Result<StatusCode, Problem> {
    let slug = &slug(&called)?;
    desk.bind(Bind { slug, of: of.into(), version }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which of two skills with one slug.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TakingOptions {
    #[serde(default)]
    of: Of,
}

/// `DELETE /v1/agents/{agent}/skills/{skill}`
pub(super) async fn unbind(
    desk: Desk<OfAgent, Administering>,
    SkillPart(called): SkillPart,
    Options(TakingOptions { of }): Options<TakingOptions>,
) -> Result<StatusCode, Problem> {
    desk.unbind(&slug(&called)?, of.into()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /v1/platform-workspace`
pub(super) async fn platform(
    desk: Desk<OfDeployment, Administering>,
) -> Result<Answer<Value>, Problem> {
    let workspace = desk.platform().await?.map(|workspace| workspace.0);
    Ok(Answer(json!({ "workspace": workspace })))
}

/// Whose skills all agents may be given.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Platform {
    // What is left out is not taken for nobody.
    #[serde(deserialize_with = "Option::deserialize")]
    workspace: Option<Uuid>,
}

/// `PUT /v1/platform-workspace`
pub(super) async fn set_platform(
    desk: Desk<OfDeployment, Administering>,
    Json(Platform { workspace }): Json<Platform>,
) -> Result<StatusCode, Problem> {
    desk.set_platform(workspace.map(WorkspaceId)).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn slug(text: &str) -> Result<Slug, Problem> {
    Ok(text.parse().map_err(Error::from)?)
}

/// A number as it is written everywhere: without a sign or zeros before it.
fn whole(text: &str) -> Result<u64, Problem> {
    let number = text.parse().ok().filter(|number: &u64| number.to_string() == text);
    number.ok_or_else(|| Problem::bad_request("version", "a version is a whole number from 1 on"))
}

fn as_json(version: &SkillVersion) -> Value {
    json!({
        "slug": version.slug,
        "version": version.number,
        "description": version.description,
        "files": version.files,
        "size": version.size,
        "created_ms": version.created_ms,
    })
}

fn contents(skill: &Skill) -> Value {
    let files = skill.files().iter();
    let file = files.map(|(path, file)| {
        json!({ "path": path, "size": file.size, "sha256": file.sha256.to_string() })
    });
    file.collect()
}

impl From<PublishError> for Problem {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::Unfit(sentence) => Self::unfit(sentence),
            PublishError::TooLarge(sentence) => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", sentence)
            }
            PublishError::Storage(error) => error.into(),
            PublishError::Catalog(error) => error.into(),
        }
    }
}
