//! What is in a folder, one name after the other; a page of them is listed at a time.

use std::collections::{BTreeMap, VecDeque};

use super::Folders;
use super::bindings::wasi::filesystem::types::{DescriptorType, DirectoryEntry};
use super::error::{Answer, ErrorCode};
use super::path::Link;
use crate::limits::PATH_SEGMENT_BYTES_MAX;
use crate::scope::AGENT_FILES;
use crate::space::Space;
use crate::store::Depth;

/// Where a listing goes on.
#[derive(Debug)]
enum Next {
    Page(Option<String>),
    End,
}

/// A folder that is being read.
#[derive(Debug)]
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Entries {
    space: Space,
    folder: String,
    next: Next,
    page_files: u32,
    page: VecDeque<(String, DescriptorType)>,
    /// What the store does not have, in order.
    own: BTreeMap<String, DescriptorType>,
}

impl Folders {
    /// Begins to read a folder, so many names at a time.
    pub(super) async fn entries(&self, folder: &str, page_files: u32) -> Answer<Entries> {
        if !self.has_folder(folder).await? {
            return Err(ErrorCode::NoEntry.into());
        }
        let (space, folder) = (self.space.clone(), folder.to_owned());
        let own = self.unlisted(&folder);
        let (next, page) = (Next::Page(None), VecDeque::new());
        Ok(Entries { space, folder, next, page_files, page, own })
    }

    /// Names in a folder that the store does not have: the link, and what this turn made or emptied.
    fn unlisted(&self, folder: &str) -> BTreeMap<String, DescriptorType> {
        let below = format!("{folder}/");
        let mut own = BTreeMap::new();
        let files = self.files.range(below.clone()..).map(|(path, _)| path);
        let within = |path: &&String| path.starts_with(&below);
        for path in files.take_while(within) {
            match path[below.len()..].split_once('/') {
                None => own.insert(path[below.len()..].to_owned(), DescriptorType::RegularFile),
                Some((name, _)) => own.insert(name.to_owned(), DescriptorType::Directory),
            };
        }
        for path in self.emptied.range(below.clone()..).take_while(within) {
            let name = path[below.len()..].split('/').next().unwrap_or_default();
            own.insert(name.to_owned(), DescriptorType::Directory);
        }
        if folder == "session" && self.link == Link::There {
            own.insert(AGENT_FILES.to_owned(), DescriptorType::SymbolicLink);
        }
        own
    }
}

/// What a name takes beside its bytes, generously.
const NAME_BYTES: usize = 64;

impl Entries {
    /// Most bytes that it holds at once.
    pub(super) fn bytes_held_max(&self) -> usize {
        let own: usize = self.own.keys().map(|name| name.len() + NAME_BYTES).sum();
        self.page_files as usize * (PATH_SEGMENT_BYTES_MAX + NAME_BYTES) + own
    }

    /// The next name; none after the last.
    pub(super) async fn next(&mut self) -> Answer<Option<DirectoryEntry>> {
        while self.page.is_empty()
            && let Next::Page(cursor) = &self.next
        {
            let cursor = cursor.clone();
            self.list(cursor.as_deref()).await?;
        }
        let Some((listed, _)) = self.page.front() else {
            return Ok(self.own.pop_first().map(entry));
        };
        match self.own.first_key_value() {
            Some((own, _)) if own < listed => Ok(self.own.pop_first().map(entry)),
            _ => Ok(self.page.pop_front().map(|(name, kind)| {
                if self.own.get(&name) == Some(&kind) {
                    self.own.remove(&name);
                }
                entry((name, kind))
            })),
        }
    }

    async fn list(&mut self, cursor: Option<&str>) -> Answer<()> {
        let listing = self.space.list(&self.folder, Depth::Children, cursor, self.page_files);
        let page = listing.await?;
        let files = page.files.into_iter().map(|file| (file.path, DescriptorType::RegularFile));
        let folders = page.folders.into_iter().map(|folder| (folder, DescriptorType::Directory));
        let start = self.folder.len() + 1;
        let named = |(path, kind): (String, DescriptorType)| {
            Some((path.get(start..)?.trim_end_matches('/').to_owned(), kind))
        };
        let mut names: Vec<_> = files.chain(folders).filter_map(named).collect();
        names.sort_by(|one, two| one.0.cmp(&two.0));
        self.page = names.into();
        self.next = page.next.map_or(Next::End, |next| Next::Page(Some(next)));
        Ok(())
    }
}

fn entry((name, type_): (String, DescriptorType)) -> DirectoryEntry {
    DirectoryEntry { type_, name }
}
