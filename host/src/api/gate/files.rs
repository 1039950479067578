//! Files that a caller may see or change: a space, and what a door from outside a turn has to
//! do beside its verbs.

use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use bytes::Bytes;
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::find::Found;
use super::{Admitted, Door, Host, Needs, On, Right, authorities, label};
use crate::api::authority::{Authorities, Authority};
use crate::api::problem::Problem;
use crate::catalog::{Cascade, Promoter, SettingsOf};
use crate::receipts::Receipts;
use crate::scope::{Access, AgentId, Coordinates, Grant, GuestPath, MountTable, Scope, SkillTable};
use crate::settings::Effective;
use crate::space::{ErrorCode, File, Page, Reader, Space, Spilled, Terms, Writer};
use crate::store::{Depth, Precondition};

/// Whose files a path names.
pub(in crate::api) trait Place: Send + Sync + 'static {
    const NEEDS: Needs;
}

/// A session's, and what its turns reach.
#[derive(Debug)]
pub(in crate::api) enum InSession {}

/// An agent's, and what its turns reach, without a session.
#[derive(Debug)]
pub(in crate::api) enum InAgent {}

/// A workspace's own.
#[derive(Debug)]
pub(in crate::api) enum InWorkspace {}

impl Place for InSession {
    const NEEDS: Needs = Needs { on: On::Session, right: Right::Participant };
}

impl Place for InAgent {
    const NEEDS: Needs = Needs {
        on: On::Agent,
        right: Right::AnyOf(&[
            Authority::AgentFilesRead,
            Authority::AgentFilesWrite,
            Authority::WorkspaceFilesRead,
            Authority::WorkspaceFilesWrite,
        ]),
    };
}

impl Place for InWorkspace {
    const NEEDS: Needs = Needs {
        on: On::Workspace,
        right: Right::AnyOf(&[Authority::WorkspaceFilesRead, Authority::WorkspaceFilesWrite]),
    };
}

/// What one caller may do with files of one place, now.
#[derive(Debug)]
pub(in crate::api) struct Files<P> {
    reach: Reach,
    place: PhantomData<P>,
}

/// A space, the thing that its files belong to, and who asks.
#[derive(Clone, Debug)]
struct Reach {
    host: Host,
    found: Found,
    space: Space,
}

impl<P: Place> Door for Files<P> {
    const NEEDS: Needs = P::NEEDS;
}

impl<P: Place> FromRequestParts<Host> for Files<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, host: &Host) -> Result<Self, Problem> {
        let Admitted { caller, found } = host.admit(parts, P::NEEDS).await?;
        let effective = host.effective(found).await?;
        let (coordinates, grant) = reach(found, &effective, authorities(&caller))?;
        let table = MountTable::new(coordinates, grant, SkillTable::default());
        let by = Promoter::Subject(label(&caller.subject)?);
        let receipts = Receipts::of_person(host.0.catalog.clone(), coordinates, by);
        let spill_bytes_min = Some(effective.spill_bytes.value.bytes());
        let terms = Terms { spill_bytes_min, receipts: Some(receipts), ..Terms::default() };
        let space = host.0.storage.space_on(terms, table);
        let reach = Reach { space, host: host.clone(), found };
        Ok(Self { reach, place: PhantomData })
    }
}

/// What a caller with these authorities reaches of a thing: never more than they allow, and
/// never more than the settings do.
fn reach(
    found: Found,
    settings: &Effective,
    authorities: Authorities,
) -> Result<(Coordinates, Grant), Problem> {
    let [agent_files, workspace_files] = [
        allowed(authorities, Authority::AgentFilesRead, Authority::AgentFilesWrite),
        allowed(authorities, Authority::WorkspaceFilesRead, Authority::WorkspaceFilesWrite),
    ];
    let granted = settings.grant();
    let as_turn = Grant {
        agent: granted.agent.min(agent_files),
        workspace: granted.workspace.min(workspace_files),
    };
    // No agent's settings speak where no agent is named: what no agent may go beyond does.
    let alone =
        Grant { agent: None, workspace: settings.workspace_files.cap.0.min(workspace_files) };
    match found {
        Found::Deployment => Err(Problem::nothing_here()),
        Found::Workspace { workspace } => {
            // An agent that no grant names: never looked at.
            let agent = AgentId(Uuid::nil());
            Ok((Coordinates { workspace, agent, session: None }, alone))
        }
        Found::Agent { workspace, agent } => {
            Ok((Coordinates { workspace, agent, session: None }, as_turn))
        }
        Found::Session { workspace, agent, session } => {
            Ok((Coordinates { workspace, agent, session: Some(session) }, as_turn))
        }
    }
}

fn allowed(authorities: Authorities, read: Authority, write: Authority) -> Option<Access> {
    if authorities.has(write) {
        return Some(Access::ReadWrite);
    }
    authorities.has(read).then_some(Access::ReadOnly)
}

impl Host {
    /// The settings that hold for a thing.
    pub(super) async fn effective(&self, found: Found) -> Result<Effective, Problem> {
        Ok(Effective::read(self.0.storage.limits(), self.said(found).await?.levels()))
    }

    /// What the levels above a thing and its own say.
    async fn said(&self, found: Found) -> Result<Cascade, Problem> {
        let catalog = &self.0.catalog;
        match found.workspace() {
            Some(workspace) => Ok(catalog.cascade(workspace, found.agent()).await?),
            None => {
                let deployment = catalog.settings(SettingsOf::Deployment).await?;
                Ok(Cascade { deployment, ..Cascade::default() })
            }
        }
    }
}

impl<P: Place> Files<P> {
    /// What the caller can reach, and how far.
    pub(in crate::api) fn scopes(&self) -> Vec<(String, Access)> {
        let mounts = self.reach.space.mounts().into_iter();
        let stored = mounts.filter(|mount| !matches!(mount.scope, Scope::Skill(_)));
        stored.map(|mount| (mount.scope.to_string(), mount.access)).collect()
    }

    /// As [`Space::list`].
    pub(in crate::api) async fn list(
        &self,
        folder: &str,
        depth: Depth,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<Page, Problem> {
        Ok(self.reach.space.list(folder, depth, cursor, limit).await?)
    }

    /// As [`Space::stat`].
    pub(in crate::api) async fn stat(&self, path: &str) -> Result<File, Problem> {
        Ok(self.reach.space.stat(path).await?)
    }

    /// What is there; `None` if nothing is.
    pub(in crate::api) async fn look(&self, path: &str) -> Result<Option<File>, Problem> {
        match self.reach.space.stat(path).await {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.code == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// As [`Space::open_reader`].
    pub(in crate::api) async fn open(&self, path: &str) -> Result<Reader, Problem> {
        Ok(self.reach.space.open_reader(path).await?)
    }

    /// Begins a file; nothing is there until [`Upload::finish`].
    pub(in crate::api) async fn upload(
        self,
        path: &str,
        when: Precondition,
    ) -> Result<Upload<P>, Problem> {
        let writer = self.reach.space.open_writer(path, when).await?;
        Ok(Upload { reach: self.reach, path: path.to_owned(), writer, place: PhantomData })
    }

    /// As [`Space::delete`].
    pub(in crate::api) async fn delete(
        &self,
        path: &str,
        when: Precondition,
    ) -> Result<(), Problem> {
        Ok(self.reach.space.delete(path, when).await?)
    }

    /// As [`Space::copy`].
    pub(in crate::api) async fn copy(
        &self,
        Way { from, to }: Way,
        when: Precondition,
    ) -> Result<File, Problem> {
        let reach = self.reach.clone();
        to_its_end(async move {
            reach.check_there(&to).await?;
            let copied = reach.space.copy(&from, &to, when).await?;
            reach.keep(copied).await
        })
        .await
    }

    /// As [`Space::relocate`].
    pub(in crate::api) async fn relocate(
        &self,
        Way { from, to }: Way,
        when: Precondition,
    ) -> Result<File, Problem> {
        let reach = self.reach.clone();
        to_its_end(async move {
            reach.check_there(&to).await?;
            let moved = reach.space.relocate(&from, &to, when).await?;
            reach.keep(moved).await
        })
        .await
    }

    /// As [`Space::spill`], with the bound of the settings.
    pub(in crate::api) async fn spill(
        &self,
        name: String,
        bytes: Bytes,
    ) -> Result<Spilled, Problem> {
        let reach = self.reach.clone();
        to_its_end(async move {
            reach.check_there(SPILLED).await?;
            let spilled = reach.space.spill(&name, bytes).await?;
            if let Some(path) = &spilled.path {
                reach.check_kept(path).await?;
            }
            Ok(spilled)
        })
        .await
    }

    /// A place among the archives that are made at once.
    pub(in crate::api) fn place_for_archive(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.reach.host.0.archives.clone().try_acquire_owned().map_err(|_| Problem::busy())
    }

    /// A place among the results that are held in memory at once.
    pub(in crate::api) fn place_for_spill(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.reach.host.0.spills.clone().try_acquire_owned().map_err(|_| Problem::busy())
    }
}

/// Somewhere among a session's files.
const SPILLED: &str = "session/spill";

/// From where to where a file goes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct Way {
    /// From where.
    pub(in crate::api) from: String,
    /// To where.
    pub(in crate::api) to: String,
}

/// Goes on with a change although whoever asked for it may have gone: what follows it must not be
/// left out.
async fn to_its_end<T: Send + 'static>(
    change: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    tokio::spawn(change).await.unwrap_or_else(|_| Err(Problem::fault()))
}

impl Reach {
    async fn keep(&self, file: File) -> Result<File, Problem> {
        self.check_kept(&file.path).await?;
        Ok(file)
    }

    /// Makes sure that a file just written belongs to something: what was put into a thing that
    /// went meanwhile would stay there for ever, so it is taken back.
    async fn check_kept(&self, path: &str) -> Result<(), Problem> {
        let gone = match self.check_there(path).await {
            Err(gone) if gone.is_for_good() => gone,
            kept => return kept,
        };
        match self.space.delete(path, Precondition::Always).await {
            Err(error) if error.code != ErrorCode::NotFound => Err(error.into()),
            _ => Err(gone),
        }
    }

    /// Makes sure that what a file belongs to is there, and notes that something happens in it. Asked
    /// right before a file is put there as well: however long it was sent for, none comes later than
    /// a change of the store may take.
    async fn check_there(&self, path: &str) -> Result<(), Problem> {
        let catalog = &self.host.0.catalog;
        match self.owner_of(path) {
            Found::Session { session, .. } => Ok(catalog.note_write(session).await?),
            owner if owner.is_still_there(catalog).await? => Ok(()),
            _ => Err(Problem::nothing_here()),
        }
    }

    /// What a file belongs to that is reached from here.
    fn owner_of(&self, path: &str) -> Found {
        let scope = GuestPath::parse(path).map(|path| path.scope());
        match (scope, self.found.workspace(), self.found.agent()) {
            (Ok(Scope::Agent), Some(workspace), Some(agent)) => Found::Agent { workspace, agent },
            (Ok(Scope::Workspace), Some(workspace), _) => Found::Workspace { workspace },
            _ => self.found,
        }
    }
}

/// A file that is being sent. Dropping it leaves what was there before.
#[derive(Debug)]
pub(in crate::api) struct Upload<P> {
    reach: Reach,
    path: String,
    writer: Writer,
    place: PhantomData<P>,
}

impl<P: Place> Upload<P> {
    /// As [`Writer::write`].
    pub(in crate::api) async fn write(&mut self, bytes: Bytes) -> Result<(), Problem> {
        Ok(self.writer.write(bytes).await?)
    }

    /// As [`Writer::finish`].
    pub(in crate::api) async fn finish(self) -> Result<File, Problem> {
        let Self { reach, path, mut writer, .. } = self;
        to_its_end(async move {
            reach.check_there(&path).await?;
            let file = writer.finish().await?;
            reach.keep(file).await
        })
        .await
    }
}
