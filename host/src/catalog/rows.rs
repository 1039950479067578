//! Rows that go by themselves: each sweep beside the rule that it keeps. All of them do a bounded
//! amount in short transactions, on any number of hosts, and say how many rows they removed.

use super::components::prune;
use super::database::{Changes, sql};
use super::sweeping::Left;
use super::turn::TurnId;
use super::{Catalog, CatalogError, Name, integer};
use crate::limits::{
    COMPONENT_SNAPSHOTS_KEPT, FIRINGS_KEPT_MS, PIECES_KEPT_MS, ROWS_SWEPT_MAX, TURNS_SWEPT_MAX,
};
use crate::scope::WorkspaceId;

/// Names of components that are looked after at once, each in a transaction of its own.
const NAMES_AT_ONCE: u32 = 16;

impl Catalog {
    /// Pieces of replies go a day after their turn is over, whose reply stays whole: never by their
    /// age alone, since a turn that still runs is still followed.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn sweep_pieces(&self) -> Result<Left, CatalogError> {
        self.undone.retried(|| self.try_sweep_pieces()).await
    }

    async fn try_sweep_pieces(&self) -> Result<Left, CatalogError> {
        let mut changes = self.begin().await?;
        let over = "select id from turns where pieces_gone_ms is null
                and state in ('done', 'failed') and ended_ms < $1
            order by ended_ms limit $2 for update skip locked";
        let over = sql(over).bind(self.ago(PIECES_KEPT_MS)).bind(TURNS_SWEPT_MAX);
        let over: Vec<(TurnId,)> = changes.rows(over).await?.all()?;
        let mut removed = 0;
        for (turn,) in &over {
            let room = ROWS_SWEPT_MAX.saturating_sub(removed);
            removed += remove_pieces(&mut changes, *turn, room).await?;
            if removed >= ROWS_SWEPT_MAX {
                break;
            }
            let done = sql("update turns set pieces_gone_ms = $2 where id = $1");
            changes.execute(done.bind(*turn).bind(self.now())).await?;
        }
        self.commit(changes).await?;
        Ok(if over.is_empty() { Left::Nothing(0) } else { Left::More(removed) })
    }

    /// What turns asked of their hosts goes a day after it was noted.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn sweep_invocations(&self) -> Result<Left, CatalogError> {
        let expired = "delete from tool_invocations
            where (turn_id, attempt, verb, scope, outcome) in
                (select turn_id, attempt, verb, scope, outcome from tool_invocations
                where expires_ms < $1 order by expires_ms limit $2)";
        let expired = sql(expired).bind(self.now()).bind(ROWS_SWEPT_MAX);
        Ok(left(self.database.execute(expired).await?))
    }

    /// What became of wakeups goes thirty days after they fired.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn sweep_firings(&self) -> Result<Left, CatalogError> {
        let old = "delete from trigger_firings where (wakeup_id, due_ms) in
            (select wakeup_id, due_ms from trigger_firings
            where fired_ms < $1 order by fired_ms limit $2)";
        let old = sql(old).bind(self.ago(FIRINGS_KEPT_MS)).bind(ROWS_SWEPT_MAX);
        Ok(left(self.database.execute(old).await?))
    }

    /// Of a component's uploads under a name the newest three stay, and any that an agent or a turn
    /// needs that has not ended: what is needed no more goes.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn sweep_components(&self) -> Result<Left, CatalogError> {
        // Of this store, each name once; whether they are needed is asked under the lock.
        let old = "select workspace_id, name, max(number) from component_snapshots as kept
            where workspace_id in (select id from workspaces where store_id = $1)
                and exists (select 1 from component_snapshots as old
                    where old.workspace_id = kept.workspace_id and old.name = kept.name
                    and not exists (select 1 from agents
                        where agents.workspace_id = old.workspace_id
                        and component_sha256 = old.sha256)
                    and not exists (select 1 from turns where component = old.sha256
                        and state in ('queued', 'running', 'parked'))
                    and old.number <= (select max(number) from component_snapshots as newest
                        where newest.workspace_id = kept.workspace_id
                        and newest.name = kept.name) - $2)
            group by workspace_id, name limit $3";
        let old = sql(old).bind(self.store).bind(COMPONENT_SNAPSHOTS_KEPT).bind(NAMES_AT_ONCE);
        let old: Vec<(WorkspaceId, String, u64)> = self.database.rows(old).await?.all()?;
        let mut removed = 0;
        for (workspace, name, newest) in old {
            let Ok(name) = name.parse::<Name>() else { continue };
            removed += self.undone.retried(|| self.try_prune(workspace, &name, newest)).await?;
        }
        Ok(if removed == 0 { Left::Nothing(0) } else { Left::More(removed) })
    }

    async fn try_prune(
        &self,
        workspace: WorkspaceId,
        name: &Name,
        newest: u64,
    ) -> Result<u64, CatalogError> {
        let mut changes = self.begin().await?;
        let lock = "select id from workspaces where id = $1 for update";
        changes.lock(sql(lock).bind(workspace)).await?;
        let removed = prune(&mut changes, workspace, name, newest).await?;
        self.commit(changes).await?;
        Ok(removed)
    }

    /// Tokens that were revoked are forgotten once they would have expired: they are not accepted
    /// for that alone then.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn forget_expired_tokens(&self) -> Result<Left, CatalogError> {
        let forget = "delete from revoked_tokens where token in
            (select token from revoked_tokens where until_ms < $1 order by until_ms limit $2)";
        let forget = sql(forget).bind(self.now()).bind(ROWS_SWEPT_MAX);
        Ok(left(self.database.execute(forget).await?))
    }

    fn ago(&self, ms: u64) -> i64 {
        self.now().saturating_sub(integer(ms))
    }
}

async fn remove_pieces(
    changes: &mut Changes,
    turn: TurnId,
    most: u64,
) -> Result<u64, CatalogError> {
    let remove = "delete from events where (session_id, number) in
        (select session_id, number from events
        where turn_id = $1 and kind = 'said' order by number limit $2)";
    changes.execute(sql(remove).bind(turn).bind(most)).await
}

/// What is left after so many were removed that as many may be removed at once.
pub(super) fn left(removed: u64) -> Left {
    if removed >= ROWS_SWEPT_MAX { Left::More(removed) } else { Left::Nothing(removed) }
}
