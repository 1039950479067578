//! What a guest project is made of.

use std::io::Result;

use cap_std::fs::Dir;
use include_dir::{Dir as Embedded, DirEntry, include_dir};

use super::Language;

static RUST: Embedded<'_> = include_dir!("$CARGO_MANIFEST_DIR/../guest-sdk/template");
static RUST_SDK: Embedded<'_> = include_dir!("$CARGO_MANIFEST_DIR/../guest-sdk/rust/src");
/// The turn of a guest whose calls overlap, in place of the template's.
const ASYNC_TURN: &str = include_str!("../../../../guest-sdk/template-async/lib.rs");
static PYTHON: Embedded<'_> = include_dir!("$CARGO_MANIFEST_DIR/../guest-sdk/template-python");
static PYTHON_SDK: Embedded<'_> =
    include_dir!("$CARGO_MANIFEST_DIR/../guest-sdk/python/bailiwick_guest");
static JS: Embedded<'_> = include_dir!("$CARGO_MANIFEST_DIR/../guest-sdk/template-js");
static JS_SDK: Embedded<'_> = include_dir!("$CARGO_MANIFEST_DIR/../guest-sdk/js/src");
static JS_CONTRACT: Embedded<'_> = include_dir!("$CARGO_MANIFEST_DIR/../guest-sdk/js/wit");
static C: Embedded<'_> = include_dir!("$CARGO_MANIFEST_DIR/../guest-sdk/template-c");
static C_SDK: Embedded<'_> = include_dir!("$CARGO_MANIFEST_DIR/../guest-sdk/c");
/// A template's file that is filled in: without this, and with the names put in.
const FILLED_IN: &str = ".tmpl";
/// What Python keeps beside sources that it ran.
const MADE: &str = "__pycache__";

/// Files of a project.
pub(super) enum Part {
    /// All below a folder, below this one.
    Folder(&'static str, &'static Embedded<'static>),
    /// One file, by its path.
    File(&'static str, &'static str),
}

/// The parts of a project; a later file takes the place of an earlier one.
pub(super) fn of(language: Language, has_overlapping_calls: bool) -> Vec<Part> {
    match language {
        Language::Rust => {
            let mut parts = vec![
                Part::Folder("", &RUST),
                Part::Folder("bailiwick-guest/src", &RUST_SDK),
                Part::File(
                    "bailiwick-guest/Cargo.toml",
                    include_str!("../../../../guest-sdk/rust/Cargo.toml"),
                ),
                Part::File(
                    "bailiwick-guest/README.md",
                    include_str!("../../../../guest-sdk/rust/README.md"),
                ),
            ];
            parts.extend(has_overlapping_calls.then_some(Part::File("src/lib.rs", ASYNC_TURN)));
            parts
        }
        Language::Python => {
            vec![Part::Folder("", &PYTHON), Part::Folder("bailiwick_guest", &PYTHON_SDK)]
        }
        Language::C => vec![Part::Folder("", &C), Part::Folder("bailiwick-guest", &C_SDK)],
        Language::Js => vec![
            Part::Folder("", &JS),
            // The tools of the SDK's own checks are those of a project.
            Part::File(
                "package-lock.json.tmpl",
                include_str!("../../../../guest-sdk/js/package-lock.json"),
            ),
            Part::Folder("bailiwick-guest/src", &JS_SDK),
            Part::Folder("bailiwick-guest/wit", &JS_CONTRACT),
            Part::File(
                "bailiwick-guest/package.json",
                include_str!("../../../../guest-sdk/js/package.json"),
            ),
            Part::File(
                "bailiwick-guest/README.md",
                include_str!("../../../../guest-sdk/js/README.md"),
            ),
        ],
    }
}

/// What is put into files of a template.
pub(super) struct Names {
    replaced: [(&'static str, String); 4],
}

impl Names {
    pub(super) fn new(name: &str) -> Self {
        // A package of npm has no capitals.
        let package = name.to_ascii_lowercase();
        Self {
            replaced: [
                ("{{name}}", name.to_owned()),
                ("{{library}}", name.replace('-', "_")),
                ("\"name\": \"bailiwick-guest\"", format!("\"name\": \"{package}\"")),
                ("{{package}}", package),
            ],
        }
    }

    fn put_into(&self, text: &str) -> String {
        self.replaced.iter().fold(text.to_owned(), |text, (place, name)| text.replace(place, name))
    }
}

impl Part {
    /// Writes it below the root of a project.
    pub(super) fn write(&self, root: &Dir, names: &Names) -> Result<()> {
        match self {
            Self::Folder("", files) => write_all(root, files, names),
            Self::Folder(path, files) => {
                root.create_dir_all(path)?;
                write_all(&root.open_dir(path)?, files, names)
            }
            Self::File(path, text) => write(root, path, text.as_bytes(), names),
        }
    }
}

fn write_all(root: &Dir, files: &Embedded<'_>, names: &Names) -> Result<()> {
    for entry in files.entries() {
        match entry {
            DirEntry::Dir(folder) if folder.path().ends_with(MADE) => {}
            DirEntry::Dir(folder) => {
                root.create_dir(folder.path())?;
                write_all(root, folder, names)?;
            }
            DirEntry::File(file) => {
                write(root, &file.path().to_string_lossy(), file.contents(), names)?;
            }
        }
    }
    Ok(())
}

fn write(root: &Dir, path: &str, contents: &[u8], names: &Names) -> Result<()> {
    match (path.strip_suffix(FILLED_IN), str::from_utf8(contents)) {
        (Some(path), Ok(text)) => root.write(path, names.put_into(text)),
        _ => root.write(path, contents),
    }
}
