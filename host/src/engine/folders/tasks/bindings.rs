//! `wasi:filesystem` 0.3 and the export of its programs, on the types that 0.2 has here.

wasmtime::component::bindgen!({
    path: "wit-wasi-3",
    world: "wasi:filesystem/program",
    imports: {
        "wasi:filesystem/types.[method]descriptor.read-via-stream": store | trappable,
        "wasi:filesystem/types.[method]descriptor.write-via-stream": store | trappable,
        "wasi:filesystem/types.[method]descriptor.append-via-stream": store | trappable,
        "wasi:filesystem/types.[method]descriptor.read-directory": store | trappable,
        // It waits until what was written is stored, as in 0.2.
        "wasi:filesystem/types.[drop]descriptor": async | trappable,
        default: trappable,
    },
    trappable_error_type: {
        "wasi:filesystem/types.error-code" => crate::engine::folders::error::Failure,
    },
    with: {
        "wasi:clocks/system-clock": wasmtime_wasi::p3::bindings::clocks::system_clock,
        "wasi:filesystem/types.descriptor": crate::engine::folders::descriptor::Descriptor,
    },
});
