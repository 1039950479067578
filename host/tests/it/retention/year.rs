//! A year of many sessions with lives that are drawn. A model, which knows nothing of the policy's
//! code, keeps the score after each day: what must be there is there, what must be gone is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bailiwick::catalog::{Claimed, Ending, Page, Resume, SettingsOf, TurnId, WakeupId, When};
use bailiwick::clock::SystemClock;
use bailiwick::limits::{ACTIVITY_KNOWN_MS, SESSION_QUIET_MS};
use bailiwick::scope::{AgentId, Deletion, KeyPrefix, SessionId, WorkspaceId};
use bailiwick::store::{Layer, LocalStore, MemoryStore, ObjectStore, Precondition, Remain, Upload};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;

use super::{DAY_MS, Database, Ground, HandClock, START_MS, ended, replied};
use crate::postgres::Schema;

/// Slots of a day: in each at most one thing happens, later than what is noted late.
const SLOTS: u64 = 96;
const SLOT_MS: u64 = DAY_MS / SLOTS;
const _: () = assert!(SLOT_MS > ACTIVITY_KNOWN_MS);
/// How often every file of everybody is looked at.
const DAYS_BETWEEN_FULL_CHECKS: u64 = 30;
/// Large enough that each store keeps some of it before it is whole.
const UPLOAD_BYTES: usize = 9 << 20;
const UPLOADS_MAX: usize = 12;

/// What a session waits for.
#[derive(Debug, Default)]
enum Waits {
    #[default]
    ForNothing,
    ForItsHost(Claimed),
    ForAnAnswer(TurnId),
    ToBeWoken(WakeupId),
}

/// What the model knows of a session.
#[derive(Debug)]
struct Life {
    agent: usize,
    session: SessionId,
    active_ms: u64,
    closed_ms: Option<u64>,
    is_held: bool,
    waits: Waits,
    files: BTreeSet<String>,
    /// What was read out of its files, by their numbers.
    texts: BTreeSet<u64>,
}

/// What is set for an agent.
#[derive(Clone, Copy, Debug)]
struct Kept {
    idle_days: Option<u64>,
    days_after_close: Option<u64>,
    last: Option<usize>,
    hold: bool,
}

/// How much there is to be.
#[derive(Clone, Copy, Debug)]
struct Amount {
    sessions: usize,
    days: u64,
}

struct Year {
    ground: Ground,
    random: StdRng,
    agents: Vec<(AgentId, Kept)>,
    there: Vec<Life>,
    gone: Vec<(AgentId, SessionId)>,
    /// Uploads that are never finished.
    uploads: Vec<Box<dyn Upload>>,
    made: usize,
    amount: Amount,
}

impl Year {
    async fn new(ground: Ground, amount: Amount, seed: u64) -> Self {
        let mut agents = Vec::new();
        for called in ["a", "a1", "a_", "b"] {
            let kept =
                Kept { idle_days: Some(30), days_after_close: None, last: None, hold: false };
            agents.push((ground.agent(called).await, kept));
        }
        let random = StdRng::seed_from_u64(seed);
        let (there, gone, uploads) = (Vec::new(), Vec::new(), Vec::new());
        Self { ground, random, agents, there, gone, uploads, made: 0, amount }
    }

    fn up_to(&mut self, most: u64) -> u64 {
        self.random.random_range(0..most)
    }

    fn any(&mut self, count: usize) -> usize {
        self.random.random_range(0..count)
    }

    async fn live(mut self) {
        for day in 1..=self.amount.days {
            self.day().await;
            self.sweep().await;
            if day % DAYS_BETWEEN_FULL_CHECKS == 0 {
                for life in &self.there {
                    self.check_files(life).await;
                }
            }
        }
        self.settle_all().await;
    }

    async fn day(&mut self) {
        // Some make sessions, some use them, few change how long they are kept.
        let per_day =
            (2 * self.amount.sessions).div_ceil(usize::try_from(self.amount.days).unwrap());
        let mut left = SLOTS;
        for _ in 0..per_day.max(4).min(usize::try_from(SLOTS).unwrap() - 1) {
            self.ground.clock.pass(SLOT_MS);
            left -= 1;
            match self.up_to(40) {
                0..20 if self.made < self.amount.sessions => self.make().await,
                0 | 1 => self.set().await,
                2 => self.remove().await,
                _ if self.there.is_empty() => {}
                _ => self.use_one().await,
            }
        }
        self.ground.clock.pass(left * SLOT_MS);
    }

    fn now_ms(&self) -> u64 {
        use bailiwick::clock::Clock as _;
        self.ground.clock.now_ms()
    }

    async fn make(&mut self) {
        let agent = self.any(self.agents.len());
        let name = format!("s{}", self.made);
        self.made += 1;
        let session = self.ground.session(self.agents[agent].0, &name).await;
        let (active_ms, files) = (self.now_ms(), BTreeSet::new());
        let (closed_ms, waits) = (None, Waits::ForNothing);
        self.there.push(Life {
            agent,
            session,
            active_ms,
            closed_ms,
            is_held: false,
            waits,
            files,
            texts: BTreeSet::new(),
        });
    }

    async fn set(&mut self) {
        let agent = self.any(self.agents.len());
        let maybe = |value: u64| (value > 0).then_some(value);
        let kept = Kept {
            idle_days: [Some(7), Some(30), Some(90), None][self.any(4)],
            days_after_close: maybe(self.up_to(6)),
            last: maybe(self.up_to(3) * 20).map(|last| usize::try_from(last).unwrap()),
            hold: self.up_to(8) == 0,
        };
        let amount =
            |amount: Option<u64>| amount.map_or(json!("unlimited"), |amount| json!(amount));
        let settings = json!({
            "retention_idle_days": { "value": amount(kept.idle_days) },
            "retention_days_after_close": { "value": amount(kept.days_after_close) },
            "retention_keep_last": { "value": amount(kept.last.map(|last| last as u64)) },
            "retention_hold": { "value": kept.hold },
        });
        self.agents[agent].1 = kept;
        let of = SettingsOf::Agent(self.agents[agent].0);
        self.ground.catalog.put_settings(of, &settings).await.unwrap();
    }

    async fn remove(&mut self) {
        if self.there.is_empty() {
            return;
        }
        let at = self.any(self.there.len());
        let life = &self.there[at];
        if life.is_held || matches!(life.waits, Waits::ForItsHost(_)) {
            return;
        }
        let life = self.there.swap_remove(at);
        self.ground.catalog.remove_session(life.session).await.unwrap();
        self.gone.push((self.agents[life.agent].0, life.session));
    }

    async fn use_one(&mut self) {
        // Young ones are used most.
        let at = if self.up_to(3) == 0 { 0 } else { self.there.len() * 3 / 4 };
        let at = self.random.random_range(at..self.there.len());
        let (what, now_ms, file) = (self.up_to(12), self.now_ms(), self.up_to(4));
        let (ground, agents) = (&self.ground, &self.agents);
        let (catalog, life) = (&ground.catalog, &mut self.there[at]);
        let (agent, session) = (agents[life.agent].0, life.session);
        match (what, std::mem::take(&mut life.waits)) {
            (_, Waits::ForItsHost(claimed)) => {
                let asks = what % 2 == 0;
                let ending = match asks {
                    true => Ending::Asked { question: "which?".into(), component: None },
                    false => replied(),
                };
                // Its host may have been silent for long: then nobody else took the turn.
                catalog.finish_turn(claimed.lease, &ended(ending)).await.unwrap();
                life.active_ms = now_ms;
                if asks {
                    life.waits = Waits::ForAnAnswer(claimed.lease.turn);
                }
            }
            (0..4, Waits::ForAnAnswer(question)) => {
                let answer = Resume { question, text: "that", retries: 0, request: None };
                catalog.resume(answer).await.unwrap();
                let claimed = catalog.claim("host", 1).await.unwrap().remove(0);
                catalog.finish_turn(claimed.lease, &ended(replied())).await.unwrap();
                life.active_ms = now_ms;
            }
            (4..6, Waits::ForAnAnswer(question)) => {
                catalog.cancel(question).await.unwrap();
                life.active_ms = now_ms;
            }
            (0..6, Waits::ToBeWoken(wakeup)) => {
                assert!(catalog.remove_wakeup(session, wakeup).await.unwrap());
            }
            (6..9, waits) => {
                life.waits = waits;
                let path = format!("session/{file}/%_*?[x]");
                ground.write(agent, session, &path).await;
                life.files.insert(path);
                life.active_ms = now_ms;
                let [_, texts] = prefixes(ground.workspace, agent, session);
                let key = texts.key(format!("{}{file}", texts.as_str())).unwrap();
                match what {
                    6 => {
                        let text = ground.store.put(&key, "text".into(), &Precondition::Always);
                        text.await.unwrap();
                        life.texts.insert(file);
                    }
                    7 if self.uploads.len() < UPLOADS_MAX => {
                        let upload = ground.store.upload(&key, Precondition::Always).await;
                        let mut upload = upload.unwrap();
                        upload.write(vec![7; UPLOAD_BYTES].into()).await.unwrap();
                        self.uploads.push(upload);
                    }
                    _ => {}
                }
            }
            (9, waits) => {
                life.waits = waits;
                life.is_held = !life.is_held;
                match life.is_held {
                    true => catalog.hold_session(session).await.unwrap(),
                    false => catalog.release_session(session).await.unwrap(),
                }
            }
            (_, Waits::ForNothing) if life.closed_ms.is_some() => {
                catalog.reopen_session(session).await.unwrap();
                (life.closed_ms, life.active_ms) = (None, now_ms);
            }
            (10, Waits::ForNothing) => {
                catalog.close_session(session).await.unwrap();
                life.closed_ms = Some(now_ms);
            }
            (0..4, Waits::ForNothing) => {
                life.waits = Waits::ForItsHost(ground.begin(session).await);
                life.active_ms = now_ms;
            }
            (11, Waits::ForNothing) => {
                let wakeup = catalog.add_wakeup(session, &When::At(u64::MAX), "").await.unwrap();
                life.waits = Waits::ToBeWoken(wakeup);
            }
            (_, waits) => life.waits = waits,
        }
    }

    /// Sweeps, and holds what is there and what is gone to the model.
    async fn sweep(&mut self) {
        let tick = self.ground.sweeper().tick_through().await;
        assert_eq!(tick.failed, 0, "{tick:?}");
        let now_ms = self.now_ms();
        let found = self.found().await;
        let ends: Vec<_> = (0..self.there.len()).map(|at| self.end_of(at)).collect();
        let (mut stays, mut went) = (Vec::new(), Vec::new());
        for (life, (at_least, at_most)) in std::mem::take(&mut self.there).into_iter().zip(ends) {
            if found.contains(&life.session) {
                assert!(at_most.is_none_or(|end| now_ms < end), "{life:?} is still there");
                stays.push(life);
            } else {
                assert!(at_least.is_some_and(|end| end <= now_ms), "{life:?} is gone");
                went.push((self.agents[life.agent].0, life.session));
            }
        }
        assert_eq!(found.len(), stays.len(), "what went is not there");
        self.there = stays;
        for (agent, session) in &went {
            assert_eq!(self.ground.files(*agent, *session).await, [""; 0]);
        }
        self.gone.append(&mut went);
        if !self.there.is_empty() {
            let at = self.any(self.there.len());
            self.check_files(&self.there[at]).await;
        }
    }

    /// All sessions that anybody sees.
    async fn found(&self) -> BTreeSet<SessionId> {
        let mut found = BTreeSet::new();
        for (agent, _) in &self.agents {
            let sessions = self.ground.catalog.sessions(*agent, None, Page::ALL).await.unwrap();
            found.extend(sessions.into_iter().map(|session| session.id));
        }
        found
    }

    /// No earlier than the first, and no later than the second, of when a session goes.
    fn end_of(&self, at: usize) -> (Option<u64>, Option<u64>) {
        let life = &self.there[at];
        let kept = &self.agents[life.agent].1;
        if life.is_held || kept.hold || !matches!(life.waits, Waits::ForNothing) {
            return (None, None);
        }
        let later = |other: &&Life| {
            other.agent == life.agent
                && (other.active_ms, other.session) > (life.active_ms, life.session)
        };
        // One that goes by itself may go before or after this one is looked at.
        let may_go = |other: &&Life| !other.is_held && matches!(other.waits, Waits::ForNothing);
        let (mut newer, mut newer_at_least) = (0, 0);
        if kept.last.is_some() {
            newer = self.there.iter().filter(later).count();
            newer_at_least = self.there.iter().filter(later).filter(|it| !may_go(it)).count();
        }
        let days = |days: Option<u64>| days.map(|days| days * DAY_MS);
        let idle = days(kept.idle_days).map(|idle| life.active_ms + idle);
        let closed = life.closed_ms.zip(days(kept.days_after_close));
        let closed = closed.map(|(closed_ms, kept)| closed_ms + kept);
        let beyond = |newer| kept.last.filter(|last| newer >= *last).map(|_| life.active_ms);
        let first = |beyond: Option<u64>| [idle, closed, beyond].into_iter().flatten().min();
        let slack = ACTIVITY_KNOWN_MS + SESSION_QUIET_MS;
        let latest =
            first(beyond(newer_at_least)).map(|end| end.max(life.active_ms).saturating_add(slack));
        (first(beyond(newer)), latest)
    }

    async fn check_files(&self, life: &Life) {
        let files = self.ground.files(self.agents[life.agent].0, life.session).await;
        assert_eq!(files, life.files.iter().cloned().collect::<Vec<_>>(), "{life:?}");
    }

    /// At the end of the year nothing is in the store but what belongs to what is there, and all that
    /// went is proved.
    async fn settle_all(&self) {
        self.ground.sweep_out().await;
        assert!(!self.gone.is_empty() && !self.there.is_empty(), "the year had lives");
        let found = self.found().await;
        let mut expected: BTreeMap<String, usize> = BTreeMap::new();
        let mut uploads = 0_i64;
        for life in self.there.iter().filter(|life| found.contains(&life.session)) {
            self.check_files(life).await;
            let [files, texts] =
                prefixes(self.ground.workspace, self.agents[life.agent].0, life.session);
            for prefix in [&files, &texts] {
                uploads += count(&self.remains(prefix, Layer::Uploads).await);
            }
            expected.insert(files.as_str().to_owned(), life.files.len());
            expected.insert(texts.as_str().to_owned(), life.texts.len());
        }
        for prefix in Deletion::Workspace(self.ground.workspace).prefixes() {
            uploads -= count(&self.remains(&prefix, Layer::Uploads).await);
            for remain in self.remains(&prefix, Layer::Objects).await {
                let key = remain.key.as_str();
                let owner = expected.iter_mut().find(|(prefix, _)| key.starts_with(&**prefix));
                *owner.unwrap_or_else(|| panic!("{remain:?} is left")).1 -= 1;
            }
        }
        assert_eq!(uploads, 0, "uploads of what went are left");
        assert!(expected.values().all(|missing| *missing == 0), "{expected:?} went");
        for (_, session) in &self.gone {
            let record = self.ground.catalog.deletion(session.0).await.unwrap().unwrap();
            assert!(record.proved_ms.is_some(), "{record:?}");
        }
    }

    async fn remains(&self, prefix: &KeyPrefix, layer: Layer) -> Vec<Remain> {
        let (mut remains, mut after) = (Vec::new(), None);
        loop {
            let page = self.ground.store.remains(prefix, layer, after.as_ref(), 1_000);
            let page = page.await.unwrap();
            remains.extend(page.left);
            after = page.next;
            if after.is_none() {
                return remains;
            }
        }
    }
}

/// Where the files of a session are, and what is read out of them.
fn prefixes(workspace: WorkspaceId, agent: AgentId, session: SessionId) -> [KeyPrefix; 2] {
    Deletion::Session(workspace, agent, session).prefixes().try_into().unwrap()
}

fn count(remains: &[Remain]) -> i64 {
    i64::try_from(remains.len()).unwrap()
}

fn is_ci() -> bool {
    std::env::var_os("CI").is_some()
}

/// A whole year where there is time for it.
fn amount() -> Amount {
    if is_ci() { Amount { sessions: 1_000, days: 365 } } else { Amount { sessions: 60, days: 120 } }
}

async fn year(database: Database, store: Arc<dyn ObjectStore>, clock: Arc<HandClock>, of: Amount) {
    let ground = Ground::over(database, store, clock).await;
    Year::new(ground, of, 7).await.live().await;
}

fn clock() -> Arc<HandClock> {
    Arc::new(HandClock(AtomicU64::new(START_MS)))
}

#[tokio::test]
async fn a_year_on_sqlite_is_as_its_model() {
    let clock = clock();
    let store = Arc::new(MemoryStore::new(clock.clone()));
    year(Database::file(), store, clock, amount()).await;
}

#[tokio::test]
async fn a_year_on_postgres_is_as_its_model() {
    let Some(schema) = Schema::new().await else { return };
    let clock = clock();
    let store = Arc::new(MemoryStore::new(clock.clone()));
    year(Database::Server(schema), store, clock, amount()).await;
}

#[tokio::test]
async fn a_year_over_a_directory_is_as_its_model() {
    let folder = super::folder();
    let store = LocalStore::open_ambient(folder.path(), Arc::new(SystemClock)).unwrap();
    year(Database::file(), Arc::new(store), clock(), amount()).await;
}

#[tokio::test]
async fn a_year_over_a_bucket_is_as_its_model() {
    let Some(server) = crate::servers::seaweed() else { return };
    let store = server.store().await;
    // It takes its time.
    let of = if is_ci() { amount() } else { Amount { sessions: 20, days: 60 } };
    year(Database::file(), Arc::new(store), clock(), of).await;
}
