//! The example, as its page says: offline with the real program, and its client against a service
//! of the tests' own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod client;
mod imports;
mod offline;
mod service;
mod told;

use std::path::PathBuf;

/// The agent, as `cargo xtask guests` builds it. `None`, told loudly, where it is not built; on
/// CI that fails.
fn assistant() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("BAILIWICK_GUESTS").map(PathBuf::from) else {
        assert!(std::env::var_os("CI").is_none(), "BAILIWICK_GUESTS is not set");
        eprintln!("SKIPPED: no guest `assistant`: run this by `cargo xtask test`");
        return None;
    };
    Some(folder.join("assistant").with_extension("wasm"))
}
