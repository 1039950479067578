//! A program of plain files on wasmtime's own folders of the host.

use std::path::Path;

use anyhow::{Result, anyhow};
use wasmtime::Store;
use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime_wasi::p2::bindings::CommandPre;
use wasmtime_wasi::p2::pipe::{MemoryInputPipe, MemoryOutputPipe};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};

use crate::bare;

/// Longest that the program's answer may be, in bytes.
const ANSWER_BYTES_MAX: usize = 1 << 10;

struct State {
    table: ResourceTable,
    wasi: WasiCtx,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// A program, ready to be run.
#[derive(Clone)]
pub(crate) struct Program {
    engine: wasmtime::Engine,
    linked: CommandPre<State>,
}

impl Program {
    pub(crate) fn new(bytes: &[u8]) -> Result<Self> {
        let engine = bare::engine()?;
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        let component = Component::new(&engine, bytes)?;
        let linked = CommandPre::new(linker.instantiate_pre(&component)?)?;
        Ok(Self { engine, linked })
    }

    /// Runs it over a folder of the host, which it finds as `/session`, and gives what it printed.
    pub(crate) async fn run(&self, folder: &Path, input: String) -> Result<String> {
        let printed = MemoryOutputPipe::new(ANSWER_BYTES_MAX);
        let mut wasi = WasiCtx::builder();
        wasi.preopened_dir(folder, "/session", FsPerms::ReadWrite)?;
        wasi.stdin(MemoryInputPipe::new(input)).stdout(printed.clone());
        let state = State { table: ResourceTable::new(), wasi: wasi.build() };
        let mut store = Store::new(&self.engine, state);
        bare::yielding(&mut store);
        let program = self.linked.instantiate_async(&mut store).await?;
        let ended = program.wasi_cli_run().call_run(&mut store).await?;
        ended.map_err(|()| anyhow!("the program failed"))?;
        Ok(String::from_utf8_lossy(&printed.contents()).into_owned())
    }
}
