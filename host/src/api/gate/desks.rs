//! What a caller may do with the things that files hang from: workspaces, agents, sessions, and
//! what is set and kept for them.

use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde_json::Value;

use super::find::Found;
use super::{Admitted, Door, Host, Needs, On, Right, label, revocation};
use crate::api::authority::Authority;
use crate::api::problem::Problem;
use crate::catalog::{
    AgentRecord, Label, Made, Name, Page, Place, Reason, Removable, Removal, SessionPlace,
    SessionRecord, SettingsOf, WorkspaceRecord,
};
use crate::scope::{AgentId, SessionId, WorkspaceId};
use crate::settings::{Effective, Settings};

/// What is to be done.
pub(in crate::api) trait Wanted: Send + Sync + 'static {
    const RIGHT: Right;
}

/// To see what there is.
#[derive(Debug)]
pub(in crate::api) enum Seeing {}

/// To see a conversation: for who is in it as well.
#[derive(Debug)]
pub(in crate::api) enum Attending {}

/// To change conversations.
#[derive(Debug)]
pub(in crate::api) enum Hosting {}

/// To change what conversations hang from.
#[derive(Debug)]
pub(in crate::api) enum Administering {}

impl Wanted for Seeing {
    const RIGHT: Right = Right::AnyOf(&[Authority::SessionsRead, Authority::Admin]);
}

impl Wanted for Attending {
    const RIGHT: Right = Right::ParticipantOr(&[Authority::SessionsRead, Authority::Admin]);
}

impl Wanted for Hosting {
    const RIGHT: Right = Right::AnyOf(&[Authority::SessionsWrite, Authority::Admin]);
}

impl Wanted for Administering {
    const RIGHT: Right = Right::AnyOf(&[Authority::Admin]);
}

/// A desk of the deployment's.
#[derive(Debug)]
pub(in crate::api) struct OfDeployment;

/// One of a workspace's.
#[derive(Debug)]
pub(in crate::api) struct OfWorkspace(pub(super) WorkspaceId);

/// One of an agent's.
#[derive(Debug)]
pub(in crate::api) struct OfAgent(pub(super) AgentId);

/// One of a session's.
#[derive(Debug)]
pub(in crate::api) struct OfSession(pub(super) SessionId);

/// Whose desk it is.
pub(in crate::api) trait Owner: Sized + Send + Sync + 'static {
    const ON: On;

    fn of(found: Found) -> Option<Self>;
}

impl Owner for OfDeployment {
    const ON: On = On::Deployment;

    fn of(found: Found) -> Option<Self> {
        matches!(found, Found::Deployment).then_some(Self)
    }
}

impl Owner for OfWorkspace {
    const ON: On = On::Workspace;

    fn of(found: Found) -> Option<Self> {
        match found {
            Found::Workspace { workspace } => Some(Self(workspace)),
            _ => None,
        }
    }
}

impl Owner for OfAgent {
    const ON: On = On::Agent;

    fn of(found: Found) -> Option<Self> {
        match found {
            Found::Agent { agent, .. } => Some(Self(agent)),
            _ => None,
        }
    }
}

impl Owner for OfSession {
    const ON: On = On::Session;

    fn of(found: Found) -> Option<Self> {
        match found {
            Found::Session { session, .. } => Some(Self(session)),
            _ => None,
        }
    }
}

/// What a caller may do with one thing, or all of them: what `W` says, and no more.
#[derive(Debug)]
pub(in crate::api) struct Desk<O, W> {
    pub(super) host: Host,
    found: Found,
    /// Who asks.
    by: Label,
    pub(super) owner: O,
    wanted: PhantomData<W>,
}

impl<O: Owner, W: Wanted> Door for Desk<O, W> {
    const NEEDS: Needs = Needs { on: O::ON, right: W::RIGHT };
}

impl<O: Owner, W: Wanted> FromRequestParts<Host> for Desk<O, W> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, host: &Host) -> Result<Self, Problem> {
        let Admitted { caller, found } = host.admit(parts, Self::NEEDS).await?;
        let owner = O::of(found).ok_or_else(Problem::nothing_here)?;
        let by = label(&caller.subject)?;
        Ok(Self { host: host.clone(), found, by, owner, wanted: PhantomData })
    }
}

impl Desk<OfDeployment, Administering> {
    pub(in crate::api) async fn workspaces(
        &self,
        page: Page<'_>,
    ) -> Result<Vec<Place<WorkspaceId>>, Problem> {
        Ok(self.host.0.catalog.workspaces(page).await?)
    }

    pub(in crate::api) async fn make(&self, name: &Name) -> Result<Made<WorkspaceId>, Problem> {
        Ok(self.host.0.catalog.make_workspace(name).await?)
    }
}

impl<W: Wanted> Desk<OfWorkspace, W> {
    pub(in crate::api) async fn record(&self) -> Result<WorkspaceRecord, Problem> {
        let record = self.host.0.catalog.workspace_by_id(self.owner.0).await?;
        record.ok_or_else(Problem::nothing_here)
    }

    pub(in crate::api) async fn agents(
        &self,
        page: Page<'_>,
    ) -> Result<Vec<Place<AgentId>>, Problem> {
        Ok(self.host.0.catalog.agents(self.owner.0, page).await?)
    }
}

impl Desk<OfWorkspace, Administering> {
    pub(in crate::api) async fn make(&self, name: &Name) -> Result<Made<AgentId>, Problem> {
        Ok(self.host.0.catalog.make_agent(self.owner.0, name).await?)
    }

    pub(in crate::api) async fn remove(&self) -> Result<(), Problem> {
        self.remove_as_asked(Removable::Workspace(self.owner.0)).await
    }
}

impl<W: Wanted> Desk<OfAgent, W> {
    pub(in crate::api) async fn record(&self) -> Result<AgentRecord, Problem> {
        let record = self.host.0.catalog.agent_by_id(self.owner.0).await?;
        record.ok_or_else(Problem::nothing_here)
    }

    pub(in crate::api) async fn sessions(
        &self,
        page: Page<'_>,
    ) -> Result<Vec<SessionPlace>, Problem> {
        Ok(self.host.0.catalog.sessions(self.owner.0, None, page).await?)
    }
}

impl Desk<OfAgent, Administering> {
    pub(in crate::api) async fn remove(&self) -> Result<(), Problem> {
        self.remove_as_asked(Removable::Agent(self.owner.0)).await
    }
}

impl Desk<OfAgent, Hosting> {
    /// Makes a session, or finds the one of that name, and takes these subjects into it.
    pub(in crate::api) async fn make(
        &self,
        name: &Name,
        participants: &[String],
    ) -> Result<Made<SessionId>, Problem> {
        let catalog = &self.host.0.catalog;
        let labels = participants.iter().map(|it| label(it)).collect::<Result<Vec<_>, _>>()?;
        let made = catalog.open_session(self.owner.0, name, &self.by).await?;
        for subject in &labels {
            catalog.add_participant(made.id(), subject).await?;
        }
        Ok(made)
    }
}

impl<W: Wanted> Desk<OfSession, W> {
    pub(in crate::api) async fn record(&self) -> Result<SessionRecord, Problem> {
        let record = self.host.0.catalog.session_by_id(self.owner.0).await?;
        record.ok_or_else(Problem::nothing_here)
    }

    pub(in crate::api) async fn participants(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<String>, Problem> {
        let after = after.map(label).transpose()?;
        Ok(self.host.0.catalog.participants(self.owner.0, after.as_ref(), limit).await?)
    }
}

impl Desk<OfSession, Hosting> {
    pub(in crate::api) async fn remove(&self) -> Result<(), Problem> {
        self.remove_as_asked(Removable::Session(self.owner.0)).await
    }

    pub(in crate::api) async fn take_in(&self, subject: &str) -> Result<(), Problem> {
        Ok(self.host.0.catalog.add_participant(self.owner.0, &label(subject)?).await?)
    }

    pub(in crate::api) async fn take_out(&self, subject: &str) -> Result<(), Problem> {
        Ok(self.host.0.catalog.remove_participant(self.owner.0, &label(subject)?).await?)
    }
}

impl<O: Owner, W: Wanted> Desk<O, W> {
    async fn remove_as_asked(&self, what: Removable) -> Result<(), Problem> {
        let removal = Removal { why: Reason::Asked, by: Some(&self.by) };
        self.host.0.catalog.remove(what, removal).await?;
        self.host.0.deleted.notify_one();
        Ok(())
    }
}

impl<O: Owner> Desk<O, Administering> {
    /// What is said here, and what holds.
    pub(in crate::api) async fn settings(&self) -> Result<(Settings, Effective), Problem> {
        let kept = self.host.0.catalog.settings(self.settings_of()?).await?;
        let said = Settings::read(&kept.unwrap_or(Value::Null));
        Ok((said, self.host.effective(self.found).await?))
    }

    /// Puts what is said here in place of what was.
    pub(in crate::api) async fn set(&self, settings: &Settings) -> Result<(), Problem> {
        let of = self.settings_of()?;
        Ok(self.host.0.catalog.put_settings(of, &settings.to_json()).await?)
    }

    fn settings_of(&self) -> Result<SettingsOf, Problem> {
        match self.found {
            Found::Deployment => Ok(SettingsOf::Deployment),
            Found::Workspace { workspace } => Ok(SettingsOf::Workspace(workspace)),
            Found::Agent { agent, .. } => Ok(SettingsOf::Agent(agent)),
            // A session has none of its own.
            Found::Session { .. } => Err(Problem::nothing_here()),
        }
    }

    /// Takes a token back: one of the workspace's, or of the deployment's own administration.
    pub(in crate::api) async fn revoke(&self, token: &str, until_ms: u64) -> Result<(), Problem> {
        let token = revocation(self.found.workspace(), token)?;
        Ok(self.host.0.catalog.revoke_token(&token, until_ms).await?)
    }

    /// Lets a token that was revoked be accepted again, while it holds.
    pub(in crate::api) async fn accept(&self, token: &str) -> Result<(), Problem> {
        let token = revocation(self.found.workspace(), token)?;
        Ok(self.host.0.catalog.accept_token(&token).await?)
    }
}
