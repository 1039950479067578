use std::collections::HashMap;

use bailiwick::limits::PAGE_FILES_MAX;
use bailiwick::scope::FolderPath;
use bailiwick::space::{ErrorCode, File};
use bailiwick::store::Depth;
use clap::Args;
use serde_json::json;
use unicode_normalization::UnicodeNormalization;

use super::super::desk::Desk;
use super::super::failure::{Failure, say};
use super::super::output::{Output, time};
use super::reach::{Missing, Reach};
use super::{Names, as_json};

#[derive(Debug, Args)]
pub(in crate::cli) struct Ls {
    /// Which folder; by default the scopes in reach.
    #[arg(default_value = "", hide_default_value = true)]
    path: String,
    #[command(flatten)]
    names: Names,
    /// Lists every file below it.
    #[arg(long, short = 'r')]
    recursive: bool,
    /// Prints one JSON object per line: a file, or a folder as `{"folder": …}`.
    #[arg(long)]
    json: bool,
}

impl Ls {
    pub(super) async fn run(&self, desk: &Desk) -> Result<(), Failure> {
        let reach = self.names.reach(desk, &[&self.path], Missing::Refuse).await?;
        let mut lines = Lines { output: Output::new(), json: self.json, twins: Twins::default() };
        if !self.print_folder(&reach, &mut lines).await? {
            self.print_file(&reach, &mut lines).await?;
        }
        lines.output.flush()
    }

    /// Whether there was anything.
    async fn print_folder(&self, reach: &Reach, lines: &mut Lines) -> Result<bool, Failure> {
        let depth = if self.recursive { Depth::All } else { Depth::Children };
        let (mut after, mut found) = (None, false);
        loop {
            let page =
                reach.space.list(&self.path, depth, after.as_deref(), PAGE_FILES_MAX).await?;
            found |= !page.folders.is_empty() || !page.files.is_empty();
            page.folders.iter().try_for_each(|folder| lines.folder(folder))?;
            page.files.iter().try_for_each(|file| lines.file(file))?;
            after = page.next;
            if after.is_none() {
                return Ok(found);
            }
        }
    }

    /// What names no folder may name a file. A scope is there even while it is empty.
    async fn print_file(&self, reach: &Reach, lines: &mut Lines) -> Result<(), Failure> {
        match FolderPath::parse(&self.path) {
            Ok(FolderPath::Below { rest, .. }) if !rest.is_empty() => {}
            _ => return Ok(()),
        }
        match reach.space.stat(&self.path).await {
            Ok(file) => lines.file(&file),
            Err(error) if error.code == ErrorCode::NotFound || self.path.ends_with('/') => {
                Err(Failure::new(format!("there is no file or folder `{}`", self.path)))
            }
            Err(error) => Err(error.into()),
        }
    }
}

struct Lines {
    output: Output,
    json: bool,
    twins: Twins,
}

impl Lines {
    fn file(&mut self, file: &File) -> Result<(), Failure> {
        self.twins.look(&file.path);
        if self.json {
            return self.output.json(&as_json(file));
        }
        let (size, modified) = (file.size, time(file.modified_ms));
        self.output.line(&format!("{size:>12}  {modified}  {}", file.path))
    }

    fn folder(&mut self, folder: &str) -> Result<(), Failure> {
        self.twins.look(folder);
        if self.json {
            return self.output.json(&json!({ "folder": folder }));
        }
        self.output.line(&format!("{:>12}  {:20}  {folder}", "-", ""))
    }
}

/// Names that look alike and are not the same: an accent as one character or as two.
#[derive(Debug, Default)]
struct Twins(HashMap<String, String>);

impl Twins {
    fn look(&mut self, path: &str) {
        if path.is_ascii() {
            return;
        }
        let composed: String = path.nfc().collect();
        let first = self.0.entry(composed).or_insert_with(|| path.to_owned());
        if *first != path {
            say(&format!(
                "`{path}` is there twice, spelled differently in Unicode (NFC and NFD): two files that look the same"
            ));
        }
    }
}
