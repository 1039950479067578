//! Reads every file under a folder, several at once, and writes a table of what is in them.

use std::fmt::Write as _;

use bailiwick_guest::tasks::{files, join};
use bailiwick_guest::{Failure, Request, agent, session};

const TABLE: &str = "session/table.md";
/// As many as the host works on at once for one turn.
const IN_FLIGHT: usize = 16;

agent!(async run);

/// The input is a folder, and how many files to read at once, if not 16.
async fn run(request: Request) -> Result<String, Failure> {
    let mut words = request.input.split_whitespace();
    let folder = words.next().ok_or("Which folder?")?;
    let in_flight = words.next().map_or(Ok(IN_FLIGHT), str::parse)?;

    let files = files::list(folder).await?;
    session::say(format!("Reading {} files, {in_flight} at once.\n", files.len()));
    let texts = files.iter().map(|file| files::read_to_string(&file.path));
    let texts = join(in_flight, texts).await;

    let mut table = "| file | lines | words |\n|---|---|---|\n".to_owned();
    let mut words = 0;
    for (file, text) in files.iter().zip(texts) {
        let text = text?;
        let in_file = text.split_whitespace().count();
        words += in_file;
        writeln!(table, "| {} | {} | {in_file} |", file.path, text.lines().count())?;
    }
    let table = files::write(TABLE, table).await?;
    Ok(format!("{} files have {words} words. The table is in {}.", files.len(), table.path))
}
