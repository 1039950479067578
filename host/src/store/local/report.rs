use std::fmt;

use serde::Serialize;

use super::LocalStore;

/// What the filesystem of a directory can do; prints as a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LocalReport {
    /// How names that differ in case, or in the Unicode form of an accent, are kept.
    pub twins: Twins,
    /// How finely the time of a file is kept, in nanoseconds.
    pub time_step_ns: u64,
}

/// How a filesystem keeps names that look alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Twins {
    /// As the different names that they are.
    Apart,
    /// As one, so the second one is refused.
    Folded,
}

impl LocalStore {
    /// What was found out when the directory was opened.
    pub fn report(&self) -> LocalReport {
        let twins = if self.disk.folds { Twins::Folded } else { Twins::Apart };
        LocalReport { twins, time_step_ns: self.disk.stamps.step_ns() }
    }
}

impl fmt::Display for LocalReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let twins = match self.twins {
            Twins::Apart => "kept apart",
            Twins::Folded => "folded: a second spelling of a name is refused",
        };
        writeln!(f, "directory")?;
        writeln!(f, "  {:<34} {twins}", "names that differ in case or accents")?;
        writeln!(f, "  {:<34} {} ns", "times of files, in steps of", self.time_step_ns)
    }
}
