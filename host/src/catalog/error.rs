/// Why the catalog did not do it, in a sentence for the caller.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// A turn of the session runs, or seems to.
    #[error(
        "a turn is running in this session: wait for it to end (if its process is gone, the turn is given up in {} s)",
        given_up_in_ms.div_ceil(1000)
    )]
    TurnRunning {
        /// Until its lease ends, unless its host renews it, in milliseconds.
        given_up_in_ms: u64,
    },
    /// Turns of the session wait to be run, and come first.
    #[error("turns are queued in this session: they come first")]
    TurnsQueued,
    /// As many turns of the session wait to be run as may.
    #[error("too many turns are queued in this session: wait until some of them have ended")]
    QueueFull,
    /// What was to be deleted has a turn that runs, or seems to.
    #[error(
        "a turn is running there: wait for it to end (if its process is gone, the turn is given up in {} s)",
        given_up_in_ms.div_ceil(1000)
    )]
    InUse {
        /// Until its lease ends, unless its host renews it, in milliseconds.
        given_up_in_ms: u64,
    },
    /// The session waits for a person; the question.
    #[error("this session waits for an answer to its question: {0}")]
    QuestionOpen(String),
    /// There is nothing to answer.
    #[error("this session waits for no answer")]
    NoQuestion,
    /// The question has an answer that is being worked on.
    #[error("this question has been answered")]
    AlreadyAnswered,
    /// The name of a request was used before, for something else.
    #[error("another request was made under the same key")]
    RequestReused,
    /// The component is not kept, or not any more.
    #[error("this component is not kept here")]
    NoComponent,
    /// There is no such skill, or no such version of it.
    #[error("there is no such skill here, or no such version of it")]
    NoSkill,
    /// Files that a version needs are being removed, since none needed them for long.
    #[error("some of these files were out of use and are being removed: try again in a moment")]
    BeingRemoved,
    /// It is larger than it may be.
    #[error("this is larger than {bytes_max} bytes")]
    TooLarge {
        /// How large it may be, in bytes.
        bytes_max: usize,
    },
    /// There are as many already as there may be.
    #[error("there are {count_max} already, and no more can be kept")]
    TooMany {
        /// How many there may be.
        count_max: u64,
    },
    /// The session was closed.
    #[error("this session is closed: reopen it, or begin another")]
    Closed,
    /// The session cannot be closed while something is to come in it.
    #[error("{0}: it can be closed once that is over")]
    StillToCome(super::ToCome),
    /// Something of it is held, so that nothing of it may be removed.
    #[error("a session there is on hold: nothing of it may be removed until it is released")]
    Held,
    /// The session went for its age, with its files.
    #[error("this session was not used for so long that it was removed, with its files")]
    Swept,
    /// What it was about has been deleted.
    #[error("it was deleted meanwhile")]
    Deleted,
    /// The turn was given up: its host was silent for too long.
    #[error("this turn was given up, since its host was silent for too long")]
    LeaseLost,
    /// The database failed.
    #[error("the catalog failed")]
    Unavailable {
        /// What happened, for logs.
        #[source]
        source: anyhow::Error,
    },
}

/// PostgreSQL's words for a transaction that it ended in favour of another: a failed
/// serialization and a deadlock. <https://www.postgresql.org/docs/current/errcodes-appendix.html>
const LOST_RACES: [&str; 2] = ["40001", "40P01"];

impl CatalogError {
    pub(super) fn unavailable(source: impl Into<anyhow::Error>) -> Self {
        Self::Unavailable { source: source.into() }
    }

    /// Whether nothing was done since another transaction was in the way.
    pub(super) fn lost_a_race(&self) -> bool {
        let Self::Unavailable { source } = self else { return false };
        let code = source.downcast_ref::<sqlx::Error>().and_then(sqlx::Error::as_database_error);
        code.and_then(|error| error.code()).is_some_and(|code| LOST_RACES.contains(&&*code))
    }
}

impl From<sqlx::Error> for CatalogError {
    /// A row whose parent is not there was made for one that was deleted meanwhile.
    fn from(source: sqlx::Error) -> Self {
        match source.as_database_error() {
            Some(database) if database.is_foreign_key_violation() => Self::Deleted,
            _ => Self::unavailable(source),
        }
    }
}
