//! The benchmark: what it needs is set up and built, then it runs by itself.

use std::process::Command;

use anyhow::Result;

use crate::guests;
use crate::places::Places;
use crate::servers;
use crate::shell::{cargo, run, shown, step};

/// How much is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// A few minutes.
    Quick,
    /// For a release.
    Full,
}

/// Builds for release, measures all workloads or one, and writes the results into `benches/`.
pub(crate) fn measure(places: &Places, effort: Effort, only: Option<&str>) -> Result<()> {
    let guests = guests::build(places)?;
    servers::ensure(&places.tools)?;
    let mut build = cargo();
    build.current_dir(&places.root).args(["build", "--release"]);
    build.args(["--package", "bailiwick", "--package", "bailiwick-bench"]);
    step(&shown(&build));
    run(&mut build)?;

    let release = places.target.join("release");
    let mut bench = Command::new(release.join("bench"));
    bench.current_dir(&places.root).arg("run");
    bench.arg("--guests").arg(guests).arg("--tools").arg(&places.tools);
    bench.arg("--scratch").arg(places.target.join("bench"));
    bench.arg("--command").arg(release.join("bailiwick"));
    if effort == Effort::Quick {
        bench.arg("--quick");
    }
    if let Some(name) = only {
        bench.args(["--only", name]);
    }
    run(&mut bench)
}
