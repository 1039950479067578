//! What the world `bailiwick:agent/async-agent` has beside that of synchronous guests, as Rust
//! sees it; generated from `wit/`. Of the functions of `async-files`, none are used: see there.

wasmtime::component::bindgen!({
    path: "../wit",
    world: "bailiwick:agent/async-agent",
    imports: { default: async | trappable },
    with: {
        "bailiwick:storage/types": crate::engine::bindings::bailiwick::storage::types,
        "bailiwick:storage/files": crate::engine::bindings::bailiwick::storage::files,
        "bailiwick:storage/text": crate::engine::bindings::bailiwick::storage::text,
        "bailiwick:storage/spill": crate::engine::bindings::bailiwick::storage::spill,
        "bailiwick:agent/log": crate::engine::bindings::bailiwick::agent::log,
        "bailiwick:agent/session": crate::engine::bindings::bailiwick::agent::session,
    },
});
