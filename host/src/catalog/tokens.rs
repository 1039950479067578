use super::database::sql;
use super::{Catalog, CatalogError, Label};

impl Catalog {
    /// Notes that a token is not accepted any more. It is forgotten after `until_ms`, in
    /// milliseconds since the Unix epoch, which is when it would have expired; told twice, the
    /// later time holds.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn revoke_token(&self, token: &Label, until_ms: u64) -> Result<(), CatalogError> {
        let revoke = "insert into revoked_tokens (token, until_ms) values ($1, $2)
            on conflict (token) do update set until_ms = excluded.until_ms
                where excluded.until_ms > revoked_tokens.until_ms";
        self.database.execute(sql(revoke).bind(token.as_str()).bind(until_ms)).await?;
        Ok(())
    }

    /// Takes back a revocation.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn accept_token(&self, token: &Label) -> Result<(), CatalogError> {
        let accept = "delete from revoked_tokens where token = $1";
        self.database.execute(sql(accept).bind(token.as_str())).await?;
        Ok(())
    }

    /// Whether a token was revoked.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn is_revoked(&self, token: &Label) -> Result<bool, CatalogError> {
        let find = "select token from revoked_tokens where token = $1";
        let found = self.database.rows(sql(find).bind(token.as_str())).await?;
        Ok(found.first::<(String,)>()?.is_some())
    }
}
