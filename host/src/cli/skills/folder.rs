//! Folders that hold the files of a skill.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use bailiwick::limits::{SKILL_FILE_BYTES_MAX, SKILL_FILES_MAX};
use bailiwick::scope::Skill;
use bailiwick::skills::Publisher;
use bailiwick::space;
use bytes::Bytes;

use super::super::failure::Failure;

/// The files of a skill: their paths in it, and where they are.
#[derive(Debug)]
pub(super) struct Folder(Vec<(String, PathBuf)>);

impl Folder {
    /// Looks through a folder. What is no legal path, no ordinary file, too large or cannot be read
    /// is refused here.
    pub(super) fn read(directory: &Path) -> Result<Self, Failure> {
        let mut files = Vec::new();
        walk(directory, "", &mut files)?;
        if files.is_empty() {
            let shown = directory.display();
            return Err(Failure::new(format!("{shown} holds no files: a skill has some")));
        }
        Ok(Self(files))
    }

    /// Where a file of it is.
    pub(super) fn file(&self, path: &str) -> Option<&Path> {
        self.0.iter().find(|(found, _)| found == path).map(|(_, file)| file.as_path())
    }

    /// Hands all of its files to a publisher, one after the other.
    pub(super) async fn hand_to(&self, publisher: &mut Publisher) -> Result<(), Failure> {
        for (path, file) in &self.0 {
            publisher.add(path.clone(), contents(file)?).await?;
        }
        Ok(())
    }
}

/// Looks at all files below a directory. No link is followed: what a link points to is no part of
/// the skill.
fn walk(directory: &Path, below: &str, files: &mut Vec<(String, PathBuf)>) -> Result<(), Failure> {
    let unreadable = |error| unreadable(directory, &error);
    let mut entries: Vec<_> = std::fs::read_dir(directory)
        .and_then(Iterator::collect::<Result<_, _>>)
        .map_err(unreadable)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type().map_err(unreadable)?);
        let Ok(name) = entry.file_name().into_string() else {
            return Err(Failure::new(format!("{} has a name that is not UTF-8", path.display())));
        };
        if kind.is_dir() {
            walk(&path, &format!("{below}{name}/"), files)?;
            continue;
        }
        if !kind.is_file() {
            let shown = path.display();
            return Err(Failure::new(format!(
                "{shown} is a link or no ordinary file: a skill holds files of its own, so copy it there or take it out"
            )));
        }
        if files.len() == SKILL_FILES_MAX {
            return Err(Failure::new(format!("a skill is at most {SKILL_FILES_MAX} files")));
        }
        let place = format!("{below}{name}");
        Skill::check_path(&place).map_err(space::Error::from)?;
        open(&path)?;
        files.push((place, path));
    }
    Ok(())
}

/// Opens a file that is not too large.
fn open(path: &Path) -> Result<File, Failure> {
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(no_follow).open(path);
    let file = file.map_err(|error| unreadable(path, &error))?;
    let size = file.metadata().map_err(|error| unreadable(path, &error))?.len();
    check_size(path, size)?;
    Ok(file)
}

pub(super) fn contents(path: &Path) -> Result<Bytes, Failure> {
    let mut bytes = Vec::new();
    open(path)?
        .take(SKILL_FILE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, &error))?;
    check_size(path, bytes.len() as u64)?;
    Ok(bytes.into())
}

fn check_size(path: &Path, size: u64) -> Result<(), Failure> {
    if size <= SKILL_FILE_BYTES_MAX as u64 {
        return Ok(());
    }
    let shown = path.display();
    Err(Failure::new(format!(
        "{shown} is larger than {SKILL_FILE_BYTES_MAX} bytes, the most that a file of a skill has"
    )))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::because(format!("{} cannot be read", path.display()), error)
}
