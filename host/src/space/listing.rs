//! Listings: a folder, a scope, or everything in reach, page by page.

use serde::{Deserialize, Serialize};

use super::files::skill_object;
use super::media::MediaTypes;
use super::{Error, File, Space};
use crate::limits::PAGE_FILES_MAX;
use crate::scope::{Folder, FolderPath, KeyPrefix, Scope};
use crate::store::{Depth, Effect, ListToken};
use crate::walk::walk;

/// One page of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Files, each once over all pages, in byte order of paths where the store lists so.
    pub files: Vec<File>,
    /// Folders directly under the folder, each ending in `/`; for [`Depth::Children`] alone.
    pub folders: Vec<String>,
    /// Where to go on; absent on the last page. A page may be empty and not the last.
    pub next: Option<String>,
}

/// Where a listing goes on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct At {
    /// Which of the places that the listing walks through.
    place: usize,
    /// Where within it.
    token: Option<String>,
}

/// A part of a listing that lives in one spot.
#[derive(Debug)]
enum Place {
    Stored(KeyPrefix),
    Skill {
        slug: String,
        rest: String,
    },
    /// Names that need no look-up: the mounts, the skills.
    Names(Vec<String>),
}

/// A folder that may be listed: where its parts are, and what its cursors are bound to.
#[derive(Debug)]
pub(super) struct Listed {
    places: Vec<Place>,
    depth: Depth,
    /// Names this listing and no other; holds ids, and is only ever sealed over.
    pub(super) identity: String,
}

impl Space {
    /// Files under a folder; the empty folder is the root: every mount. `limit` is 1 to 1,000.
    ///
    /// # Errors
    /// `invalid` for a limit out of bounds or a cursor of another listing.
    pub async fn list(
        &self,
        folder: &str,
        depth: Depth,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page, Error> {
        check_limit(limit)?;
        let listed = self.listed(folder, depth)?;
        let seal = &self.0.storage.seal;
        let at = after.map(|cursor| seal.open(&listed.identity, cursor)).transpose()?;
        let (mut page, next) =
            self.list_from(&listed, at.unwrap_or_default(), limit as usize).await?;
        page.next = next.map(|at| seal.seal(&listed.identity, &at)).transpose()?;
        Ok(page)
    }

    pub(super) fn listed(&self, folder: &str, depth: Depth) -> Result<Listed, Error> {
        self.check_alive()?;
        let table = &self.0.table;
        let path = FolderPath::parse(folder).map_err(|refusal| table.explain(folder, refusal))?;
        let resolved = table.resolve_folder(&path)?;
        let places = self.places(resolved.clone(), depth)?;
        let identity = format!("{:?} {resolved:?} {depth:?}", table.coordinates());
        Ok(Listed { places, depth, identity })
    }

    fn places(&self, folder: Folder, depth: Depth) -> Result<Vec<Place>, Error> {
        let skills_only = folder == Folder::Skills;
        match folder {
            Folder::Stored(prefix) => return Ok(vec![Place::Stored(prefix)]),
            Folder::Skill { slug, rest } => return Ok(vec![Place::Skill { slug, rest }]),
            Folder::Root | Folder::Skills => {}
        }
        let is_skill = |scope: &Scope<'_>| matches!(scope, Scope::Skill(_));
        let mounts = self.mounts().into_iter().map(|mount| mount.scope);
        let mut scopes: Vec<_> = mounts.filter(|scope| !skills_only || is_skill(scope)).collect();
        scopes.sort_by_key(ToString::to_string);
        if depth == Depth::Children {
            let name = |scope: &Scope<'_>| match scope {
                Scope::Skill(_) if !skills_only => "skill/".to_owned(),
                scope => format!("{scope}/"),
            };
            let mut names: Vec<_> = scopes.iter().map(name).collect();
            names.dedup();
            return Ok(vec![Place::Names(names)]);
        }
        scopes.into_iter().map(|scope| self.place(scope)).collect()
    }

    fn place(&self, scope: Scope<'_>) -> Result<Place, Error> {
        let path = FolderPath::Below { scope, rest: String::new() };
        match self.0.table.resolve_folder(&path)? {
            Folder::Stored(prefix) => Ok(Place::Stored(prefix)),
            Folder::Skill { slug, rest } => Ok(Place::Skill { slug, rest }),
            Folder::Root | Folder::Skills => Ok(Place::Names(Vec::new())),
        }
    }

    /// Pages through the places until one page is full or a store says that there is more.
    pub(super) async fn list_from(
        &self,
        listed: &Listed,
        mut at: At,
        limit: usize,
    ) -> Result<(Page, Option<At>), Error> {
        let mut page = Page::default();
        while let Some(place) = listed.places.get(at.place) {
            let room = limit - page.files.len() - page.folders.len();
            if room == 0 {
                return Ok((page, Some(at)));
            }
            let token =
                self.list_place(place, listed.depth, at.token.take(), room, &mut page).await?;
            if token.is_some() {
                return Ok((page, Some(At { place: at.place, token })));
            }
            at.place += 1;
        }
        Ok((page, None))
    }

    async fn list_place(
        &self,
        place: &Place,
        depth: Depth,
        token: Option<String>,
        limit: usize,
        page: &mut Page,
    ) -> Result<Option<String>, Error> {
        match place {
            Place::Stored(prefix) => self.list_stored(prefix, depth, token, limit, page).await,
            Place::Skill { slug, rest } => {
                let skill = self.0.table.bound(slug)?;
                let shown = walk(skill.files(), rest, depth, token.as_deref(), limit);
                let path = |name: &str| format!("skill/{slug}/{name}");
                let file = |(name, file): (&String, _)| File::at(path(name), skill_object(file));
                page.files.extend(shown.entries.into_iter().map(file));
                page.folders.extend(shown.folders.iter().map(|name| path(name)));
                Ok(shown.next)
            }
            Place::Names(names) => {
                let after = names.iter().position(|name| Some(name) == token.as_ref());
                let mut rest = names.iter().skip(after.map_or(0, |index| index + 1));
                page.folders.extend(rest.by_ref().take(limit).cloned());
                Ok(rest.next().and_then(|_| page.folders.last().cloned()))
            }
        }
    }

    async fn list_stored(
        &self,
        prefix: &KeyPrefix,
        depth: Depth,
        token: Option<String>,
        limit: usize,
        page: &mut Page,
    ) -> Result<Option<String>, Error> {
        let token = token.map(ListToken);
        let list = self.store().list(prefix, depth, token.as_ref(), limit);
        let listing = self.operate("the folder", Effect::None, list).await?;
        let table = &self.0.table;
        let mut media_types = MediaTypes::default();
        let file = |(key, object)| {
            let path = table.path_of(&key)?.spelled();
            let media_type = media_types.of(&path);
            Some(File::of(path, object, media_type))
        };
        page.files.extend(listing.objects.into_iter().filter_map(file));
        page.folders
            .extend(listing.folders.iter().filter_map(|folder| table.folder_path_of(folder)));
        Ok(listing.next.map(|token| token.0))
    }
}

pub(super) fn check_limit(limit: u32) -> Result<(), Error> {
    if (1..=PAGE_FILES_MAX).contains(&limit) {
        return Ok(());
    }
    Err(Error::invalid("limit", format!("a limit is 1 to {PAGE_FILES_MAX}, not {limit}")))
}
