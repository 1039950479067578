//! What compiles guests: rustup's target where it is to be had, Debian's compiler where not.

mod debian;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::places::{self, Places};
use crate::shell::{output, run, step};

/// The target of the guests.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";
/// The targets of programs of plain files, and what the names of their components end in.
pub(crate) const PROGRAM_TARGETS: [(&str, &str); 2] =
    [("wasm32-wasip2", ""), ("wasm32-wasip1", "-wasip1")];
/// Chooses a road (`rustup` or `debian`) instead of the first that works.
const CHOICE: &str = "BAILIWICK_GUEST_TOOLCHAIN";
const RUSTFLAGS: &str = "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS";

/// A compiler for guests, ready to use.
pub(crate) enum Toolchain {
    /// The toolchain that runs this task, with its WebAssembly target.
    Rustup,
    /// Debian's `rustc-web`, with a standard library built for it.
    Debian {
        /// `<version>` of the compiler; build folders of different compilers do not mix.
        version: String,
        /// Holds the standard library.
        sysroot: PathBuf,
    },
}

impl Toolchain {
    /// Finds one, and installs it if there is none.
    pub(crate) fn ensure(places: &Places) -> Result<Self> {
        match env::var(CHOICE).as_deref() {
            Ok("debian") => debian::ensure(places),
            Ok("rustup") => ensure_rustup().map(|()| Self::Rustup),
            Ok(other) => bail!("{CHOICE} is `rustup` or `debian`, and not `{other}`"),
            Err(_) => match ensure_rustup() {
                Ok(()) => Ok(Self::Rustup),
                Err(error) => {
                    step(&format!("rustup has no target {TARGET} here ({error}): trying Debian's"));
                    debian::ensure(places)
                }
            },
        }
    }

    /// Where builds of this toolchain are kept.
    pub(crate) fn target_dir(&self, places: &Places) -> PathBuf {
        match self {
            Self::Rustup => places.target.join("guest-build"),
            Self::Debian { version, .. } => {
                places.target.join(format!("guest-build-debian-{version}"))
            }
        }
    }

    /// Makes a cargo command of this toolchain's, for guests whose sources are under `root`.
    pub(crate) fn prepare(&self, cargo: &mut Command, root: &Path) -> Result<()> {
        let crates = places::cargo_home()?.join("registry/src");
        let mut flags = vec![remap(&crates, "/cargo"), remap(root, "/src")];
        if let Self::Debian { sysroot, .. } = self {
            flags.push(format!("--sysroot={}", sysroot.display()));
            cargo.env("RUSTC", debian::RUSTC).env("PATH", debian::path_with_linker()?);
        }
        // A variable of the user's would take the place of ours.
        cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        cargo.env(RUSTFLAGS, flags.join(" "));
        cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-component-ld");
        for wasi in ["WASIP1", "WASIP2"] {
            cargo.env(format!("CARGO_TARGET_WASM32_{wasi}_RUSTFLAGS"), flags.join(" "));
            cargo.env(format!("CARGO_TARGET_WASM32_{wasi}_LINKER"), "wasm-component-ld");
        }
        Ok(())
    }
}

/// Keeps this machine's folders out of the component, so that it is the same from every checkout.
fn remap(folder: &Path, name: &str) -> String {
    format!("--remap-path-prefix={}={name}", folder.display())
}

/// Sees to it that programs of plain files can be built.
pub(crate) fn has_program_targets() -> Result<()> {
    PROGRAM_TARGETS.into_iter().try_for_each(|(target, _)| ensure_target(target))
}

fn ensure_rustup() -> Result<()> {
    ensure_target(TARGET)
}

fn ensure_target(target: &str) -> Result<()> {
    if has_target(target)? {
        return Ok(());
    }
    step(&format!("installing the target {target} (15 MB): rustup target add {target}"));
    run(Command::new("rustup").args(["target", "add", target]))?;
    if !has_target(target)? {
        bail!("rustup added {target} to another toolchain than this one");
    }
    Ok(())
}

fn has_target(target: &str) -> Result<bool> {
    let folder =
        output(Command::new("rustc").args(["--print", "target-libdir", "--target", target]))?;
    Ok(Path::new(&folder).is_dir())
}
