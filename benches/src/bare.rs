//! wasmtime alone, set up as our engine sets it up: what is below us, and what peers run on.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use wasmtime::component::{
    Component, ComponentType, InstancePre, Lift, Linker, Lower, ResourceTable,
};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store,
};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_keyvalue::{WasiKeyValue, WasiKeyValueCtx};

/// Turns that run at once, as in our default.
const TURNS: u32 = 1_000;

/// An engine with the settings that ours has.
pub(crate) fn engine() -> Result<Engine> {
    let mut config = base();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool()));
    Ok(Engine::new(&config)?)
}

fn base() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true).async_stack_size(4 << 20).wasm_component_model(true);
    config.concurrency_support(false).wasm_threads(false);
    config
}

fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(TURNS)
        .total_core_instances(TURNS * 8)
        .total_memories(TURNS * 2)
        .total_tables(TURNS * 4)
        .total_stacks(TURNS)
        .max_core_instance_size(10 << 20)
        .max_component_instance_size(10 << 20)
        .max_memory_size(256 << 20)
        .table_elements(100_000)
        .total_gc_heaps(TURNS)
        .linear_memory_keep_resident(256 << 10)
        .table_keep_resident(16 << 10)
        .pagemap_scan(Enabled::Auto);
    pool
}

/// Calls an empty host function so many times. Text, since no toolchain writes one so small.
const EMPTY_CALLS: &str = r#"
(component
  (import "nothing" (func $nothing))
  (import "bytes" (func $bytes (result (list u8))))
  (core module $memory
    (memory (export "memory") 2)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096)))
  (core instance $memory (instantiate $memory))
  (core func $nothing' (canon lower (func $nothing)))
  (core func $bytes' (canon lower (func $bytes)
    (memory (core memory $memory "memory"))
    (realloc (core func $memory "realloc"))))
  (core module $loop
    (import "host" "nothing" (func $nothing))
    (import "host" "bytes" (func $bytes (param i32)))
    (func (export "nothing") (param $times i32)
      (block $done (loop $again
        (br_if $done (i32.eqz (local.get $times)))
        (call $nothing)
        (local.set $times (i32.sub (local.get $times) (i32.const 1)))
        (br $again))))
    (func (export "bytes") (param $times i32)
      (block $done (loop $again
        (br_if $done (i32.eqz (local.get $times)))
        (call $bytes (i32.const 0))
        (local.set $times (i32.sub (local.get $times) (i32.const 1)))
        (br $again)))))
  (core instance $loop (instantiate $loop
    (with "host" (instance
      (export "nothing" (func $nothing'))
      (export "bytes" (func $bytes'))))))
  (func (export "nothing-times") (param "times" u32)
    (canon lift (core func $loop "nothing")))
  (func (export "bytes-times") (param "times" u32)
    (canon lift (core func $loop "bytes"))))
"#;

/// Host calls without anybody behind them.
#[derive(Clone)]
pub(crate) struct EmptyCalls(InstancePre<()>);

impl EmptyCalls {
    pub(crate) fn new(engine: &Engine) -> Result<Self> {
        let component = Component::new(engine, wat::parse_str(EMPTY_CALLS)?)?;
        let mut linker = Linker::new(engine);
        let mut root = linker.root();
        root.func_wrap_async("nothing", |_, (): ()| Box::new(async { Ok(()) }))?;
        let bytes = Bytes::from(vec![b'x'; 4096]);
        root.func_wrap_async("bytes", move |_, (): ()| {
            let bytes = bytes.clone();
            Box::new(async move { Ok((bytes.to_vec(),)) })
        })?;
        Ok(Self(linker.instantiate_pre(&component)?))
    }

    /// Runs `nothing-times` or `bytes-times`.
    pub(crate) async fn call(self, export: &'static str, times: u32) -> Result<()> {
        let mut store = Store::new(self.0.engine(), ());
        yielding(&mut store);
        let instance = self.0.instantiate_async(&mut store).await?;
        let calls = instance.get_typed_func::<(u32,), ()>(&mut store, export)?;
        Ok(calls.call_async(&mut store, (times,)).await?)
    }
}

/// Lets an epoch pass without a trap.
pub(crate) fn yielding<T: 'static>(store: &mut Store<T>) {
    store.set_epoch_deadline(1 << 40);
    store.epoch_deadline_async_yield_and_update(1 << 40);
}

/// What the peers' guest finds on the host.
pub(crate) struct PeerState {
    table: ResourceTable,
    wasi: WasiCtx,
    key_value: WasiKeyValueCtx,
}

impl WasiView for PeerState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// The guest that uses `wasi:filesystem` and `wasi:keyvalue`, on wasmtime's own hosts of them.
#[derive(Clone)]
pub(crate) struct Peers {
    linked: InstancePre<PeerState>,
}

impl Peers {
    pub(crate) fn new(engine: &Engine, guest: &[u8]) -> Result<Self> {
        let mut linker = Linker::new(engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        wasmtime_wasi_keyvalue::add_to_linker(&mut linker, |state: &mut PeerState| {
            WasiKeyValue::new(&state.key_value, &mut state.table)
        })?;
        let component = Component::new(engine, guest)?;
        Ok(Self { linked: linker.instantiate_pre(&component)? })
    }

    /// One run of the guest, over a folder that it may use as it likes.
    pub(crate) async fn run(&self, folder: &Path, input: String) -> Result<()> {
        let mut wasi = WasiCtx::builder();
        wasi.preopened_dir(folder, "files", FsPerms::ReadWrite)?;
        let state = PeerState {
            table: ResourceTable::new(),
            wasi: wasi.build(),
            key_value: WasiKeyValueCtx::builder().build(),
        };
        let mut store = Store::new(self.linked.engine(), state);
        yielding(&mut store);
        let instance = self.linked.instantiate_async(&mut store).await?;
        let run =
            instance.get_typed_func::<(String,), (Result<String, String>,)>(&mut store, "run")?;
        let (answer,) = run.call_async(&mut store, (input,)).await?;
        answer.map(drop).map_err(|error| anyhow!("the peers' guest failed: {error}"))
    }
}

#[derive(ComponentType, Lower)]
#[component(record)]
struct Request {
    input: String,
    answer: Option<String>,
    attempt: u32,
}

#[derive(ComponentType, Lift)]
#[component(variant)]
enum Outcome {
    #[component(name = "reply")]
    Reply(String),
    #[component(name = "park")]
    Park(String),
}

/// An agent's guest on wasmtime alone: nothing that it imports is there.
#[derive(Clone)]
pub(crate) struct Agent {
    linked: InstancePre<()>,
}

impl Agent {
    pub(crate) fn new(engine: &Engine, guest: &[u8]) -> Result<Self> {
        Self::linked(&Component::new(engine, guest)?)
    }

    pub(crate) fn linked(component: &Component) -> Result<Self> {
        let mut linker = Linker::<()>::new(component.engine());
        linker.define_unknown_imports_as_traps(component)?;
        Ok(Self { linked: linker.instantiate_pre(component)? })
    }

    /// One turn: a store, an instance, a call, and all of it dropped.
    pub(crate) async fn turn(&self, input: &str) -> Result<String> {
        let mut store = Store::new(self.linked.engine(), ());
        yielding(&mut store);
        let instance = self.linked.instantiate_async(&mut store).await?;
        let interface = instance
            .get_export_index(&mut store, None, "bailiwick:agent/turn@0.1.0")
            .context("no turn")?;
        let run =
            instance.get_export_index(&mut store, Some(&interface), "run").context("no run")?;
        let run =
            instance.get_typed_func::<(&Request,), (Result<Outcome, String>,)>(&mut store, run)?;
        let request = Request { input: input.to_owned(), answer: None, attempt: 1 };
        match run.call_async(&mut store, (&request,)).await?.0 {
            Ok(Outcome::Reply(text) | Outcome::Park(text)) => Ok(text),
            Err(error) => Err(anyhow!("the guest failed: {error}")),
        }
    }
}

/// Compiles a guest to a file that [`run_compiled`] maps.
pub(crate) fn compile(guest: &[u8], file: &Path) -> Result<()> {
    std::fs::write(file, Engine::new(&base())?.precompile_component(guest)?)?;
    Ok(())
}

/// Maps compiled code and runs one turn of it.
pub(crate) async fn run_compiled(file: &Path) -> Result<()> {
    let engine = Engine::new(&base())?;
    #[expect(unsafe_code, reason = "code that this benchmark compiled a moment ago")]
    // SAFETY: the file was written by `compile`, in a folder of this run.
    let component = unsafe { Component::deserialize_file(&engine, file)? };
    println!("{}", Agent::linked(&component)?.turn("Ada").await?);
    Ok(())
}
