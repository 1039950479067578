//! What a guest may hold in memory: all of its memories together, and all of its tables; and
//! what the memories of all guests of a host may be together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use wasmtime::{ResourceLimiter, Result};

use super::turn::LimitKind;
use crate::limits::Limits;

/// Core memories and tables that one guest may have, beside their sizes.
const MEMORIES_MAX: usize = 32;
const TABLES_MAX: usize = 64;

/// A running sum against its bound. Nothing is ever given back: memories do not shrink, and a
/// guest can make a growth fail whenever it likes.
#[derive(Debug)]
struct Sum {
    held: usize,
    max: usize,
}

/// What became of a growth.
enum Growth {
    Granted,
    /// Its memory or table is not made for it: no concern of the host's.
    OverItsOwn,
    OverOurs,
}

impl Sum {
    fn new(max: usize) -> Self {
        Self { held: 0, max }
    }

    fn grow(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Growth {
        let growth = desired.saturating_sub(current);
        let Some(held) = self.held.checked_add(growth).filter(|held| *held <= self.max) else {
            return Growth::OverOurs;
        };
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Growth::OverItsOwn;
        }
        self.held = held;
        Growth::Granted
    }
}

/// What the memories of all guests hold, against its bound.
#[derive(Debug)]
pub(super) struct HostMemory {
    held: AtomicUsize,
    max: usize,
}

impl HostMemory {
    pub(super) fn new(max: usize) -> Self {
        Self { held: AtomicUsize::new(0), max }
    }

    fn take(&self, bytes: usize) -> bool {
        let more = |held: usize| held.checked_add(bytes).filter(|held| *held <= self.max);
        self.held.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).is_ok()
    }

    /// Takes bytes until what is returned is dropped; `None` where there is no room for them.
    pub(super) fn hold(self: &Arc<Self>, bytes: usize) -> Option<HeldMemory> {
        self.take(bytes).then(|| HeldMemory { host: self.clone(), bytes })
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.max.saturating_sub(self.held.load(Ordering::SeqCst))
    }

    fn give_back(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::SeqCst);
    }
}

/// Bytes that the host holds for a guest, counted with those of its memories.
#[derive(Debug)]
pub(super) struct HeldMemory {
    host: Arc<HostMemory>,
    bytes: usize,
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        self.host.give_back(self.bytes);
    }
}

/// The limiter of one turn.
#[derive(Debug)]
pub(super) struct Limiter {
    host: Arc<HostMemory>,
    memory_bytes: Sum,
    table_elements: Sum,
    instances_max: usize,
    refused: Option<LimitKind>,
}

impl Limiter {
    pub(super) fn new(limits: &Limits, host: Arc<HostMemory>) -> Self {
        Self {
            host,
            memory_bytes: Sum::new(limits.guest_memory_bytes_max),
            table_elements: Sum::new(limits.guest_table_elements_max),
            instances_max: limits.guest_instances_max,
            refused: None,
        }
    }

    /// With no more bytes of memories than this, if it has not less.
    pub(super) fn with_memory_bytes_max(mut self, bytes_max: usize) -> Self {
        self.memory_bytes.max = self.memory_bytes.max.min(bytes_max);
        self
    }

    /// With no more core instances than this, if it has not less.
    pub(super) fn with_instances_max(mut self, instances_max: usize) -> Self {
        self.instances_max = self.instances_max.min(instances_max);
        self
    }

    /// Which growth was refused last. A guest sees no more of it than a failed `memory.grow`,
    /// and what it does then (abort, mostly) says nothing of the cause.
    pub(super) fn refused(&self) -> Option<LimitKind> {
        self.refused
    }

    fn granted(&mut self, growth: Growth, kind: LimitKind) -> bool {
        if matches!(growth, Growth::OverOurs) {
            self.refused = Some(kind);
        }
        matches!(growth, Growth::Granted)
    }

    /// Bytes of all memories. They never shrink, so this is the most that the guest held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.memory_bytes.held
    }
}

impl Limiter {
    pub(super) fn memory_bytes_max(&self) -> usize {
        self.memory_bytes.max
    }

    pub(super) fn table_elements_max(&self) -> usize {
        self.table_elements.max
    }
}

impl Drop for Limiter {
    fn drop(&mut self) {
        self.host.give_back(self.memory_bytes.held);
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool> {
        let held = self.memory_bytes.held;
        let growth = self.memory_bytes.grow(current, desired, maximum);
        if !self.granted(growth, LimitKind::Memory) {
            return Ok(false);
        }
        if self.host.take(self.memory_bytes.held - held) {
            return Ok(true);
        }
        self.memory_bytes.held = held;
        self.refused = Some(LimitKind::HostMemory);
        Ok(false)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool> {
        let growth = self.table_elements.grow(current, desired, maximum);
        Ok(self.granted(growth, LimitKind::Table))
    }

    fn instances(&self) -> usize {
        self.instances_max
    }

    fn tables(&self) -> usize {
        TABLES_MAX
    }

    fn memories(&self) -> usize {
        MEMORIES_MAX
    }
}
