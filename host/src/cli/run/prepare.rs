//! Everything before a turn begins.

use std::path::Path;

use bailiwick::catalog::{Answer, Catalog, CatalogError, Lease, Question, Start, VersionId};
use bailiwick::engine::{Allocation, Component, Engine, EngineOptions};
use bailiwick::limits::Limits;
use bailiwick::receipts::Receipts;
use bailiwick::scope::{AgentId, Coordinates, Deletion, Grant, MountTable, SessionId, Sha256};
use bailiwick::skills::Shelf;
use bailiwick::space::{Space, Terms};
use sha2::Digest;

use super::super::desk::{Desk, Place};
use super::super::failure::Failure;
use super::super::names::Ids;
use super::super::running::Running;
use super::super::skills;
use super::{Run, grants, input};

/// A component, and the bytes that it was made of.
pub(super) struct Guest {
    pub(super) component: Component,
    pub(super) bytes: Vec<u8>,
    sha256: Sha256,
}

/// All that a turn needs.
pub(super) struct Prepared {
    pub(super) desk: Desk,
    pub(super) engine: Engine,
    pub(super) guest: Guest,
    pub(super) input: String,
    pub(super) answer: Option<String>,
    /// No other process runs a turn of the session.
    pub(super) ours: Running,
    question: Option<Question>,
    coordinates: Coordinates,
    session: SessionId,
    grant: Grant,
    skills: Vec<VersionId>,
}

/// Whose turn it is, what runs, and what it answers.
struct Parties {
    guest: Guest,
    ids: Ids,
    question: Option<Question>,
}

impl Prepared {
    /// What can be refused by looking at what was given is refused before anything is made.
    pub(super) async fn new(run: &Run, place: &Place) -> Result<Self, Failure> {
        let grant = grants::combine(&run.grants)?;
        let skills = skills::read(&run.skills)?;
        let (input, answer) = input::texts(run.input.as_ref(), run.answer.as_ref()).await?;
        let component = match &run.component {
            Some(path) => Some((input::component(path).await?, path)),
            None => None,
        };
        let engine = engine(place)?;
        let guest = async {
            match component {
                Some((bytes, path)) => Ok(Some(load(&engine, bytes, path).await?)),
                None => Ok(None),
            }
        };
        let (given, desk) = tokio::try_join!(guest, Desk::open(place))?;
        let Parties { guest, ids, question } = match &answer {
            None => asking(run, &desk, given).await?,
            Some(_) => answering(run, &desk, &engine, given).await?,
        };
        let (workspace, agent, session) = ids;
        let ours = Running::take(&desk.data_dir, session).await?;
        let skills = skills::keep(&desk, workspace, &skills).await?;
        let coordinates = Coordinates { workspace, agent, session: Some(session) };
        let asked = question.as_ref().map(|question| question.input.clone());
        let input = input.or(asked).unwrap_or_default();
        Ok(Self {
            desk,
            engine,
            guest,
            input,
            answer,
            ours,
            question,
            coordinates,
            session,
            grant,
            skills,
        })
    }

    /// Whose turn it is.
    pub(super) fn agent(&self) -> AgentId {
        self.coordinates.agent
    }

    /// Writes the turn down as running; its space has the skills that it was sent.
    pub(super) async fn start(&self, run: &Run) -> Result<(Lease, Space), Failure> {
        let lease = self.begin(run).await?;
        let skills = Shelf::default().table(&self.desk.catalog, lease.turn).await?;
        let table = MountTable::new(self.coordinates, self.grant, skills);
        let receipts = Receipts::of_turn(Catalog::clone(&self.desk.catalog), lease);
        let terms = Terms { receipts: Some(receipts), ..Terms::default() };
        Ok((lease, self.desk.storage.space_on(terms, table)))
    }

    async fn begin(&self, run: &Run) -> Result<Lease, Failure> {
        let answers = self.question.as_ref().zip(self.answer.as_deref());
        let start = Start {
            session: self.session,
            component: self.guest.sha256,
            input: &self.input,
            answer: answers.map(|(question, text)| Answer { question: question.turn, text }),
            skills: &self.skills,
        };
        match self.desk.catalog.start_turn(start).await {
            Ok(lease) => Ok(lease),
            Err(error) => {
                self.take_back_skills(run).await?;
                Err(run.not_started(error))
            }
        }
    }

    /// What was published into a workspace that was deleted meanwhile would stay for ever. Its
    /// id is never used again, so nobody else's files can be meant.
    async fn take_back_skills(&self, run: &Run) -> Result<(), Failure> {
        let name = &run.names.agent.workspace.workspace;
        let workspace = self.coordinates.workspace;
        if self.desk.catalog.workspace(name).await? != Some(workspace) {
            self.desk.storage.empty(Deletion::Workspace(workspace)).await?;
        }
        Ok(())
    }
}

async fn asking(run: &Run, desk: &Desk, given: Option<Guest>) -> Result<Parties, Failure> {
    let guest = given.ok_or_else(|| Failure::new("name the component to run"))?;
    let ids = run.names.make(&desk.catalog).await?;
    Ok(Parties { guest, ids, question: None })
}

/// Nothing is made for an answer: what asked is there.
async fn answering(
    run: &Run,
    desk: &Desk,
    engine: &Engine,
    given: Option<Guest>,
) -> Result<Parties, Failure> {
    let ids = run.names.find(&desk.catalog).await?;
    let question = desk.catalog.question(ids.2).await?;
    let question = question.ok_or_else(|| run.not_started(CatalogError::NoQuestion))?;
    let guest = match given {
        Some(guest) => guest,
        None => resumed(desk, engine, &question).await?,
    };
    Ok(Parties { guest, ids, question: Some(question) })
}

pub(in crate::cli) fn engine(place: &Place) -> Result<Engine, Failure> {
    engine_with(place, Limits::default(), Allocation::OnDemand)
}

/// As [`engine`], with other limits, and memory handed out otherwise.
pub(in crate::cli) fn engine_with(
    place: &Place,
    limits: Limits,
    allocation: Allocation,
) -> Result<Engine, Failure> {
    let options = EngineOptions {
        cache_dir: Some(place.cache_dir()?),
        gathering_dir: Some(place.cache_dir()?.join("gathering")),
        allocation,
        ..EngineOptions::default()
    };
    Engine::new(limits, options).map_err(|error| {
        Failure::because("no guest can be run on this machine", &format!("{error:#}"))
    })
}

async fn load(engine: &Engine, bytes: Vec<u8>, path: &Path) -> Result<Guest, Failure> {
    let sha256 = Sha256(sha2::Sha256::digest(&bytes).into());
    let component = engine.load(&bytes).await.map_err(|error| {
        Failure::because(format!("this host cannot run {}", path.display()), &error)
    })?;
    Ok(Guest { component, bytes, sha256 })
}

/// The component that asked, as it was then.
async fn resumed(desk: &Desk, engine: &Engine, question: &Question) -> Result<Guest, Failure> {
    let bytes = desk.catalog.component(question.component).await?;
    let bytes = bytes.ok_or_else(|| {
        Failure::new("the component that asked is not kept any more: name one to go on with")
    })?;
    load(engine, bytes, Path::new("the component that asked")).await
}
