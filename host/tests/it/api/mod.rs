//! The HTTP door, with a real store and a real catalog behind it.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use bailiwick::api::authority::Authority;
use bailiwick::api::token::{Minted, SigningKey, TokenKeys, TokenOptions, Verifier, mint};
use bailiwick::api::{Api, Metrics};
use bailiwick::catalog::{Catalog, CatalogLocation, CatalogOptions, Label, Name, SettingsOf};
use bailiwick::clock::Clock;
use bailiwick::engine::{Engine, EngineOptions};
use bailiwick::limits::Limits;
use bailiwick::scope::{AgentId, Coordinates, SessionId, WorkspaceId};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt as _;
use uuid::Uuid;

use crate::space::{Ticks, World};

mod archives;
mod authorities;
mod busy;
mod documents;
mod erasures;
mod files;
mod operation;
mod places;
mod receipts;
mod retention;
pub(crate) mod skills;
mod sockets;
mod turns;

const SECRET: &[u8] = b"a secret of thirty-two bytes, at least";
const ISSUER: &str = "platform";
const AUDIENCE: &str = "bailiwick";

/// A host behind its HTTP door, and one conversation in it, in which `ann` takes part.
pub(crate) struct Door {
    pub(crate) world: World,
    pub(crate) catalog: Catalog,
    pub(crate) api: Api,
    pub(crate) router: Router,
    pub(crate) workspace: WorkspaceId,
    pub(crate) agent: AgentId,
    pub(crate) session: SessionId,
    _data: TempDir,
}

/// Whom a token speaks of.
#[derive(Clone, Debug)]
pub(crate) struct Who {
    pub(crate) subject: &'static str,
    pub(crate) workspace: Option<WorkspaceId>,
    pub(crate) authorities: Vec<Authority>,
    pub(crate) agents: Option<Vec<AgentId>>,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    pub(crate) fn field(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// What an answer may not tell apart: all of it but when it was made.
    pub(crate) fn all(&self) -> String {
        format!("{} {:?} {:?}", self.status, self.headers, self.body)
    }
}

impl Door {
    pub(crate) async fn new() -> Self {
        Self::over(World::new()).await
    }

    pub(crate) async fn over(world: World) -> Self {
        let data = tempfile::tempdir().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(Ticks::default());
        let location = CatalogLocation::File(data.path().join("catalog.sqlite"));
        let options = CatalogOptions { location: &location, store: "files", lease_ms: 1, clock };
        let catalog = Catalog::open(options).await.unwrap();
        let name = |name: &str| name.parse::<Name>().unwrap();
        let workspace = catalog.make_workspace(&name("acme")).await.unwrap().id();
        let agent = catalog.make_agent(workspace, &name("clerk")).await.unwrap().id();
        let session = catalog.make_session(agent, &name("monday")).await.unwrap().id();
        catalog.add_participant(session, &label("ann")).await.unwrap();
        let metrics = Metrics::new().unwrap();
        let engine = Engine::new(Limits::default(), EngineOptions::default()).unwrap();
        let storage = world.storage.clone();
        let api = Api::new(catalog.clone(), storage, engine, verifier(), metrics);
        let router = api.router();
        Self { world, catalog, api, router, workspace, agent, session, _data: data }
    }

    /// Somebody of the workspace with these authorities.
    pub(crate) fn who(&self, subject: &'static str, authorities: &[Authority]) -> Who {
        let (workspace, authorities) = (Some(self.workspace), authorities.to_vec());
        Who { subject, workspace, authorities, agents: None }
    }

    /// The participant, who may do all that there is with files.
    pub(crate) fn ann(&self) -> Who {
        self.who("ann", &[Authority::AgentFilesWrite, Authority::WorkspaceFilesWrite])
    }

    pub(crate) fn in_session(&self, below: &str) -> String {
        format!("/v1/agent-sessions/{}{below}", self.session)
    }

    pub(crate) fn in_agent(&self, below: &str) -> String {
        format!("/v1/agents/{}{below}", self.agent)
    }

    pub(crate) fn in_workspace(&self, below: &str) -> String {
        format!("/v1/workspaces/{}{below}", self.workspace)
    }

    /// Lets the agent change what the workspace shares.
    pub(crate) async fn open_workspace(&self) {
        self.set(Some("workspace_files"), "read-write").await;
    }

    pub(crate) async fn set(&self, name: Option<&str>, value: &str) {
        let settings = name
            .map_or(serde_json::json!({}), |name| serde_json::json!({ name: { "value": value } }));
        self.put_settings(&settings).await;
    }

    /// What the workspace says, past what the API would take.
    pub(crate) async fn put_settings(&self, settings: &Value) {
        let of = SettingsOf::Workspace(self.workspace);
        self.catalog.put_settings(of, settings).await.unwrap();
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        // A stream of events has no end.
        let is_endless =
            parts.headers.get("content-type").is_some_and(|it| it == "text/event-stream");
        let body = if is_endless { Body::from("endless") } else { body };
        let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    pub(crate) async fn ask(&self, who: &Who, method: Method, path: &str) -> Answer {
        self.send(request(who, method, path).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn get(&self, who: &Who, path: &str) -> Answer {
        self.ask(who, Method::GET, path).await
    }

    pub(crate) async fn put(&self, who: &Who, path: &str, body: impl Into<Body>) -> Answer {
        self.send(request(who, Method::PUT, path).body(body.into()).unwrap()).await
    }

    pub(crate) async fn post(&self, who: &Who, path: &str, body: &Value) -> Answer {
        let request = request(who, Method::POST, path).header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_string())).unwrap()).await
    }

    /// Another agent of the workspace, and a session of it in which `ann` takes part.
    pub(crate) async fn another(&self) -> Coordinates {
        let name = |name: &str| name.parse::<Name>().unwrap();
        let agent = self.catalog.make_agent(self.workspace, &name("other")).await.unwrap().id();
        let session = self.catalog.make_session(agent, &name("monday")).await.unwrap().id();
        self.catalog.add_participant(session, &label("ann")).await.unwrap();
        Coordinates { workspace: self.workspace, agent, session: Some(session) }
    }
}

pub(crate) fn request(who: &Who, method: Method, path: &str) -> axum::http::request::Builder {
    let token = token(who);
    Request::builder().method(method).uri(path).header("authorization", format!("Bearer {token}"))
}

pub(crate) fn token(who: &Who) -> String {
    let minted = Minted {
        issuer: ISSUER,
        audience: AUDIENCE,
        subject: who.subject,
        workspace: who.workspace,
        authorities: &who.authorities,
        agents: who.agents.as_deref(),
        id: who.subject,
        expires_s: 2_000_000_000,
    };
    mint(&minted, &SigningKey::secret(SECRET).unwrap()).unwrap()
}

pub(crate) fn verifier() -> Verifier {
    let keys = TokenKeys::secret(SECRET).unwrap();
    let (issuer, audience) = (ISSUER.to_owned(), AUDIENCE.to_owned());
    let options = TokenOptions { keys, issuer, audience, leeway_s: 0 };
    Verifier::new(options, Arc::new(Ticks::default()))
}

fn label(text: &str) -> Label {
    text.parse().unwrap()
}

pub(crate) fn nobodys() -> Uuid {
    Uuid::from_u128(0xdead)
}

impl Door {
    /// Revokes the token of a subject: tests name tokens so.
    pub(crate) async fn revoke(&self, id: &str) {
        let id = label(&format!("{}/{id}", self.workspace));
        self.catalog.revoke_token(&id, u64::MAX).await.unwrap();
    }
}
