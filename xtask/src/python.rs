//! Building guests written in Python: a folder with `app.py`, made a component with the SDK by
//! componentize-py, in a virtual environment of its own.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::places::Places;
use crate::shell::{run, step};

/// By the hashes of its wheels: Linux and macOS, each for x86-64 and ARM, and Windows.
const COMPONENTIZE: &str = "componentize-py==0.25.1 \
     --hash=sha256:8623cd8cab8453cb0cd8bf03f3c7103420d06f2f3d360186a280a70a1ca5e89f \
     --hash=sha256:7b6a87c520358166843af0daa86d2312d7af4cbcbbf1e598951085cf7f2991ca \
     --hash=sha256:65fbc4a94df1de8acf7da50a1f5ed1711230188844e53e6332d99029be4e0afa \
     --hash=sha256:a556991534cc496207a9d2ca733c4b0f17ed38ef56a8d6b5f1847fdf1225dd1b \
     --hash=sha256:c7fd552fb0849858b0c1e8981543ed5dff4b0cc1597a8ea0bc26a495786dc0c6\n";
/// The module of a guest.
const MODULE: &str = "app";
/// Of the contract, which has another one for asynchronous guests.
const WORLD: &str = "bailiwick_guest=agent";
const SDK: &str = "guest-sdk/python";

/// Builds those guests whose sources, or what builds them, changed since they were built: no two
/// builds are the same, and a component that is another has to be compiled again.
pub(crate) fn build(places: &Places, folders: &[PathBuf], guests: &Path) -> Result<()> {
    let sdk = places.root.join(SDK);
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let component = guests.join(format!("{name}.wasm"));
        let stamp = guests.join(format!("{name}.built"));
        let sum = sum(&[folder, &sdk])?;
        if component.exists() && fs::read_to_string(&stamp).is_ok_and(|built| built == sum) {
            continue;
        }
        let program = ensure(&places.tools)?;
        step(&format!("building the guest {name}, in Python"));
        let beside = guests.join(format!("{name}.new"));
        let mut command = Command::new(program);
        // What the user's environment has installed is not for the guest.
        command.env_remove("VIRTUAL_ENV").env("PYTHONDONTWRITEBYTECODE", "1");
        command
            .args(["--quiet", "componentize", "--module-worlds", WORLD, "--python-path"])
            .arg(folder);
        command.arg("--python-path").arg(&sdk).arg("--output").arg(&beside).arg(MODULE);
        run(&mut command)?;
        fs::rename(&beside, &component)?;
        fs::write(&stamp, sum)?;
    }
    Ok(())
}

/// Whether a folder holds a guest in Python.
pub(crate) fn is_guest(folder: &Path) -> bool {
    folder.join(MODULE).with_extension("py").exists()
}

/// Installs componentize-py below `tools` if it is missing, and answers where the program is.
fn ensure(tools: &Path) -> Result<PathBuf> {
    let venv = tools.join("componentize");
    let program = venv.join("bin/componentize-py");
    let stamp = tools.join("componentize.txt");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == COMPONENTIZE) {
        return Ok(program);
    }
    step(&format!("installing componentize-py 0.25.1 from PyPI into {}", venv.display()));
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

/// What a build depends on.
fn sum(folders: &[&Path]) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    COMPONENTIZE.hash(&mut hasher);
    for folder in folders {
        add(folder, &mut hasher)?;
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn add(folder: &Path, hasher: &mut DefaultHasher) -> Result<()> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    for path in paths.iter().filter(|path| !path.ends_with("__pycache__")) {
        if path.is_dir() {
            add(path, hasher)?;
        } else {
            (path.file_name(), fs::read(path)?).hash(hasher);
        }
    }
    Ok(())
}
