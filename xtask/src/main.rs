//! Set-up, demo, benchmark and tests of this repository: `cargo xtask --help`.

#![expect(clippy::disallowed_methods, reason = "set-up works on the checkout and its caches")]

mod bench;
mod demo;
mod embed;
mod fuzz;
mod guard;
mod guests;
mod languages;
mod passed;
mod places;
mod postgres;
mod project;
mod servers;
mod shell;
mod test;
mod testsuite;
mod toolchain;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use bench::Effort;
use clap::{Parser, Subcommand};
use guard::Limits;
use places::Places;
use test::Repeat;

#[derive(Parser)]
#[command(about = "Set-up, demo, benchmark and tests of this repository.")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Sets up, builds for release, measures, and writes benches/RESULTS.md and its pictures.
    Bench {
        /// A few minutes, for a look; without it, for a release.
        #[arg(long)]
        quick: bool,
        /// One workload alone; the others keep what they found before.
        #[arg(long, value_name = "NAME")]
        only: Option<String>,
    },
    /// Sets up, builds, and tells a story on real data: what an agent keeps, and who sees it.
    Demo,
    /// Sets up, builds and serves the example of an agent platform, without a model's service.
    Embed {
        /// Handed to the example; without any, it answers from its script.
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Sets up the guest toolchain and builds the guests of this repository, or of a project.
    Guests {
        /// Cargo.toml of a guest project to build instead.
        #[arg(long, value_name = "PATH")]
        manifest: Option<PathBuf>,
    },
    /// Counts the instructions and allocations of what every turn does, and holds them to limits.
    Guard {
        /// Makes what is counted the limits.
        #[arg(long)]
        update: bool,
    },
    /// Sets everything up, then runs the whole suite: format, lints, documentation, tests.
    ///
    /// When nothing has changed since it passed, it says so and stops, except on CI.
    Test {
        /// Runs it although nothing has changed since it passed.
        #[arg(long)]
        again: bool,
        /// Handed to `cargo test`; with a filter, the other checks are left out.
        #[arg(last = true)]
        filter: Vec<String>,
    },
    /// Runs the tests of the public suite of WASI 0.1 and 0.3 over scopes as folders.
    WasiTestsuite {
        /// A checkout of github.com/WebAssembly/wasi-testsuite, of its branch
        /// `prod/testsuite-base`.
        checkout: PathBuf,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    let places = Places::find()?;
    match task {
        Task::Bench { quick, only } => {
            let effort = if quick { Effort::Quick } else { Effort::Full };
            bench::measure(&places, effort, only.as_deref())
        }
        Task::Demo => demo::tell(&places),
        Task::Embed { arguments } => embed::serve(&places, &arguments),
        Task::Guests { manifest: Some(manifest) } => guests::build_project(&places, &manifest),
        Task::Guests { manifest: None } => guests::build(&places).map(|_| ()),
        Task::Guard { update: true } => guard::count(&places, Limits::Update),
        Task::Guard { update: false } => guard::count(&places, Limits::Hold),
        Task::Test { filter, again } => {
            let always = again || std::env::var_os("CI").is_some();
            let repeat = if always { Repeat::Always } else { Repeat::WhenChanged };
            test::run(&places, &filter, repeat)
        }
        Task::WasiTestsuite { checkout } => testsuite::check(&places, &checkout),
    }
}
