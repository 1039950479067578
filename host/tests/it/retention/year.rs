//! A year of many sessions with lives that are drawn. A model, which knows nothing of the policy's
//! code, keeps the score after each day: what must be there is there, what must be gone is gone.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bailiwick::catalog::{Claimed, Ending, Resume, SettingsOf, TurnId, WakeupId, When};
use bailiwick::clock::SystemClock;
use bailiwick::limits::{ACTIVITY_KNOWN_MS, SESSION_QUIET_MS};
use bailiwick::scope::{AgentId, Deletion, SessionId};
use bailiwick::store::{Depth, LocalStore, MemoryStore, ObjectStore};
use futures::stream::{self, StreamExt as _};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;

use super::{DAY_MS, Database, Ground, HandClock, START_MS, ended, replied};
use crate::postgres::Schema;

/// Slots of a day: in each at most one thing happens, later than what is noted late.
const SLOTS: u64 = 96;
const SLOT_MS: u64 = DAY_MS / SLOTS;
const _: () = assert!(SLOT_MS > ACTIVITY_KNOWN_MS);

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
        Self { ground, random, agents, there: Vec::new(), gone: Vec::new(), made: 0, amount }
    }

    fn up_to(&mut self, most: u64) -> u64 {
        self.random.random_range(0..most)
    }

    fn any(&mut self, count: usize) -> usize {
        self.random.random_range(0..count)
    }

    async fn live(mut self) {
        for _ in 0..self.amount.days {
            self.day().await;
            self.sweep().await;
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
        let ends: Vec<_> = (0..self.there.len()).map(|at| self.end_of(at)).collect();
        let mut stays = Vec::new();
        for (life, (at_least, at_most)) in std::mem::take(&mut self.there).into_iter().zip(ends) {
            let found = self.ground.catalog.session_by_id(life.session).await.unwrap();
            match found {
                Some(_) => {
                    assert!(at_most.is_none_or(|end| now_ms < end), "{life:?} is still there");
                    stays.push(life);
                }
                None => {
                    assert!(at_least.is_some_and(|end| end <= now_ms), "{life:?} is gone");
                    self.gone.push((self.agents[life.agent].0, life.session));
                }
            }
        }
        self.there = stays;
        // Those that went last, and some of the others.
        let (there, gone) = (self.there.len(), self.gone.len());
        let some_there: Vec<_> = (0..there.min(3)).map(|_| self.any(there)).collect();
        for at in some_there {
            self.check_files(&self.there[at]).await;
        }
        for at in gone.saturating_sub(3)..gone {
            let (agent, session) = self.gone[at];
            assert_eq!(self.ground.files(agent, session).await, [""; 0]);
        }
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
        let newer = self.there.iter().filter(later).count();
        let newer_at_least = self.there.iter().filter(later).filter(|it| !may_go(it)).count();
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

    /// At the end of the year nothing is in the store but the files of what is there, and all that
    /// went is proved.
    async fn settle_all(&self) {
        self.ground.sweep_out().await;
        assert!(!self.gone.is_empty() && !self.there.is_empty(), "the year had lives");
        let mut expected = 0;
        for life in &self.there {
            if self.ground.catalog.session_by_id(life.session).await.unwrap().is_some() {
                self.check_files(life).await;
                expected += life.files.len();
            }
        }
        let mut found = 0;
        for prefix in Deletion::Workspace(self.ground.workspace).prefixes() {
            let mut after = None;
            loop {
                let page = self.ground.store.list(&prefix, Depth::All, after.as_ref(), 1_000);
                let page = page.await.unwrap();
                found += page.objects.len();
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        assert_eq!(found, expected, "files in the store");
        let proofs = stream::iter(&self.gone).then(|(_, session)| async {
            let record = self.ground.catalog.deletion(session.0).await.unwrap().unwrap();
            record.proved_ms.is_some()
        });
        assert!(proofs.all(std::future::ready).await);
    }
}

fn is_ci() -> bool {
    std::env::var_os("CI").is_some()
}

/// A whole year where there is time for it.
fn amount() -> Amount {
    if is_ci() { Amount { sessions: 150, days: 365 } } else { Amount { sessions: 60, days: 120 } }
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
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::open_ambient(folder.path(), Arc::new(SystemClock)).unwrap();
    year(Database::file(), Arc::new(store), clock(), amount()).await;
}

#[tokio::test]
async fn a_year_over_a_bucket_is_as_its_model() {
    let Some(server) = crate::servers::seaweed() else { return };
    let store = server.store().await;
    let few = Amount { sessions: 20, days: 60 };
    let of = if is_ci() { Amount { sessions: 40, days: 180 } } else { few };
    year(Database::file(), Arc::new(store), clock(), of).await;
}
