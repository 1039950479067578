//! The gate: from a request to what it may do, and the only way there.
//!
//! What a handler is given first says what it needs ([`Door::NEEDS`]); taking it out of a
//! request checks the token, finds the thing that the path names, and holds one against the
//! other, before the body is looked at. A handler gets no catalog and no storage but in that
//! value; one that is given none of them cannot be put into the router.

use std::fmt;
use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use tokio::sync::{Notify, Semaphore, watch};
use uuid::Uuid;

use super::authority::{Authorities, Authority};
use super::metrics::Metrics;
use super::problem::Problem;
use super::token::{Caller, TokenError, Verifier};
use super::traces;
use crate::catalog::{Catalog, CatalogError, ErasureId, Label, LabelError};
use crate::engine::Engine;
use crate::limits::{
    HOST_ARCHIVES_MAX, HOST_COMPONENT_UPLOADS_MAX, HOST_PUBLISHES_MAX, HOST_SPILLS_MAX,
};
use crate::scope::{AgentId, SessionId, WorkspaceId};
use crate::space::Storage;

mod collecting;
mod components;
mod conversation;
mod desks;
mod erasures;
mod files;
mod find;
mod guidance;
mod health;
mod receipts;
mod retention;
mod skills;
mod sweeping;

pub(super) use conversation::{Conversation, Follower, Reading, Talking};
pub(super) use desks::{
    Administering, Attending, Desk, Hosting, OfAgent, OfDeployment, OfSession, OfWorkspace, Owner,
    Seeing,
};
pub(super) use erasures::{Erasures, OneErasure};
pub(super) use files::{Files, InAgent, InSession, InWorkspace, Place, Way};
pub(super) use health::{Health, Ready};
pub(super) use receipts::Auditing;
pub(super) use retention::{Foreseeing, Foreseer, Holding};
pub(super) use skills::{Browsing, Publishing};

use find::Found;
use health::Known;

/// What all requests share. Only this module sees what is in it.
#[derive(Clone, Debug)]
pub(super) struct Host(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    catalog: Catalog,
    storage: Arc<Storage>,
    /// Looks at components, and runs none here.
    engine: Engine,
    verifier: Verifier,
    archives: Arc<Semaphore>,
    followers: Arc<Semaphore>,
    uploads: Arc<Semaphore>,
    publishes: Arc<Semaphore>,
    spills: Arc<Semaphore>,
    metrics: Metrics,
    known: Known,
    /// Told when something was deleted here.
    deleted: Notify,
    /// Told when an erasure was asked for here.
    erasing: Notify,
    /// Whether the server comes to its end: who follows what happens does not hold it up.
    closing: watch::Sender<bool>,
}

impl Host {
    pub(super) fn new(
        catalog: Catalog,
        storage: Arc<Storage>,
        engine: Engine,
        verifier: Verifier,
        metrics: Metrics,
    ) -> Self {
        let room = |places: usize| Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS)));
        let (archives, spills) = (room(HOST_ARCHIVES_MAX), room(HOST_SPILLS_MAX));
        let followers = room(storage.limits().host_followers_max);
        Self(Arc::new(Shared {
            catalog,
            storage,
            engine,
            verifier,
            archives,
            followers,
            uploads: room(HOST_COMPONENT_UPLOADS_MAX),
            publishes: room(HOST_PUBLISHES_MAX),
            spills,
            metrics,
            known: Known::default(),
            deleted: Notify::new(),
            erasing: Notify::new(),
            closing: watch::Sender::new(false),
        }))
    }

    /// Lets go of those who wait for what happens.
    pub(super) fn close(&self) {
        self.0.closing.send_replace(true);
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }
}

/// What a route needs of whoever calls it: data, which the table of routes shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// What kind of thing the path names: it must be the token's to reach.
    pub on: On,
    /// What must be allowed there.
    pub right: Right,
}

/// What kind of thing a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// Nothing that belongs to anybody.
    Nothing,
    /// The deployment as a whole: for a token of no workspace.
    Deployment,
    /// One workspace: for a token that is not narrowed to agents.
    Workspace,
    /// One agent.
    Agent,
    /// One session.
    Session,
    /// One erasure, of a workspace that may be gone: for a token of that workspace.
    Erasure,
}

/// What must be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Nothing: there is nothing to protect.
    Anyone,
    /// To be a participant of the session. What more may be done there, its grants and the
    /// token's authorities say together.
    Participant,
    /// To be that, or one of these authorities.
    ParticipantOr(&'static [Authority]),
    /// One of these authorities.
    AnyOf(&'static [Authority]),
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let participant = match self.right {
            Right::Anyone => return f.write_str("nothing"),
            Right::Participant | Right::ParticipantOr(_) => Some("to take part in the session"),
            Right::AnyOf(_) => None,
        };
        let authorities = self.right.authorities().iter().map(|authority| authority.as_str());
        let ways: Vec<_> = participant.into_iter().chain(authorities).collect();
        f.write_str(&ways.join(" or "))?;
        match self.on {
            On::Deployment => f.write_str(", without a workspace"),
            _ => Ok(()),
        }
    }
}

impl Right {
    /// The authorities of which one is enough.
    pub fn authorities(self) -> &'static [Authority] {
        match self {
            Self::Anyone | Self::Participant => &[],
            Self::ParticipantOr(wanted) | Self::AnyOf(wanted) => wanted,
        }
    }
}

/// What a handler can be given first.
pub(super) trait Door: FromRequestParts<Host, Rejection = Problem> {
    /// What taking it out of a request checks.
    const NEEDS: Needs;
}

/// For what everybody may see.
#[derive(Debug)]
pub(super) struct Anyone;

impl Door for Anyone {
    const NEEDS: Needs = Needs { on: On::Nothing, right: Right::Anyone };
}

impl<S: Send + Sync> FromRequestParts<S> for Anyone {
    type Rejection = Problem;

    async fn from_request_parts(_: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self)
    }
}

/// A caller who may do what was asked, and where.
#[derive(Debug)]
struct Admitted {
    caller: Caller,
    found: Found,
}

impl Host {
    /// Whether a request may go on: the one place that decides.
    async fn admit(&self, parts: &mut Parts, needs: Needs) -> Result<Admitted, Problem> {
        let caller = self.caller(parts).await?;
        let Some(found) = self.find(parts, needs.on).await? else {
            return Err(self.absent(parts, &caller, needs).await?);
        };
        if !reaches(&caller, needs, &found) {
            return Err(Problem::nothing_here());
        }
        match self.allows(&caller, found, needs.right).await? {
            true => {
                traces::about(found.workspace(), found.agent(), found.session());
                Ok(Admitted { caller, found })
            }
            false => Err(Problem::nothing_here()),
        }
    }

    /// What somebody is told of something that is not there: that it goes, as long as it does and if
    /// he would be admitted.
    async fn absent(
        &self,
        parts: &mut Parts,
        caller: &Caller,
        needs: Needs,
    ) -> Result<Problem, Problem> {
        let swept = match (needs.on, id(parts, "session").await) {
            (On::Session, Some(id)) => find::swept(&self.0.catalog, SessionId(id)).await?,
            _ => None,
        };
        match swept.filter(|found| reaches(caller, needs, found)) {
            Some(found) if self.allows(caller, found, needs.right).await? => {
                Ok(CatalogError::Swept.into())
            }
            _ => Ok(Problem::nothing_here()),
        }
    }

    /// Whether somebody who was admitted may still go on: what takes long asks now and then.
    async fn admits_still(
        &self,
        caller: &Caller,
        found: Found,
        needs: Needs,
    ) -> Result<(), Problem> {
        self.check_current(caller).await?;
        let is_there = found.is_still_there(&self.0.catalog).await?;
        match is_there && self.allows(caller, found, needs.right).await? {
            true => Ok(()),
            false => Err(Problem::nothing_here()),
        }
    }

    async fn allows(&self, caller: &Caller, found: Found, right: Right) -> Result<bool, Problem> {
        let has_any = |wanted| authorities(caller).has_any(wanted);
        match right {
            Right::Anyone => Ok(true),
            Right::AnyOf(wanted) => Ok(has_any(wanted)),
            Right::ParticipantOr(wanted) if has_any(wanted) => Ok(true),
            Right::Participant | Right::ParticipantOr(_) => self.attends(caller, found).await,
        }
    }

    /// Whether a token that was valid is so now.
    async fn check_current(&self, caller: &Caller) -> Result<(), Problem> {
        let refused = |error| Err(Problem::unauthorized(Some(error)));
        if self.0.verifier.has_expired(caller) {
            return refused(TokenError::Expired);
        }
        let revocation = revocation(caller.workspace, &caller.token_id)?;
        match self.0.catalog.is_revoked(&revocation).await? {
            true => refused(TokenError::Revoked),
            false => Ok(()),
        }
    }

    async fn attends(&self, caller: &Caller, found: Found) -> Result<bool, Problem> {
        let Found::Session { session, .. } = found else { return Ok(false) };
        Ok(self.0.catalog.is_participant(session, &label(&caller.subject)?).await?)
    }

    async fn caller(&self, parts: &Parts) -> Result<Caller, Problem> {
        let mut values = parts.headers.get_all(AUTHORIZATION).iter();
        let value = values.next().ok_or_else(|| Problem::unauthorized(None))?;
        let refused = |error| Problem::unauthorized(Some(error));
        let token = value.to_str().ok().and_then(bearer).filter(|_| values.next().is_none());
        let token = token.ok_or_else(|| refused(TokenError::Refused))?;
        let caller = self.0.verifier.verify(token).map_err(refused)?;
        self.check_current(&caller).await?;
        Ok(caller)
    }

    async fn find(&self, parts: &mut Parts, on: On) -> Result<Option<Found>, Problem> {
        let catalog = &self.0.catalog;
        Ok(match on {
            On::Nothing | On::Deployment => Some(Found::Deployment),
            On::Workspace => match id(parts, "workspace").await {
                Some(id) => find::workspace(catalog, WorkspaceId(id)).await?,
                None => None,
            },
            On::Agent => match id(parts, "agent").await {
                Some(id) => find::agent(catalog, AgentId(id)).await?,
                None => None,
            },
            On::Session => match id(parts, "session").await {
                Some(id) => find::session(catalog, SessionId(id)).await?,
                None => None,
            },
            On::Erasure => match (id(parts, "workspace").await, id(parts, "erasure").await) {
                (Some(workspace), Some(id)) => {
                    find::erased(catalog, WorkspaceId(workspace), ErasureId(id)).await?
                }
                _ => None,
            },
        })
    }
}

/// What others call something of theirs, if it is within its bounds.
pub(super) fn label(text: &str) -> Result<Label, Problem> {
    text.parse().map_err(|error: LabelError| Problem::bad_request("label", error.to_string()))
}

/// What a token is revoked by: its id, in whoever's workspace it is. Who administers one
/// workspace revokes nothing of another.
fn revocation(workspace: Option<WorkspaceId>, token_id: &str) -> Result<Label, Problem> {
    label(&match workspace {
        Some(workspace) => format!("{workspace}/{token_id}"),
        None => format!("/{token_id}"),
    })
}

/// What is after `Bearer`, in any case of its letters.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start_matches(' '))
}

async fn id(parts: &mut Parts, name: &str) -> Option<Uuid> {
    let id = parameter(parts, name).await?;
    // One spelling, the one that the host writes.
    let parsed = Uuid::try_parse(&id).ok()?;
    (parsed.as_hyphenated().to_string() == id).then_some(parsed)
}

/// A part of the path, decoded once.
pub(super) async fn parameter(parts: &mut Parts, name: &str) -> Option<String> {
    let parameters = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}

/// Whether a thing is the token's to reach at all, whatever it may do there.
fn reaches(caller: &Caller, needs: Needs, found: &Found) -> bool {
    if needs.on == On::Nothing {
        return true;
    }
    let is_within = match &caller.agents {
        Some(agents) => found.agent().is_some_and(|agent| agents.contains(&agent)),
        None => true,
    };
    let is_own = match caller.workspace {
        Some(workspace) => found.workspace() == Some(workspace),
        // The deployment's own administration reaches what administration there is.
        None => {
            let admin = Authority::Admin;
            caller.authorities.has(admin) && needs.right.authorities().contains(&admin)
        }
    };
    is_within && is_own
}

/// What a caller may: without a workspace, no more than to administer.
fn authorities(caller: &Caller) -> Authorities {
    match caller.workspace {
        Some(_) => caller.authorities,
        None => {
            let admin = Some(Authority::Admin).filter(|admin| caller.authorities.has(*admin));
            admin.into_iter().collect()
        }
    }
}
