//! What exists and what happened: workspaces, agents, sessions, their turns and wakeups, and the
//! files that are owed to deletion. Knows nothing of files themselves; those are the store's.
//!
//! A SQLite file or a PostgreSQL server, opened for one store; names are unique within their
//! parent, and a workspace's parent is its store. What was answered is on disk.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use uuid::Uuid;

use crate::clock::Clock;

mod claims;
mod components;
mod cron;
mod database;
mod deletions;
mod ending;
mod erasures;
mod error;
mod event;
mod events;
mod expiry;
mod facts;
mod invocations;
mod keeping;
mod lookups;
mod name;
mod opening;
mod participants;
mod places;
mod promotions;
mod questions;
mod queue;
mod removal;
mod rows;
mod session;
mod settings;
mod skills;
mod sweeping;
mod tokens;
mod turn;
mod turns;
mod wakeups;
mod watch;
mod welcome;

pub use claims::{Claimed, Standing};
pub use components::{AgentComponent, Snapshot};
pub use cron::{Cron, CronError};
pub use deletions::{DeletionRecord, Reason, Tally};
pub use erasures::{AskErasure, Blocked, Erasure, ErasureId, ErasurePart};
pub use error::CatalogError;
pub use event::{Event, LogLevel, Recorded};
pub use facts::{Judge, SessionFacts, ToCome, Walk};
pub use invocations::{Invoked, InvokedBy};
pub use lookups::{AgentRecord, SessionRecord, WorkspaceRecord};
pub use name::{Label, LabelError, Name, NameError};
pub use places::{Made, Page, Place, PlaceKind, SessionPlace};
pub use promotions::{Promoter, Promotion, PromotionId, ReceiptsOf};
pub use questions::SettledQuestion;
pub use queue::{Cancelled, Enqueue, Resume};
pub use removal::{Removable, Removal};
pub use settings::{Cascade, SettingsOf};
pub use skills::{Bind, Binding, Condemned, NewVersion, SkillOf, SkillVersion, VersionId};
pub use sweeping::Left;
pub use turn::{
    Answer, Ending, Failure, Finish, Lease, Question, Start, Turn, TurnId, TurnState, Wake,
};
pub use wakeups::{DueWakeup, Firing, Wakeup, WakeupId, When};
pub use watch::Watch;

use database::{Changes, Database, Undone, sql};
use watch::Watchers;

/// The catalog of one store.
#[derive(Clone, Debug)]
pub struct Catalog {
    database: Database,
    undone: Undone,
    watchers: Watchers,
    store: Uuid,
    clock: Arc<dyn Clock>,
    lease_ms: u64,
}

/// Where a catalog is kept. A password in its URL is shown by nothing.
#[derive(Clone, PartialEq, Eq)]
pub enum CatalogLocation {
    /// A file of SQLite's; made if it is not there.
    File(PathBuf),
    /// A PostgreSQL server, by its URL: `postgres://user:password@host:port/database`. The database
    /// has to be there. A server on another machine is spoken to over TLS, and has to prove who it
    /// is, unless the URL says otherwise: `?sslmode=disable`, or `require` for one that proves
    /// nothing; `sslrootcert` names a certificate authority of one's own.
    /// <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS>
    Server(String),
}

impl FromStr for CatalogLocation {
    type Err = std::convert::Infallible;

    /// What starts with `postgres://` or `postgresql://` is a server, and all else a file.
    fn from_str(location: &str) -> Result<Self, Self::Err> {
        let is_server =
            ["postgres://", "postgresql://"].iter().any(|url| location.starts_with(url));
        Ok(if is_server { Self::Server(location.into()) } else { Self::File(location.into()) })
    }
}

impl fmt::Display for CatalogLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => write!(f, "{}", file.display()),
            Self::Server(_) => f.write_str("on a PostgreSQL server"),
        }
    }
}

impl fmt::Debug for CatalogLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Which catalog to open, and for what.
#[derive(Clone, Debug)]
pub struct CatalogOptions<'a> {
    /// Where it is.
    pub location: &'a CatalogLocation,
    /// Which store the names belong to, in words that stay the same from one use to the next.
    pub store: &'a str,
    /// How long the host of a turn may be silent until the turn is given up, in milliseconds.
    pub lease_ms: u64,
    /// Where times come from.
    pub clock: Arc<dyn Clock>,
}

impl Catalog {
    /// Opens the catalog, making or upgrading its tables.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`] if the file cannot be read or written, is no database, or
    /// was written by a later version of this host; or if the server does not let us in.
    pub async fn open(options: CatalogOptions<'_>) -> Result<Self, CatalogError> {
        let database = match options.location {
            CatalogLocation::File(file) => Database::open_file(file).await?,
            CatalogLocation::Server(url) => Database::open_server(url).await?,
        };
        let store = store_id(&database, options.store).await?;
        let watchers = Watchers::default();
        let undone = Undone::default();
        Ok(Self {
            database,
            undone,
            watchers,
            store,
            clock: options.clock,
            lease_ms: options.lease_ms,
        })
    }

    /// Closes the database, folding its journal into it.
    pub async fn close(self) {
        self.database.close().await;
    }

    async fn begin(&self) -> Result<Changes, CatalogError> {
        Ok(self.database.begin().await?.undone_in(&self.undone))
    }

    async fn commit(&self, changes: Changes) -> Result<(), CatalogError> {
        changes.commit(&self.watchers).await
    }

    fn now(&self) -> i64 {
        integer(self.clock.now_ms())
    }

    /// When a lease ends that begins now.
    fn lease_end(&self) -> i64 {
        self.now().saturating_add(integer(self.lease_ms))
    }
}

async fn store_id(database: &Database, location: &str) -> Result<Uuid, CatalogError> {
    let find = || sql("select id from stores where location = $1").bind(location);
    // Mostly it is there, and nothing has to be written.
    if let Some((id,)) = database.rows(find()).await?.first()? {
        return Ok(id);
    }
    let insert = "insert into stores (id, location) values ($1, $2)
        on conflict (location) do nothing";
    database.execute(sql(insert).bind(new_id()).bind(location)).await?;
    let (id,) = database.rows(find()).await?.one()?;
    Ok(id)
}

/// Ids sort by the time they were made, and are never made twice.
fn new_id() -> Uuid {
    Uuid::now_v7()
}

fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests;
