//! What a store holds for one turn.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtxView, WasiView};

use super::cancel::Cancel;
use super::folders::TurnFolders;
use super::import::{Import, Offers};
use super::invocations::Invocations;
use super::journal::Journal;
use super::limiter::Limiter;
use super::tasks::Calls;
use super::turn::Wake;
use super::wasi::Wasi;
use crate::space::Space;

/// The host's side of one turn: all that a guest's calls can reach.
pub struct TurnState {
    pub(super) journal: Arc<Journal>,
    pub(super) limiter: Limiter,
    pub(super) table: ResourceTable,
    pub(super) wakes: Vec<Wake>,
    pub(super) cancel: Cancel,
    pub(super) host_calls: u64,
    pub(super) invocations: Invocations,
    /// When the turn is ended, whatever it does.
    pub(super) deadline: Instant,
    /// How long it may go on once it was asked to stop.
    pub(super) grace: Duration,
    /// Of a guest whose calls may overlap.
    pub(super) calls: Option<Calls>,
    /// What the embedder's imports gave it.
    pub(super) offers: Offers,
    /// Its scopes, as programs see them.
    pub(super) folders: TurnFolders,
    pub(super) wasi: Wasi,
    pub(super) space: Space,
}

impl TurnState {
    /// What an import gave this turn, for one call of the guest; `None` if the turn does not have it.
    pub fn offered<I: Import>(&mut self) -> Option<&mut I::Turn> {
        self.count_call();
        self.offers.of::<I>()
    }

    /// The space, for one call of the guest.
    pub(super) fn space(&mut self) -> &Space {
        self.count_call();
        &self.space
    }

    pub(super) fn count_call(&mut self) {
        self.host_calls += 1;
    }

    /// What is left until the host ends the turn.
    pub(super) fn remaining(&self) -> Duration {
        let asked = self.cancel.since().map(|since| since + self.grace);
        let end = asked.map_or(self.deadline, |asked| asked.min(self.deadline));
        end.saturating_duration_since(Instant::now())
    }
}

impl fmt::Debug for TurnState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnState").field("host_calls", &self.host_calls).finish_non_exhaustive()
    }
}

impl WasiView for TurnState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: self.wasi.context(&self.folders), table: &mut self.table }
    }
}
