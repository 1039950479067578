//! The page that an agent's folder is welcomed with: once in the agent's life.

use super::database::sql;
use super::{Catalog, CatalogError};
use crate::scope::AgentId;

impl Catalog {
    /// Whether the agent's folder is still to get its page, and now from the caller: nobody else is
    /// told so any more, unless the caller [gives it back](Self::unclaim_welcome).
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn claim_welcome(&self, agent: AgentId) -> Result<bool, CatalogError> {
        // Looked at first: to change nothing would wait for whoever changes something.
        let look = "select id from agents where id = $1 and welcomed_ms is null";
        let due = self.database.rows(sql(look).bind(agent)).await?.first_by(|_| Ok(()))?;
        if due.is_none() {
            return Ok(false);
        }
        let claim = "update agents set welcomed_ms = $2 where id = $1 and welcomed_ms is null";
        let now_ms = self.clock.now_ms();
        Ok(self.database.execute(sql(claim).bind(agent).bind(now_ms)).await? > 0)
    }

    /// The page was not written: whoever comes next may.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`]; then it is written by nobody.
    pub async fn unclaim_welcome(&self, agent: AgentId) -> Result<(), CatalogError> {
        let unclaim = "update agents set welcomed_ms = null where id = $1";
        self.database.execute(sql(unclaim).bind(agent)).await?;
        Ok(())
    }
}
