//! A guest project of one's own: the template, and the sources of the guest SDK.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use clap::Args;
use include_dir::{Dir as Embedded, DirEntry, include_dir};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use uuid::Uuid;

use super::Outcome;
use super::failure::{Failure, say};

static TEMPLATE: Embedded<'_> = include_dir!("$CARGO_MANIFEST_DIR/../guest-sdk/template");
static SDK_SOURCES: Embedded<'_> = include_dir!("$CARGO_MANIFEST_DIR/../guest-sdk/rust/src");
const SDK_MANIFEST: &str = include_str!("../../../guest-sdk/rust/Cargo.toml");
const SDK_README: &str = include_str!("../../../guest-sdk/rust/README.md");
/// The turn of a guest whose calls overlap, in place of the template's.
const ASYNC_TURN: &str = include_str!("../../../guest-sdk/template-async/lib.rs");
const SDK: &str = "bailiwick-guest";
/// A template's file that is filled in: without this, and with the names put in.
const FILLED_IN: &str = ".tmpl";

/// Makes a guest project that builds and runs as it is.
#[derive(Debug, Args)]
pub(super) struct New {
    /// Name of the guest: letters, digits, `-` and `_`, a letter first.
    name: CrateName,
    /// Directory to make for it [default: the name, in the current directory].
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
    /// Makes a guest that may have several calls under way at once.
    #[arg(long = "async")]
    has_overlapping_calls: bool,
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
        self.write_all(root, &TEMPLATE)?;
        if self.has_overlapping_calls {
            root.write("src/lib.rs", ASYNC_TURN)?;
        }
        root.create_dir(SDK)?;
        let sdk = root.open_dir(SDK)?;
        sdk.write("Cargo.toml", SDK_MANIFEST)?;
        sdk.write("README.md", SDK_README)?;
        sdk.create_dir("src")?;
        self.write_all(&sdk.open_dir("src")?, &SDK_SOURCES)
    }

    fn write_all(&self, root: &Dir, embedded: &Embedded<'_>) -> std::io::Result<()> {
        for entry in embedded.entries() {
            match entry {
                DirEntry::Dir(folder) => {
                    root.create_dir(folder.path())?;
                    self.write_all(root, folder)?;
                }
                DirEntry::File(file) => self.write_file(root, file)?,
            }
        }
        Ok(())
    }

    fn write_file(&self, root: &Dir, file: &include_dir::File<'_>) -> std::io::Result<()> {
        let path = file.path().to_string_lossy();
        match (path.strip_suffix(FILLED_IN), file.contents_utf8()) {
            (Some(path), Some(text)) => root.write(path, self.filled_in(text)),
            _ => root.write(&*path, file.contents()),
        }
    }

    fn filled_in(&self, text: &str) -> String {
        let name = &self.name.0;
        text.replace("{{name}}", name).replace("{{library}}", &name.replace('-', "_"))
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
