//! What `bailiwick new` makes builds and runs as it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::guests;
use crate::languages::Language;
use crate::places::Places;
use crate::shell::{output, run, step};
use crate::toolchain::TARGET;

/// Makes a project of each kind, builds it as its page says, and runs two turns of it.
pub(crate) fn check(places: &Places) -> Result<()> {
    step("making, building and running new guest projects");
    let folder = places.target.join("new-project");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {folder:?}"))?;
    }
    check_kind(places, &folder.join("synchronous"), &[], build)?;
    check_kind(places, &folder.join("async"), &["--async"], build)?;
    for language in Language::ALL {
        let name = language.argument();
        let build = |places: &Places, project: &Path| language.build_project(places, project);
        let checked = check_kind(places, &folder.join(name), &["--lang", name], build);
        if let Err(error) = checked {
            if std::env::var_os("CI").is_some() {
                return Err(error);
            }
            step(&format!("SKIPPED: a new project in {}: {error:#}", language.name()));
        }
    }
    Ok(())
}

fn check_kind(
    places: &Places,
    folder: &Path,
    flags: &[&str],
    build: impl Fn(&Places, &Path) -> Result<PathBuf>,
) -> Result<()> {
    fs::create_dir_all(folder)?;
    let project = folder.join("my-guest");
    output(bailiwick(places).args(["new", "my-guest"]).args(flags).arg("--path").arg(&project))?;
    let component = build(places, &project)?;
    let turn = |input| {
        let mut command = bailiwick(places);
        command.arg("run").arg(&component).arg("--data-dir").arg(folder.join("data"));
        command.args(["-w", "acme", "-a", "new", "-s", "first", "--input", input]);
        output(&mut command)
    };
    turn("Good morning")?;
    let reply = turn("Good evening")?;
    ensure!(reply.contains("- Good morning"), "a new project does not remember: {reply}");
    Ok(())
}

fn bailiwick(places: &Places) -> Command {
    Command::new(places.target.join("debug/bailiwick"))
}

/// Builds with the versions that the template pins; cargo's work is kept between runs.
fn build(places: &Places, project: &Path) -> Result<PathBuf> {
    let target = places.target.join("new-project-build");
    let mut command = guests::project_build(places, project)?;
    run(command.args(["--quiet", "--locked", "--target-dir"]).arg(&target))?;
    Ok(target.join(TARGET).join("release/my_guest.wasm"))
}
