use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::anyhow;
use sqlx::{Postgres, Sqlite, Transaction};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::super::CatalogError;
use super::super::watch::{Topic, Watchers};
use super::{CHANNEL, Rows, Statement, sql};

/// A transaction: all of it or, once it is dropped before its end, nothing.
///
/// On PostgreSQL it reads what was committed when each statement begins, so that whatever was
/// locked first is seen as it is from then on. Everything that changes the turns, the events or
/// the wakeups of a session locks the row of the session before it looks at anything.
#[derive(Debug)]
pub(in super::super) struct Changes {
    /// `None` once it is over.
    open: Option<Open>,
    told: Vec<Topic>,
    undone: Undone,
    #[cfg(test)]
    fuse: Option<fuse::Fuse>,
}

#[derive(Debug)]
enum Open {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>),
}

impl Changes {
    pub(super) fn sqlite(transaction: Transaction<'static, Sqlite>) -> Self {
        Self::new(Open::Sqlite(transaction))
    }

    pub(super) fn postgres(transaction: Transaction<'static, Postgres>) -> Self {
        Self::new(Open::Postgres(transaction))
    }

    fn new(open: Open) -> Self {
        Self {
            open: Some(open),
            told: Vec::new(),
            undone: Undone::default(),
            #[cfg(test)]
            fuse: fuse::Fuse::of_this_thread(),
        }
    }

    /// If it is dropped before its end, who looks there can wait until it holds nothing.
    pub(in super::super) fn undone_in(mut self, undone: &Undone) -> Self {
        self.undone = undone.clone();
        self
    }

    fn open(&mut self) -> Result<&mut Open, CatalogError> {
        self.open.as_mut().ok_or_else(over)
    }

    /// Runs a statement, and says how many rows it changed.
    pub(in super::super) async fn execute(
        &mut self,
        statement: Statement<'_>,
    ) -> Result<u64, CatalogError> {
        self.burn()?;
        Ok(match self.open()? {
            Open::Sqlite(open) => statement.sqlite().execute(&mut **open).await?.rows_affected(),
            Open::Postgres(open) => {
                statement.postgres().execute(&mut **open).await?.rows_affected()
            }
        })
    }

    /// Runs a statement, and gives its rows.
    pub(in super::super) async fn rows(
        &mut self,
        statement: Statement<'_>,
    ) -> Result<Rows, CatalogError> {
        self.burn()?;
        Ok(match self.open()? {
            Open::Sqlite(open) => statement.sqlite().fetch_all(&mut **open).await?.into(),
            Open::Postgres(open) => statement.postgres().fetch_all(&mut **open).await?.into(),
        })
    }

    /// Runs a statement that does nothing but lock rows. In SQLite all is locked already.
    pub(in super::super) async fn lock(
        &mut self,
        statement: Statement<'_>,
    ) -> Result<(), CatalogError> {
        if let Open::Postgres(_) = self.open()? {
            self.rows(statement).await?;
        }
        Ok(())
    }

    /// Tells whoever watches, on all hosts, once all is committed.
    pub(in super::super) fn tell(&mut self, topic: Topic) {
        if !self.told.contains(&topic) {
            self.told.push(topic);
        }
    }

    /// Makes all of it lasting and visible.
    pub(in super::super) async fn commit(
        mut self,
        watchers: &Watchers,
    ) -> Result<(), CatalogError> {
        let told = std::mem::take(&mut self.told);
        if let (Open::Postgres(_), false) = (self.open()?, told.is_empty()) {
            let topics: Vec<_> = told.iter().map(Topic::to_string).collect();
            self.rows(sql(TELL).bind(CHANNEL).bind(topics.join(","))).await?;
        }
        self.burn()?;
        match self.open.take() {
            Some(Open::Sqlite(open)) => open.commit().await?,
            Some(Open::Postgres(open)) => open.commit().await?,
            None => return Err(over()),
        }
        told.into_iter().for_each(|topic| watchers.tell(topic));
        Ok(())
    }

    /// Tests break off here.
    #[cfg(not(test))]
    fn burn(&self) -> Result<(), CatalogError> {
        Ok(())
    }

    #[cfg(test)]
    fn burn(&self) -> Result<(), CatalogError> {
        self.fuse.as_ref().map_or(Ok(()), fuse::Fuse::burn)
    }
}

/// Tells of all topics at once; their names have no commas.
const TELL: &str =
    "select pg_notify($1, topic) from unnest(string_to_array($2, ',')) as told (topic)";

fn over() -> CatalogError {
    CatalogError::unavailable(anyhow!("a transaction that is over"))
}

impl Drop for Changes {
    /// SQLite's one connection is not lent again before it is rolled back.
    fn drop(&mut self) {
        let Some(Open::Postgres(open)) = self.open.take() else { return };
        // Without a runtime the connection goes, and the transaction with it.
        let Ok(runtime) = Handle::try_current() else { return };
        self.undone.add(runtime.spawn(async move {
            if let Err(error) = open.rollback().await {
                tracing::debug!(%error, "a transaction goes with its connection");
            }
        }));
    }
}

/// Transactions that are being rolled back. Whoever passes over what others hold would take what
/// is just being let go for held.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Undone(Arc<Mutex<Vec<JoinHandle<()>>>>);

impl Undone {
    fn add(&self, undone: JoinHandle<()>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|undone| !undone.is_finished());
        all.push(undone);
    }

    /// Waits for those that there are.
    async fn settled(&self) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for undone in all {
            // It does not panic; if it did, the connection is gone.
            drop(undone.await);
        }
    }

    /// Does a transaction once more whenever the server ended it because it and others waited for
    /// one another: nothing of it was done. What was not to be is undone when this returns.
    pub(in super::super) async fn retried<T, F>(
        &self,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, CatalogError>
    where
        F: Future<Output = Result<T, CatalogError>>,
    {
        let mut tries = 0;
        loop {
            let outcome = attempt().await;
            self.settled().await;
            tries += 1;
            match outcome {
                Err(error) if error.lost_a_race() && tries < TRIES => {}
                other => return other,
            }
        }
    }
}

/// How often a transaction is tried that PostgreSQL ended in favour of another.
const TRIES: u32 = 10;

/// Breaks off transactions of one thread's tests between any two of their statements.
#[cfg(test)]
pub(in super::super) mod fuse {
    use std::cell::RefCell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::CatalogError;

    thread_local!(static FUSE: RefCell<Option<Fuse>> = const { RefCell::new(None) });

    #[derive(Clone, Debug)]
    pub(in super::super::super) struct Fuse(Arc<AtomicI64>);

    impl Fuse {
        /// Lets so many statements of this thread's transactions through, and breaks the next.
        pub(in super::super::super) fn light(statements: i64) {
            let fuse = Self(Arc::new(AtomicI64::new(statements)));
            FUSE.set(Some(fuse));
        }

        /// Whether it had burnt down; there is none afterwards.
        pub(in super::super::super) fn put_out() -> bool {
            FUSE.take().is_some_and(|fuse| fuse.0.load(Ordering::Relaxed) < 0)
        }

        /// Counts the statements of this thread's transactions while something is done.
        pub(in super::super::super) async fn counted<T>(work: impl Future<Output = T>) -> (T, i64) {
            Self::light(i64::MAX);
            let done = work.await;
            let left = FUSE.take().map_or(0, |fuse| fuse.0.load(Ordering::Relaxed));
            (done, i64::MAX - left)
        }

        pub(super) fn of_this_thread() -> Option<Self> {
            FUSE.with_borrow(Clone::clone)
        }

        pub(super) fn burn(&self) -> Result<(), CatalogError> {
            match self.0.fetch_sub(1, Ordering::Relaxed) {
                1.. => Ok(()),
                _ => Err(CatalogError::unavailable(anyhow::anyhow!("the fuse burnt down"))),
            }
        }
    }
}
