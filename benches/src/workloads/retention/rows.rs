//! Rows of a catalog that go, and how long somebody else has to wait for his own meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bailiwick::catalog::{
    Catalog, CatalogLocation, Ending, Event, Finish, Left, Name, Removable, Removal, Start,
};
use bailiwick::clock::SystemClock;
use bailiwick::retention::Sweeper;
use bailiwick::scope::{AgentId, SessionId, Sha256, WorkspaceId};
use bailiwick::store::MemoryStore;
use sqlx::{Connection as _, PgConnection};

use super::{Hands, open, sweeper};
use crate::figure::{Figure, Kind, Unit};
use crate::race::timed;
use crate::setting::Setting;

const DAY_MS: u64 = 86_400_000;
const POSTGRES: &str = "BAILIWICK_BENCH_POSTGRES";

pub(super) async fn figures(setting: &Setting) -> Result<Vec<Figure>> {
    let folder = setting.folder()?;
    let file = CatalogLocation::File(folder.path().join("catalog.sqlite"));
    let mut figures = on("SQLite", &file, setting).await?;
    if let Ok(url) = std::env::var(POSTGRES) {
        let whose = format!("PostgreSQL {}", version(&url).await?);
        figures.extend(on(&whose, &CatalogLocation::Server(url), setting).await?);
    }
    Ok(figures)
}

/// The number of a server's version, without who built it.
async fn version(url: &str) -> Result<String> {
    let mut server = PgConnection::connect(url).await?;
    let version: String = sqlx::query_scalar("show server_version").fetch_one(&mut server).await?;
    server.close().await?;
    Ok(version.split(' ').next().unwrap_or_default().to_owned())
}

/// What went, in which time; how long another writer waited at most.
#[derive(Default)]
struct Measured {
    rows: Vec<f64>,
    waited: Vec<f64>,
}

async fn on(whose: &str, location: &CatalogLocation, setting: &Setting) -> Result<Vec<Figure>> {
    let desk = Desk::new(location).await?;
    let (events, sessions) = setting.choose((20, 2_000), (200, 20_000));
    let (mut large, mut old, mut below) =
        (Measured::default(), Measured::default(), Measured::default());
    let mut hidden = Vec::new();
    for _ in 0..setting.choose(1, 3) {
        let (_, agent) = desk.agent().await?;
        let session = desk.session(agent).await?;
        for _ in 0..events {
            desk.turn(session, 1_000).await?;
        }
        let what = Removable::Session(session);
        desk.begin_removal(what).await?;
        desk.measure(&mut large, desk.sweep(what)).await?;

        desk.fill(sessions).await?;
        desk.clock.0.fetch_add(31 * DAY_MS, Ordering::Relaxed);
        desk.measure(&mut old, desk.tick(sessions)).await?;

        let workspace = desk.fill(sessions).await?;
        let what = Removable::Workspace(workspace);
        let (_, hide) = timed(desk.begin_removal(what)).await?;
        hidden.push(hide.seconds);
        desk.measure(&mut below, desk.sweep(what)).await?;
    }
    let mut figures = Vec::new();
    for (what, Measured { rows, waited }) in
        [("a large session", large), ("sessions by age", old), ("a workspace", below)]
    {
        let rate = format!("{whose}, {what}: rows");
        figures.push(Figure::new(&rate, "sweep", Kind::Amount, Unit::PerSecond, &rows));
        let wait = format!("{whose}, {what}: another's longest wait");
        figures.push(Figure::new(&wait, "sweep", Kind::Amount, Unit::Seconds, &waited));
    }
    let hide = format!("{whose}, a workspace: hidden in");
    figures.push(Figure::new(&hide, "delete", Kind::Amount, Unit::Seconds, &hidden));
    Ok(figures)
}

/// A host, and another one that writes to the same catalog.
struct Desk {
    catalog: Catalog,
    other: Catalog,
    /// Of which the other one makes sessions.
    busy: AgentId,
    clock: Arc<Hands>,
    sweeper: Sweeper,
    made: AtomicU64,
}

impl Desk {
    async fn new(location: &CatalogLocation) -> Result<Self> {
        let clock = Hands::new();
        let (catalog, other) = (open(location, &clock).await?, open(location, &clock).await?);
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let sweeper = sweeper(&catalog, store, &clock);
        let workspace = catalog.make_workspace(&"busy".parse()?).await?.id();
        let busy = catalog.make_agent(workspace, &"a".parse()?).await?.id();
        Ok(Self { catalog, other, busy, clock, sweeper, made: AtomicU64::new(0) })
    }

    fn name(&self) -> Result<Name> {
        Ok(format!("n{}", self.made.fetch_add(1, Ordering::Relaxed)).parse()?)
    }

    async fn agent(&self) -> Result<(WorkspaceId, AgentId)> {
        let workspace = self.catalog.make_workspace(&self.name()?).await?.id();
        Ok((workspace, self.catalog.make_agent(workspace, &self.name()?).await?.id()))
    }

    async fn session(&self, agent: AgentId) -> Result<SessionId> {
        Ok(self.catalog.make_session(agent, &self.name()?).await?.id())
    }

    async fn turn(&self, session: SessionId, events: usize) -> Result<()> {
        let (component, answer) = (Sha256([7; 32]), None);
        let start = Start { session, component, input: "in", answer, skills: &[] };
        let lease = self.catalog.start_turn(start).await?;
        let events = vec![Event::Deleted { path: "session/a".into() }; events];
        let (ending, said) = (Ending::Replied("out".into()), String::new());
        let (wakes, invoked) = (Vec::new(), Vec::new());
        self.catalog
            .finish_turn(lease, &Finish { ending, said, wakes, events, recorded: 0, invoked })
            .await?;
        Ok(())
    }

    /// Sessions of one turn each, of one agent.
    async fn fill(&self, sessions: u64) -> Result<WorkspaceId> {
        let (workspace, agent) = self.agent().await?;
        for _ in 0..sessions {
            self.turn(self.session(agent).await?, 1).await?;
        }
        Ok(workspace)
    }

    async fn begin_removal(&self, what: Removable) -> Result<()> {
        Ok(self.catalog.begin_removal(what, Removal::default()).await?)
    }

    /// Removes the rows of something; how many.
    async fn sweep(&self, what: Removable) -> Result<u64> {
        let mut rows = 0;
        loop {
            let left = self.catalog.sweep_going(what).await?;
            rows += left.removed();
            if let Left::Nothing(_) = left {
                return Ok(rows);
            }
        }
    }

    /// Looks at all sessions, and removes those that are to go; how many rows.
    async fn tick(&self, sessions: u64) -> Result<u64> {
        let tick = self.sweeper.tick().await;
        ensure!(tick.failed == 0 && tick.sessions >= sessions, "it was not swept: {tick:?}");
        Ok(tick.rows)
    }

    /// Sweeps while the other one writes.
    async fn measure(
        &self,
        measured: &mut Measured,
        sweep: impl Future<Output = Result<u64>>,
    ) -> Result<()> {
        let over = Arc::new(AtomicBool::new(false));
        let writer = tokio::spawn(write(self.other.clone(), self.busy, over.clone()));
        let (rows, cost) = timed(sweep).await?;
        over.store(true, Ordering::Relaxed);
        measured.waited.push(writer.await??.as_secs_f64());
        measured.rows.push(rows as f64 / cost.seconds);
        Ok(())
    }
}

/// Makes sessions until it is over; the longest that one of them took.
async fn write(catalog: Catalog, agent: AgentId, over: Arc<AtomicBool>) -> Result<Duration> {
    let (mut longest, mut made) = (Duration::ZERO, 0_u64);
    while !over.load(Ordering::Relaxed) {
        let name: Name = format!("{}-{made}", uuid::Uuid::new_v4().simple()).parse()?;
        let started = Instant::now();
        catalog.make_session(agent, &name).await?;
        longest = longest.max(started.elapsed());
        made += 1;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(longest)
}
