//! Erasures on the command line.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bailiwick::catalog::{AskErasure, Blocked, Erasure, ErasureId, Label, Made};
use bailiwick::erasure::Eraser;
use bailiwick::retention::Sweeper;
use clap::{Args, Subcommand};
use uuid::Uuid;

use super::Outcome;
use super::desk::{Desk, Place};
use super::failure::{Failure, say};
use super::names::InWorkspace;
use super::output::{Output, time};
use super::receipts::ReceiptSettings;

/// Erasures: deleting what is asked by a time, and proving it.
#[derive(Debug, Subcommand)]
pub(super) enum Erasures {
    /// Asks for a workspace to be erased, or for the sessions that a subject opened in it.
    Ask(Ask),
    /// Goes on with what is asked for, shows how one stands, and prints its receipt once it is
    /// proved.
    Show {
        /// Which one.
        erasure: Uuid,
        #[command(flatten)]
        settings: ReceiptSettings,
    },
}

/// What is to be erased by when.
#[derive(Debug, Args)]
pub(super) struct Ask {
    #[command(flatten)]
    workspace: InWorkspace,
    /// Whose sessions; without it, all of the workspace.
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<Label>,
    /// By when it is to be proved: so long from now.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "30d")]
    within: Duration,
    #[command(flatten)]
    settings: ReceiptSettings,
}

impl Erasures {
    pub(super) async fn run(self, place: Place) -> Outcome {
        let desk = Desk::open(&place).await?;
        match self {
            Self::Ask(ask) => {
                let workspace = ask.workspace.find(&desk.catalog).await?;
                let within = u64::try_from(ask.within.as_millis()).unwrap_or(u64::MAX);
                let now_ms = desk.storage.clock().now_ms();
                let deadline_ms = now_ms.saturating_add(within);
                let subject = ask.subject.as_ref();
                let asked = AskErasure { workspace, subject, by: None, deadline_ms };
                let made = desk.catalog.ask_erasure(asked).await?;
                if let Made::Found(_) = made {
                    say("it was asked for before, and is not over");
                }
                go_on(&desk, &ask.settings).await?;
                show(&desk, made.id()).await
            }
            Self::Show { erasure, settings } => {
                go_on(&desk, &settings).await?;
                show(&desk, ErasureId(erasure)).await
            }
        }
    }
}

/// Deletes, empties, and proves what can be proved now.
async fn go_on(desk: &Desk, settings: &ReceiptSettings) -> Result<(), Failure> {
    let key = settings.key(&desk.data_dir)?;
    let (limits, clock) = (desk.storage.limits().clone(), desk.storage.clock().clone());
    let eraser = Eraser::new((*desk.catalog).clone(), key, limits, clock, Arc::new(()));
    let sweeper = Sweeper::new((*desk.catalog).clone(), desk.storage.clone(), Arc::new(()));
    eraser.tick().await?;
    sweeper.empty_owed().await;
    eraser.tick().await?;
    Ok(())
}

async fn show(desk: &Desk, id: ErasureId) -> Outcome {
    let found = desk.catalog.erasure(id).await?;
    let erasure = found.ok_or_else(|| Failure::new(format!("there is no erasure {id}")))?;
    if let Some(receipt) = &erasure.receipt {
        let mut output = Output::new();
        output.line(receipt)?;
        output.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    say(&format!("erasure {id} {}", standing(&erasure)));
    Ok(ExitCode::SUCCESS)
}

fn standing(erasure: &Erasure) -> String {
    let due = time(erasure.deadline_ms);
    match (erasure.gone_ms, erasure.blocked) {
        (Some(_), _) => format!(
            "is deleted, and proved once nothing that was under way can come any more; due {due}"
        ),
        (None, Some(Blocked::Held)) => format!("waits for a hold to be lifted; due {due}"),
        (None, Some(Blocked::Running)) => format!("waits for turns that run to stop; due {due}"),
        (None, None) => format!("is asked for; due {due}"),
    }
}
