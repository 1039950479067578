use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;

use crate::catalog::{Catalog, CatalogError, TurnId, VersionId};
use crate::scope::{Skill, SkillTable};

/// Versions that are kept at hand: they never change, and many turns are sent the same.
const VERSIONS_MAX: NonZeroUsize = NonZeroUsize::MIN.saturating_add(63);

/// Makes the tables of turns, with those versions at hand that were asked for last.
#[derive(Debug)]
pub struct Shelf(Mutex<LruCache<VersionId, Arc<Skill>>>);

impl Default for Shelf {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(VERSIONS_MAX)))
    }
}

impl Shelf {
    /// The table of the skills that a turn was sent when it was queued. A skill whose workspace was
    /// deleted meanwhile is not in it.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn table(&self, catalog: &Catalog, turn: TurnId) -> Result<SkillTable, CatalogError> {
        let mut table = SkillTable::default();
        for (slug, version) in catalog.skills_of(turn).await? {
            if let Some(skill) = self.skill(catalog, version).await? {
                // The catalog has it once, under a slug that was checked.
                let bound = table.bind(&slug, skill);
                bound.map_err(|error| CatalogError::Unavailable { source: error.into() })?;
            }
        }
        Ok(table)
    }

    async fn skill(
        &self,
        catalog: &Catalog,
        version: VersionId,
    ) -> Result<Option<Arc<Skill>>, CatalogError> {
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(skill) = kept().get(&version) {
            return Ok(Some(skill.clone()));
        }
        let Some(skill) = catalog.skill(version).await?.map(Arc::new) else { return Ok(None) };
        kept().put(version, skill.clone());
        Ok(Some(skill))
    }
}
