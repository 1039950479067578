//! The guests of this repository, as `cargo xtask guests` builds them.

use std::path::PathBuf;

/// The component of a guest. `None`, told loudly, where no guests are built; on CI that fails.
#[expect(clippy::disallowed_methods, reason = "a test reads what the set-up built")]
pub(crate) fn guest(name: &str) -> Option<Vec<u8>> {
    let Some(folder) = std::env::var_os("BAILIWICK_GUESTS").map(PathBuf::from) else {
        assert!(std::env::var_os("CI").is_none(), "BAILIWICK_GUESTS is not set");
        eprintln!("SKIPPED: no guest `{name}`: run this by `cargo xtask test`, which builds them");
        return None;
    };
    let path = folder.join(format!("{name}.wasm"));
    Some(std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}
