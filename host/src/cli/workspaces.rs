use std::process::ExitCode;

use bailiwick::catalog::{Made, Name, Page, Place as Row};
use clap::{Args, Subcommand};
use serde_json::json;

use super::Outcome;
use super::desk::{Desk, Place};
use super::failure::{Failure, say};
use super::names::InWorkspace;
use super::output::{Output, table, time};

/// Workspaces: agents and what they share.
#[derive(Debug, Subcommand)]
pub(super) enum Workspaces {
    /// Lists them.
    Ls(List),
    /// Makes one.
    New {
        /// 1 to 64 letters, digits, `-`, `_` and `.`.
        name: Name,
    },
    /// Deletes one, with its agents, their sessions, and all of their files.
    Rm {
        /// Which one.
        name: Name,
    },
    /// Says whose skills agents of all workspaces may be given, or prints it.
    Platform {
        /// Whose, from now on.
        name: Option<Name>,
        /// Nobody's, from now on.
        #[arg(long, conflicts_with = "name")]
        none: bool,
    },
}

/// How to show a list.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct List {
    /// Prints one JSON object per line.
    #[arg(long)]
    pub(super) json: bool,
}

impl Workspaces {
    pub(super) async fn run(self, place: Place) -> Outcome {
        let desk = Desk::open(&place).await?;
        match self {
            Self::Ls(list) => print(list, "agents", &desk.catalog.workspaces(Page::ALL).await?)?,
            Self::New { name } => {
                must_be_new(desk.catalog.make_workspace(&name).await?, "workspace", &name)?;
            }
            Self::Rm { name } => {
                let workspace = InWorkspace { workspace: name.clone() }.find(&desk.catalog).await?;
                desk.catalog.remove_workspace(workspace).await?;
                desk.finish_deletion("workspace", &name).await?;
            }
            Self::Platform { name: Some(name), .. } => {
                let workspace = InWorkspace { workspace: name.clone() }.find(&desk.catalog).await?;
                desk.catalog.set_platform_workspace(Some(workspace)).await?;
                say(&format!("agents of all workspaces may be given skills of `{name}`"));
            }
            Self::Platform { name: None, none: true } => {
                desk.catalog.set_platform_workspace(None).await?;
                say("agents are given skills of their own workspace alone");
            }
            Self::Platform { name: None, none: false } => print_platform(&desk).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn print_platform(desk: &Desk) -> Result<(), Failure> {
    let mut output = Output::new();
    if let Some(workspace) = desk.catalog.platform_workspace().await?
        && let Some(record) = desk.catalog.workspace_by_id(workspace).await?
    {
        output.line(&record.name)?;
    }
    output.flush()
}

/// Shows workspaces or agents.
pub(super) fn print<I>(list: List, children: &str, places: &[Row<I>]) -> Result<(), Failure> {
    let mut output = Output::new();
    if list.json {
        for Row { name, created_ms, children: count, .. } in places {
            output.json(&json!({ "name": name, "created_ms": created_ms, children: count }))?;
        }
        return output.flush();
    }
    let row = |place: &Row<I>| {
        vec![place.name.clone(), place.children.to_string(), time(place.created_ms)]
    };
    let rows: Vec<_> = places.iter().map(row).collect();
    output.text(&table(&["NAME", &children.to_uppercase(), "MADE"], &rows))?;
    output.flush()
}

/// Says that it was made, or that there was one already.
pub(super) fn must_be_new<I>(made: Made<I>, kind: &str, name: &Name) -> Result<(), Failure> {
    match made {
        Made::New(_) => {
            say(&format!("made {kind} `{name}`"));
            Ok(())
        }
        Made::Found(_) => {
            Err(Failure::new(format!("the {kind} `{name}` is there already: choose another name")))
        }
    }
}
