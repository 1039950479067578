//! The example of an agent platform, served.

use anyhow::Result;

use crate::guests;
use crate::places::Places;
use crate::shell::{cargo, run, step};

/// Sets up, builds, and serves until it is stopped. With no arguments, its answers come from its
/// script.
pub(crate) fn serve(places: &Places, arguments: &[String]) -> Result<()> {
    let component = guests::build(places)?.join("assistant.wasm");
    step("building and running the example: cargo run --package embed");
    let mut example = cargo();
    example.current_dir(&places.root).args(["run", "--quiet", "--package", "embed"]);
    example.env("EMBED_COMPONENT", component).env("EMBED_DATA", places.target.join("embed"));
    if arguments.is_empty() {
        example.env("EMBED_SCRIPT", places.root.join("examples/embed/script.json"));
    }
    run(example.arg("--").args(arguments))
}
