//! A guest project of one's own: a template, and the sources of the guest SDK.

mod parts;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use clap::{Args, ValueEnum};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use uuid::Uuid;

use super::Outcome;
use super::failure::{Failure, say};
use parts::Names;

/// Makes a guest project that builds and runs as it is.
#[derive(Debug, Args)]
pub(super) struct New {
    /// Name of the guest: letters, digits, `-` and `_`, a letter first.
    name: CrateName,
    /// Directory to make for it [default: the name, in the current directory].
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
    /// What it is written in.
    #[arg(long, value_enum, default_value_t)]
    lang: Language,
    /// Makes a guest, in Rust, that may have several calls under way at once.
    #[arg(long = "async")]
    has_overlapping_calls: bool,
}

/// What a guest is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Language {
    /// Rust.
    #[default]
    Rust,
    /// Python.
    Python,
    /// TypeScript, and so JavaScript.
    Js,
    /// C.
    C,
}

#[derive(Clone, Debug)]
struct CrateName(String);

impl FromStr for CrateName {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, &'static str> {
        const LONGEST: usize = 64;
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let starts_well = name.starts_with(|first: char| first.is_ascii_alphabetic());
        if !starts_well || name.len() > LONGEST || !name.bytes().all(legal) {
            return Err("a guest's name is 1 to 64 letters, digits, `-` and `_`, a letter first");
        }
        Ok(Self(name.to_owned()))
    }
}

impl New {
    /// The directory is there with everything in it, or not at all.
    pub(super) fn run(self) -> Outcome {
        if self.has_overlapping_calls && self.lang != Language::Rust {
            return Err(Failure::new("--async makes a guest in Rust".to_owned()));
        }
        let target = self.path.clone().unwrap_or_else(|| PathBuf::from(&self.name.0));
        let shown = target.display();
        if target.symlink_metadata().is_ok() {
            return Err(Failure::new(format!(
                "{shown} is there already: choose another name, or another directory with --path"
            )));
        }
        let parent = target.parent().filter(|parent| *parent != Path::new(""));
        let parent = parent.unwrap_or(Path::new("."));
        let unmade = |error| Failure::because(format!("{shown} cannot be made"), &error);
        let beside = Beside::new(parent).map_err(unmade)?;
        self.write(&beside.dir).map_err(unmade)?;
        beside.move_to(&target).map_err(unmade)?;
        say(&format!("made {shown}: its README.md says how to build and run it"));
        Ok(ExitCode::SUCCESS)
    }

    fn write(&self, root: &Dir) -> std::io::Result<()> {
        let names = Names::new(&self.name.0);
        for part in parts::of(self.lang, self.has_overlapping_calls) {
            part.write(root, &names)?;
        }
        Ok(())
    }
}

/// A directory beside its final place, gone again unless it gets there.
struct Beside {
    path: PathBuf,
    dir: Dir,
    arrived: bool,
}

impl Beside {
    fn new(parent: &Path) -> std::io::Result<Self> {
        let path = parent.join(format!(".bailiwick-new-{}", Uuid::new_v4()));
        Dir::create_ambient_dir_all(&path, ambient_authority())?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority())?;
        Ok(Self { path, dir, arrived: false })
    }

    /// Takes its final place, if nothing is there.
    fn move_to(mut self, target: &Path) -> std::io::Result<()> {
        renameat_with(CWD, &self.path, CWD, target, RenameFlags::NOREPLACE)?;
        self.arrived = true;
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.arrived
            && let Ok(dir) = self.dir.try_clone()
        {
            // What cannot be removed is at least nobody's project.
            let _ = dir.remove_open_dir_all();
        }
    }
}
