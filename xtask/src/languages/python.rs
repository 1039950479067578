//! Building guests written in Python: a folder with `app.py`, made a component with the SDK by
//! componentize-py, in a virtual environment of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::places::Places;
use crate::shell::{run, step};

/// The tool, by the hashes of its wheels: as in a project of somebody's own.
pub(super) const COMPONENTIZE: &str =
    include_str!("../../../guest-sdk/template-python/requirements.txt");
/// The module of a guest.
const MODULE: &str = "app";
/// Of the contract, which has another one for asynchronous guests.
const WORLD: &str = "bailiwick_guest=agent";

pub(super) fn build(places: &Places, folder: &Path, component: &Path) -> Result<()> {
    let sdk = places.root.join("guest-sdk/python");
    let mut command = Command::new(ensure(&places.tools)?);
    // What the user's environment has installed is not for the guest.
    command.env_remove("VIRTUAL_ENV").env("PYTHONDONTWRITEBYTECODE", "1");
    command
        .args(["--quiet", "componentize", "--module-worlds", WORLD, "--python-path"])
        .arg(folder);
    command.arg("--python-path").arg(&sdk).arg("--output").arg(component).arg(MODULE);
    run(&mut command)
}

/// Builds a new project by its own command, with the tool that is installed.
pub(super) fn build_project(places: &Places, project: &Path) -> Result<PathBuf> {
    let component = project.join("my-guest.wasm");
    let mut command = Command::new(ensure(&places.tools)?);
    command.current_dir(project).env_remove("VIRTUAL_ENV");
    command.args(["--quiet", "componentize", "-m", WORLD, MODULE, "-o"]).arg(&component);
    run(&mut command)?;
    Ok(component)
}

/// Installs componentize-py below `tools` if it is missing, and answers where the program is.
fn ensure(tools: &Path) -> Result<PathBuf> {
    let venv = tools.join("componentize");
    let program = venv.join("bin/componentize-py");
    let stamp = tools.join("componentize.txt");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == COMPONENTIZE) {
        return Ok(program);
    }
    step(&format!("installing componentize-py from PyPI into {}", venv.display()));
    fs::create_dir_all(tools).with_context(|| format!("cannot make {}", tools.display()))?;
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))
        .context("guests in Python need Python 3 with venv (on Debian: python3-venv)")?;
    let requirements = tools.join("componentize-wanted.txt");
    fs::write(&requirements, COMPONENTIZE)?;
    let mut pip = Command::new(venv.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--require-hashes"]);
    run(pip.args(["--no-deps", "-r"]).arg(&requirements))
        .context("componentize-py cannot be installed from PyPI")?;
    fs::write(&stamp, COMPONENTIZE)?;
    Ok(program)
}
