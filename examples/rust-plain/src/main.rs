//! Counts the words of the files in a folder, as any program does that was never written for an
//! agent: `std::fs`, arguments, standard output. What it counted before it keeps in the agent's
//! folder.

#![expect(clippy::disallowed_methods, reason = "plain files are what this example is about")]

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs, io};

/// In the working folder it stands for what the agent keeps from one session to the next.
const COUNTS: &str = "agent-files/word-counts.txt";

fn main() -> io::Result<()> {
    let folder = env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let mut words = 0;
    for path in files(Path::new(&folder))? {
        let text = fs::read(&path)?;
        let count = String::from_utf8_lossy(&text).split_whitespace().count();
        println!("{count:>8} {}", path.display());
        words += count;
    }
    let before = keep(&folder, words)?;
    println!("{words:>8} in all, {before} when it was counted last");
    Ok(())
}

/// The files in a folder and below it, in order; what is linked is not in it.
fn files(folder: &Path) -> io::Result<Vec<std::path::PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            found.extend(files(&entry.path())?);
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Keeps a count, and says what it was before.
fn keep(folder: &str, words: usize) -> io::Result<String> {
    let kept = fs::read_to_string(COUNTS).unwrap_or_default();
    let mut counts: BTreeMap<_, _> =
        kept.lines().filter_map(|line| line.split_once('\t')).collect();
    let words = words.to_string();
    let before = counts.insert(folder, &words).unwrap_or("nothing").to_owned();
    let lines = counts.iter().map(|(folder, words)| format!("{folder}\t{words}\n"));
    fs::write(COUNTS, lines.collect::<String>())?;
    Ok(before)
}
