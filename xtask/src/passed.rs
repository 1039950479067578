//! Remembers what the suite passed on, so that a run with nothing changed takes seconds.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::places::Places;
use crate::shell::output;

/// The checkout as it is now: every file that git knows or would take, and the compiler.
pub(crate) struct State {
    file: PathBuf,
    sum: String,
}

impl State {
    pub(crate) fn of(places: &Places) -> Result<Self> {
        let mut list = Command::new("git");
        list.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
        let names = output(list.current_dir(&places.root)).context("git lists the checkout")?;
        let mut hasher = DefaultHasher::new();
        output(Command::new("rustc").arg("-vV"))?.hash(&mut hasher);
        for name in names.lines() {
            // A file that was deleted and is still listed counts by its name alone.
            (name, fs::read(places.root.join(name)).ok()).hash(&mut hasher);
        }
        let file = places.target.join("suite-passed");
        Ok(Self { file, sum: format!("{:016x}", hasher.finish()) })
    }

    /// Whether the suite passed on just this.
    pub(crate) fn has_passed(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|sum| sum == self.sum)
    }

    pub(crate) fn remember(&self) -> Result<()> {
        fs::write(&self.file, &self.sum).context("the suite's success is not remembered")
    }
}
