//! Runs guests. wasmtime, narrowed: no other module names a type of it.
//!
//! A guest gets what its [`Space`](crate::space::Space) allows, by calls and as folders, a clock,
//! randomness and a log; no sockets, no folder of the host, no environment but the names of its
//! folders; and what an embedder offers it ([`Import`]). Whatever it does ends its own turn and
//! nothing else.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use crate::limits::Limits;
use anyhow::Context;
use bytes::Bytes;
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

mod bindings;
mod cache;
mod cancel;
mod component;
mod configuration;
mod convert;
mod ending;
mod files;
mod folders;
mod import;
mod inspect;
mod invocations;
mod journal;
mod limiter;
mod log;
mod machine;
mod output;
mod run;
mod session;
mod spill;
mod state;
mod tasks;
mod text;
mod ticker;
mod turn;
mod wasi;

pub use cancel::Cancel;
pub use component::{Component, LoadError};
pub use folders::{Unstored, UnstoredWhy};
pub use import::{Beginning, Import, Imports, Offered};
pub use inspect::{Inspection, Verdict};
pub use invocations::Invocation;
pub use state::TurnState;
pub use turn::{Bounds, End, Level, LimitKind, Observer, Report, Request, Usage, Wake};
/// The very version that an [`Import`] is linked by: for `bindgen!`, name it as its
/// `wasmtime_crate`.
pub use wasmtime;

use cache::{CacheKey, DiskCache};
use component::Guest;
use folders::HostGathering;
use limiter::HostMemory;
use machine::Machine;
use ticker::Ticker;

/// Components compiled at once; each uses every core as it is.
const COMPILATIONS_MAX: usize = 2;

/// How memory is handed out to guests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocation {
    /// As each one comes: best for a few.
    #[default]
    OnDemand,
    /// From a pool that is reserved once: best for many. Where that much address space is not
    /// to be had, on demand all the same, with a warning.
    Pooling,
}

/// How an [`Engine`] is made.
#[derive(Clone, Debug, Default)]
pub struct EngineOptions {
    /// Where compiled components are kept; nowhere if `None`. A folder that others can write
    /// to is not used, with a warning.
    pub cache_dir: Option<PathBuf>,
    /// Where large files that guests write through folders are gathered until they are stored, in
    /// files that have no name; where the system keeps such files if `None`. It should be no
    /// filesystem in memory.
    pub gathering_dir: Option<PathBuf>,
    /// How memory is handed out.
    pub allocation: Allocation,
    /// What guests may import beside the contract.
    pub imports: Imports,
}

/// Compiles and runs guests. One per process; clones share it.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

struct Inner {
    machine: Machine,
    /// For guests whose calls may overlap; made for the first of them.
    overlapping: OnceCell<Machine>,
    cache: Option<DiskCache>,
    limits: Limits,
    imports: Imports,
    places: Arc<Semaphore>,
    compilations: Semaphore,
    loaded: Mutex<HashMap<CacheKey, Slot>>,
    guest_memory: Arc<HostMemory>,
    gathering: Arc<HostGathering>,
    ticker: Ticker,
}

/// One component of this process; locked while it is compiled, so that it is so once.
type Slot = Arc<tokio::sync::Mutex<Weak<Guest>>>;

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("cache", &self.0.cache).finish_non_exhaustive()
    }
}

impl Engine {
    /// Sets up wasmtime and starts the thread that lets computing guests give way.
    ///
    /// # Errors
    /// If the machine is none that wasmtime compiles for, no thread is to be had, or an import does
    /// not link: one cannot stand in for what the contract has.
    pub fn new(limits: Limits, options: EngineOptions) -> anyhow::Result<Self> {
        let machine = Machine::synchronous(&limits, options.allocation, &options.imports)?;
        let ticker = Ticker::start(Duration::from_millis(limits.epoch_ms.max(1)))
            .context("cannot start a thread")?;
        ticker.tick(&machine.engine);
        Ok(Self(Arc::new(Inner {
            machine,
            overlapping: OnceCell::new(),
            cache: options.cache_dir.and_then(|path| open_cache(&path)),
            places: Arc::new(Semaphore::new(limits.host_turns_max.min(Semaphore::MAX_PERMITS))),
            compilations: Semaphore::new(COMPILATIONS_MAX),
            loaded: Mutex::default(),
            guest_memory: Arc::new(HostMemory::new(limits.host_guest_memory_bytes_max)),
            gathering: HostGathering::new(&limits, options.gathering_dir.and_then(made)),
            limits,
            imports: options.imports,
            ticker,
        })))
    }

    /// Makes a guest of the bytes of a component: compiled once for as long as anybody holds it,
    /// and once per machine where there is a cache.
    ///
    /// # Errors
    /// [`LoadError::Unfit`] if they are none that this host can run.
    pub async fn load(&self, bytes: &[u8]) -> Result<Component, LoadError> {
        component::check_kind(bytes)?;
        let machine = self.machine(bytes).await?;
        let bytes = Bytes::copy_from_slice(bytes);
        let key = self.key(machine, &bytes).await?;
        let slot = self.slot(key);
        let mut slot = slot.lock().await;
        if let Some(guest) = slot.upgrade() {
            return Ok(Component(guest));
        }
        let compiled = self.compiled(machine, key, bytes).await?;
        let guest = Arc::new(component::link(&machine.linker, &compiled)?);
        *slot = Arc::downgrade(&guest);
        Ok(Component(guest))
    }

    /// What is to be said of some bytes without running them.
    pub async fn inspect(&self, bytes: &[u8]) -> Inspection {
        let (machine, compiled) = match self.checked(bytes).await {
            Ok(checked) => checked,
            Err(error) => return Inspection::unfit(error.to_string()),
        };
        let (imports, exports) = component::names(&compiled);
        let verdict = match component::link(&machine.linker, &compiled) {
            Ok(Guest::Turn(_)) => Verdict::Turn,
            Ok(Guest::AsyncTurn(_)) => Verdict::AsyncTurn,
            Ok(Guest::Command(_)) => Verdict::Command,
            Ok(Guest::AsyncCommand(_)) => Verdict::AsyncCommand,
            Err(error) => Verdict::Unfit(error.to_string()),
        };
        Inspection { imports, exports, verdict }
    }

    async fn checked(
        &self,
        bytes: &[u8],
    ) -> Result<(&Machine, wasmtime::component::Component), LoadError> {
        component::check_kind(bytes)?;
        let machine = self.machine(bytes).await?;
        let bytes = Bytes::copy_from_slice(bytes);
        let key = self.key(machine, &bytes).await?;
        Ok((machine, self.compiled(machine, key, bytes).await?))
    }

    /// What compiles and links this component.
    async fn machine(&self, bytes: &[u8]) -> Result<&Machine, LoadError> {
        if !component::has_overlapping_calls(bytes) {
            return Ok(&self.0.machine);
        }
        let made = self.0.overlapping.get_or_try_init(|| async {
            let machine = Machine::overlapping(&self.0.imports)?;
            self.0.ticker.tick(&machine.engine);
            Ok(machine)
        });
        made.await.map_err(|error: wasmtime::Error| LoadError::Host(error.into()))
    }

    async fn key(&self, machine: &Machine, bytes: &Bytes) -> Result<CacheKey, LoadError> {
        let (engine, bytes) = (machine.engine.clone(), bytes.clone());
        self.blocking(move |_| CacheKey::of(&engine, &bytes)).await
    }

    fn slot(&self, key: CacheKey) -> Slot {
        let mut loaded = self.0.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        // A slot that nobody locks and whose guest is gone would stay for nothing.
        loaded.retain(|_, slot| {
            Arc::strong_count(slot) > 1
                || slot.try_lock().is_ok_and(|guest| guest.strong_count() > 0)
        });
        loaded.entry(key).or_default().clone()
    }

    async fn compiled(
        &self,
        machine: &Machine,
        key: CacheKey,
        bytes: Bytes,
    ) -> Result<wasmtime::component::Component, LoadError> {
        let engine = machine.engine.clone();
        if let Some(kept) = self.blocking(move |inner| inner.fetch(&engine, key)).await? {
            return Ok(kept);
        }
        // The semaphore is never closed.
        let _turn = self.0.compilations.acquire().await;
        let engine = machine.engine.clone();
        self.blocking(move |inner| inner.compile(&engine, key, &bytes)).await?
    }

    /// Runs what takes long off the turns' threads.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> T + Send + 'static,
    ) -> Result<T, LoadError> {
        let inner = self.0.clone();
        let done = tokio::task::spawn_blocking(move || work(&inner));
        done.await.map_err(|panic| LoadError::Host(panic.into()))
    }

    /// Bytes that the memories of guests may still take, all together.
    pub fn guest_memory_left(&self) -> usize {
        self.0.guest_memory.left()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    fn imports(&self) -> &Imports {
        &self.0.imports
    }

    fn guest_memory(&self) -> Arc<HostMemory> {
        self.0.guest_memory.clone()
    }

    fn gathering(&self) -> Arc<HostGathering> {
        self.0.gathering.clone()
    }

    /// A place among the turns that run at once.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        self.0.places.clone().acquire_owned().await.ok()
    }
}

impl Inner {
    fn fetch(
        &self,
        engine: &wasmtime::Engine,
        key: CacheKey,
    ) -> Option<wasmtime::component::Component> {
        self.cache.as_ref()?.fetch(engine, key)
    }

    fn compile(
        &self,
        engine: &wasmtime::Engine,
        key: CacheKey,
        bytes: &[u8],
    ) -> Result<wasmtime::component::Component, LoadError> {
        let component = wasmtime::component::Component::from_binary(engine, bytes)
            .map_err(|error| component::corrupt(&error))?;
        if let Some(cache) = &self.cache {
            keep(cache, key, &component);
        }
        Ok(component)
    }
}

// A cache that fails costs time, and nothing else.
fn keep(cache: &DiskCache, key: CacheKey, component: &wasmtime::component::Component) {
    let kept = component
        .serialize()
        .map_err(anyhow::Error::from)
        .and_then(|compiled| Ok(cache.keep(key, &compiled)?));
    if let Err(error) = kept {
        tracing::warn!(error = format!("{error:#}"), "a compiled component was not kept");
    }
}

/// The folder, made where it was missing.
fn made(folder: PathBuf) -> Option<PathBuf> {
    match std::fs::create_dir_all(&folder) {
        Ok(()) => Some(folder),
        Err(error) => {
            let path = folder.display();
            tracing::warn!(%error, %path, "large files are gathered where the system keeps its temporary ones");
            None
        }
    }
}

fn open_cache(path: &std::path::Path) -> Option<DiskCache> {
    DiskCache::open(path)
        .inspect_err(|error| {
            let (error, path) = (format!("{error:#}"), path.display());
            tracing::warn!(error, %path, "compiled components are not kept: the folder cannot be trusted");
        })
        .ok()
}
