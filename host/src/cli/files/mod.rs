//! A person's access to the scopes that guests have.

use std::process::ExitCode;

use bailiwick::space::{self, ErrorCode, File};
use bailiwick::store::Precondition;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::Outcome;
use super::desk::{Desk, Place};
use super::failure::Failure;
use super::output::Output;

mod cat;
mod change;
mod ls;
mod progress;
mod put;
mod reach;
mod stat;

use reach::Names;

/// Files of workspaces, agents and sessions.
///
/// A path starts with its scope, as in `workspace/reference/prices.csv`: `workspace/`, `agent/`
/// or `session/`. Whose it is, is said by --workspace, --agent and --session, as far as the
/// scope needs them.
#[derive(Debug, Subcommand)]
pub(super) enum Files {
    /// Lists a folder, or everything below it.
    Ls(ls::Ls),
    /// Prints a file.
    Cat(cat::Cat),
    /// Keeps a local file, or standard input, under a path; makes the workspace, agent or
    /// session that it names.
    Put(put::Put),
    /// Deletes files.
    Rm(change::Rm),
    /// Copies a file.
    Cp(change::Cp),
    /// Moves a file.
    Mv(change::Mv),
    /// Shows what is known of a file.
    Stat(stat::Stat),
}

impl Files {
    pub(super) async fn run(self, place: Place) -> Outcome {
        match self {
            Self::Ls(ls) => ls.run(&Desk::open(&place).await?).await?,
            Self::Cat(cat) => cat.run(&Desk::open(&place).await?).await?,
            Self::Put(put) => put.run(&place).await?,
            Self::Rm(rm) => rm.run(&Desk::open(&place).await?).await?,
            Self::Cp(cp) => cp.run(&Desk::open(&place).await?).await?,
            Self::Mv(mv) => mv.run(&Desk::open(&place).await?).await?,
            Self::Stat(stat) => stat.run(&Desk::open(&place).await?).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// How a change treats what is at its path already.
#[derive(Clone, Copy, Debug, Args)]
struct Overwriting {
    /// Fails if there is a file at that path already, instead of replacing it.
    #[arg(long)]
    if_absent: bool,
}

impl Overwriting {
    fn when(self) -> Precondition {
        if self.if_absent { Precondition::IfAbsent } else { Precondition::Always }
    }

    /// A conflict in the words of the option that asked for it.
    fn explain(self, error: space::Error, path: &str) -> Failure {
        if self.if_absent && error.code == ErrorCode::Conflict && error.reason == "precondition" {
            return Failure::new(format!("`{path}` is there already"));
        }
        error.into()
    }
}

/// A path that ends in `/` names the folder for a file of that name.
fn into_folder(path: &str, name: &str) -> String {
    if path.ends_with('/') { format!("{path}{name}") } else { path.to_owned() }
}

fn as_json(file: &File) -> Value {
    json!({
        "path": file.path,
        "size": file.size,
        "revision": file.revision.0,
        "modified_ms": file.modified_ms,
        "media_type": file.media_type,
    })
}

/// What a change made, as its one line of output.
#[derive(Clone, Copy, Debug, Args)]
struct Shown {
    /// Prints one JSON object per file.
    #[arg(long)]
    json: bool,
}

impl Shown {
    fn file(self, file: &File) -> Result<(), Failure> {
        let mut output = Output::new();
        if self.json {
            output.json(&as_json(file))?;
        } else {
            output.line(&format!("{} ({} bytes)", file.path, file.size))?;
        }
        output.flush()
    }
}
