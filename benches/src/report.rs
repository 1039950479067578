//! `RESULTS.md`, made of what each workload found; a workload that was not run this time keeps
//! what it found before, on the same machine with the same versions.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::figure::{Figure, Target};
use crate::picture;
use crate::setting::Effort;
use crate::workloads::Workload;

/// What one workload found.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Section {
    pub(crate) machine: Vec<(String, String)>,
    /// When, how thoroughly, and of which sources.
    pub(crate) run: String,
    pub(crate) figures: Vec<Figure>,
    pub(crate) notes: Vec<String>,
}

/// Where results are kept and shown.
pub(crate) struct Report {
    /// Holds `RESULTS.md` and the pictures.
    pub(crate) folder: PathBuf,
    /// Holds what was found, in full.
    pub(crate) kept: PathBuf,
}

impl Report {
    /// Keeps what a workload found.
    pub(crate) fn keep(&self, workload: &Workload, section: &Section) -> Result<()> {
        std::fs::create_dir_all(&self.kept)?;
        std::fs::write(self.file(workload), serde_json::to_vec_pretty(section)?)?;
        Ok(())
    }

    fn file(&self, workload: &Workload) -> PathBuf {
        self.kept.join(format!("{}.json", workload.name))
    }

    fn found(&self, workload: &Workload, machine: &[(String, String)]) -> Option<Section> {
        let text = std::fs::read(self.file(workload)).ok()?;
        let section: Section = serde_json::from_slice(&text).ok()?;
        (section.machine == machine).then_some(section)
    }

    /// Writes the page and its pictures.
    pub(crate) fn write(
        &self,
        workloads: &[Workload],
        machine: &[(String, String)],
    ) -> Result<PathBuf> {
        let found: Vec<_> = workloads
            .iter()
            .filter_map(|workload| Some((workload, self.found(workload, machine)?)))
            .collect();
        let mut page = preface(machine, &found);
        for (workload, section) in &found {
            page.push_str(&shown(workload, section));
            let picture = self.folder.join(picture_name(workload));
            picture::draw(&picture, workload.title, &section.figures)
                .with_context(|| format!("drawing {}", picture.display()))?;
        }
        let file = self.folder.join("RESULTS.md");
        std::fs::create_dir_all(&self.folder)?;
        std::fs::write(&file, page)?;
        Ok(file)
    }
}

fn picture_name(workload: &Workload) -> String {
    format!("{}.svg", workload.name)
}

const PREFACE: &str = "\
# Results

What Bailiwick costs beside what is below it and beside its peers, as `cargo xtask bench` measured \
it. All contestants of a workload run in one process and take turns, a round each, so each figure \
is the median over rounds of a ratio between neighbours in time; in brackets are its quartiles. \
The medians of both sides stand beside it. Ratios of time are ours over the other's (less is \
better), ratios of speed as well (more is better). Where a target is missed, the cause follows \
the table, as far as it is known.
";

fn preface(machine: &[(String, String)], found: &[(&Workload, Section)]) -> String {
    let mut page = PREFACE.to_owned();
    page.push_str("\n| | |\n|---|---|\n");
    for (name, value) in machine {
        _ = writeln!(page, "| {name} | {value} |");
    }
    let targets = found.iter().flat_map(|(_, section)| &section.figures);
    let met: Vec<_> = targets.filter_map(Figure::is_met).collect();
    let reached = met.iter().filter(|met| **met).count();
    _ = writeln!(page, "\n{reached} of {} targets are reached.", met.len());
    page
}

/// One workload, as Markdown.
pub(crate) fn shown(workload: &Workload, section: &Section) -> String {
    let mut page = format!("\n## {}\n\n{}\n\n", workload.title, workload.about);
    _ = writeln!(page, "![{}]({})\n", workload.title, picture_name(workload));
    page.push_str("| | ours | beside | reached | to reach | | rounds |\n");
    page.push_str("|---|---|---|---|---|---|---|\n");
    for figure in &section.figures {
        page.push_str(&row(figure));
    }
    let missed = section.figures.iter().filter(|figure| figure.is_met() == Some(false));
    let mut causes: Vec<_> =
        missed.filter_map(|figure| Some((&figure.what, figure.cause.as_ref()?))).collect();
    causes.dedup();
    if !causes.is_empty() || !section.notes.is_empty() {
        page.push('\n');
    }
    for (what, cause) in causes {
        _ = writeln!(page, "- {what}: {cause}");
    }
    for note in &section.notes {
        _ = writeln!(page, "- {note}");
    }
    _ = writeln!(page, "\n{}", section.run);
    page
}

fn row(figure: &Figure) -> String {
    let unit = figure.unit;
    let ours = format!("{}: {}", figure.ours, unit.shown(figure.ours_median));
    let against = figure.against.as_ref();
    let against = against.map(|(name, median)| format!("{name}: {}", unit.shown(*median)));
    let spread = &figure.reached;
    let reached = format!(
        "**{}** ({} – {})",
        figure.shown(spread.median),
        figure.shown(spread.low),
        figure.shown(spread.high)
    );
    let target = match figure.target {
        Some(Target::AtMost(bound)) => format!("≤ {}", figure.shown(bound)),
        Some(Target::AtLeast(bound)) => format!("≥ {}", figure.shown(bound)),
        None => String::new(),
    };
    let mark = match figure.is_met() {
        Some(true) => "✓",
        Some(false) => "✗",
        None => "",
    };
    format!(
        "| {} | {ours} | {} | {reached} | {target} | {mark} | {} |\n",
        figure.what,
        against.unwrap_or_default(),
        spread.count
    )
}

/// A line about a run.
pub(crate) fn run_line(effort: Effort, root: &Path) -> String {
    use std::process::Command;
    let said = |arguments: &[&str]| {
        crate::machine::said(Command::new("git").current_dir(root).args(arguments))
    };
    let day = crate::machine::said(Command::new("date").args(["-u", "+%Y-%m-%d %H:%M UTC"]));
    let how = match effort {
        Effort::Quick => "a quick run",
        Effort::Full => "a full run",
    };
    format!("Measured {day}, {how}, at commit {}.", said(&["rev-parse", "--short", "HEAD"]))
}
