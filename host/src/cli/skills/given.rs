//! Skills that a turn is given on the command line: a folder of files, under a slug.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;

use bailiwick::catalog::{Catalog, VersionId};
use bailiwick::scope::{Slug, WorkspaceId};
use bailiwick::skills::Publisher;
use bailiwick::space;

use super::super::desk::Desk;
use super::super::failure::Failure;
use super::folder::Folder;

/// `SLUG=DIR`.
#[derive(Clone, Debug)]
pub(in crate::cli) struct SkillArgument {
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

/// A skill that was looked at.
#[derive(Debug)]
pub(in crate::cli) struct Given {
    slug: Slug,
    folder: Folder,
}

/// Looks at the folders. Slugs and paths that are not legal are refused here.
pub(in crate::cli) fn read(skills: &[SkillArgument]) -> Result<Vec<Given>, Failure> {
    let mut slugs = BTreeSet::new();
    let read = |SkillArgument { slug, directory }: &SkillArgument| {
        let slug: Slug = slug.parse().map_err(space::Error::from)?;
        let folder = Folder::read(directory)?;
        if !slugs.insert(slug.clone()) {
            return Err(Failure::new(format!(
                "the skill `{slug}` is given twice: use another slug"
            )));
        }
        Ok(Given { slug, folder })
    };
    skills.iter().map(read).collect()
}

/// Keeps them for a turn that is about to begin.
pub(in crate::cli) async fn keep(
    desk: &Desk,
    owner: WorkspaceId,
    skills: &[Given],
) -> Result<Vec<VersionId>, Failure> {
    let mut kept = Vec::new();
    for Given { slug, folder } in skills {
        let catalog = Catalog::clone(&desk.catalog);
        let mut publisher = Publisher::new(catalog, desk.storage.clone(), owner);
        folder.hand_to(&mut publisher).await?;
        kept.push(publisher.finish_unlisted(slug).await?);
    }
    Ok(kept)
}
