use std::io;
use std::process::ExitCode;

use bailiwick::catalog::CatalogError;
use bailiwick::space;

use super::exit;
use super::output::for_line;

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(super) enum Failure {
    /// A sentence about it.
    Refused {
        message: String,
        /// What happened below.
        because: Option<String>,
        /// What to try instead.
        suggestions: Vec<String>,
    },
    /// Nobody reads any more what is printed: `bailiwick … | head` has seen enough.
    Unheard,
    /// Ctrl-C.
    Cancelled(String),
}

impl Failure {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), because: None, suggestions: Vec::new() }
    }

    pub(super) fn because(message: impl Into<String>, error: &dyn std::fmt::Display) -> Self {
        let because = Some(error.to_string());
        Self::Refused { message: message.into(), because, suggestions: Vec::new() }
    }

    /// Says it, and gives the exit code for it.
    pub(super) fn report(&self) -> ExitCode {
        match self {
            Self::Unheard => ExitCode::SUCCESS,
            Self::Cancelled(message) => {
                say(message);
                ExitCode::from(exit::CANCELLED)
            }
            Self::Refused { message, because, suggestions } => {
                say(message);
                if let Some(because) = because {
                    eprint_line(&format!("  because: {because}"));
                }
                for suggestion in suggestions {
                    eprint_line(&format!("  try: {suggestion}"));
                }
                ExitCode::from(exit::REFUSED)
            }
        }
    }
}

/// All causes, each said once: libraries like to repeat the next one in their own words.
pub(super) fn causes(error: &anyhow::Error) -> String {
    let mut said: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if !said.iter().any(|before| before.contains(&cause)) {
            said.push(cause);
        }
    }
    said.join(": ")
}

/// A sentence for the person, on standard error.
pub(super) fn say(message: &str) {
    eprint_line(&format!("bailiwick: {message}"));
}

/// What cannot be said is dropped: there is nowhere left to complain.
fn eprint_line(line: &str) {
    use io::Write as _;
    let _ = writeln!(io::stderr(), "{}", for_line(line));
}

impl From<space::Error> for Failure {
    fn from(error: space::Error) -> Self {
        let because = error.source_for_log().map(causes);
        Self::Refused { message: error.message, because, suggestions: error.suggestions }
    }
}

impl From<CatalogError> for Failure {
    fn from(error: CatalogError) -> Self {
        match error {
            CatalogError::Unavailable { source } => {
                Self::because("the catalog failed", &causes(&source))
            }
            other => Self::new(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let error = anyhow::anyhow!("disk is full").context("database: disk is full");
        assert_eq!(causes(&error.context("migrating")), "migrating: database: disk is full");
    }
}
