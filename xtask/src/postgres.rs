//! The PostgreSQL server that the tests start for themselves.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::shell::{run, step};

/// A server of the tester's own, by its URL: then none is needed.
const URL: &str = "BAILIWICK_TEST_POSTGRES";
/// Where Debian puts each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// Installs Debian's package where there is none and it may be; where it may not, the tests that
/// need it say that they were left out, and on CI they fail.
///
/// # Errors
/// On CI, if it cannot be installed.
pub(crate) fn ensure() -> anyhow::Result<()> {
    if std::env::var_os(URL).is_some() || is_installed() {
        return Ok(());
    }
    let install = ["install", "-y", "--no-install-recommends", "postgresql"];
    step(&format!("installing PostgreSQL (60 MB): apt-get {}", install.join(" ")));
    match run(Command::new("apt-get").args(install)) {
        Err(error) if std::env::var_os("CI").is_some() => {
            Err(error).with_context(|| format!("install PostgreSQL, or name a server in {URL}"))
        }
        Err(_) => {
            step("PostgreSQL cannot be installed: what needs it will not be tested");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

fn is_installed() -> bool {
    let versions = std::fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let folders = versions.map(|version| version.path().join("bin"));
    folders.chain(std::env::split_paths(&on_path)).any(|folder| has_server(&folder))
}

fn has_server(folder: &Path) -> bool {
    ["initdb", "postgres", "pg_isready"].iter().all(|program| folder.join(program).is_file())
}
