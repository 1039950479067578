use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::desk::Place;
use super::output::Output;
use super::{Outcome, exit, run};

/// Shows what a component imports and exports, and whether this host can run it.
#[derive(Debug, Args)]
pub(super) struct Check {
    /// A WebAssembly component.
    component: PathBuf,
    /// Prints a JSON object.
    #[arg(long)]
    json: bool,
}

impl Check {
    /// A component that cannot be run is an answer, and a failure for scripts.
    pub(super) async fn run(self, place: Place) -> Outcome {
        let bytes = run::component(&self.component).await?;
        let inspection = run::engine(&place)?.inspect(&bytes).await;
        let mut output = Output::new();
        if self.json {
            output.json(&inspection)?;
        } else {
            output.line(inspection.to_string().trim_end())?;
        }
        output.flush()?;
        Ok(if inspection.can_run() { ExitCode::SUCCESS } else { ExitCode::from(exit::REFUSED) })
    }
}
