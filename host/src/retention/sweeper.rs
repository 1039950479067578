//! Removing what is to go, a bounded amount at a time.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;

use super::judge::Settled;
use super::preview::{Preview, foresee};
use crate::catalog::{Catalog, CatalogError, DeletionRecord, Left, Removable, Tally};
use crate::limits::{
    CATALOG_PAGE_ROWS_MAX, DELETION_LEASE_MS, SESSIONS_WALKED_MAX, SWEEP_STEPS_MAX, SWEEP_WALK_MS,
    SWEEPS_BEGUN_AT_ONCE, SWEPT_AT_ONCE_MAX,
};
use crate::scope::SessionId;
use crate::space::{Emptied, Emptying, Ledger, Proof, Storage};
use crate::store::Layer;

/// Who counts what is removed.
pub trait Observer: fmt::Debug + Send + Sync + 'static {
    /// So many of something were removed, or settled.
    fn swept(&self, what: &'static str, count: u64);
    /// So many deletions are owed now.
    fn owed(&self, deletions: u64);
}

/// Nobody counts.
impl Observer for () {
    fn swept(&self, _: &'static str, _: u64) {}
    fn owed(&self, _: u64) {}
}

/// What one tick did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tick {
    /// Sessions that were looked at.
    pub examined: u64,
    /// Sessions that began to be swept.
    pub sessions: u64,
    /// Rows that were removed.
    pub rows: u64,
    /// Deletions of which it is known now that nothing is left.
    pub proved: u64,
    /// Deletions whose files were removed, and which wait until nothing can come after that.
    pub emptied: u64,
    /// Files that were removed.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Steps that failed, and are tried again by a later tick.
    pub failed: u64,
    /// Whether there is more to do at once.
    pub is_full: bool,
}

impl Tick {
    /// Whether anything was done or tried.
    pub fn did_something(&self) -> bool {
        self.sessions + self.rows + self.proved + self.emptied + self.failed > 0
    }
}

/// Sweeps one store. Any number may at once, here and elsewhere.
#[derive(Clone, Debug)]
pub struct Sweeper(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    catalog: Catalog,
    storage: Arc<Storage>,
    settled: Settled,
    observer: Arc<dyn Observer>,
    /// When sessions are looked at next, in milliseconds since the Unix epoch.
    walk_ms: AtomicU64,
}

impl Sweeper {
    /// One that has not begun.
    pub fn new(catalog: Catalog, storage: Arc<Storage>, observer: Arc<dyn Observer>) -> Self {
        let settled = Settled::new(storage.limits().clone(), storage.clock().clone());
        let walk_ms = AtomicU64::new(0);
        Self(Arc::new(Inner { catalog, storage, settled, observer, walk_ms }))
    }

    /// Does a bounded amount of what there is to do. What fails is logged, and tried again by a later
    /// tick; it keeps nothing else from being done.
    pub async fn tick(&self) -> Tick {
        let mut tick = Tick::default();
        self.finish_going(&mut tick).await;
        self.walk(&mut tick).await;
        self.sweep_rows(&mut tick).await;
        self.empty(&mut tick).await;
        tick
    }

    /// Finishes what was deleted, its rows and its files, and begins nothing.
    pub async fn empty_owed(&self) -> Tick {
        let mut tick = Tick::default();
        loop {
            tick.is_full = false;
            self.finish_going(&mut tick).await;
            self.empty(&mut tick).await;
            if !tick.is_full {
                return tick;
            }
        }
    }

    /// Ticks until there is nothing more to do at once; all of it together.
    pub async fn tick_through(&self) -> Tick {
        let mut all = Tick::default();
        self.0.walk_ms.store(0, Ordering::Relaxed);
        loop {
            let tick = self.tick().await;
            all.examined += tick.examined;
            all.sessions += tick.sessions;
            all.rows += tick.rows;
            all.proved += tick.proved;
            all.emptied += tick.emptied;
            all.files += tick.files;
            all.bytes += tick.bytes;
            all.failed += tick.failed;
            if !tick.is_full || tick.failed > 0 {
                return all;
            }
        }
    }

    /// What was deleted and is too large to go at once, and what others did not live to finish.
    async fn finish_going(&self, tick: &mut Tick) {
        let going = self.0.catalog.going().await;
        let Some(going) = tick.told(going, "what is going is not known") else { return };
        tick.is_full |= going.len() >= CATALOG_PAGE_ROWS_MAX as usize;
        let (mut sessions, mut others) = (Vec::new(), Vec::new());
        for what in going {
            match what {
                Removable::Session(session) => sessions.push(session),
                Removable::Agent(_) | Removable::Workspace(_) => others.push(what),
            }
        }
        self.finish_sessions(&sessions, tick).await;
        for what in others {
            self.finish(tick, || self.0.catalog.sweep_going(what)).await;
        }
    }

    async fn finish_sessions(&self, sessions: &[SessionId], tick: &mut Tick) {
        for some in sessions.chunks(SWEPT_AT_ONCE_MAX as usize) {
            self.finish(tick, || self.0.catalog.sweep_sessions(some)).await;
        }
    }

    /// Removes rows, so many at a time, until there are no more.
    async fn finish<F>(&self, tick: &mut Tick, sweep: impl Fn() -> F)
    where
        F: Future<Output = Result<Left, CatalogError>>,
    {
        loop {
            let left = tick.told(sweep().await, "rows of what goes are still there");
            let Some(left) = left else { return };
            tick.rows += left.removed();
            self.0.observer.swept("session_rows", left.removed());
            if let Left::Nothing(_) = left {
                return;
            }
        }
    }

    /// Looks at sessions, from where the last look ended to the end: every now and then.
    async fn walk(&self, tick: &mut Tick) {
        let now_ms = self.0.settled.now_ms();
        if now_ms < self.0.walk_ms.load(Ordering::Relaxed) {
            return;
        }
        for _ in 0..SWEEP_STEPS_MAX {
            let page = self.walk_page(tick).await;
            match tick.told(page, "sessions are not looked at") {
                Some(true) => {}
                Some(false) => {
                    let next_ms = now_ms.saturating_add(SWEEP_WALK_MS);
                    return self.0.walk_ms.store(next_ms, Ordering::Relaxed);
                }
                None => return,
            }
        }
        tick.is_full = true;
    }

    /// One page; whether there are more.
    async fn walk_page(&self, tick: &mut Tick) -> Result<bool, CatalogError> {
        let Inner { catalog, settled, .. } = &*self.0;
        let behind = catalog.swept_up_to().await?;
        let preview = Preview { of: None, behind, limit: SESSIONS_WALKED_MAX };
        let page = foresee(catalog, settled, &preview).await?;
        tick.examined += page.fates.len() as u64;
        let now_ms = settled.now_ms();
        let over = page.fates.iter().filter(|fate| fate.verdict.by(now_ms).is_some());
        let over: Vec<_> = over.map(|fate| fate.facts.session).collect();
        let mut begun = Vec::new();
        for some in over.chunks(SWEEPS_BEGUN_AT_ONCE) {
            begun.extend(self.begin(some, tick).await);
        }
        self.finish_sessions(&begun, tick).await;
        let is_more = page.next.is_some();
        catalog.note_swept_up_to(&page.next.unwrap_or_default()).await?;
        Ok(is_more)
    }

    /// Begins to sweep those of some sessions that are still to go; which.
    async fn begin(&self, sessions: &[SessionId], tick: &mut Tick) -> Vec<SessionId> {
        let begun = self.0.catalog.begin_sweeps(sessions, &self.0.settled).await;
        let begun = tick.told(begun, "sessions that are to go are still there").unwrap_or_default();
        for (session, why) in &begun {
            tracing::info!(%session, why = why.as_str(), "a session goes");
        }
        tick.sessions += begun.len() as u64;
        self.0.observer.swept("sessions", begun.len() as u64);
        begun.into_iter().map(|(session, _)| session).collect()
    }

    /// Rows that go by themselves.
    async fn sweep_rows(&self, tick: &mut Tick) {
        let catalog = &self.0.catalog;
        self.repeat(tick, "pieces", || catalog.sweep_pieces()).await;
        self.repeat(tick, "invocations", || catalog.sweep_invocations()).await;
        self.repeat(tick, "firings", || catalog.sweep_firings()).await;
        self.repeat(tick, "components", || catalog.sweep_components()).await;
        self.repeat(tick, "revocations", || catalog.forget_expired_tokens()).await;
    }

    async fn repeat<F>(&self, tick: &mut Tick, what: &'static str, sweep: impl Fn() -> F)
    where
        F: Future<Output = Result<Left, CatalogError>>,
    {
        for _ in 0..SWEEP_STEPS_MAX {
            let Some(left) = tick.told(sweep().await, what) else { return };
            tick.rows += left.removed();
            self.0.observer.swept(what, left.removed());
            if let Left::Nothing(_) = left {
                return;
            }
        }
        tick.is_full = true;
    }

    /// Works on files owed to deletion.
    async fn empty(&self, tick: &mut Tick) {
        for _ in 0..SWEEP_STEPS_MAX {
            let claimed = self.0.catalog.claim_deletion(DELETION_LEASE_MS).await;
            let claimed = tick.told(claimed, "files owed to deletion are not known");
            let Some(claimed) = claimed else { return };
            let Some(claimed) = claimed else { return self.count_owed(tick).await };
            self.empty_claimed(claimed, tick).await;
        }
        tick.is_full = true;
    }

    async fn count_owed(&self, tick: &mut Tick) {
        let owed = self.0.catalog.unproved_deletions().await;
        if let Some(owed) = tick.told(owed, "files owed to deletion are not counted") {
            self.0.observer.owed(owed);
        }
    }

    async fn empty_claimed(&self, claimed: DeletionRecord, tick: &mut Tick) {
        match self.emptied(claimed.clone(), tick).await {
            Ok(Done::Proved) => {
                tick.proved += 1;
                self.0.observer.swept("deletions", 1);
            }
            Ok(Done::Emptied) => tick.emptied += 1,
            Err(error) => {
                tick.told::<()>(Err(error), "files of what was deleted are still there");
                // Else it is somebody's until its lease is over.
                let _ = self.0.catalog.rest_deletion(&claimed).await;
            }
        }
    }

    async fn emptied(
        &self,
        mut claimed: DeletionRecord,
        tick: &mut Tick,
    ) -> Result<Done, anyhow::Error> {
        let Inner { catalog, storage, observer, .. } = &*self.0;
        let so_far = so_far(&claimed)?;
        let (files, bytes) = (so_far.files, so_far.bytes);
        let (deletion, deleted_ms) = (claimed.deletion, claimed.deleted_ms);
        let mut book = Book { catalog: catalog.clone(), claimed: claimed.clone() };
        let emptying = Emptying { deletion, deleted_ms, so_far };
        let emptied = self.kept(&claimed, storage.empty_on(emptying, &mut book)).await;
        let (emptied, proof) = emptied?;
        book.record(&emptied).await?;
        let files = emptied.files.saturating_sub(files);
        observer.swept("files", files);
        tick.files += files;
        tick.bytes += emptied.bytes.saturating_sub(bytes);
        claimed.removed = tally(&emptied);
        match proof {
            Proof::Due { at_ms } => {
                catalog.put_off_deletion(&claimed, at_ms).await?;
                Ok(Done::Emptied)
            }
            Proof::Made { .. } => {
                catalog.settle_deletion(&claimed).await?;
                Ok(Done::Proved)
            }
        }
    }

    /// Keeps a deletion for as long as it is worked on; who lost it stops.
    async fn kept<T, E: Into<anyhow::Error>>(
        &self,
        claimed: &DeletionRecord,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, anyhow::Error> {
        let keep = async {
            loop {
                tokio::time::sleep(Duration::from_millis(DELETION_LEASE_MS / 4)).await;
                let kept = self.0.catalog.keep_deletion(claimed, DELETION_LEASE_MS).await;
                if let Err(CatalogError::LeaseLost) = kept {
                    return;
                }
            }
        };
        tokio::select! {
            done = work => done.map_err(Into::into),
            () = keep => Err(CatalogError::LeaseLost.into()),
        }
    }
}

/// What became of a deletion.
enum Done {
    /// Nothing is left, and nothing can come.
    Proved,
    /// Nothing is left as far as can be seen.
    Emptied,
}

/// What is known of a deletion that is gone on with.
fn so_far(claimed: &DeletionRecord) -> anyhow::Result<Emptied> {
    match &claimed.emptied {
        Some(emptied) => Ok(serde_json::from_str(emptied)?),
        None => Ok(Emptied::default()),
    }
}

fn tally(emptied: &Emptied) -> Tally {
    let unproved = emptied.unseen.iter().map(|layer| layer.unpromised());
    Tally {
        files: emptied.files,
        bytes: emptied.bytes,
        versions: emptied.versions.saturating_add(emptied.markers),
        uploads: emptied.uploads,
        digest: (emptied.pages > 0).then(|| emptied.digest.to_string()),
        unproved: unproved.reduce(|_, _| Layer::UNPROMISED).map(str::to_owned),
    }
}

/// Writes down each page of a deletion before it is removed, for as long as it is ours.
struct Book {
    catalog: Catalog,
    claimed: DeletionRecord,
}

#[async_trait]
impl Ledger for Book {
    async fn record(&mut self, emptied: &Emptied) -> anyhow::Result<()> {
        let text = serde_json::to_string(emptied)?;
        Ok(self.catalog.note_emptied(&self.claimed, &text, DELETION_LEASE_MS).await?)
    }
}

impl Tick {
    /// What a step came to; `None` if it failed, which the log tells.
    fn told<T>(
        &mut self,
        outcome: Result<T, impl Into<anyhow::Error>>,
        what: &'static str,
    ) -> Option<T> {
        match outcome {
            Ok(done) => Some(done),
            Err(error) => {
                self.failed += 1;
                let error = format!("{:#}", error.into());
                tracing::warn!(
                    error,
                    what,
                    "a sweep did not do all of its work; it is tried again"
                );
                None
            }
        }
    }
}
