//! The whole suite.

use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use crate::fuzz;
use crate::guard;
use crate::guests;
use crate::passed::State;
use crate::places::Places;
use crate::postgres;
use crate::project;
use crate::servers;
use crate::shell::{self, cargo, shown, step};

/// It is linted and no more: what it depends on would change what the tests are built with.
const BENCH: &str = "bailiwick-bench";

/// Whether the suite runs although nothing has changed since it passed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    Always,
    WhenChanged,
}

/// How cargo is asked for tests, always with the same crates: it builds each once.
pub(crate) const TEST: [&str; 4] = ["test", "--workspace", "--exclude", BENCH];

/// Sets everything up and runs the checks, or with a filter the tests alone.
pub(crate) fn run(places: &Places, filter: &[String], repeat: Repeat) -> Result<()> {
    let guests = guests::build(places)?;
    servers::ensure(&places.tools)?;
    postgres::ensure()?;
    guard::ensure_valgrind()?;
    let state = State::of(places)?;
    if filter.is_empty() && repeat == Repeat::WhenChanged && state.has_passed() {
        step("nothing has changed since the suite passed; `--again` runs it all the same");
        return Ok(());
    }
    let mut checks = Vec::new();
    if filter.is_empty() {
        guests::check_used(places)?;
        checks.push(check(&["fmt", "--check"]));
        checks.push(check(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]));
        let mut document = check(&["doc", "--workspace", "--no-deps", "--exclude", BENCH]);
        document.env("RUSTDOCFLAGS", "-D warnings");
        checks.push(document);
    }
    let mut test = check(&TEST);
    test.args(filter);
    test.env("BAILIWICK_GUESTS", &guests).env("BAILIWICK_TOOLS", &places.tools);
    checks.push(test);
    for mut command in checks {
        timed(command.current_dir(&places.root))?;
    }
    if filter.is_empty() {
        project::check(places)?;
        fuzz::run_bounded(places)?;
        state.remember()?;
    }
    Ok(())
}

fn check(arguments: &[&str]) -> Command {
    let mut command = cargo();
    command.args(arguments);
    command
}

fn timed(command: &mut Command) -> Result<()> {
    step(&shown(command));
    let start = Instant::now();
    shell::run(command)?;
    step(&format!("took {:.1} s", start.elapsed().as_secs_f64()));
    Ok(())
}
