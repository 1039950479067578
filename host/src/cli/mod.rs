//! The command: a person's door to the same spaces that guests have.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

mod agents;
mod bucket;
mod check;
mod configuration;
mod desk;
mod erasure;
mod exit;
mod failure;
mod files;
mod interrupt;
mod names;
mod new;
mod output;
mod receipts;
mod run;
mod running;
mod secrets;
mod serve;
mod sessions;
mod skills;
mod store;
mod sweep;
mod token;
mod workspaces;

use desk::Place;
use failure::Failure;
use serve::Traces;

/// How a command ends: with an exit code, or with a sentence about why not.
type Outcome = Result<ExitCode, Failure>;

/// Runs agent guests (WebAssembly components), and gives each a few scoped places for files.
#[derive(Debug, Parser)]
#[command(name = "bailiwick", version, after_help = exit::HELP, max_term_width = 100)]
struct Arguments {
    #[command(flatten)]
    place: Place,
    /// File of settings (TOML): long options by their names, with `_` for `-`.
    #[arg(long, global = true, env = "BAILIWICK_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    #[command(subcommand)]
    Files(files::Files),
    Check(check::Check),
    New(new::New),
    #[command(subcommand)]
    Sessions(sessions::Sessions),
    #[command(subcommand)]
    Agents(agents::Agents),
    #[command(subcommand)]
    Workspaces(workspaces::Workspaces),
    #[command(subcommand)]
    Skills(skills::Skills),
    #[command(subcommand)]
    Store(store::Store),
    Sweep(sweep::Sweep),
    #[command(subcommand)]
    Bucket(bucket::Bucket),
    #[command(subcommand)]
    Receipts(receipts::Receipts),
    #[command(subcommand)]
    Erasure(erasure::Erasures),
    Serve(serve::Serve),
    Token(token::Token),
}

impl Command {
    async fn run(self, place: Place) -> Outcome {
        match self {
            Self::Run(run) => run.run(place).await,
            Self::Files(files) => files.run(place).await,
            Self::Check(check) => check.run(place).await,
            Self::New(new) => new.run(),
            Self::Sessions(sessions) => sessions.run(place).await,
            Self::Agents(agents) => agents.run(place).await,
            Self::Workspaces(workspaces) => workspaces.run(place).await,
            Self::Skills(skills) => skills.run(place).await,
            Self::Store(store) => store.run(place).await,
            Self::Sweep(sweep) => sweep.run(place).await,
            Self::Bucket(bucket) => bucket.run(place).await,
            Self::Receipts(receipts) => receipts.run(&place),
            Self::Erasure(erasures) => erasures.run(place).await,
            Self::Serve(serve) => serve.run(place).await,
            Self::Token(token) => token.run(place).await,
        }
    }

    /// Where traces of it go, if anywhere: nobody traces what a person does by hand.
    fn traces(&self) -> Result<Option<Traces>, Failure> {
        match self {
            Self::Serve(serve) => serve.traces(),
            _ => Ok(None),
        }
    }

    /// What goes to the log by default. What storage says is part of a command's own sentence,
    /// except where it is a guest that asked.
    fn log_filter(&self) -> &'static str {
        match self {
            Self::Run(_) | Self::Serve(_) => "error,bailiwick=warn",
            _ => "error,bailiwick=warn,bailiwick::space=off",
        }
    }
}

/// Reads the command line and does what it says.
pub(crate) fn main() -> ExitCode {
    let arguments = match parse() {
        Ok(arguments) => arguments,
        Err(failure) => return failure.report(),
    };
    // Before there are threads: its own are none of the runtime's.
    let traces = match arguments.command.traces() {
        Ok(traces) => traces,
        Err(failure) => return failure.report(),
    };
    start_log(arguments.command.log_filter(), traces.as_ref());
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Failure::new(format!("no threads are to be had: {error}")).report(),
    };
    let outcome = runtime.block_on(arguments.command.run(arguments.place));
    // A thread may still wait for somebody to type.
    runtime.shutdown_background();
    if let Some(traces) = traces {
        traces.finish();
    }
    outcome.unwrap_or_else(|failure| failure.report())
}

fn parse() -> Result<Arguments, Failure> {
    let command = Arguments::command();
    let given = configuration::with_file(&command, std::env::args_os().collect())?;
    Ok(Arguments::from_arg_matches(&command.get_matches_from(given))
        .unwrap_or_else(|error| error.exit()))
}

fn start_log(default: &str, traces: Option<&Traces>) {
    let filter = EnvFilter::try_from_env("BAILIWICK_LOG").unwrap_or_else(|_| default.into());
    let log = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .without_time()
        .with_filter(filter);
    tracing_subscriber::registry().with(log).with(traces.map(Traces::layer)).init();
}
