//! Guests in JavaScript: checked by TypeScript, made one module by esbuild, and a component by
//! componentize-qjs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::places::Places;
use crate::shell::{output, run, step};

/// Names the tools and their versions, by their hashes.
const WANTED: [&str; 2] = ["package.json", "package-lock.json"];

/// Nothing that a package brings is run, nor reported anywhere.
const QUIET: [&str; 4] = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];

pub(super) fn build(places: &Places, folder: &Path, component: &Path) -> Result<()> {
    let sdk = places.root.join("guest-sdk/js");
    let programs = ensure(&places.tools, &sdk)?;
    run(Command::new(programs.join("tsc")).arg("--project").arg(folder))?;
    let module = component.with_extension("mjs");
    let mut bundle = Command::new(programs.join("esbuild"));
    bundle.args(["--bundle", "--format=esm", "--target=es2023", "--external:bailiwick:*"]);
    bundle.args(["--log-level=warning", &format!("--outfile={}", module.display())]);
    run(bundle.arg(folder.join("app.ts")))?;
    let mut componentize = Command::new(programs.join("componentize-qjs"));
    componentize.args(["--sync", "--opt-size", "--world", "agent", "--wit"]).arg(sdk.join("wit"));
    componentize.arg("--js").arg(&module).arg("--output").arg(component);
    // It tells at length what it did.
    output(&mut componentize)?;
    fs::remove_file(&module).context("what esbuild made is not there")
}

/// Builds a new project by its own commands.
pub(super) fn build_project(project: &Path) -> Result<PathBuf> {
    let npm = |arguments: &[&str]| {
        let mut command = Command::new("npm");
        command.current_dir(project).args(arguments).args(QUIET);
        output(&mut command)
    };
    npm(&["ci", "--prefer-offline"])?;
    npm(&["run", "build"])?;
    Ok(project.join("build/my-guest.wasm"))
}

/// Installs the tools below `tools` if they are missing, and answers where their programs are.
fn ensure(tools: &Path, sdk: &Path) -> Result<PathBuf> {
    let folder = tools.join("javascript");
    let programs = folder.join("node_modules/.bin");
    let stamp = folder.join("installed.txt");
    let wanted = WANTED.map(|name| fs::read_to_string(sdk.join(name)));
    let wanted = wanted.into_iter().collect::<std::io::Result<String>>()?;
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(programs);
    }
    step(&format!("installing componentize-qjs, esbuild and TypeScript into {}", folder.display()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for name in WANTED {
        fs::copy(sdk.join(name), folder.join(name))?;
    }
    let mut npm = Command::new("npm");
    run(npm.arg("ci").args(QUIET).current_dir(&folder))
        .context("guests in JavaScript need Node.js 18 or later, with npm")?;
    fs::write(&stamp, wanted)?;
    Ok(programs)
}
