//! What would go, why and when: the same walk and the same decision as a sweep's, and no change.

use std::collections::HashMap;

use super::judge::Settled;
use super::policy::{Policy, Verdict, judge};
use crate::catalog::{Catalog, CatalogError, SessionFacts, Walk};
use crate::scope::{AgentId, WorkspaceId};

/// What becomes of a session, as things are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// What is known of it.
    pub facts: SessionFacts,
    /// What becomes of it.
    pub verdict: Verdict,
}

/// Part of what is foreseen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreseen {
    /// Sessions, in the order of the walk.
    pub fates: Vec<Fate>,
    /// Where it goes on; `None` at its end.
    pub next: Option<Walk>,
}

/// Whose sessions, and where the walk goes on.
#[derive(Clone, Debug, Default)]
pub struct Preview {
    /// Those of one workspace; of all if `None`.
    pub of: Option<WorkspaceId>,
    /// Behind which session.
    pub behind: Walk,
    /// How many sessions are looked at: at most 500.
    pub limit: u32,
}

/// Looks at some sessions and says what becomes of each.
///
/// # Errors
/// [`CatalogError::Unavailable`].
pub async fn foresee(
    catalog: &Catalog,
    settled: &Settled,
    preview: &Preview,
) -> Result<Foreseen, CatalogError> {
    let limit = preview.limit.clamp(1, crate::limits::SESSIONS_WALKED_MAX);
    let page = catalog.walk_sessions(preview.of, &preview.behind, limit).await?;
    let is_full = page.len() >= limit as usize;
    let next = page.last().filter(|_| is_full).map(Walk::behind);
    let mut policies: HashMap<AgentId, Policy> = HashMap::new();
    let mut fates = Vec::with_capacity(page.len());
    for mut facts in page {
        let policy = match policies.get(&facts.agent) {
            Some(policy) => *policy,
            None => {
                let settings = catalog.cascade(facts.workspace, Some(facts.agent)).await?;
                *policies.entry(facts.agent).or_insert(settled.policy(&settings))
            }
        };
        if let Some(kept) = policy.keep_last {
            facts.newer = catalog.newer_sessions(&facts, kept).await?;
        }
        let verdict = judge(&facts, &policy);
        fates.push(Fate { facts, verdict });
    }
    Ok(Foreseen { fates, next })
}
