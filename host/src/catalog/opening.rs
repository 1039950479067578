use super::database::sql;
use super::{Catalog, CatalogError, Label, Made, Name, new_id};
use crate::scope::{AgentId, SessionId};

impl Catalog {
    /// As [`Self::make_session`], and says who opened it, if it is made.
    ///
    /// # Errors
    /// As [`Self::make_session`].
    pub async fn open_session(
        &self,
        agent: AgentId,
        name: &Name,
        opener: &Label,
    ) -> Result<Made<SessionId>, CatalogError> {
        // Mostly it is there, and nothing has to be written.
        if let Some(session) = self.session(agent, name).await? {
            return Ok(Made::Found(session));
        }
        let session = SessionId(new_id());
        let insert = "insert into sessions (agent_id, name, id, created_ms, active_ms, opened_by)
            select id, $2, $3, $4, $4, $5 from agents where id = $1 and gone_ms is null
            on conflict (agent_id, name) do nothing";
        let insert = sql(insert).bind(agent).bind(name.as_str()).bind(session).bind(self.now());
        if self.database.execute(insert.bind(opener.as_str())).await? == 1 {
            return Ok(Made::New(session));
        }
        self.session(agent, name).await?.map(Made::Found).ok_or(CatalogError::Deleted)
    }
}
