use std::fmt;

use anyhow::anyhow;
use uuid::Uuid;

use super::{CatalogError, Event, Invoked, VersionId};
use crate::scope::{SessionId, Sha256};

/// A turn, as the catalog made it; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TurnId(pub Uuid);

impl fmt::Display for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_hyphenated().fmt(f)
    }
}

/// Where a turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnState {
    /// It waits to be run.
    Queued,
    /// Some host runs it.
    Running,
    /// It asked a person, and nobody answered yet.
    Parked,
    /// It replied, or its question was answered by a turn that came to an end.
    Done,
    /// It ended without a reply.
    Failed,
}

impl TurnState {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Parked => "parked",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    pub(super) fn parse(word: &str) -> Result<Self, CatalogError> {
        let all = [Self::Queued, Self::Running, Self::Parked, Self::Done, Self::Failed];
        let found = all.into_iter().find(|state| state.as_str() == word);
        found.ok_or_else(|| CatalogError::unavailable(anyhow!("a turn in an unknown state")))
    }
}

/// Why a turn ended without a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The guest reported it.
    GuestError,
    /// The guest broke down.
    Trapped,
    /// It reached a limit of this host.
    Limit,
    /// Somebody asked it to stop.
    Cancelled,
    /// The host failed it.
    HostFault,
    /// Its host fell silent, and it was given up.
    Abandoned,
}

impl Failure {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GuestError => "guest-error",
            Self::Trapped => "trapped",
            Self::Limit => "limit",
            Self::Cancelled => "cancelled",
            Self::HostFault => "host-fault",
            Self::Abandoned => "abandoned",
        }
    }
}

/// A turn to begin.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// Whose turn it is.
    pub session: SessionId,
    /// The component that runs.
    pub component: Sha256,
    /// What the caller sent.
    pub input: &'a str,
    /// Set if it answers the session's question; required while one is open.
    pub answer: Option<Answer<'a>>,
    /// Skills that it is given beside those of its agent, which they come before.
    pub skills: &'a [VersionId],
}

/// An answer to a session's question.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The turn that asked.
    pub question: TurnId,
    /// What the person said.
    pub text: &'a str,
}

/// The right to run a turn, to be renewed within the catalog's lease time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Which turn.
    pub turn: TurnId,
    /// 1 on the first try; one more for each earlier one whose host died.
    pub attempt: u32,
}

/// What a session waits to be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The turn that asked.
    pub turn: TurnId,
    /// What it asked.
    pub text: String,
    /// The input of that turn.
    pub input: String,
    /// The component that asked.
    pub component: Sha256,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With a reply.
    Replied(String),
    /// With a question; the bytes of the component are kept until it is answered.
    Asked {
        /// For a person.
        question: String,
        /// The component, byte for byte; `None` if the catalog has it.
        component: Option<Vec<u8>>,
    },
    /// Without a reply.
    Failed {
        /// What kind of failure.
        failure: Failure,
        /// A sentence about it.
        error: String,
    },
}

/// A turn that a guest asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wake {
    /// How long after the end of the turn that asked, in milliseconds.
    pub after_ms: u64,
    /// Its input.
    pub input: String,
}

/// All that is known once a turn has ended; recorded whole or not at all.
#[derive(Clone, Debug)]
pub struct Finish {
    /// How it ended.
    pub ending: Ending,
    /// What the guest said on the way.
    pub said: String,
    /// What it asked for later; kept only if the turn did not fail.
    pub wakes: Vec<Wake>,
    /// What it did since the lease was last renewed, in order.
    pub events: Vec<Event>,
    /// How many events before those are known to have been recorded: see
    /// [`super::Catalog::renew`].
    pub recorded: u64,
    /// What it asked of its host, each kind of call once.
    pub invoked: Vec<Invoked>,
}

/// A turn, as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Which turn.
    pub id: TurnId,
    /// Whose turn it is.
    pub session: SessionId,
    /// Which of its session it is, counted from 1.
    pub position: u64,
    /// Where it stands.
    pub state: TurnState,
    /// 1 on the first try.
    pub attempt: u32,
    /// The parked turn whose question it answers.
    pub resumes: Option<TurnId>,
    /// What the caller sent.
    pub input: String,
    /// What a person answered.
    pub answer: Option<String>,
    /// What the guest said until its end; of an interrupted turn, its partial reply. Empty while
    /// it runs: see [`super::Catalog::events_of_turn`].
    pub said: String,
    /// Its reply.
    pub reply: Option<String>,
    /// What it asked.
    pub question: Option<String>,
    /// Why it failed, in a word.
    pub failure: Option<String>,
    /// Why it failed, in a sentence.
    pub error: Option<String>,
    /// When it was queued, in milliseconds since the Unix epoch.
    pub queued_ms: u64,
    /// When its latest attempt began, in milliseconds since the Unix epoch.
    pub started_ms: Option<u64>,
    /// When it ended, in milliseconds since the Unix epoch.
    pub ended_ms: Option<u64>,
}
