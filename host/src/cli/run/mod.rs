//! One turn, from the command line.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bailiwick::catalog::{Answer, CatalogError, Lease, Question, Start};
use bailiwick::engine::{
    Allocation, Cancel, Component, End, Engine, EngineOptions, Report, Request, Usage,
};
use bailiwick::limits::Limits;
use bailiwick::scope::{Coordinates, Deletion, MountTable, Sha256, WorkspaceId};
use bailiwick::space::Space;
use clap::Args;
use sha2::Digest;

use super::Outcome;
use super::desk::{Desk, Place};
use super::exit;
use super::failure::{Failure, say};
use super::interrupt::Interrupts;
use super::names::{Ids, InSession};
use super::running::Running;
use super::skills::{SkillArgument, bind};

mod ending;
mod grants;
mod input;
mod lease;
mod watch;

use grants::GrantArgument;
use input::TextArgument;
pub(super) use input::component;
use watch::{Pieces, Watch};

/// Runs one turn of a guest.
///
/// Pieces of the reply are printed as the guest says them, then the reply, as far as it was not
/// said already. What the guest logs goes to standard error while it runs. The workspace, agent
/// and session are made if they are not there. A turn that parks prints its question; answer it
/// with `bailiwick run --answer TEXT` and the same names. While an answer to the question fails,
/// it stays open. Ctrl-C asks the guest to stop; a second one ends it.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// The guest, a WebAssembly component. With --answer it may be left out: then the one that
    /// asked goes on.
    #[arg(required_unless_present = "answer")]
    component: Option<PathBuf>,
    /// What the guest is asked: a text, `@FILE` for a file's, `-` for standard input. Empty by
    /// default; with --answer, what the turn that asked was given.
    #[arg(long, short = 'i', value_name = "TEXT|@FILE|-", allow_hyphen_values = true)]
    input: Option<TextArgument>,
    /// Answers the question that the session waits with: a text, `@FILE` or `-`.
    #[arg(long, value_name = "TEXT|@FILE|-", allow_hyphen_values = true)]
    answer: Option<TextArgument>,
    #[command(flatten)]
    names: InSession,
    /// Gives the turn a skill: a slug, and the directory that holds its files.
    #[arg(long = "skill", value_name = "SLUG=DIR")]
    skills: Vec<SkillArgument>,
    /// What the turn may do in a scope: `agent=` or `workspace=`, then `none`, `read-only` or
    /// `read-write`. By default `agent=read-write` and `workspace=read-only`.
    #[arg(long = "grant", value_name = "SCOPE=LEVEL")]
    grants: Vec<GrantArgument>,
    /// Prints one JSON object at the end instead of the reply.
    #[arg(long)]
    json: bool,
}

/// A component, and the bytes that it was made of.
struct Guest {
    component: Component,
    bytes: Vec<u8>,
    sha256: Sha256,
}

/// Whose turn it is, what runs, and what it answers.
struct Prepared {
    guest: Guest,
    ids: Ids,
    question: Option<Question>,
}

/// What a turn is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Ask,
    Answer,
}

impl Run {
    /// Everything that can be refused is refused before anything is made.
    pub(super) async fn run(self, place: Place) -> Outcome {
        let grant = grants::combine(&self.grants)?;
        let (input, answer) = input::texts(self.input.as_ref(), self.answer.as_ref()).await?;
        let (engine, interrupts) = (engine(&place)?, Interrupts::listen()?);
        let given = match &self.component {
            Some(path) => Some(load(&engine, component(path).await?, path).await?),
            None => None,
        };
        let desk = Desk::open(&place).await?;
        let purpose = if answer.is_some() { Purpose::Answer } else { Purpose::Ask };
        let Prepared { guest, ids, question } =
            self.prepare(&desk, &engine, given, purpose).await?;
        let (workspace, agent, session) = ids;
        let _ours = Running::take(&desk.data_dir, session).await?;
        let skills = bind(&desk.storage, workspace, &self.skills).await?;
        let input = input.or_else(|| question.as_ref().map(|question| question.input.clone()));
        let input = input.unwrap_or_default();
        let answers = question.as_ref().zip(answer.as_deref());
        let start = Start {
            session,
            component: guest.sha256,
            input: &input,
            answer: answers.map(|(question, text)| Answer { question: question.turn, text }),
        };
        let lease = match desk.catalog.start_turn(start).await {
            Ok(lease) => lease,
            Err(error) => {
                self.take_back_skills(&desk, workspace).await?;
                return Err(self.not_started(error));
            }
        };
        let coordinates = Coordinates { workspace, agent, session: Some(session) };
        let space = desk.storage.space(MountTable::new(coordinates, grant, skills));
        let request = Request { input, answer, attempt: lease.attempt };
        let watch = Watch::start(if self.json { Pieces::Kept } else { Pieces::Printed });
        let turn = Turn { desk: &desk, lease, watch: &watch, interrupts };
        let report = turn.run(&engine, &guest.component, space, request).await;
        self.finish(&desk, lease, guest, report, watch).await
    }

    /// Whose turn it is and what runs. Nothing is made for an answer.
    async fn prepare(
        &self,
        desk: &Desk,
        engine: &Engine,
        given: Option<Guest>,
        purpose: Purpose,
    ) -> Result<Prepared, Failure> {
        match (purpose, given) {
            (Purpose::Ask, Some(guest)) => {
                let ids = self.names.make(&desk.catalog).await?;
                Ok(Prepared { guest, ids, question: None })
            }
            (Purpose::Ask, None) => Err(Failure::new("name the component to run")),
            (Purpose::Answer, given) => {
                let (ids, question) = self.question(desk).await?;
                let guest = match given {
                    Some(guest) => guest,
                    None => resumed(desk, engine, &question).await?,
                };
                Ok(Prepared { guest, ids, question: Some(question) })
            }
        }
    }

    /// What was published into a workspace that was deleted meanwhile would stay for ever. Its
    /// id is never used again, so nobody else's files can be meant.
    async fn take_back_skills(&self, desk: &Desk, workspace: WorkspaceId) -> Result<(), Failure> {
        let now = desk.catalog.workspace(&self.names.agent.workspace.workspace).await?;
        if now != Some(workspace) {
            desk.storage.empty(Deletion::Workspace(workspace)).await?;
        }
        Ok(())
    }

    /// The question to be answered, and whose it is. Nothing is made for an answer.
    async fn question(&self, desk: &Desk) -> Result<(Ids, Question), Failure> {
        let ids = self.names.find(&desk.catalog).await?;
        let question = desk.catalog.question(ids.2).await?;
        let question = question.ok_or_else(|| self.not_started(CatalogError::NoQuestion))?;
        Ok((ids, question))
    }

    fn not_started(&self, error: CatalogError) -> Failure {
        match error {
            CatalogError::QuestionOpen(_) => Failure::Refused {
                message: error.to_string(),
                because: None,
                suggestions: vec![self.how_to_answer()],
            },
            CatalogError::NoQuestion => Failure::new(format!(
                "session `{}` waits for no answer: run it without --answer",
                self.names.session
            )),
            other => other.into(),
        }
    }

    fn how_to_answer(&self) -> String {
        let InSession { agent, session } = &self.names;
        let (workspace, agent) = (&agent.workspace.workspace, &agent.agent);
        format!("bailiwick run --answer TEXT -w {workspace} -a {agent} -s {session}")
    }

    /// Records the end, then shows it: what was shown is on disk.
    async fn finish(
        &self,
        desk: &Desk,
        lease: Lease,
        guest: Guest,
        report: Report,
        watch: Watch,
    ) -> Outcome {
        let seen = watch.finish();
        let finish = ending::record(&report, &seen, guest.bytes);
        if let Err(error) = desk.catalog.finish_turn(lease.turn, &finish).await {
            say("the turn ended, but its end was not recorded");
            let failure = Failure::from(error);
            failure.report();
            return Ok(ExitCode::from(exit::HOST_FAULT));
        }
        ending::show(&report, &seen, self, lease)
    }
}

pub(super) fn engine(place: &Place) -> Result<Engine, Failure> {
    let cache_dir = Some(place.cache_dir()?);
    let options = EngineOptions { cache_dir, allocation: Allocation::OnDemand };
    Engine::new(Limits::default(), options).map_err(|error| {
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

/// A turn that was begun.
struct Turn<'a> {
    desk: &'a Desk,
    lease: Lease,
    watch: &'a Watch,
    interrupts: Interrupts,
}

impl Turn<'_> {
    /// Runs it until it ends, is interrupted twice, or is no longer ours to run.
    async fn run(
        self,
        engine: &Engine,
        component: &Component,
        space: Space,
        request: Request,
    ) -> Report {
        let (cancel, observer) = (Cancel::new(), self.watch.observer());
        let turn = engine.run(component, space.clone(), request, observer, cancel.clone());
        let end = tokio::select! {
            report = turn => return report,
            () = interrupted_twice(self.interrupts, cancel) => End::Cancelled,
            () = lease::kept(self.desk, self.lease.turn, self.watch) => {
                End::HostFault(LEASE_LOST.to_owned())
            }
        };
        space.revoke();
        Report {
            end,
            said: self.watch.said(),
            wakes: Vec::new(),
            events: space.take_events(),
            log_lines_dropped: 0,
            usage: Usage::default(),
        }
    }
}

const LEASE_LOST: &str = "the turn was given up: this process did not renew its lease in time";

async fn interrupted_twice(mut interrupts: Interrupts, cancel: Cancel) {
    interrupts.next().await;
    say("the turn is asked to stop; Ctrl-C again ends it");
    cancel.cancel();
    interrupts.next().await;
}
