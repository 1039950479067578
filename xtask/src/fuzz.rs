//! Fuzzing the resolution of paths, where a nightly toolchain is to be had.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::places::Places;
use crate::shell::{cargo, output, run, step};

const VERSION: &str = "0.13.2";
/// With `CI` set, and without.
const SECONDS_IN_CI: u32 = 60;
const SECONDS: u32 = 5;
/// Cases of the property test that stands in where there is no nightly toolchain.
const CASES: &str = "20000";

/// Fuzzes for a bounded time, from the corpus that is kept; what is new goes to a folder of the
/// build's, so that a checkout stays as it is.
pub(crate) fn run_bounded(places: &Places) -> Result<()> {
    if output(Command::new("rustc").args(["+nightly", "--version"])).is_err() {
        step("SKIPPED fuzzing: no nightly toolchain. The same properties run as a property test");
        let mut test = cargo();
        test.args(["test", "--package", "bailiwick", "--lib", "resolution_holds_for_every_string"]);
        return run(test.current_dir(&places.root).env("PROPTEST_CASES", CASES));
    }
    let cargo_fuzz = ensure_cargo_fuzz(places)?;
    let found = places.target.join("fuzz-corpus");
    fs::create_dir_all(&found)?;
    let seconds = if std::env::var_os("CI").is_some() { SECONDS_IN_CI } else { SECONDS };
    step(&format!("fuzzing the resolution of paths for {seconds} s"));
    let mut fuzz = Command::new(cargo_fuzz);
    // Safe code alone: an address sanitizer would find nothing, five times slower.
    fuzz.args(["fuzz", "run", "--sanitizer", "none", "paths"]);
    fuzz.arg(found).arg(places.root.join("host/fuzz/corpus/paths"));
    fuzz.args([
        "--",
        &format!("-max_total_time={seconds}"),
        "-print_final_stats=1",
        "-verbosity=0",
    ]);
    fuzz.current_dir(places.root.join("host/fuzz")).env("RUSTUP_TOOLCHAIN", "nightly");
    // Beside other builds, of another compiler.
    run(fuzz.env("CARGO_TARGET_DIR", places.target.join("fuzz-build")))
}

fn ensure_cargo_fuzz(places: &Places) -> Result<PathBuf> {
    let root = places.tools.join(format!("cargo-fuzz-{VERSION}"));
    let program = root.join("bin/cargo-fuzz");
    if !program.is_file() {
        step(&format!("installing cargo-fuzz {VERSION} from source (a minute, kept)"));
        let mut install = cargo();
        install.args(["install", "--quiet", "--locked", "--version", VERSION, "--root"]).arg(root);
        run(install.arg("cargo-fuzz"))?;
    }
    Ok(program)
}
