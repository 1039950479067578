//! Listings: the server's pages, each file and folder once, whatever the server's own view.

use futures::stream::{self, StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

use super::S3Store;
use super::conditions::Condition;
use super::errors::Failure;
use super::requests::{Entries, ListRequest};
use crate::scope::{KeyPrefix, ObjectKey};
use crate::store::{Depth, ListToken, Listing, Object, StoreError};

/// Folders that are looked into at once.
const FOLDERS_AT_ONCE: usize = 16;

/// Where a listing goes on.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Place {
    /// Below this instead of the listing's prefix, where a server forgot what is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    under: Option<String>,
    /// The server's token.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<String>,
    /// Past this name on the page, where a server sent more than it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    past: Option<String>,
}

impl Place {
    fn read(token: Option<&ListToken>) -> Result<Self, StoreError> {
        let Some(token) = token else { return Ok(Self::default()) };
        serde_json::from_str(&token.0).map_err(StoreError::unchanged)
    }

    fn token(&self) -> Result<ListToken, StoreError> {
        serde_json::to_string(self).map(ListToken).map_err(StoreError::unchanged)
    }
}

impl S3Store {
    pub(super) async fn list_page(
        &self,
        prefix: &KeyPrefix,
        depth: Depth,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Listing, StoreError> {
        let place = Place::read(after)?;
        let under = match &place.under {
            Some(under) if under.starts_with(prefix.as_str()) => under,
            _ => prefix.as_str(),
        };
        let page = ListRequest { prefix, under, depth, after: place.page.as_deref(), limit };
        let entries = self.entries(page).await?;
        let next = match &entries.next {
            Some(next) => {
                Some(Place { page: Some(next.clone()), past: None, ..place_under(&place) })
            }
            None => self.forgotten(page, &entries).await?,
        };
        self.objects.saw_all(&entries.objects);
        let (mut listing, cut) = cut(entries, place.past.as_deref(), limit);
        let next = match cut {
            Some(past) => {
                Some(Place { page: place.page.clone(), past: Some(past), ..place_under(&place) })
            }
            None => next,
        };
        listing.folders = self.inhabited(listing.folders).await?;
        listing.next = next.map(|place| place.token()).transpose()?;
        Ok(listing)
    }

    async fn entries(&self, page: ListRequest<'_>) -> Result<Entries, StoreError> {
        self.repeat(|| self.requests.list(page)).await.map_err(Failure::into_error)
    }

    /// A server that lists in an order of its own may take its last object, on a page that is
    /// full, for the end, although there is a folder of the same name.
    async fn forgotten(
        &self,
        page: ListRequest<'_>,
        entries: &Entries,
    ) -> Result<Option<Place>, StoreError> {
        let Some(last) = entries.last_of_full.as_ref().filter(|last| !last.ends_with('/')) else {
            return Ok(None);
        };
        if page.depth == Depth::Children || self.keeps(Condition::ListingOrder).await? {
            return Ok(None);
        }
        let under = format!("{last}/");
        let below = ListRequest { under: &under, after: None, limit: 1, ..page };
        let below = self.entries(below).await?;
        let forgotten = !below.objects.is_empty() || below.next.is_some();
        Ok(forgotten.then(|| Place { under: Some(under), ..Place::default() }))
    }

    /// Without the folders in which nothing is left, on a server that shows them.
    async fn inhabited(&self, folders: Vec<KeyPrefix>) -> Result<Vec<KeyPrefix>, StoreError> {
        if folders.is_empty() || self.keeps(Condition::FoldersVanish).await? {
            return Ok(folders);
        }
        let looked_into = folders.into_iter().map(|folder| async move {
            let inhabited = self.is_inhabited(&folder).await?;
            Ok::<_, StoreError>(inhabited.then_some(folder))
        });
        let found = stream::iter(looked_into).buffered(FOLDERS_AT_ONCE);
        found.try_filter_map(|folder| async move { Ok(folder) }).try_collect().await
    }

    async fn is_inhabited(&self, folder: &KeyPrefix) -> Result<bool, StoreError> {
        let mut after: Option<String> = None;
        loop {
            let page = ListRequest {
                prefix: folder,
                under: folder.as_str(),
                depth: Depth::All,
                after: after.as_deref(),
                limit: 10,
            };
            let entries = self.entries(page).await?;
            if !entries.objects.is_empty() {
                return Ok(true);
            }
            after = entries.next;
            if after.is_none() {
                return Ok(false);
            }
        }
    }
}

fn place_under(place: &Place) -> Place {
    Place { under: place.under.clone(), ..Place::default() }
}

/// What stands past a name, sorted, at most `limit` of it; and the last name, if there is more.
fn cut(entries: Entries, past: Option<&str>, limit: usize) -> (Listing, Option<String>) {
    let mut all: Vec<_> = entries.objects.into_iter().map(Entry::Object).collect();
    all.extend(entries.folders.into_iter().map(Entry::Folder));
    if let Some(past) = past {
        all.retain(|entry| rank(entry.name()) > rank(past));
    }
    all.sort_by(|one, other| rank(one.name()).cmp(&rank(other.name())));
    let mut last = None;
    if all.len() > limit {
        all.truncate(limit);
        last = all.last().map(|entry| entry.name().to_owned());
    }
    let mut listing = Listing::default();
    for entry in all {
        match entry {
            Entry::Object(object) => listing.objects.push(object),
            Entry::Folder(folder) => listing.folders.push(folder),
        }
    }
    listing.objects.sort_by(|(one, _), (other, _)| one.cmp(other));
    listing.folders.sort();
    (listing, last)
}

enum Entry {
    Object((ObjectKey, Object)),
    Folder(KeyPrefix),
}

impl Entry {
    fn name(&self) -> &str {
        match self {
            Self::Object((key, _)) => key.as_str(),
            Self::Folder(folder) => folder.as_str(),
        }
    }
}

/// Orders a folder right after the object of its name, as servers do that send more than they
/// were asked for.
fn rank(name: &str) -> (&str, bool) {
    match name.strip_suffix('/') {
        Some(name) => (name, true),
        None => (name, false),
    }
}
