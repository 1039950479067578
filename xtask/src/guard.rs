//! What calls cost in instructions and allocations: the set-up for counting them.

use std::process::Command;

use anyhow::{Context, Result};

use crate::guests;
use crate::places::Places;
use crate::shell::{cargo, output, run, step};

/// Counts what calls cost, and makes that their limits, or holds it to them.
pub(crate) fn count(places: &Places, limits: Limits) -> Result<()> {
    ensure_valgrind()?;
    let guests = guests::build(places)?;
    let mut test = cargo();
    // As the suite builds it: which features crates have changes what is counted.
    test.current_dir(&places.root).args(crate::test::TEST).args(["--test", "guard"]);
    test.env("BAILIWICK_GUESTS", guests);
    if limits == Limits::Update {
        test.env("BAILIWICK_GUARD", "update");
    }
    run(&mut test)
}

/// What becomes of the limits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limits {
    Hold,
    Update,
}

/// Installs valgrind where it is missing and may be; where it may not, the test that needs it
/// says that it was left out, and on CI it fails.
///
/// # Errors
/// On CI, if it cannot be installed.
pub(crate) fn ensure_valgrind() -> Result<()> {
    if output(Command::new("valgrind").arg("--version")).is_ok() {
        return Ok(());
    }
    let install = ["install", "-y", "--no-install-recommends", "valgrind"];
    step(&format!("installing valgrind (90 MB): apt-get {}", install.join(" ")));
    match run(Command::new("apt-get").args(install)) {
        Err(error) if std::env::var_os("CI").is_some() => {
            Err(error).context("install valgrind: CI counts instructions")
        }
        Err(_) => {
            step("valgrind cannot be installed: what calls cost will not be counted");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}
