//! Guests in C: compiled by clang with wasi-libc, made a component by the linker of rustup's.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::places::Places;
use crate::shell::{output, run, step};

/// The versions of Debian's compiler that have what guests need, newest first.
const VERSIONS: [&str; 3] = ["22", "19", "16"];

pub(super) fn build(places: &Places, folder: &Path, component: &Path) -> Result<()> {
    let sdk = places.root.join("guest-sdk/c");
    let mut make = make(folder)?;
    make.arg("--always-make").arg("--file").arg(sdk.join("guest.mk"));
    make.arg(format!("SDK={}", sdk.display()));
    run(make.arg(format!("COMPONENT={}", component.display())))
}

/// Builds a new project by its own command.
pub(super) fn build_project(project: &Path) -> Result<PathBuf> {
    run(&mut make(project)?)?;
    Ok(project.join("my-guest.wasm"))
}

fn make(folder: &Path) -> Result<Command> {
    let mut make = Command::new("make");
    make.args(["--silent", "--directory"]).arg(folder).arg(format!("CC={}", ensure()?));
    Ok(make)
}

/// Finds the compiler, and installs it if there is none.
pub(super) fn ensure() -> Result<String> {
    if let Some(version) = VERSIONS
        .iter()
        .find(|version| packages(version).iter().all(|package| is_installed(package)))
    {
        return Ok(format!("clang-{version}"));
    }
    let version = offered().context("no clang that compiles guests is offered here")?;
    let packages = packages(version);
    let install = ["install", "-y", "--no-install-recommends"];
    step(&format!("installing {} (30 MB): apt-get {}", packages.join(" "), install.join(" ")));
    run(Command::new("apt-get").args(install).args(&packages))
        .with_context(|| format!("install {} as root", packages.join(", ")))?;
    Ok(format!("clang-{version}"))
}

/// The newest version that apt has to install, which it may have to be told of first.
fn offered() -> Option<&'static str> {
    let find = || {
        VERSIONS
            .into_iter()
            .find(|version| packages(version).iter().all(|package| is_offered(package)))
    };
    find().or_else(|| {
        run(Command::new("apt-get").args(["update", "--quiet"])).ok()?;
        find()
    })
}

/// The packages of a version of the compiler.
fn packages(version: &str) -> [String; 4] {
    let builtins = format!("libclang-rt-{version}-dev-wasm32");
    [format!("clang-{version}"), format!("lld-{version}"), builtins, "wasi-libc".to_owned()]
}

fn is_installed(package: &str) -> bool {
    let mut query = Command::new("dpkg-query");
    let state = output(query.args(["-W", "-f=${db:Status-Status}", package]));
    state.is_ok_and(|state| state == "installed")
}

fn is_offered(package: &str) -> bool {
    output(Command::new("apt-cache").args(["show", "--quiet", package]))
        .is_ok_and(|shown| !shown.is_empty())
}
