//! What Bailiwick costs beside what is below it and beside its peers; `cargo xtask bench` runs it.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures the files of this machine")]

mod allocations;
mod bare;
mod clients;
mod far;
mod figure;
mod machine;
mod ours;
mod picture;
mod plain;
mod race;
mod report;
mod server;
mod setting;
mod statistics;
mod stub;
mod workloads;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};

use report::{Report, Section};
use setting::{Effort, Setting};
use workloads::Workload;

#[derive(Parser)]
#[command(about = "Measures Bailiwick beside what is below it and beside its peers.")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Measures, and writes `RESULTS.md` and a picture per workload.
    Run(Run),
    /// The S3 server that answers at once; ends with its standard input.
    Stub,
    /// Maps a compiled component and runs it on wasmtime alone: what a process costs without us.
    Bare {
        /// The compiled component.
        compiled: PathBuf,
    },
}

#[derive(Args)]
struct Run {
    /// A few minutes, for a look.
    #[arg(long)]
    quick: bool,
    /// One workload alone; the others keep what they found before.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Where the guests' components are.
    #[arg(long)]
    guests: PathBuf,
    /// Where the S3 servers are installed.
    #[arg(long)]
    tools: PathBuf,
    /// A folder on the disk that is to be measured.
    #[arg(long)]
    scratch: PathBuf,
    /// The command `bailiwick`.
    #[arg(long)]
    command: PathBuf,
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let done = runtime.context("no threads").and_then(|runtime| {
        runtime.block_on(async {
            match Arguments::parse().task {
                Task::Run(run) => measure(run).await,
                Task::Stub => stub::serve().await,
                Task::Bare { compiled } => bare::run_compiled(&compiled).await,
            }
        })
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(run: Run) -> Result<()> {
    std::fs::create_dir_all(&run.scratch)?;
    let setting = Setting {
        effort: if run.quick { Effort::Quick } else { Effort::Full },
        guests: run.guests,
        tools: run.tools,
        scratch: run.scratch.canonicalize()?,
        command: run.command,
    };
    let workloads = workloads::all();
    let chosen = chosen(&workloads, run.only.as_deref())?;
    let folder = std::env::current_dir()?.join("benches");
    let line = report::run_line(setting.effort, &folder);
    let machine = machine::description(&setting.scratch, &setting.tools);
    let report = Report { folder, kept: setting.scratch.join("results") };
    let mut failed = Vec::new();
    for workload in chosen {
        let started = Instant::now();
        eprintln!("==> {}: {}", workload.name, workload.title);
        match (workload.run)(&setting).await {
            Ok(found) => {
                let (machine, run) = (machine.clone(), line.clone());
                let section = Section { machine, run, figures: found.figures, notes: found.notes };
                println!("{}", report::shown(workload, &section));
                report.keep(workload, &section)?;
            }
            Err(error) => {
                eprintln!("error: {}: {error:#}", workload.name);
                failed.push(workload.name);
            }
        }
        eprintln!("==> took {:.0} s", started.elapsed().as_secs_f64());
    }
    let page = report.write(&workloads, &machine)?;
    eprintln!("==> written: {}", page.display());
    if !failed.is_empty() {
        bail!("not measured: {}", failed.join(", "));
    }
    Ok(())
}

fn chosen<'a>(workloads: &'a [Workload], only: Option<&str>) -> Result<Vec<&'a Workload>> {
    let Some(name) = only else { return Ok(workloads.iter().collect()) };
    let chosen: Vec<_> = workloads.iter().filter(|workload| workload.name == name).collect();
    if chosen.is_empty() {
        let names: Vec<_> = workloads.iter().map(|workload| workload.name).collect();
        bail!("there is no workload `{name}`; there are {}", names.join(", "));
    }
    Ok(chosen)
}
