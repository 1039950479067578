//! How wasmtime is set up: what is on, and how memory is handed out.

use wasmtime::{Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig};

use super::Allocation;
use crate::limits::Limits;

/// How many core instances a guest has on average: adapters make small ones of their own.
const CORE_INSTANCES_PER_TURN: u32 = 8;
const MEMORIES_PER_TURN: u32 = 2;
const TABLES_PER_TURN: u32 = 4;
/// Bytes that a memory and a table keep resident for the next guest, so that it starts without
/// page faults. Where the kernel tells which pages were written to, wherever they are.
const KEEP_RESIDENT_BYTES: usize = 256 << 10;
const KEEP_RESIDENT_TABLE_BYTES: usize = 16 << 10;
/// Largest description of one instance, in bytes: what CPython needs, and a margin.
const INSTANCE_BYTES_MAX: usize = 10 << 20;

/// Stack of a turn, in bytes: half a MiB is the guest's, the rest is for what its calls do on the
/// host. The client of a store goes deep, and a host that overflows takes every turn with it.
const STACK_BYTES: usize = 4 << 20;

pub(super) fn engine(
    limits: &Limits,
    allocation: Allocation,
) -> wasmtime::Result<wasmtime::Engine> {
    match allocation {
        Allocation::OnDemand => wasmtime::Engine::new(&base()),
        Allocation::Pooling => {
            let mut config = base();
            config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(limits)));
            wasmtime::Engine::new(&config).or_else(|error| {
                let error = format!("{error:#}");
                tracing::warn!(error, "no room for a pool of guests; each is allocated on demand");
                wasmtime::Engine::new(&base())
            })
        }
    }
}

/// For guests whose calls may overlap. A guest of many components may take a stack for each: out
/// of a pool it would take those of others, so each is allocated on demand.
pub(super) fn overlapping() -> wasmtime::Result<wasmtime::Engine> {
    let mut config = base();
    config.concurrency_support(true);
    wasmtime::Engine::new(&config)
}

fn base() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true);
    config.async_stack_size(STACK_BYTES);
    // A shared memory is not counted by the limiter.
    config.wasm_threads(false);
    config.wasm_component_model(true);
    // A host call costs a fifth less without it.
    config.concurrency_support(false);
    config
}

fn pool(limits: &Limits) -> PoolingAllocationConfig {
    let turns = u32::try_from(limits.host_turns_max).unwrap_or(u32::MAX).max(1);
    let instances = u32::try_from(limits.guest_instances_max).unwrap_or(u32::MAX);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(turns)
        .total_core_instances(turns.saturating_mul(CORE_INSTANCES_PER_TURN))
        .total_memories(turns.saturating_mul(MEMORIES_PER_TURN))
        .total_tables(turns.saturating_mul(TABLES_PER_TURN))
        .total_stacks(turns)
        .total_gc_heaps(turns)
        .max_core_instances_per_component(instances)
        .max_core_instance_size(INSTANCE_BYTES_MAX)
        .max_component_instance_size(INSTANCE_BYTES_MAX)
        .max_memory_size(limits.guest_memory_bytes_max)
        .max_memories_per_module(8)
        .max_tables_per_module(16)
        .table_elements(limits.guest_table_elements_max)
        .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
        .table_keep_resident(KEEP_RESIDENT_TABLE_BYTES)
        .pagemap_scan(Enabled::Auto);
    pool
}
