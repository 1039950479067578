use serde::{Deserialize, Deserializer};
use uuid::Uuid;

use super::Caller;
use crate::api::authority::Authority;
use crate::limits::{
    SUBJECT_BYTES_MAX, TOKEN_AGENTS_MAX, TOKEN_AUTHORITIES_MAX, TOKEN_ID_BYTES_MAX,
};
use crate::scope::{AgentId, WorkspaceId};

/// What a token says. A claim that is there twice, or that is there and is `null`, makes it
/// none: a narrowing must not be lost to a slip of whoever issued it.
#[derive(Debug, Deserialize)]
pub(super) struct Claims {
    pub(super) iss: String,
    pub(super) exp: u64,
    #[serde(default)]
    pub(super) nbf: Option<u64>,
    jti: String,
    sub: String,
    #[serde(default, deserialize_with = "present")]
    workspace: Option<Uuid>,
    #[serde(default)]
    authorities: Vec<String>,
    #[serde(default, deserialize_with = "present")]
    agents: Option<Vec<Uuid>>,
}

/// A value that is there is no `null`.
fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

impl Claims {
    /// The caller, if everything is within its bounds.
    pub(super) fn caller(self) -> Option<Caller> {
        let agents_fit = self.agents.as_ref().is_none_or(|agents| agents.len() <= TOKEN_AGENTS_MAX);
        let fits = is_word(&self.sub, SUBJECT_BYTES_MAX)
            && is_word(&self.jti, TOKEN_ID_BYTES_MAX)
            && self.authorities.len() <= TOKEN_AUTHORITIES_MAX
            && agents_fit;
        fits.then(|| Caller {
            subject: self.sub,
            workspace: self.workspace.map(WorkspaceId),
            authorities: self
                .authorities
                .iter()
                .filter_map(|word| Authority::parse(word))
                .collect(),
            agents: self.agents.map(|agents| agents.into_iter().map(AgentId).collect()),
            token_id: self.jti,
            expires_s: self.exp,
        })
    }
}

/// Whether a text is a legal subject or id: not empty, not too long, no control characters.
pub(in crate::api) fn is_word(text: &str, bytes_max: usize) -> bool {
    (1..=bytes_max).contains(&text.len()) && !text.chars().any(char::is_control)
}
