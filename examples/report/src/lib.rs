//! A report on a table, made the way a skill's guide says, with what was learnt kept for the
//! agent's later sessions.

mod statistics;

use std::fmt::Write as _;

use bailiwick_guest::{ErrorCode, Failure, Request, agent, files, log, session, spill, text};
use statistics::{Report, Table};

const GUIDE: &str = "skill/csv-report/guide.md";
const DATA: &str = "workspace/reference/penguins.csv";
const SUMMARY: &str = "session/summary.md";
const NOTES: &str = "agent/notes.md";

agent!(run);

fn run(request: Request) -> Result<String, Failure> {
    let guide = files::read_to_string(GUIDE)?;
    let group = setting(&guide, "Group by")?;
    let measures: Vec<_> = setting(&guide, "Measure")?.split(", ").collect();

    session::say(format!("Reading {DATA} as {GUIDE} says.\n"));
    let data = files::read_to_string(DATA)?;
    let table = Table::parse(&data)?;
    let report = Report::new(&table, group, &measures)?;
    log::info(format_args!("{} rows, {} groups", table.rows.len(), report.groups.len()));

    let summary = files::write(SUMMARY, report.to_markdown())?;
    let every_row = spill("deviations.csv", report.deviations(&table))?;
    let earlier = earlier_notes()?;
    text::append(NOTES, &report.note(&request.input))?;

    let mut reply = format!("{}\n\nThe table is in {}.", report.sentence(), summary.path);
    if let Some(path) = every_row.path {
        let _ = write!(reply, "\nEvery row ({} bytes) is in {path}.", every_row.size);
    }
    match earlier {
        Some(notes) => {
            let _ = write!(reply, "\nFrom earlier sessions I remember:\n{notes}");
        }
        None => reply.push_str("\nThis is my first report: I have no notes yet."),
    }
    Ok(reply)
}

/// The value of a line such as "- Group by: species".
fn setting<'a>(guide: &'a str, name: &str) -> Result<&'a str, String> {
    let value = |line: &'a str| line.strip_prefix("- ")?.strip_prefix(name)?.strip_prefix(": ");
    let found = guide.lines().find_map(value);
    found.map(str::trim).ok_or_else(|| format!("{GUIDE} has no line “- {name}: …”."))
}

fn earlier_notes() -> Result<Option<String>, Failure> {
    match files::read_to_string(NOTES) {
        Ok(notes) => Ok(Some(notes)),
        Err(error) if error.code == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}
