//! Skills on the command line: a folder of files, given to a turn under a slug.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use bailiwick::scope::{Sha256, Skill, SkillFile, SkillTable, WorkspaceId};
use bailiwick::space::{self, Storage};
use bytes::Bytes;
use uuid::Uuid;

use super::failure::Failure;

const FILES_MAX: usize = 500;
const FILE_BYTES_MAX: u64 = 1 << 20;

/// `SLUG=DIR`.
#[derive(Clone, Debug)]
pub(super) struct SkillArgument {
    slug: String,
    directory: PathBuf,
}

impl FromStr for SkillArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((slug, directory)) if !directory.is_empty() => {
                Ok(Self { slug: slug.to_owned(), directory: directory.into() })
            }
            _ => {
                Err("a skill is given as SLUG=DIR, such as `csv-report=./skills/csv-report`".into())
            }
        }
    }
}

/// A skill that was read: its slug and its files.
pub(super) type ReadSkill = (String, Vec<(String, Bytes)>);

/// Reads the folders. Slugs and paths that are not legal are refused here.
pub(super) fn read(skills: &[SkillArgument]) -> Result<Vec<ReadSkill>, Failure> {
    let mut slugs = SkillTable::default();
    let read = |SkillArgument { slug, directory }: &SkillArgument| {
        let mut files = Vec::new();
        walk(directory, "", &mut files)?;
        if files.is_empty() {
            let shown = directory.display();
            return Err(Failure::new(format!(
                "the skill `{slug}` is empty: {shown} holds no files"
            )));
        }
        let nobody = WorkspaceId(Uuid::nil());
        let paths = files.iter().map(|(path, _)| (path.clone(), UNPUBLISHED));
        let skill = Skill::new(nobody, paths).map_err(space::Error::from)?;
        let is_first = slugs.bind(slug, Arc::new(skill)).map_err(space::Error::from)?;
        if !is_first {
            return Err(Failure::new(format!(
                "the skill `{slug}` is given twice: use another slug"
            )));
        }
        Ok((slug.clone(), files))
    };
    skills.iter().map(read).collect()
}

/// Stands in for a file until it is published.
const UNPUBLISHED: SkillFile = SkillFile { sha256: Sha256([0; 32]), size: 0, modified_ms: 0 };

/// Publishes skills, and binds each under its slug.
pub(super) async fn publish(
    storage: &Arc<Storage>,
    owner: WorkspaceId,
    skills: Vec<ReadSkill>,
) -> Result<SkillTable, Failure> {
    let mut table = SkillTable::default();
    for (slug, files) in skills {
        let skill = storage.publish_skill(owner, files).await?;
        table.bind(&slug, Arc::new(skill)).map_err(space::Error::from)?;
    }
    Ok(table)
}

/// Reads all files below a directory. No link is followed: what a link points to is no part of
/// the skill.
fn walk(directory: &Path, below: &str, files: &mut Vec<(String, Bytes)>) -> Result<(), Failure> {
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
        if files.len() == FILES_MAX {
            return Err(Failure::new(format!("a skill is at most {FILES_MAX} files")));
        }
        files.push((format!("{below}{name}"), contents(&path)?));
    }
    Ok(())
}

fn contents(path: &Path) -> Result<Bytes, Failure> {
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(no_follow)
        .open(path)
        .map_err(|error| unreadable(path, &error))?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let shown = path.display();
        return Err(Failure::new(format!(
            "{shown} is larger than {FILE_BYTES_MAX} bytes, the most that a file of a skill has"
        )));
    }
    Ok(bytes.into())
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::because(format!("{} cannot be read", path.display()), error)
}
