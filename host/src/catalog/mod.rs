//! What exists and what happened: workspaces, agents, sessions, their turns, and the files
//! that are owed to deletion. Knows nothing of files themselves; those are the store's.
//!
//! One SQLite database, opened for one store; names are unique within their parent, and a
//! workspace's parent is its store. What was answered is on disk.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Sqlite, SqlitePool, Transaction};
use uuid::Uuid;

use crate::clock::Clock;

mod deletions;
mod ending;
mod name;
mod places;
mod turn;
mod turns;

pub use name::{Name, NameError};
pub use places::{Made, Place, PlaceKind, SessionPlace};
pub use turn::{
    Answer, Ending, Event, Failure, Finish, Lease, Question, Start, Turn, TurnId, TurnState, Wake,
};

/// How long a command waits for another process that changes the same catalog.
const BUSY: Duration = Duration::from_secs(10);
/// One: SQLite writes one transaction at a time, and to open another costs a process that does
/// one thing more than it gains.
const CONNECTIONS_MAX: u32 = 1;
/// So many pages of the journal are folded into the database at once. Who opens a catalog that
/// was not closed reads them all.
const JOURNAL_PAGES_MAX: &str = "256";

/// The catalog of one store.
#[derive(Clone, Debug)]
pub struct Catalog {
    pool: SqlitePool,
    store: Uuid,
    clock: Arc<dyn Clock>,
    lease_ms: u64,
}

/// Which catalog to open, and for what.
#[derive(Clone, Debug)]
pub struct CatalogOptions<'a> {
    /// The database's file; made if it is not there.
    pub file: &'a Path,
    /// Which store the names belong to, in words that stay the same from one use to the next.
    pub store: &'a str,
    /// How long the host of a turn may be silent until the turn is given up, in milliseconds.
    pub lease_ms: u64,
    /// Where times come from.
    pub clock: Arc<dyn Clock>,
}

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
    /// What it was about has been deleted.
    #[error("it was deleted meanwhile")]
    Deleted,
    /// The turn was given up: its host was silent for too long.
    #[error("this turn was given up, since its host was silent for too long")]
    LeaseLost,
    /// The database failed.
    #[error("the catalog failed: {source:#}")]
    Unavailable {
        /// What happened, for logs.
        #[source]
        source: anyhow::Error,
    },
}

impl CatalogError {
    fn unavailable(source: impl Into<anyhow::Error>) -> Self {
        Self::Unavailable { source: source.into() }
    }
}

impl From<sqlx::Error> for CatalogError {
    fn from(source: sqlx::Error) -> Self {
        Self::unavailable(source)
    }
}

impl Catalog {
    /// Opens the catalog, making or upgrading its tables.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`] if the file cannot be read or written, is no database, or
    /// was written by a later version of this host.
    pub async fn open(options: CatalogOptions<'_>) -> Result<Self, CatalogError> {
        create_private(options.file)
            .with_context(|| format!("cannot open {}", options.file.display()))
            .map_err(CatalogError::unavailable)?;
        let connect = SqliteConnectOptions::new()
            .filename(options.file)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .pragma("wal_autocheckpoint", JOURNAL_PAGES_MAX)
            .busy_timeout(BUSY);
        let pool =
            SqlitePoolOptions::new().max_connections(CONNECTIONS_MAX).connect_with(connect).await?;
        sqlx::migrate!("migrations/sqlite")
            .run(&pool)
            .await
            .context("its tables could not be brought up to date")
            .map_err(CatalogError::unavailable)?;
        let store = store_id(&pool, options.store).await?;
        Ok(Self { pool, store, clock: options.clock, lease_ms: options.lease_ms })
    }

    /// Closes the database, folding its journal into it.
    pub async fn close(self) {
        self.pool.close().await;
    }

    /// Writers take the lock when they begin: one that read first could only fail later.
    async fn begin(&self) -> Result<Transaction<'static, Sqlite>, CatalogError> {
        Ok(self.pool.begin_with("BEGIN IMMEDIATE").await?)
    }

    fn now(&self) -> i64 {
        integer(self.clock.now_ms())
    }
}

/// Makes the file for its owner alone, wherever it is: it holds what people asked and were told.
/// SQLite gives its other files the same mode.
fn create_private(file: &Path) -> std::io::Result<()> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(file).map(drop)
}

async fn store_id(pool: &SqlitePool, location: &str) -> Result<Uuid, CatalogError> {
    let find = || sqlx::query_as("select id from stores where location = $1").bind(location);
    // Mostly it is there, and nothing has to be written.
    let found: Option<(String,)> = find().fetch_optional(pool).await?;
    if let Some((id,)) = found {
        return parse_id(&id);
    }
    sqlx::query(
        "insert into stores (id, location) values ($1, $2) on conflict (location) do nothing",
    )
    .bind(new_id().to_string())
    .bind(location)
    .execute(pool)
    .await?;
    let (id,): (String,) = find().fetch_one(pool).await?;
    parse_id(&id)
}

/// Ids sort by the time they were made, and are never made twice.
fn new_id() -> Uuid {
    Uuid::now_v7()
}

fn parse_id(id: &str) -> Result<Uuid, CatalogError> {
    Uuid::parse_str(id)
        .context("the catalog holds what is no id")
        .map_err(CatalogError::unavailable)
}

fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests;
