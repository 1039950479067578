use std::process::ExitCode;

use bailiwick::catalog::{Catalog, Name, Page, SessionPlace, TurnState};
use bailiwick::scope::SessionId;
use clap::{Args, Subcommand};
use serde_json::json;

use super::Outcome;
use super::desk::{Desk, Place};
use super::failure::Failure;
use super::names::{InAgent, InSession};
use super::output::{Output, table, time};
use super::workspaces::{List, must_be_new};

/// Sessions of an agent.
#[derive(Debug, Subcommand)]
pub(super) enum Sessions {
    /// Lists them, and where each one stands.
    Ls {
        #[command(flatten)]
        of: InAgent,
        #[command(flatten)]
        list: List,
    },
    /// Makes one.
    New {
        /// 1 to 64 letters, digits, `-`, `_` and `.`.
        name: Name,
        #[command(flatten)]
        of: InAgent,
    },
    /// Closes one: no turn begins in it any more, and nothing wakes it.
    Close(Chosen),
    /// Reopens one that was closed.
    Reopen(Chosen),
    /// Holds one: nothing of it is removed until it is released.
    Hold(Chosen),
    /// Releases one that was held.
    Release(Chosen),
    /// Deletes one, with its turns and its files.
    Rm {
        /// Which one.
        name: Name,
        #[command(flatten)]
        of: InAgent,
    },
}

/// A session, and whose it is.
#[derive(Debug, Args)]
pub(super) struct Chosen {
    /// Which one.
    name: Name,
    #[command(flatten)]
    of: InAgent,
}

impl Chosen {
    async fn find(self, catalog: &Catalog) -> Result<SessionId, Failure> {
        let (_, _, session) =
            InSession { agent: self.of, session: self.name }.find(catalog).await?;
        Ok(session)
    }
}

impl Sessions {
    pub(super) async fn run(self, place: Place) -> Outcome {
        let desk = Desk::open(&place).await?;
        match self {
            Self::Ls { of, list } => {
                let (_, agent) = of.find(&desk.catalog).await?;
                print(list, &desk.catalog.sessions(agent, None, Page::ALL).await?)?;
            }
            Self::New { name, of } => {
                let (_, agent) = of.find(&desk.catalog).await?;
                must_be_new(desk.catalog.make_session(agent, &name).await?, "session", &name)?;
            }
            Self::Close(chosen) => {
                desk.catalog.close_session(chosen.find(&desk.catalog).await?).await?;
            }
            Self::Reopen(chosen) => {
                desk.catalog.reopen_session(chosen.find(&desk.catalog).await?).await?;
            }
            Self::Hold(chosen) => {
                desk.catalog.hold_session(chosen.find(&desk.catalog).await?).await?;
            }
            Self::Release(chosen) => {
                desk.catalog.release_session(chosen.find(&desk.catalog).await?).await?;
            }
            Self::Rm { name, of } => {
                let in_session = InSession { agent: of, session: name.clone() };
                let (_, _, session) = in_session.find(&desk.catalog).await?;
                desk.catalog.remove_session(session).await?;
                desk.finish_deletion("session", &name).await?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn print(list: List, sessions: &[SessionPlace]) -> Result<(), Failure> {
    let mut output = Output::new();
    if list.json {
        for session in sessions {
            output.json(&json!({
                "name": session.name,
                "created_ms": session.created_ms,
                "active_ms": session.active_ms,
                "closed_ms": session.closed_ms,
                "held_ms": session.held_ms,
                "turns": session.turns,
                "latest": session.latest.map(TurnState::as_str),
                "question": session.question,
            }))?;
        }
        return output.flush();
    }
    let rows: Vec<_> = sessions.iter().map(row).collect();
    output.text(&table(&["NAME", "TURNS", "LATEST", "ACTIVE", "QUESTION"], &rows))?;
    output.flush()
}

fn row(session: &SessionPlace) -> Vec<String> {
    let question = session.question.as_deref().unwrap_or_default();
    vec![
        session.name.clone(),
        session.turns.to_string(),
        session.latest.map_or("-", TurnState::as_str).to_owned(),
        time(session.active_ms),
        first_line(question),
    ]
}

/// As much of a text as a table shows.
fn first_line(text: &str) -> String {
    const SHOWN: usize = 60;
    let line = text.lines().next().unwrap_or_default();
    let shown: String = line.chars().take(SHOWN).collect();
    if shown.len() < text.len() { shown + "…" } else { shown }
}
