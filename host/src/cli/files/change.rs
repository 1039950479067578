use bailiwick::limits::PAGE_FILES_MAX;
use bailiwick::scope::GuestPath;
use bailiwick::space::{self, ErrorCode, File};
use bailiwick::store::{Depth, Precondition};
use clap::Args;

use super::super::desk::Desk;
use super::super::failure::{Failure, say};
use super::super::output::counted;
use super::reach::{Missing, Reach};
use super::{Names, Overwriting, Shown, into_folder};

#[derive(Debug, Args)]
pub(in crate::cli) struct Rm {
    /// Which files, or folders with --recursive.
    #[arg(required = true)]
    paths: Vec<String>,
    #[command(flatten)]
    names: Names,
    /// Deletes every file below the paths.
    #[arg(long, short = 'r')]
    recursive: bool,
}

impl Rm {
    pub(super) async fn run(&self, desk: &Desk) -> Result<(), Failure> {
        let paths: Vec<_> = self.paths.iter().map(String::as_str).collect();
        // What is left of a variable that is not set would be everything in reach.
        if paths.contains(&"") {
            return Err(Failure::new(
                "an empty path names nothing to delete: name a file, a folder or a scope",
            ));
        }
        let reach = self.names.reach(desk, &paths, Missing::Refuse).await?;
        for path in paths {
            if self.recursive {
                remove_all(&reach, path).await?;
            } else {
                reach.space.delete(path, Precondition::Always).await?;
            }
        }
        Ok(())
    }
}

/// Everything below a path, and the file at it: both may be there.
async fn remove_all(reach: &Reach, path: &str) -> Result<(), Failure> {
    let removed = remove_below(reach, path).await?;
    if removed > 0 {
        let removed = counted(removed, "file");
        say(&format!("deleted {removed} below `{path}`"));
    }
    if GuestPath::parse(path).is_err() {
        return Ok(());
    }
    match reach.space.delete(path, Precondition::Always).await {
        Err(error) if error.code == ErrorCode::NotFound && removed > 0 => Ok(()),
        deleted => Ok(deleted?),
    }
}

/// Deletes page by page, each from the start: what is gone is listed no more.
async fn remove_below(reach: &Reach, folder: &str) -> Result<u64, Failure> {
    let mut removed = 0;
    let mut after = None;
    loop {
        let page = reach.space.list(folder, Depth::All, after.as_deref(), PAGE_FILES_MAX).await?;
        for file in &page.files {
            match reach.space.delete(&file.path, Precondition::Always).await {
                Ok(()) => removed += 1,
                // Somebody else was faster.
                Err(error) if error.code == ErrorCode::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        after = if page.files.is_empty() { page.next } else { None };
        if after.is_none() && page.files.is_empty() {
            return Ok(removed);
        }
    }
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Cp {
    #[command(flatten)]
    two: Two,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Mv {
    #[command(flatten)]
    two: Two,
}

#[derive(Debug, Args)]
struct Two {
    /// Which file.
    source: String,
    /// Its new path; one that ends in `/` keeps the file's name.
    target: String,
    #[command(flatten)]
    names: Names,
    #[command(flatten)]
    overwriting: Overwriting,
    #[command(flatten)]
    shown: Shown,
}

impl Two {
    fn target(&self) -> String {
        let name = self.source.rsplit('/').next().unwrap_or_default();
        into_folder(&self.target, name)
    }

    async fn reach(&self, desk: &Desk, target: &str) -> Result<Reach, Failure> {
        self.names.reach(desk, &[&self.source, target], Missing::Refuse).await
    }

    async fn finish(
        &self,
        desk: &Desk,
        reach: &Reach,
        target: &str,
        made: Result<File, space::Error>,
    ) -> Result<(), Failure> {
        let file = made.map_err(|error| self.overwriting.explain(error, target))?;
        self.names.keep(&desk.catalog, reach, target).await?;
        self.shown.file(&file)
    }
}

impl Cp {
    pub(super) async fn run(&self, desk: &Desk) -> Result<(), Failure> {
        let (two, target) = (&self.two, self.two.target());
        let reach = two.reach(desk, &target).await?;
        let copied = reach.space.copy(&two.source, &target, two.overwriting.when()).await;
        two.finish(desk, &reach, &target, copied).await
    }
}

impl Mv {
    pub(super) async fn run(&self, desk: &Desk) -> Result<(), Failure> {
        let (two, target) = (&self.two, self.two.target());
        let reach = two.reach(desk, &target).await?;
        let moved = reach.space.relocate(&two.source, &target, two.overwriting.when()).await;
        two.finish(desk, &reach, &target, moved).await
    }
}
