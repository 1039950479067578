use std::borrow::Cow;

use anyhow::anyhow;

use super::CatalogError;
use super::database::{Row, Statement};
use super::turn::{TurnId, TurnState};
use crate::limits::EVENT_SAID_BYTES_MAX;

/// How much a log line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// For whoever looks for a fault.
    Debug,
    /// What happens.
    Info,
    /// What should not.
    Warn,
    /// What must not.
    Error,
}

impl LogLevel {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }

    fn parse(word: &str) -> Result<Self, CatalogError> {
        let all = [Self::Debug, Self::Info, Self::Warn, Self::Error];
        let found = all.into_iter().find(|level| level.as_str() == word);
        found.ok_or_else(|| damaged("a log line of an unknown level"))
    }
}

/// One thing that happened in a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It came to stand somewhere; the catalog tells of these itself.
    State(TurnState),
    /// It said a piece of its reply.
    Said {
        /// The piece.
        text: String,
    },
    /// It wrote a file.
    Written {
        /// As the guest named it.
        path: String,
        /// Bytes.
        size: u64,
    },
    /// It deleted a file.
    Deleted {
        /// As the guest named it.
        path: String,
    },
    /// It copied a file into a wider scope.
    Promoted {
        /// As the guest named it.
        source: String,
        /// As the guest named it.
        target: String,
        /// Which content the copy has; empty if an earlier version of this host recorded it.
        revision: String,
    },
    /// A result too large to show became a file.
    Spilled {
        /// As the guest knows it.
        path: String,
    },
    /// It logged a line.
    Logged {
        /// How much it matters.
        level: LogLevel,
        /// The line.
        message: String,
    },
}

/// An event, where it stands in its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its number: one more than that of the event before, in the whole session.
    pub number: u64,
    /// Which turn.
    pub turn: TurnId,
    /// Which attempt at it.
    pub attempt: u32,
    /// When it was recorded, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// What happened.
    pub event: Event,
}

impl Recorded {
    /// Reads `number`, `turn_id`, `attempt`, `at_ms` and the columns of [`Columns`], in order.
    pub(super) fn of(row: &Row) -> Result<Self, CatalogError> {
        let (number, turn) = (row.at(0)?, row.at(1)?);
        let (attempt, at_ms) = (row.at(2)?, row.at(3)?);
        Ok(Self { number, turn, attempt, at_ms, event: event(row)? })
    }
}

fn event(row: &Row) -> Result<Event, CatalogError> {
    let (kind, path): (String, _) = (row.at(4)?, || row.at(5));
    Ok(match kind.as_str() {
        "state" => Event::State(TurnState::parse(&row.at::<String>(9)?)?),
        "said" => Event::Said { text: row.at(9)? },
        "written" => Event::Written { path: path()?, size: row.at(7)? },
        "deleted" => Event::Deleted { path: path()? },
        "promoted" => {
            let revision = row.at::<Option<String>>(10)?.unwrap_or_default();
            Event::Promoted { source: path()?, target: row.at(6)?, revision }
        }
        "spilled" => Event::Spilled { path: path()? },
        "logged" => {
            let level = LogLevel::parse(&row.at::<String>(8)?)?;
            Event::Logged { level, message: row.at(9)? }
        }
        _ => return Err(damaged("an event of an unknown kind")),
    })
}

fn damaged(what: &'static str) -> CatalogError {
    CatalogError::unavailable(anyhow!("the catalog holds {what}"))
}

/// What an event is kept as.
#[derive(Debug, Default)]
pub(super) struct Columns<'a> {
    kind: &'static str,
    path: Option<&'a str>,
    target: Option<&'a str>,
    size: Option<u64>,
    level: Option<&'static str>,
    message: Option<Cow<'a, str>>,
    revision: Option<&'a str>,
}

/// How many values [`Columns::bind_to`] binds.
pub(super) const COLUMNS_BOUND: usize = 7;

impl<'a> Columns<'a> {
    /// What an event is kept as: one row, or several if it is a long piece of a reply.
    pub(super) fn of(event: &'a Event) -> Vec<Self> {
        let row = Self::default();
        vec![match event {
            Event::Said { text } => return pieces(text).map(Self::said).collect(),
            Event::State(state) => {
                Self { kind: "state", message: Some(state.as_str().into()), ..row }
            }
            Event::Written { path, size } => {
                Self { kind: "written", path: Some(path), size: Some(*size), ..row }
            }
            Event::Deleted { path } => Self { kind: "deleted", path: Some(path), ..row },
            Event::Promoted { source, target, revision } => {
                let (path, target, revision) =
                    (Some(&**source), Some(&**target), Some(&**revision));
                Self { kind: "promoted", path, target, revision, ..row }
            }
            Event::Spilled { path } => Self { kind: "spilled", path: Some(path), ..row },
            Event::Logged { level, message } => {
                let level = Some(level.as_str());
                Self { kind: "logged", level, message: Some(message.into()), ..row }
            }
        }]
    }

    fn said(text: &'a str) -> Self {
        Self { kind: "said", message: Some(text.into()), ..Self::default() }
    }

    pub(super) fn bind_to<'b>(&'b self, statement: Statement<'b>) -> Statement<'b> {
        let statement = statement.bind(self.kind).bind(self.path).bind(self.target);
        let statement = statement.bind(self.size).bind(self.level);
        statement.bind(self.message.as_deref()).bind(self.revision)
    }
}

/// A text cut between characters into pieces of bounded length; none of an empty one.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(EVENT_SAID_BYTES_MAX));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A long piece is cut between characters, and nothing of it is lost.
    #[test]
    fn a_long_piece_becomes_several() {
        let text = "aé".repeat(EVENT_SAID_BYTES_MAX);
        let cut: Vec<_> = pieces(&text).collect();
        assert!(cut.len() > 2 && cut.iter().all(|piece| piece.len() <= EVENT_SAID_BYTES_MAX));
        assert_eq!(cut.concat(), text);
        assert_eq!(pieces("").count(), 0);
    }
}
