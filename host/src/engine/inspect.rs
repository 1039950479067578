//! What a component wants and gives, and whether this host can run it.

use std::fmt;

use serde::Serialize;

/// What is to be said of a component without running it. Displayed in sentences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Inspection {
    /// Names of its imports; empty if the bytes are no component.
    pub imports: Vec<String>,
    /// Names of its exports; empty if the bytes are no component.
    pub exports: Vec<String>,
    /// Whether this host can run it.
    pub verdict: Verdict,
}

/// Whether this host can run a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Yes: it exports `bailiwick:agent/turn`.
    Turn,
    /// Yes: it exports `bailiwick:agent/async-turn`, and its calls may overlap.
    AsyncTurn,
    /// Yes: it exports `wasi:cli/run` 0.2, with the input on standard input and the reply on
    /// standard output.
    Command,
    /// Yes: it exports `wasi:cli/run` 0.3, with input and reply as a command's, and its calls may
    /// overlap.
    AsyncCommand,
    /// No; the reason, in a sentence.
    Unfit(String),
}

impl Inspection {
    /// Whether this host can run it.
    pub fn can_run(&self) -> bool {
        !matches!(self.verdict, Verdict::Unfit(_))
    }

    pub(super) fn unfit(sentence: String) -> Self {
        Self { imports: Vec::new(), exports: Vec::new(), verdict: Verdict::Unfit(sentence) }
    }
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_names(f, "imports", &self.imports)?;
        write_names(f, "exports", &self.exports)?;
        match &self.verdict {
            Verdict::Turn => {
                f.write_str("This host can run it: it exports `bailiwick:agent/turn`.")
            }
            Verdict::AsyncTurn => f.write_str(
                "This host can run it: it exports `bailiwick:agent/async-turn`, and its calls may overlap.",
            ),
            Verdict::Command => f.write_str(
                "This host can run it as a command: input on standard input, reply on standard output.",
            ),
            Verdict::AsyncCommand => f.write_str(
                "This host can run it as a command of WASI 0.3: input on standard input, reply on standard output, and its calls may overlap.",
            ),
            Verdict::Unfit(reason) => write!(f, "This host cannot run it: {reason}."),
        }
    }
}

fn write_names(f: &mut fmt::Formatter<'_>, title: &str, names: &[String]) -> fmt::Result {
    if names.is_empty() {
        return Ok(());
    }
    writeln!(f, "{title}:")?;
    names.iter().try_for_each(|name| writeln!(f, "  {name}"))
}
