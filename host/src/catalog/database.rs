//! The two databases behind one text of SQL: what both accept (`$1`, text ids, integer
//! milliseconds, `on conflict`, `returning`), run on whichever is open.

use std::fs::OpenOptions;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions, PgSslMode};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Executor as _, PgPool, SqlitePool};
use tokio::time::timeout;

use super::CatalogError;
use crate::limits::CATALOG_CONNECTIONS_MAX;

mod changes;
mod opening;
mod row;
mod statement;

#[cfg(test)]
pub(super) use changes::fuse;
pub(super) use changes::{Changes, Undone};
use opening::Opening;
pub(super) use row::{Column, Row, Rows};
#[cfg(test)]
pub(super) use statement::Value;
pub(super) use statement::{Statement, places, sql};

/// How long a command waits for another process that changes the same catalog, and how long for a
/// connection to a server.
const BUSY: Duration = Duration::from_secs(10);
/// How long a server may not be there yet that is being started, as it is opened.
const SOON: Duration = Duration::from_secs(2);
/// One: SQLite writes one transaction at a time, and to open another costs a process that does
/// one thing more than it gains.
const SQLITE_CONNECTIONS_MAX: u32 = 1;
/// So many pages of the journal are folded into the database at once. Who opens a catalog that
/// was not closed reads them all.
const JOURNAL_PAGES_MAX: &str = "256";

/// An open database with its tables as this host knows them.
#[derive(Clone, Debug)]
pub(super) enum Database {
    /// A file.
    Sqlite(SqlitePool),
    /// A server.
    Postgres(PgPool),
}

impl Database {
    /// A file, made for its owner alone if it is not there.
    pub(super) async fn open_file(file: &Path) -> Result<Self, CatalogError> {
        let unusable = || format!("cannot open {}", file.display());
        create_private(file).with_context(unusable).map_err(CatalogError::unavailable)?;
        let opening = Opening::wait(file, BUSY).await.with_context(unusable);
        let _until_it_is_open = opening.map_err(CatalogError::unavailable)?;
        let connect = SqliteConnectOptions::new()
            .filename(file)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .pragma("wal_autocheckpoint", JOURNAL_PAGES_MAX)
            .busy_timeout(BUSY);
        let pool = SqlitePoolOptions::new()
            .max_connections(SQLITE_CONNECTIONS_MAX)
            .connect_with(connect)
            .await?;
        migrated(sqlx::migrate!("migrations/sqlite").run(&pool).await)?;
        Ok(Self::Sqlite(pool))
    }

    /// A server, by its URL.
    pub(super) async fn open_server(url: &str) -> Result<Self, CatalogError> {
        let connect: PgConnectOptions = url
            .parse()
            .map_err(|_| anyhow::anyhow!("the URL of the PostgreSQL server cannot be read"))
            .map_err(CatalogError::unavailable)?;
        let connect = encrypted(connect).application_name("bailiwick");
        let pool = PgPoolOptions::new()
            .max_connections(CATALOG_CONNECTIONS_MAX)
            .acquire_timeout(BUSY)
            .after_connect(|connection, _| {
                Box::pin(async { connection.execute(PATIENCE).await.map(drop) })
            })
            .connect_lazy_with(connect.clone());
        reached(&pool, &connect).await?;
        let migrations: Migrator = sqlx::migrate!("migrations/postgres");
        migrated(migrations.run(&pool).await)?;
        Ok(Self::Postgres(pool))
    }

    pub(super) async fn close(self) {
        match self {
            Self::Sqlite(pool) => pool.close().await,
            Self::Postgres(pool) => pool.close().await,
        }
    }

    /// Begins a transaction. In SQLite it holds the whole database from its first moment: one
    /// that read first could only fail later. On PostgreSQL it holds what it locks.
    pub(super) async fn begin(&self) -> Result<Changes, CatalogError> {
        Ok(match self {
            Self::Sqlite(pool) => Changes::sqlite(pool.begin_with("BEGIN IMMEDIATE").await?),
            Self::Postgres(pool) => Changes::postgres(pool.begin().await?),
        })
    }

    /// Runs a statement by itself, and says how many rows it changed.
    pub(super) async fn execute(&self, statement: Statement<'_>) -> Result<u64, CatalogError> {
        Ok(match self {
            Self::Sqlite(pool) => statement.sqlite().execute(pool).await?.rows_affected(),
            Self::Postgres(pool) => statement.postgres().execute(pool).await?.rows_affected(),
        })
    }

    /// Runs a statement by itself, and gives its rows.
    pub(super) async fn rows(&self, statement: Statement<'_>) -> Result<Rows, CatalogError> {
        Ok(match self {
            Self::Sqlite(pool) => statement.sqlite().fetch_all(pool).await?.into(),
            Self::Postgres(pool) => statement.postgres().fetch_all(pool).await?.into(),
        })
    }

    /// Lets others write, who has more to write himself. In SQLite whoever waits looks only now and
    /// then, and would not find the moment between one transaction and the next.
    pub(super) async fn give_way(&self, pause: Duration) {
        match self {
            Self::Sqlite(_) => tokio::time::sleep(pause).await,
            Self::Postgres(_) => {}
        }
    }

    /// Listens for what other hosts tell of their changes; `None` where there is no such thing.
    pub(super) async fn listener(&self) -> Result<Option<PgListener>, CatalogError> {
        let Self::Postgres(pool) = self else { return Ok(None) };
        let mut listener = PgListener::connect_with(pool).await?;
        listener.listen(CHANNEL).await?;
        Ok(Some(listener))
    }
}

/// Returns once a pool has a connection to its server. A pool goes on trying a server that refuses
/// it, and says in the end that it waited; a connection of its own says why there is none.
async fn reached(pool: &PgPool, server: &PgConnectOptions) -> Result<(), CatalogError> {
    if let Ok(connection) = timeout(SOON, pool.acquire()).await {
        return connection.map(drop).map_err(CatalogError::from);
    }
    match timeout(BUSY, server.connect()).await {
        Err(_) => {
            let silent = anyhow::anyhow!("the server has not answered for {} s", BUSY.as_secs());
            Err(CatalogError::unavailable(silent))
        }
        Ok(Err(nobody @ sqlx::Error::Io(_))) => Err(nobody.into()),
        // It is there, and will be ready or have room; if not, it has said why.
        Ok(there) => {
            let connection = pool.acquire().await.map(drop);
            connection.map_err(|late| there.err().unwrap_or(late).into())
        }
    }
}

/// A host that is frozen within a transaction holds up nobody for long: its locks go with its
/// transaction, and who waits for one gives up.
const PATIENCE: &str = "set lock_timeout = '10s'; set idle_in_transaction_session_timeout = '30s'";

/// What a server is told beyond this machine is encrypted, and the server is who it says it is,
/// unless the URL says otherwise in so many words (`sslmode=disable` or `require`).
fn encrypted(connect: PgConnectOptions) -> PgConnectOptions {
    let host = connect.get_host();
    let is_here = connect.get_socket().is_some()
        || host.starts_with('/')
        || host == "localhost"
        || host.trim_matches(['[', ']']).parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    match connect.get_ssl_mode() {
        PgSslMode::Prefer | PgSslMode::Allow if !is_here => connect.ssl_mode(PgSslMode::VerifyFull),
        _ => connect,
    }
}

/// Where hosts tell one another what changed.
pub(super) const CHANNEL: &str = "bailiwick";

fn migrated(outcome: Result<(), sqlx::migrate::MigrateError>) -> Result<(), CatalogError> {
    outcome.context("its tables could not be brought up to date").map_err(CatalogError::unavailable)
}

/// Makes the file for its owner alone, wherever it is: it holds what people asked and were told.
/// SQLite gives its other files the same mode.
fn create_private(file: &Path) -> std::io::Result<()> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(file).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing goes over a network in the clear, or to whoever answers, by default.
    #[test]
    fn a_distant_server_is_spoken_to_in_private() {
        for (url, encrypts) in [
            ("postgres://u@db.example/c", true),
            ("postgres://u@10.0.0.1/c?sslmode=prefer", true),
            ("postgres://u@[2001:db8::1]/c?sslmode=allow", true),
            ("postgres://u@localhost.example/c", true),
            ("postgres://u@db.example/c?sslmode=disable", false),
            ("postgres://u@127.0.0.1/c", false),
            ("postgres://u@[::1]/c", false),
            ("postgres://u@localhost/c", false),
            ("postgres:///c?host=/run/postgresql", false),
        ] {
            let mode = encrypted(url.parse().unwrap()).get_ssl_mode();
            assert_eq!(matches!(mode, PgSslMode::VerifyFull), encrypts, "{url}: {mode:?}");
        }
    }
}
