//! The world `bailiwick:agent/agent`, as Rust sees it; generated from `wit/`. Of the functions of
//! `files`, the types alone are used: see there.

wasmtime::component::bindgen!({
    path: "../wit",
    world: "bailiwick:agent/agent",
    imports: {
        "bailiwick:agent/log": trappable,
        "bailiwick:agent/session": trappable,
        default: async | trappable,
    },
    exports: { default: async },
    trappable_error_type: {
        "bailiwick:storage/types.error" => super::convert::Failure,
    },
    with: {
        "bailiwick:storage/files.reader": super::files::ReaderHandle,
        "bailiwick:storage/files.writer": super::files::WriterHandle,
    },
});
