//! One turn, from the command line.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bailiwick::catalog::{Catalog, CatalogError, Finish, Lease};
use bailiwick::engine::{Cancel, Component, End, Engine, Report, Request};
use bailiwick::space::Space;
use bailiwick::worker::{Keeper, Mounting};
use clap::Args;

use super::Outcome;
use super::desk::{Desk, Place};
use super::exit;
use super::failure::{Failure, say};
use super::interrupt::Interrupts;
use super::names::InSession;
use super::skills::SkillArgument;

mod ending;
mod grants;
mod input;
mod prepare;
mod watch;

use grants::GrantArgument;
use input::TextArgument;
pub(super) use input::component;
use prepare::Prepared;
pub(super) use prepare::{engine, engine_with};
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
    /// Gives the turn a skill beside those of its agent: a slug, and the directory that holds its
    /// files.
    #[arg(long = "skill", value_name = "SLUG=DIR")]
    skills: Vec<SkillArgument>,
    /// What the turn may do in a scope: `agent=` or `workspace=`, then `none`, `read-only` or
    /// `read-write`. By default `agent=read-write` and `workspace=read-only`.
    #[arg(long = "grant", value_name = "SCOPE=LEVEL")]
    grants: Vec<GrantArgument>,
    /// Fails if the agent's folder cannot be set up for a program, which otherwise goes on without
    /// it.
    #[arg(long)]
    require_mounts: bool,
    /// Prints one JSON object at the end instead of the reply.
    #[arg(long)]
    json: bool,
    /// Handed to a program (a component that exports `wasi:cli/run`) as its arguments.
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

impl Run {
    pub(super) async fn run(self, place: Place) -> Outcome {
        let mut interrupts = Interrupts::listen()?;
        let prepared = tokio::select! {
            prepared = Prepared::new(&self, &place) => prepared?,
            () = interrupts.next() => {
                return Err(Failure::Cancelled("cancelled before the turn began".to_owned()));
            }
        };
        let (lease, space) = prepared.start(&self).await?;
        let agent = prepared.agent();
        let Prepared { desk, engine, guest, input, answer, ours, .. } = prepared;
        let mounting = self.mounting();
        let mounted = mounting.mount(&desk.catalog, &space, &guest.component, agent).await;
        let (attempt, arguments) = (lease.attempt, self.arguments.clone());
        let mut request = Request { input, answer, arguments, attempt, ..Request::default() };
        let watch = Watch::start(if self.json { Pieces::Kept } else { Pieces::Printed });
        let keeper = Keeper::new(Catalog::clone(&desk.catalog), desk.storage.limits(), lease);
        let turn = Turn { keeper: &keeper, watch: &watch, interrupts };
        let report = match mounted {
            Ok(unmounted) => {
                request.unmounted = unmounted;
                turn.run(&engine, &guest.component, space, request).await
            }
            Err(end) => Report::unstarted(end),
        };
        let finish = ending::record(&report, keeper.journal().take(), guest.bytes);
        let outcome = self.finish(&desk, lease, &finish, &report, watch).await;
        desk.storage.settled(SETTLING).await;
        drop(ours);
        outcome
    }

    fn mounting(&self) -> Mounting {
        if self.require_mounts { Mounting::Required } else { Mounting::BestEffort }
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

    /// Records the end, then shows it: what was shown is on disk, and a pipe that nobody reads
    /// keeps nothing from being recorded.
    async fn finish(
        &self,
        desk: &Desk,
        lease: Lease,
        finish: &Finish,
        report: &Report,
        watch: Watch,
    ) -> Outcome {
        if let Err(error) = desk.catalog.finish_turn(lease, finish).await {
            say("the turn ended, but its end was not recorded");
            let failure = Failure::from(error);
            failure.report();
            return Ok(ExitCode::from(exit::HOST_FAULT));
        }
        Interrupts::listen()?.end_the_process();
        watch.finish();
        ending::show(report, self, lease)
    }
}

/// How long the end of the process waits for uploads that are being given up.
const SETTLING: Duration = Duration::from_secs(10);

/// A turn that was begun.
struct Turn<'a> {
    keeper: &'a Keeper,
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
        let Self { keeper, watch, interrupts } = self;
        let cut_off = |end| {
            space.revoke();
            let (said, events) = (watch.said(), space.take_events());
            Report { said, events, ..Report::unstarted(end) }
        };
        let (cancel, observer) = (Cancel::new(), watch.observer(keeper.journal()));
        let turn = engine.run(component, space.clone(), request, observer, cancel.clone());
        let turn = async {
            tokio::select! {
                report = turn => report,
                () = interrupted_twice(interrupts, &cancel) => cut_off(End::Cancelled),
            }
        };
        let report = keeper.during(turn, &cancel).await;
        report.unwrap_or_else(|| cut_off(End::HostFault(LEASE_LOST.to_owned())))
    }
}

const LEASE_LOST: &str = "the turn was given up: this process did not renew its lease in time";

async fn interrupted_twice(mut interrupts: Interrupts, cancel: &Cancel) {
    interrupts.next().await;
    say("the turn is asked to stop; Ctrl-C again ends it");
    cancel.cancel();
    interrupts.next().await;
}
