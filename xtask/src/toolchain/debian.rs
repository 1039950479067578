//! Debian's `rustc-web`: it has no standard library for guests, so that is built once.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, process};

use anyhow::{Context, Result, bail};

use super::{TARGET, Toolchain, remap};
use crate::places::{self, Places};
use crate::shell::{cargo, output, run, step};

pub(super) const RUSTC: &str = "/usr/bin/rustc";
const PACKAGES: [&str; 2] = ["rustc-web", "rust-web-src"];
const STD_SOURCES: &str = "/usr/lib/rustlib/src/rust";
/// The oldest compiler that takes this repository's sources.
const MINOR_MIN: u32 = 95;

pub(super) fn ensure(places: &Places) -> Result<Toolchain> {
    ensure_packages()?;
    let version = package_version(PACKAGES[0])?;
    check_compiler()?;
    let folder = version.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-");
    let sysroot = places.tools.join("wasm-sysroot").join(&folder);
    if !libraries(&sysroot).is_dir() {
        step(&format!("building the standard library of {TARGET} (a minute, kept)"));
        build_std(&sysroot)?;
    }
    Ok(Toolchain::Debian { version: folder, sysroot })
}

fn ensure_packages() -> Result<()> {
    let missing: Vec<_> =
        PACKAGES.into_iter().filter(|package| package_version(package).is_err()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let install = ["install", "-y", "--no-install-recommends"];
    step(&format!("installing {} (140 MB): apt-get {}", missing.join(" "), install.join(" ")));
    run(Command::new("apt-get").args(install).args(&missing)).with_context(|| {
        format!("install {} as root, or a toolchain of rustup's", missing.join(" and "))
    })
}

fn package_version(package: &str) -> Result<String> {
    let version = output(Command::new("dpkg-query").args(["-W", "-f=${Version}", package]))?;
    if version.is_empty() {
        bail!("{package} is not installed");
    }
    Ok(version)
}

fn check_compiler() -> Result<()> {
    let version = output(Command::new(RUSTC).arg("--version"))?;
    let minor = version.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
    match minor {
        Some(minor) if minor >= MINOR_MIN => Ok(()),
        _ => bail!("{RUSTC} is {version}, and guests need 1.{MINOR_MIN} or later"),
    }
}

fn libraries(sysroot: &Path) -> PathBuf {
    sysroot.join("lib/rustlib").join(TARGET).join("lib")
}

/// Builds it beside its place and renames it there: a sysroot that is there is whole.
fn build_std(sysroot: &Path) -> Result<()> {
    let work = sysroot.with_extension(format!("work-{}", process::id()));
    let project = work.join("project");
    fs::create_dir_all(project.join("src"))?;
    fs::write(project.join("src/lib.rs"), "")?;
    fs::write(project.join("Cargo.toml"), PROJECT)?;
    compile_std(&project)?;
    let built = work.join("sysroot");
    copy_libraries(&project, &libraries(&built))?;
    if let Err(error) = fs::rename(&built, sysroot) {
        // Another run may have been faster.
        if !libraries(sysroot).is_dir() {
            return Err(error).context("cannot keep the standard library");
        }
    }
    fs::remove_dir_all(&work)?;
    Ok(())
}

const PROJECT: &str = r#"[package]
name = "empty"
version = "0.0.0"
edition = "2021"
[workspace]
[profile.release]
opt-level = "s"
"#;

fn compile_std(project: &Path) -> Result<()> {
    let crates = places::cargo_home()?.join("registry/src");
    let flags = [
        "-Cembed-bitcode=yes".to_owned(),
        remap(Path::new(STD_SOURCES), "/rustc"),
        remap(&crates, "/cargo"),
    ];
    let mut command = cargo();
    command.current_dir(project).args(["build", "--quiet", "--release", "--target", TARGET]);
    command.args(["-Zbuild-std=std,panic_abort", "-Zbuild-std-features="]);
    command.arg("--target-dir").arg(project.join("target"));
    command.env("RUSTC_BOOTSTRAP", "1").env("RUSTC", RUSTC).env("RUSTFLAGS", flags.join(" "));
    run(&mut command)
}

fn copy_libraries(project: &Path, libraries: &Path) -> Result<()> {
    fs::create_dir_all(libraries)?;
    let built = project.join("target").join(TARGET).join("release/deps");
    for entry in fs::read_dir(built)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".rlib") && !name.starts_with("libempty-") {
            fs::copy(&path, libraries.join(&name))?;
        }
    }
    Ok(())
}

/// The path, with the linkers that rustup ships, which Debian's compiler does not look for.
pub(super) fn path_with_linker() -> Result<OsString> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]).env_remove("RUSTC"))?;
    let host = output(Command::new("rustc").args(["--print", "host-tuple"]))?;
    let linkers = Path::new(&sysroot).join("lib/rustlib").join(host).join("bin");
    if !linkers.join("wasm-component-ld").is_file() {
        bail!("the toolchain of rustup in {sysroot} has no wasm-component-ld: update it");
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(linkers).chain(env::split_paths(&path));
    Ok(env::join_paths(folders)?)
}
