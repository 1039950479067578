//! Building guests: components, each at `<target>/guests/<name>.wasm`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::languages::{self, Guest};
use crate::places::Places;
use crate::shell::{cargo, run, step};
use crate::toolchain::{PROGRAM_TARGETS, TARGET, Toolchain, has_program_targets};

/// Folders of guests: crates, and those in other languages.
const GUEST_FOLDERS: [&str; 3] = ["examples", "host/test-guests", "benches/guests"];

/// A program with C in it, which has a workspace of its own so that nobody else compiles that.
const WITH_C: &str = "host/test-guests/sqlite";
const C_HEADERS: &str = "/usr/include/wasm32-wasi";

/// Builds the guests of this repository and answers where their components are.
pub(crate) fn build(places: &Places) -> Result<PathBuf> {
    let toolchain = Toolchain::ensure(places)?;
    let names = names(&places.root, Kind::Library)?;
    step(&format!("building {} guests: {}", names.len(), names.join(", ")));
    let target = toolchain.target_dir(places);
    let mut command = cargo();
    command.current_dir(&places.root).args(["build", "--quiet", "--profile", "guest"]);
    command.args(["--target", TARGET, "--target-dir"]).arg(&target);
    command.args(names.iter().flat_map(|name| ["--package", name]));
    toolchain.prepare(&mut command, &places.root)?;
    run(&mut command)?;

    let guests = places.guests();
    fs::create_dir_all(&guests)?;
    for name in names {
        let file = format!("{}.wasm", name.replace('-', "_"));
        let built = target.join(TARGET).join("guest").join(file);
        keep(&built, &guests.join(format!("{name}.wasm")))?;
    }
    build_programs(places, &target, &guests)?;
    languages::build(places, &others(&places.root)?, &guests)?;
    Ok(guests)
}

/// Builds the programs of plain files, which need the standard library of WASI: for 0.2, and for 0.1
/// with an adapter. Debian's compiler has none.
fn build_programs(places: &Places, target: &Path, guests: &Path) -> Result<()> {
    let names = names(&places.root, Kind::Program)?;
    if let Err(error) = has_program_targets() {
        if std::env::var_os("CI").is_some() {
            return Err(error);
        }
        step(&format!("SKIPPED: the programs {}, and their tests: {error:#}", names.join(", ")));
        return Ok(());
    }
    for (wasi, ending) in PROGRAM_TARGETS {
        let mut command = cargo();
        command.current_dir(&places.root).args(["build", "--quiet", "--profile", "guest"]);
        command.args(["--target", wasi, "--target-dir"]).arg(target);
        command.args(names.iter().flat_map(|name| ["--package", name]));
        Toolchain::Rustup.prepare(&mut command, &places.root)?;
        run(&mut command)?;
        for name in &names {
            let built = target.join(wasi).join("guest").join(format!("{name}.wasm"));
            keep(&built, &guests.join(format!("{name}{ending}.wasm")))?;
        }
    }
    build_with_c(places, target, guests)
}

fn build_with_c(places: &Places, target: &Path, guests: &Path) -> Result<()> {
    let root = places.root.join(WITH_C);
    let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let compiler = match languages::c_compiler() {
        Ok(compiler) => compiler,
        Err(error) if std::env::var_os("CI").is_some() => return Err(error),
        Err(error) => {
            step(&format!("SKIPPED: the program {name}, and its tests: {error:#}"));
            return Ok(());
        }
    };
    let (target, wasi) = (target.join(&name), "wasm32-wasip1");
    let mut command = cargo();
    command.current_dir(&root).args(["build", "--quiet", "--release", "--locked"]);
    command.args(["--target", wasi, "--target-dir"]).arg(&target);
    Toolchain::Rustup.prepare(&mut command, &root)?;
    // It is linked with the library that rustup's target brings: of Debian's it has the headers.
    command.env("CC_wasm32_wasip1", compiler).env("AR_wasm32_wasip1", "ar");
    command.env("CFLAGS_wasm32_wasip1", format!("-nostdlibinc -isystem {C_HEADERS}"));
    run(&mut command)?;
    keep(
        &target.join(wasi).join("release").join(format!("{name}.wasm")),
        &guests.join(format!("{name}.wasm")),
    )
}

/// Holds that each guest is one that a test or a benchmark runs, and each example one that a page
/// explains.
pub(crate) fn check_used(places: &Places) -> Result<()> {
    let mut users = String::new();
    for folder in ["host/tests/it", "examples/embed/tests", "benches/src"] {
        users.push_str(&sources(&places.root.join(folder))?);
    }
    let (libraries, programs) =
        (names(&places.root, Kind::Library)?, names(&places.root, Kind::Program)?);
    let others = others(&places.root)?;
    let others = others.iter().map(Guest::name);
    for name in libraries.into_iter().chain(programs).chain(others) {
        if !users.contains(&format!("\"{name}\"")) {
            bail!("neither a test nor a benchmark runs the guest `{name}`");
        }
        let example = places.root.join("examples").join(&name);
        if example.exists() && !example.join("README.md").exists() {
            bail!("the example `{name}` has no README.md");
        }
    }
    Ok(())
}

/// All Rust source below a folder.
fn sources(folder: &Path) -> Result<String> {
    let mut text = String::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            text.push_str(&sources(&path)?);
        } else {
            text.push_str(&fs::read_to_string(&path).unwrap_or_default());
        }
    }
    Ok(text)
}

/// Builds a guest project of somebody's, by its release profile, where cargo puts it.
pub(crate) fn build_project(places: &Places, manifest: &Path) -> Result<()> {
    let folder = manifest.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new("."));
    let root = folder.canonicalize().with_context(|| format!("no such project: {folder:?}"))?;
    step(&format!("building {}", root.display()));
    run(&mut project_build(places, &root)?)
}

/// The command that builds a guest project.
pub(crate) fn project_build(places: &Places, root: &Path) -> Result<Command> {
    let toolchain = Toolchain::ensure(places)?;
    let mut command = cargo();
    command.current_dir(root).args(["build", "--release", "--target", TARGET]);
    toolchain.prepare(&mut command, root)?;
    Ok(command)
}

/// What a guest is to its compiler.
#[derive(Clone, Copy)]
enum Kind {
    /// A library that exports a contract.
    Library,
    /// A program that knows none.
    Program,
}

impl Kind {
    /// What its manifest says.
    fn mark(self) -> &'static str {
        match self {
            Self::Library => "\"cdylib\"",
            Self::Program => "[package.metadata.guest]",
        }
    }
}

/// The guest crates of a kind.
fn names(root: &Path, kind: Kind) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for folder in GUEST_FOLDERS {
        for entry in fs::read_dir(root.join(folder))? {
            let path = entry?.path();
            let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap_or_default();
            if manifest.contains(kind.mark()) {
                names.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
            }
        }
    }
    names.sort();
    if names.is_empty() {
        bail!("no guests in {}", GUEST_FOLDERS.join(" or "));
    }
    Ok(names)
}

/// The guests that are not written in Rust, by name.
fn others(root: &Path) -> Result<Vec<Guest>> {
    let mut guests = Vec::new();
    for folder in GUEST_FOLDERS {
        for entry in fs::read_dir(root.join(folder))? {
            guests.extend(Guest::of(&entry?.path()));
        }
    }
    guests.sort_by_key(Guest::name);
    Ok(guests)
}

/// Copies a component to its place, unless it is there: what is unchanged is not touched.
fn keep(built: &Path, place: &Path) -> Result<()> {
    let bytes = fs::read(built).with_context(|| format!("no component {}", built.display()))?;
    if fs::read(place).is_ok_and(|kept| kept == bytes) {
        return Ok(());
    }
    let beside = place.with_extension("new");
    fs::write(&beside, bytes)?;
    fs::rename(&beside, place).with_context(|| format!("cannot write {}", place.display()))
}
