use std::process::ExitCode;

use bailiwick::catalog::{CatalogError, Walk};
use bailiwick::limits::SESSIONS_WALKED_MAX;
use bailiwick::retention::policy::Verdict;
use bailiwick::retention::{Fate, Preview, Settled, Tick, foresee};
use clap::Args;
use serde_json::json;

use super::Outcome;
use super::desk::{Desk, Place};
use super::failure::{Failure, say};
use super::output::{Output, counted, table, time};

/// Removes what is kept no longer: sessions that are idle for longer than the settings say, with
/// their files, and what goes by itself. A server does this by and by.
#[derive(Debug, Args)]
pub(super) struct Sweep {
    /// Removes nothing, and shows which sessions would go, why and since when.
    #[arg(long)]
    dry_run: bool,
    /// With --dry-run, prints one JSON object per session, those that stay as well: what keeps each, or
    /// why and when it goes if nothing happens in it.
    #[arg(long, requires = "dry_run")]
    json: bool,
}

impl Sweep {
    pub(super) async fn run(self, place: Place) -> Outcome {
        let desk = Desk::open(&place).await?;
        if self.dry_run {
            self.show(&desk).await?;
            return Ok(ExitCode::SUCCESS);
        }
        let tick = desk.sweeper().tick_through().await;
        let Tick { sessions, rows, files, bytes, failed, .. } = tick;
        let (sessions, files) = (counted(sessions, "session"), counted(files, "file"));
        let rows = counted(rows, "row");
        say(&format!("removed {sessions}, {files} ({bytes} bytes) and {rows} of the catalog"));
        if failed > 0 {
            return Err(Failure::new("not all went well: a later sweep tries again"));
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn show(&self, desk: &Desk) -> Result<(), Failure> {
        let storage = &desk.storage;
        let settled = Settled::new(storage.limits().clone(), storage.clock().clone());
        let (mut output, mut rows) = (Output::new(), Vec::new());
        let mut behind = Some(Walk::default());
        while let Some(walk) = behind {
            let preview = Preview { of: None, behind: walk, limit: SESSIONS_WALKED_MAX };
            let page = foresee(&desk.catalog, &settled, &preview).await?;
            for fate in &page.fates {
                match (self.json, fate.verdict) {
                    (true, _) => output.json(&as_json(fate, settled.now_ms()))?,
                    (false, Verdict::Goes { why, at_ms }) if at_ms <= settled.now_ms() => {
                        rows.push(row(desk, fate, why.as_str(), at_ms).await?);
                    }
                    (false, _) => {}
                }
            }
            behind = page.next;
        }
        if !self.json {
            let headings = ["WORKSPACE", "AGENT", "SESSION", "ACTIVE", "GOES FOR", "SINCE"];
            output.text(&table(&headings, &rows))?;
        }
        output.flush()
    }
}

async fn row(desk: &Desk, fate: &Fate, why: &str, at_ms: u64) -> Result<Vec<String>, CatalogError> {
    let facts = &fate.facts;
    let workspace = desk.catalog.workspace_by_id(facts.workspace).await?;
    let agent = desk.catalog.agent_by_id(facts.agent).await?;
    Ok(vec![
        workspace.map_or_else(String::new, |it| it.name),
        agent.map_or_else(String::new, |it| it.name),
        facts.name.clone(),
        time(facts.active_ms),
        why.to_owned(),
        time(at_ms),
    ])
}

fn as_json(fate: &Fate, now_ms: u64) -> serde_json::Value {
    let facts = &fate.facts;
    let (stays, goes, at_ms) = match fate.verdict {
        Verdict::Stays(stay) => (Some(stay.as_str()), None, None),
        Verdict::Goes { why, at_ms } => (None, Some(why.as_str()), Some(at_ms)),
    };
    json!({
        "session": facts.session.to_string(),
        "agent": facts.agent.to_string(),
        "workspace": facts.workspace.to_string(),
        "name": facts.name,
        "active_ms": facts.active_ms,
        "closed_ms": facts.closed_ms,
        "stays": stays,
        "goes": goes,
        "goes_ms": at_ms,
        "goes_now": fate.verdict.by(now_ms).is_some(),
    })
}
