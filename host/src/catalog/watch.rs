//! Who waits to hear that something changed: readers of a session's events, hosts with room.
//!
//! Within a process they are told when a change is committed; other processes by PostgreSQL's
//! `notify`, where there is that, and otherwise by looking again every so often. Being told is
//! never more than a hint: what happened is read from the tables.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use sqlx::postgres::PgListener;
use tokio::sync::Notify;
use uuid::Uuid;

use super::{Catalog, CatalogError, TurnId};
use crate::limits::WATCH_LOOK_MS;
use crate::scope::SessionId;

/// What can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Topic {
    /// The events of a session, and the turns that they tell of.
    Session(SessionId),
    /// Somebody wants a turn to stop.
    Stop(TurnId),
    /// There may be a turn to run.
    Work,
}

const WORK: &str = "work";
const STOP: &str = "stop ";

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(session) => write!(f, "{session}"),
            Self::Stop(turn) => write!(f, "{STOP}{turn}"),
            Self::Work => f.write_str(WORK),
        }
    }
}

impl Topic {
    fn parse(told: &str) -> Option<Self> {
        if told == WORK {
            return Some(Self::Work);
        }
        if let Some(turn) = told.strip_prefix(STOP) {
            return Uuid::parse_str(turn).ok().map(|id| Self::Stop(TurnId(id)));
        }
        Uuid::parse_str(told).ok().map(|id| Self::Session(SessionId(id)))
    }
}

/// All who watch, in this process.
#[derive(Clone, Debug, Default)]
pub(super) struct Watchers(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    waiting: Mutex<HashMap<Topic, Weak<Notify>>>,
    /// Held by whoever begins to listen.
    listens: tokio::sync::Mutex<Option<tokio::task::AbortHandle>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(task) = self.listens.get_mut().take() {
            task.abort();
        }
    }
}

impl Watchers {
    pub(super) fn tell(&self, topic: Topic) {
        let waiting = self.lock().get(&topic).and_then(Weak::upgrade);
        if let Some(waiting) = waiting {
            waiting.notify_waiters();
        }
    }

    fn tell_all(&self) {
        let waiting: Vec<_> = self.lock().values().filter_map(Weak::upgrade).collect();
        waiting.iter().for_each(|waiting| waiting.notify_waiters());
    }

    fn watch(&self, topic: Topic) -> Arc<Notify> {
        let mut waiting = self.lock();
        if let Some(there) = waiting.get(&topic).and_then(Weak::upgrade) {
            return there;
        }
        waiting.retain(|_, watcher| watcher.strong_count() > 0);
        let made = Arc::new(Notify::new());
        waiting.insert(topic, Arc::downgrade(&made));
        made
    }

    /// Nothing panics while it is held, so the map is whole.
    fn lock(&self) -> MutexGuard<'_, HashMap<Topic, Weak<Notify>>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for changes.
#[derive(Debug)]
pub struct Watch {
    /// Armed before anything is read, so that no change falls between reading and waiting.
    next: std::pin::Pin<Box<tokio::sync::futures::OwnedNotified>>,
    told: Arc<Notify>,
    /// As long as somebody watches, somebody listens.
    _watchers: Watchers,
}

impl Watch {
    fn new(watchers: &Watchers, topic: Topic) -> Self {
        let told = watchers.watch(topic);
        Self { next: armed(&told), told, _watchers: watchers.clone() }
    }

    /// Returns once something may have changed since the watch began or this last returned:
    /// because it was told, or because it is time to look again.
    pub async fn changed(&mut self) {
        let look = Duration::from_millis(WATCH_LOOK_MS);
        // Given up before its end, it has heard nothing.
        _ = tokio::time::timeout(look, self.heard()).await;
    }

    /// Returns once it was told that something has changed. Not everything is told: whoever has
    /// to know looks now and then as well.
    pub async fn heard(&mut self) {
        (&mut self.next).await;
        self.next = armed(&self.told);
    }
}

fn armed(told: &Arc<Notify>) -> std::pin::Pin<Box<tokio::sync::futures::OwnedNotified>> {
    let mut next = Box::pin(told.clone().notified_owned());
    next.as_mut().enable();
    next
}

impl Catalog {
    /// Watches a session: begin to watch, read the events, then wait and read again.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn watch(&self, session: SessionId) -> Result<Watch, CatalogError> {
        self.watch_topic(Topic::Session(session)).await
    }

    /// Watches for somebody who wants a turn to stop: whoever runs it learns it when it renews
    /// the lease.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn watch_stop(&self, turn: TurnId) -> Result<Watch, CatalogError> {
        self.watch_topic(Topic::Stop(turn)).await
    }

    /// Watches for turns that may be claimed.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn watch_work(&self) -> Result<Watch, CatalogError> {
        self.watch_topic(Topic::Work).await
    }

    async fn watch_topic(&self, topic: Topic) -> Result<Watch, CatalogError> {
        self.listen().await?;
        Ok(Watch::new(&self.watchers, topic))
    }

    /// One connection listens for all watches of this process.
    async fn listen(&self) -> Result<(), CatalogError> {
        let mut listens = self.watchers.0.listens.lock().await;
        if listens.as_ref().is_some_and(|task| !task.is_finished()) {
            return Ok(());
        }
        if let Some(listener) = self.database.listener().await? {
            let watchers = Arc::downgrade(&self.watchers.0);
            *listens = Some(tokio::spawn(pass_on(listener, watchers)).abort_handle());
        }
        Ok(())
    }
}

/// Tells what other hosts tell. After a broken connection everybody is told: what was said
/// meanwhile is lost.
async fn pass_on(mut listener: PgListener, watchers: Weak<Inner>) {
    loop {
        let heard = listener.try_recv().await;
        let Some(watchers) = watchers.upgrade().map(Watchers) else { return };
        match heard {
            Ok(Some(told)) => {
                Topic::parse(told.payload()).into_iter().for_each(|topic| watchers.tell(topic));
            }
            Ok(None) => watchers.tell_all(),
            Err(error) => {
                tracing::warn!(%error, "nothing is heard from other hosts; trying again");
                watchers.tell_all();
                drop(watchers);
                tokio::time::sleep(Duration::from_millis(WATCH_LOOK_MS)).await;
            }
        }
    }
}
