use super::database::sql;
use super::{Catalog, CatalogError, Label};
use crate::limits::CATALOG_PAGE_ROWS_MAX;
use crate::scope::SessionId;

/// Who is in a conversation: a subject of tokens.
impl Catalog {
    /// Takes somebody into a session; who is in it already stays.
    ///
    /// # Errors
    /// [`CatalogError::Deleted`] if the session is gone; [`CatalogError::Unavailable`].
    pub async fn add_participant(
        &self,
        session: SessionId,
        subject: &Label,
    ) -> Result<(), CatalogError> {
        let add = "insert into participants (session_id, subject, joined_ms) values ($1, $2, $3)
            on conflict (session_id, subject) do nothing";
        let add = sql(add).bind(session).bind(subject.as_str()).bind(self.now());
        self.database.execute(add).await?;
        Ok(())
    }

    /// Takes somebody out of a session.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn remove_participant(
        &self,
        session: SessionId,
        subject: &Label,
    ) -> Result<(), CatalogError> {
        let remove = "delete from participants where session_id = $1 and subject = $2";
        self.database.execute(sql(remove).bind(session).bind(subject.as_str())).await?;
        Ok(())
    }

    /// Whether somebody is in a session.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn is_participant(
        &self,
        session: SessionId,
        subject: &Label,
    ) -> Result<bool, CatalogError> {
        let find = "select subject from participants where session_id = $1 and subject = $2";
        let found = self.database.rows(sql(find).bind(session).bind(subject.as_str())).await?;
        Ok(found.first::<(String,)>()?.is_some())
    }

    /// Who is in a session, in byte order: at most `limit` after somebody, and at most 1,000.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn participants(
        &self,
        session: SessionId,
        after: Option<&Label>,
        limit: u32,
    ) -> Result<Vec<String>, CatalogError> {
        let list = "select subject from participants where session_id = $1 and subject > $2
            order by subject limit $3";
        let list = sql(list).bind(session).bind(after.map_or("", Label::as_str));
        let list = list.bind(limit.min(CATALOG_PAGE_ROWS_MAX));
        let found: Vec<(String,)> = self.database.rows(list).await?.all()?;
        Ok(found.into_iter().map(|(subject,)| subject).collect())
    }
}
