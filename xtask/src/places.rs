//! Where things are: the checkout, what cargo builds, what is installed once per machine.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The folders that every task works in.
pub(crate) struct Places {
    /// The checkout.
    pub(crate) root: PathBuf,
    /// What cargo builds.
    pub(crate) target: PathBuf,
    /// What is set up once and kept between checkouts: `BAILIWICK_TOOLS`, or the user's cache.
    pub(crate) tools: PathBuf,
}

impl Places {
    pub(crate) fn find() -> Result<Self> {
        // Asked when it runs: checkouts that share a target directory share this program.
        let manifest = env::var_os("CARGO_MANIFEST_DIR").context("run this as `cargo xtask`")?;
        let root = Path::new(&manifest).parent().context("xtask has no parent folder")?.to_owned();
        let target = match env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => env::current_dir()?.join(folder),
            None => root.join("target"),
        };
        let tools = match env::var_os("BAILIWICK_TOOLS") {
            Some(folder) => env::current_dir()?.join(folder),
            None => user_cache()?.join("bailiwick/tools"),
        };
        Ok(Self { root, target, tools })
    }

    /// Where the components of this repository's guests are kept: `<name>.wasm`.
    pub(crate) fn guests(&self) -> PathBuf {
        self.target.join("guests")
    }
}

fn user_cache() -> Result<PathBuf> {
    if let Some(folder) = env::var_os("XDG_CACHE_HOME") {
        return Ok(PathBuf::from(folder));
    }
    Ok(home()?.join(".cache"))
}

/// Where cargo keeps the sources of crates.
pub(crate) fn cargo_home() -> Result<PathBuf> {
    match env::var_os("CARGO_HOME") {
        Some(folder) => Ok(PathBuf::from(folder)),
        None => Ok(home()?.join(".cargo")),
    }
}

fn home() -> Result<PathBuf> {
    env::var_os("HOME").map(PathBuf::from).context("HOME is not set")
}
