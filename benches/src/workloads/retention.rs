//! What was deleted goes: its files from the store, and its rows from the catalog.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};
use bailiwick::catalog::{Catalog, CatalogLocation, CatalogOptions};
use bailiwick::clock::{Clock, SystemClock};
use bailiwick::limits::Limits;
use bailiwick::retention::Sweeper;
use bailiwick::scope::{AgentId, Coordinates, ObjectKey, WorkspaceId};
use bailiwick::space::Storage;
use bailiwick::store::{LocalStore, MemoryStore, ObjectStore, Precondition};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};

use super::deleting::{PAGE, delete_objects};
use super::{Found, Workload};
use crate::clients;
use crate::figure::{Figure, Unit};
use crate::ours::key;
use crate::race::{Cost, Race, Raced, pair, timed};
use crate::server::Server;
use crate::setting::Setting;

mod rows;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "retention",
    title: "Sweeping what was deleted",
    about: "A session of 10,000 files (2,000 in a quick run) is deleted, and swept as a host does \
            it: by a catalog, looking for what is left in three ways, counting, and noting each \
            page. Against a loop that knows what to delete: `delete_many` of the memory store, \
            unlink in a directory, DeleteObjects by the SDK on SeaweedFS. Then rows of a catalog \
            with nothing in the store: a session of 200,000 events, 20,000 sessions of one turn \
            that go for their age, and as many that go with their workspace (a tenth of each in a \
            quick run): rows per second, and the longest time that another writer of the same \
            catalog, one session a millisecond, had to wait. SQLite is on the disk that is \
            measured; a PostgreSQL server is measured where `BAILIWICK_BENCH_POSTGRES` is the URL \
            of an empty database.",
    run: |setting| Box::pin(run(setting)),
};

const START_MS: u64 = 1_700_000_000_000;

async fn run(setting: &Setting) -> Result<Found> {
    let mut figures = files(setting).await?;
    figures.extend(rows::figures(setting).await?);
    Ok(figures.into())
}

/// A clock that stands until it is moved.
#[derive(Debug)]
struct Hands(AtomicU64);

impl Hands {
    fn new() -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(START_MS)))
    }
}

impl Clock for Hands {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

async fn open(location: &CatalogLocation, clock: &Arc<Hands>) -> Result<Catalog> {
    let clock: Arc<dyn Clock> = clock.clone();
    let options = CatalogOptions { location, store: "files", lease_ms: 45_000, clock };
    Ok(Catalog::open(options).await?)
}

fn sweeper(catalog: &Catalog, store: Arc<dyn ObjectStore>, clock: &Arc<Hands>) -> Sweeper {
    let storage = Storage::new(store, clock.clone(), Limits::default());
    Sweeper::new(catalog.clone(), storage, Arc::new(()))
}

async fn files(setting: &Setting) -> Result<Vec<Figure>> {
    let count = setting.choose(2_000, 10_000);
    let (catalogs, local, plain) = (setting.folder()?, setting.folder()?, setting.folder()?);
    let seaweed = Server::seaweed(setting).await?;
    let memory = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let directory = Arc::new(LocalStore::open_ambient(local.path(), Arc::new(SystemClock))?);
    let stores: [(_, Arc<dyn ObjectStore>); 3] = [
        ("memory store", memory.clone()),
        ("directory", directory),
        ("SeaweedFS", seaweed.store().await?),
    ];
    let keys = Arc::new(keys(crate::ours::coordinates(1), count)?);
    let client = clients::tuned(&seaweed.endpoint());
    let mut race = Race::default();
    for (what, store) in stores {
        let ground = Ground::new(&catalogs.path().join(what), store, count).await?;
        race.enter("sweep", what, move || sweep(ground.clone()));
    }
    race.enter("delete_many", "memory store", || delete_many(memory.clone(), keys.clone()));
    race.enter("unlink", "directory", || unlink(plain.path().to_owned(), count));
    race.enter("DeleteObjects", "SeaweedFS", || {
        let (client, keys) = (client.clone(), keys.clone());
        async move {
            clients::put_all(&client, keys.iter().map(|key| key.as_str().to_owned()).collect())
                .await?;
            delete_objects(&client, &keys).await
        }
    });
    let raced = race.run(setting.choose(2, 5)).await?;
    let speed = |raced: &Raced, what, against| {
        raced.speed(pair(what, "sweep", against), count as u64, Unit::PerSecond)
    };
    Ok(vec![
        speed(&raced, "memory store", "delete_many")?,
        speed(&raced, "directory", "unlink")?,
        speed(&raced, "SeaweedFS", "DeleteObjects")?,
    ])
}

/// A host with sessions of many files.
struct Ground {
    catalog: Catalog,
    store: Arc<dyn ObjectStore>,
    sweeper: Sweeper,
    of: (WorkspaceId, AgentId),
    count: usize,
    made: AtomicU64,
}

impl Ground {
    async fn new(file: &Path, store: Arc<dyn ObjectStore>, count: usize) -> Result<Arc<Self>> {
        let clock = Hands::new();
        let catalog = open(&CatalogLocation::File(file.to_owned()), &clock).await?;
        let workspace = catalog.make_workspace(&"w".parse()?).await?.id();
        let agent = catalog.make_agent(workspace, &"a".parse()?).await?.id();
        let sweeper = sweeper(&catalog, store.clone(), &clock);
        let (of, made) = ((workspace, agent), AtomicU64::new(0));
        Ok(Arc::new(Self { catalog, store, sweeper, of, count, made }))
    }
}

async fn sweep(ground: Arc<Ground>) -> Result<Cost> {
    let (workspace, agent) = ground.of;
    let name = format!("s{}", ground.made.fetch_add(1, Ordering::Relaxed));
    let session = ground.catalog.make_session(agent, &name.parse()?).await?.id();
    let coordinates = Coordinates { workspace, agent, session: Some(session) };
    put(&ground.store, &keys(coordinates, ground.count)?).await?;
    ground.catalog.remove_session(session).await?;
    let (tick, cost) = timed(async { Ok(ground.sweeper.empty_owed().await) }).await?;
    let is_all = tick.emptied == 1 && tick.failed == 0 && tick.files == ground.count as u64;
    ensure!(is_all, "it was not swept: {tick:?}");
    Ok(cost)
}

async fn delete_many(store: Arc<MemoryStore>, keys: Arc<Vec<ObjectKey>>) -> Result<Cost> {
    let store: Arc<dyn ObjectStore> = store;
    put(&store, &keys).await?;
    let all = async {
        for page in keys.chunks(PAGE) {
            store.delete_many(page).await?;
        }
        Ok(())
    };
    Ok(timed(all).await?.1)
}

async fn unlink(folder: PathBuf, count: usize) -> Result<Cost> {
    let paths: Vec<_> = (0..count).map(|file| folder.join(path(file))).collect();
    for path in &paths {
        std::fs::create_dir_all(path.parent().context("a folder")?)?;
        std::fs::write(path, "x")?;
    }
    let all =
        tokio::task::spawn_blocking(move || paths.into_iter().try_for_each(std::fs::remove_file));
    Ok(timed(async { Ok(all.await??) }).await?.1)
}

fn path(file: usize) -> String {
    format!("session/{:04}/{file:07}.txt", file / PAGE)
}

fn keys(coordinates: Coordinates, count: usize) -> Result<Vec<ObjectKey>> {
    (0..count).map(|file| key(coordinates, &path(file))).collect()
}

/// Puts a byte under each key, 32 at once.
async fn put(store: &Arc<dyn ObjectStore>, keys: &[ObjectKey]) -> Result<()> {
    let puts = keys.iter().cloned().map(|key| {
        let store = store.clone();
        tokio::spawn(async move {
            store.put(&key, Bytes::from_static(b"x"), &Precondition::Always).await
        })
    });
    let puts = stream::iter(puts).buffer_unordered(32);
    puts.map(|put| put.context("a task")?.map(drop).context("put")).try_collect().await
}
