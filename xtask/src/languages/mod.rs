//! Guests that cargo does not build: a folder with one source that is called `app`, made a component
//! with the SDK of its language by tools that are installed once.

mod c;
mod javascript;
mod python;

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::places::Places;
use crate::shell::step;

/// The compiler of C for guests, installed if there is none.
pub(crate) fn c_compiler() -> Result<String> {
    c::ensure()
}

/// What a guest is written in.
#[derive(Clone, Copy)]
pub(crate) enum Language {
    C,
    JavaScript,
    Python,
}

/// A guest and where it is.
pub(crate) struct Guest {
    language: Language,
    folder: PathBuf,
}

impl Guest {
    /// The guest that a folder holds.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let language =
            Language::ALL.into_iter().find(|each| folder.join(each.source()).exists())?;
        Some(Self { language, folder: folder.to_owned() })
    }

    pub(crate) fn name(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

impl Language {
    pub(crate) const ALL: [Self; 3] = [Self::C, Self::JavaScript, Self::Python];

    /// What `bailiwick new` calls it.
    pub(crate) fn argument(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::JavaScript => "js",
            Self::Python => "python",
        }
    }

    /// Builds a project of somebody's own, and answers where its component is.
    pub(crate) fn build_project(self, places: &Places, project: &Path) -> Result<PathBuf> {
        match self {
            Self::C => c::build_project(project),
            Self::JavaScript => javascript::build_project(project),
            Self::Python => python::build_project(places, project),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::JavaScript => "JavaScript",
            Self::Python => "Python",
        }
    }

    /// The file of a guest that says its language.
    fn source(self) -> &'static str {
        match self {
            Self::C => "app.c",
            Self::JavaScript => "app.ts",
            Self::Python => "app.py",
        }
    }

    /// Where its SDK is in the checkout.
    fn sdk(self) -> &'static str {
        match self {
            Self::C => "guest-sdk/c",
            Self::JavaScript => "guest-sdk/js",
            Self::Python => "guest-sdk/python",
        }
    }

    /// What is installed for it, by version.
    fn tools(self) -> &'static str {
        match self {
            // Debian's, whichever it has.
            Self::C => "",
            // Named in files of the SDK.
            Self::JavaScript => "",
            Self::Python => python::COMPONENTIZE,
        }
    }

    fn build(self, places: &Places, folder: &Path, component: &Path) -> Result<()> {
        match self {
            Self::C => c::build(places, folder, component),
            Self::JavaScript => javascript::build(places, folder, component),
            Self::Python => python::build(places, folder, component),
        }
    }
}

/// Builds those guests whose sources, or what builds them, changed since they were built: no two
/// builds of most are the same, and a component that is another has to be compiled again.
pub(crate) fn build(places: &Places, guests: &[Guest], kept: &Path) -> Result<()> {
    for guest in guests {
        let name = guest.name();
        let component = kept.join(format!("{name}.wasm"));
        let stamp = kept.join(format!("{name}.built"));
        let sum = sum(&guest.folder, &places.root, guest.language)?;
        if component.exists() && fs::read_to_string(&stamp).is_ok_and(|built| built == sum) {
            continue;
        }
        step(&format!("building the guest {name}, in {}", guest.language.name()));
        let beside = kept.join(format!("{name}.new"));
        if let Err(error) = guest.language.build(places, &guest.folder, &beside) {
            if std::env::var_os("CI").is_some() {
                return Err(error);
            }
            step(&format!("SKIPPED: the guest {name}, and its tests: {error:#}"));
            // One that was built from something else is not what is tested.
            let _ = fs::remove_file(&component);
            continue;
        }
        fs::rename(&beside, &component)?;
        fs::write(&stamp, sum)?;
    }
    Ok(())
}

/// What a build depends on.
fn sum(folder: &Path, root: &Path, language: Language) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    language.tools().hash(&mut hasher);
    add(folder, &mut hasher)?;
    add(&root.join(language.sdk()), &mut hasher)?;
    Ok(format!("{:016x}", hasher.finish()))
}

fn add(folder: &Path, hasher: &mut DefaultHasher) -> Result<()> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    for path in paths.iter().filter(|path| !is_made(path)) {
        if path.is_dir() {
            add(path, hasher)?;
        } else {
            (path.file_name(), fs::read(path)?).hash(hasher);
        }
    }
    Ok(())
}

/// Whether a tool made it, in a folder of sources.
fn is_made(path: &Path) -> bool {
    path.ends_with("__pycache__") || path.ends_with("node_modules")
}
