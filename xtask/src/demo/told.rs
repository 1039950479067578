//! Telling: each command is shown with what it shows, and held to what it must show.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::places::Places;

/// Longest output that is shown whole, in lines.
const SHOWN_LINES_MAX: usize = 60;

/// A story in chapters.
pub(super) struct Story {
    root: PathBuf,
    guests: PathBuf,
    command: PathBuf,
    /// Where the files of the story are.
    pub(super) data: PathBuf,
    chapter: Cell<u32>,
}

/// What a command showed.
pub(super) struct Shown {
    command: String,
    /// All of its output.
    pub(super) text: String,
}

impl Story {
    pub(super) fn new(places: &Places, data: PathBuf) -> Self {
        Self {
            root: places.root.clone(),
            guests: places.guests(),
            command: places.target.join("debug/bailiwick"),
            data,
            chapter: Cell::new(0),
        }
    }

    pub(super) fn chapter(&self, title: &str) {
        self.chapter.set(self.chapter.get() + 1);
        println!("\n{}. {title}", self.chapter.get());
    }

    /// Shows a file of the checkout.
    pub(super) fn file(&self, path: &str) -> Result<()> {
        println!("\n  $ cat {path}");
        show(&fs::read_to_string(self.root.join(path)).with_context(|| path.to_owned())?);
        Ok(())
    }

    /// Runs the command, whose arguments are words without spaces.
    pub(super) fn bailiwick(&self, arguments: &str) -> Result<Shown> {
        println!("\n  $ bailiwick {arguments}");
        self.run(arguments, arguments.split(' ').map(Into::into).collect())
    }

    /// Runs a turn of a guest, with an input that may have spaces.
    pub(super) fn guest(&self, name: &str, arguments: &str, input: &str) -> Result<Shown> {
        println!("\n  $ bailiwick run {name}.wasm {arguments} \"{input}\"");
        let component = self.guests.join(name).with_extension("wasm");
        let mut words = vec!["run".into(), component.into_os_string()];
        words.extend(arguments.split(' ').map(Into::into));
        words.push(input.into());
        self.run(&format!("run {name}.wasm"), words)
    }

    fn run(&self, shown: &str, words: Vec<std::ffi::OsString>) -> Result<Shown> {
        let mut command = Command::new(&self.command);
        command.current_dir(&self.root).arg("--data-dir").arg(&self.data).args(words);
        for variable in ["STORE", "DATA", "WORKSPACE", "AGENT", "SESSION", "LOG"] {
            command.env_remove(format!("BAILIWICK_{variable}"));
        }
        let output = command.stdin(Stdio::null()).output().context("cannot run the command")?;
        show(&String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        show(&text);
        ensure!(output.status.success(), "`bailiwick {shown}` failed: {}", output.status);
        Ok(Shown { command: shown.to_owned(), text })
    }
}

impl Shown {
    pub(super) fn says(&self, expected: &str) -> Result<()> {
        ensure!(self.text.contains(expected), "`{}` does not show “{expected}”", self.command);
        Ok(())
    }

    pub(super) fn does_not_say(&self, unexpected: &str) -> Result<()> {
        ensure!(!self.text.contains(unexpected), "`{}` shows “{unexpected}”", self.command);
        Ok(())
    }
}

fn show(text: &str) {
    let lines: Vec<_> = text.lines().collect();
    for line in lines.iter().take(SHOWN_LINES_MAX) {
        println!("    {line}");
    }
    if lines.len() > SHOWN_LINES_MAX {
        println!("    … {} more lines", lines.len() - SHOWN_LINES_MAX);
    }
}
