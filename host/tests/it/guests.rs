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

/// As [`guest`], of one whose tools are not to be had everywhere: a program of plain files, or one
/// that is not written in Rust.
pub(crate) fn program(name: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("BAILIWICK_GUESTS").map(PathBuf::from);
    let is_built = folder.is_none_or(|folder| folder.join(format!("{name}.wasm")).exists());
    if !is_built && std::env::var_os("CI").is_none() {
        eprintln!("SKIPPED: `{name}` was not built: what builds it is not to be had here");
        return None;
    }
    guest(name)
}
