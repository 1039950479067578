//! `wasi:filesystem` 0.2, on types of our own: those of WASI's own host are host directories, and
//! nothing else.

wasmtime::component::bindgen!({
    path: "wit-wasi",
    world: "wasi:filesystem/folders",
    imports: { default: async | trappable },
    trappable_error_type: {
        "wasi:filesystem/types.error-code" => super::error::Failure,
    },
    with: {
        "wasi:io/error": wasmtime_wasi::p2::bindings::io::error,
        "wasi:io/streams": wasmtime_wasi::p2::bindings::io::streams,
        "wasi:clocks/wall-clock": wasmtime_wasi::p2::bindings::clocks::wall_clock,
        "wasi:filesystem/types.descriptor": super::descriptor::Descriptor,
        "wasi:filesystem/types.directory-entry-stream": super::entries::Entries,
    },
});
