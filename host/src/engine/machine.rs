//! wasmtime, set up for one kind of guests: its engine, and what they may import.

use wasmtime::component::{HasSelf, Linker};

use super::bindings::bailiwick::{agent, storage};
use super::import::Imports;
use super::state::TurnState;
use super::{Allocation, configuration, files, folders, tasks, wasi};
use crate::limits::Limits;

/// Compiles and links guests of one kind.
pub(super) struct Machine {
    pub(super) engine: wasmtime::Engine,
    pub(super) linker: Linker<TurnState>,
}

impl Machine {
    /// For guests whose calls come one after the other.
    pub(super) fn synchronous(
        limits: &Limits,
        allocation: Allocation,
        imports: &Imports,
    ) -> wasmtime::Result<Self> {
        let engine = configuration::engine(limits, allocation)?;
        let mut linker = linker(&engine)?;
        imports.link(&mut linker)?;
        Ok(Self { engine, linker })
    }

    /// For guests whose calls may overlap.
    pub(super) fn overlapping(imports: &Imports) -> wasmtime::Result<Self> {
        let engine = configuration::overlapping()?;
        let mut linker = linker(&engine)?;
        tasks::add_to_linker(&mut linker)?;
        wasi::add_tasks_to_linker(&mut linker)?;
        folders::add_tasks_to_linker(&mut linker)?;
        imports.link(&mut linker)?;
        Ok(Self { engine, linker })
    }
}

/// What every guest may import, of whatever engine.
fn linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<TurnState>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    folders::add_to_linker(&mut linker)?;
    files::add_to_linker(&mut linker)?;
    storage::types::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state)?;
    storage::text::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state)?;
    storage::spill::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state)?;
    agent::log::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state)?;
    agent::session::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state)?;
    Ok(linker)
}
