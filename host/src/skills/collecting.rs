use std::collections::BTreeMap;

use crate::catalog::{Catalog, Condemned};
use crate::limits::SKILL_BLOBS_REMOVED_MAX;
use crate::scope::{Sha256, WorkspaceId};
use crate::space::Storage;

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Versions that no skill lists and no turn needs any more.
    pub versions: u64,
    /// Contents of files that no version needs any more.
    pub contents: u64,
}

impl Collected {
    /// Whether there may be more to remove.
    pub fn is_full(&self) -> bool {
        let bound = u64::from(SKILL_BLOBS_REMOVED_MAX);
        self.versions >= bound || self.contents >= bound
    }
}

/// Removes some of what nobody needs any more. Any number of hosts may; one that is broken off
/// leaves what others go on with. What it began to remove can be published again only once it is
/// gone.
///
/// # Errors
/// If the catalog or the store fails; it may be begun again at any time.
pub async fn collect_once(catalog: &Catalog, storage: &Storage) -> anyhow::Result<Collected> {
    let versions = catalog.drop_unlisted_versions(SKILL_BLOBS_REMOVED_MAX).await?;
    let condemned = catalog.condemn_blobs(SKILL_BLOBS_REMOVED_MAX).await?;
    let mut owners: BTreeMap<WorkspaceId, Vec<Condemned>> = BTreeMap::new();
    for one in condemned {
        owners.entry(one.workspace).or_default().push(one);
    }
    let mut contents = 0;
    for (owner, condemned) in owners {
        // One that is not current any more may have been stored again since.
        if !condemned.iter().all(Condemned::is_current) {
            break;
        }
        let hashes: Vec<Sha256> = condemned.iter().map(|one| one.sha256).collect();
        storage.drop_blobs(owner, &hashes).await?;
        catalog.settle_blobs(&condemned).await?;
        contents += hashes.len() as u64;
    }
    Ok(Collected { versions, contents })
}
