//! Does one thing as often as it is told, for `cargo xtask guard`, which counts what one more
//! time costs: `guard PATH TIMES`, or `guard` for the paths that there are.

mod paths;

use anyhow::{Context, Result};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        paths::NAMES.iter().for_each(|(path, times)| println!("{path} {times}"));
        return Ok(());
    };
    let times = arguments.next().context("how many times?")?.parse()?;
    // One thread: what it does is the same at every run.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut outcome = Ok(());
    let counted = allocation_counter::measure(|| {
        outcome = runtime.block_on(paths::perform(&path, times));
    });
    outcome?;
    println!("allocations {}", counted.count_total);
    Ok(())
}
