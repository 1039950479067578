use anyhow::Context as _;
use serde_json::Value;
use uuid::Uuid;

use super::database::{Rows, Statement, sql};
use super::{Catalog, CatalogError};
use crate::limits::SETTINGS_BYTES_MAX;
use crate::scope::{AgentId, WorkspaceId};

/// Whose settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsOf {
    /// The deployment's: of all that is in this store.
    Deployment,
    /// Of a workspace.
    Workspace(WorkspaceId),
    /// Of an agent.
    Agent(AgentId),
}

/// Settings of each level, the widest first; `None` where nothing was ever set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cascade {
    /// The deployment's.
    pub deployment: Option<Value>,
    /// Those of the workspace.
    pub workspace: Option<Value>,
    /// Those of the agent.
    pub agent: Option<Value>,
}

impl Cascade {
    /// What each level says, the widest first.
    pub fn levels(&self) -> [Option<&Value>; 3] {
        [&self.deployment, &self.workspace, &self.agent].map(Option::as_ref)
    }
}

/// What they mean is not the catalog's to know.
impl Catalog {
    /// Puts the settings of one level in place of what was there.
    ///
    /// # Errors
    /// [`CatalogError::TooLarge`] over 64 KiB; [`CatalogError::Deleted`] if the workspace or the
    /// agent is gone; [`CatalogError::Unavailable`].
    pub async fn put_settings(&self, of: SettingsOf, value: &Value) -> Result<(), CatalogError> {
        let value = value.to_string();
        if value.len() > SETTINGS_BYTES_MAX {
            return Err(CatalogError::TooLarge { bytes_max: SETTINGS_BYTES_MAX });
        }
        let (store, workspace, agent) = match of {
            SettingsOf::Deployment => (Some(self.store), None, None),
            SettingsOf::Workspace(workspace) => (None, Some(workspace), None),
            SettingsOf::Agent(agent) => (None, None, Some(agent)),
        };
        let put = "insert into settings (id, store_id, workspace_id, agent_id, value, changed_ms)
            values ($1, $2, $3, $4, $5, $6)
            on conflict (id) do update set value = excluded.value,
                changed_ms = excluded.changed_ms";
        let put = sql(put).bind(self.settings_id(of)).bind(store).bind(workspace).bind(agent);
        self.database.execute(put.bind(value).bind(self.now())).await?;
        Ok(())
    }

    /// The settings of one level, if any were set.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn settings(&self, of: SettingsOf) -> Result<Option<Value>, CatalogError> {
        let find = sql("select value from settings where id = $1").bind(self.settings_id(of));
        let found: Option<(String,)> = self.database.rows(find).await?.first()?;
        found.map(|(value,)| parse(&value)).transpose()
    }

    /// The settings of every level that holds for a workspace, or for an agent of it.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn cascade(
        &self,
        workspace: WorkspaceId,
        agent: Option<AgentId>,
    ) -> Result<Cascade, CatalogError> {
        let rows = self.database.rows(self.cascade_rows(workspace, agent)).await?;
        cascade_of(rows, self.store, workspace)
    }

    pub(super) fn cascade_rows(
        &self,
        workspace: WorkspaceId,
        agent: Option<AgentId>,
    ) -> Statement<'static> {
        sql("select id, value from settings where id in ($1, $2, $3)")
            .bind(self.store)
            .bind(workspace)
            .bind(agent)
    }

    /// What every level of this store says.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn every_settings(&self) -> Result<Vec<Value>, CatalogError> {
        let find = "select value from settings
            left join agents on agents.id = settings.agent_id
            left join workspaces on workspaces.id
                = coalesce(settings.workspace_id, agents.workspace_id)
            where settings.store_id = $1 or workspaces.store_id = $1";
        let rows = self.database.rows(sql(find).bind(self.store)).await?;
        let said: Vec<(String,)> = rows.all()?;
        said.iter().map(|(value,)| parse(value)).collect()
    }

    /// Whether any session of this store is held.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn has_held_session(&self) -> Result<bool, CatalogError> {
        let find = "select sessions.id from sessions join agents on agents.id = sessions.agent_id
            join workspaces on workspaces.id = agents.workspace_id
            where workspaces.store_id = $1 and held_ms is not null limit 1";
        let held: Option<(Uuid,)> =
            self.database.rows(sql(find).bind(self.store)).await?.first()?;
        Ok(held.is_some())
    }

    /// What agents of a workspace say, of those that say something.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn settings_of_agents(
        &self,
        workspace: WorkspaceId,
    ) -> Result<Vec<Value>, CatalogError> {
        let find = "select value from settings join agents on agents.id = settings.agent_id
            where agents.workspace_id = $1";
        let said: Vec<(String,)> = self.database.rows(sql(find).bind(workspace)).await?.all()?;
        said.iter().map(|(value,)| parse(value)).collect()
    }

    fn settings_id(&self, of: SettingsOf) -> Uuid {
        match of {
            SettingsOf::Deployment => self.store,
            SettingsOf::Workspace(workspace) => workspace.0,
            SettingsOf::Agent(agent) => agent.0,
        }
    }
}

/// What the rows of a chain say.
pub(super) fn cascade_of(
    rows: Rows,
    store: Uuid,
    workspace: WorkspaceId,
) -> Result<Cascade, CatalogError> {
    let mut cascade = Cascade::default();
    for (id, value) in rows.all::<(Uuid, String)>()? {
        let level = if id == store {
            &mut cascade.deployment
        } else if id == workspace.0 {
            &mut cascade.workspace
        } else {
            &mut cascade.agent
        };
        *level = Some(parse(&value)?);
    }
    Ok(cascade)
}

fn parse(value: &str) -> Result<Value, CatalogError> {
    serde_json::from_str(value)
        .context("the catalog holds settings that are no JSON")
        .map_err(CatalogError::unavailable)
}
