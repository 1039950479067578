use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde::Serialize;
use uuid::Uuid;

use super::{KeyError, PUBLIC, SHARED};
use crate::api::authority::Authority;
use crate::limits::TOKEN_SECRET_BYTES_MIN;
use crate::scope::{AgentId, WorkspaceId};

/// What tokens are signed with, for development: whoever runs a platform has an issuer.
#[derive(Clone, Debug)]
pub struct SigningKey {
    key: EncodingKey,
    algorithm: Algorithm,
}

impl SigningKey {
    /// A secret that the host has as well.
    ///
    /// # Errors
    /// [`KeyError::ShortSecret`] under [`TOKEN_SECRET_BYTES_MIN`].
    pub fn secret(secret: &[u8]) -> Result<Self, KeyError> {
        if secret.len() < TOKEN_SECRET_BYTES_MIN {
            return Err(KeyError::ShortSecret(secret.len()));
        }
        let key =
            EncodingKey::from_secret(secret).map_err(|_| KeyError::ShortSecret(secret.len()))?;
        Ok(Self { key, algorithm: SHARED })
    }

    /// A private Ed25519 key in PEM, of which the host has the public half.
    ///
    /// # Errors
    /// [`KeyError::NoKeys`] if it is none.
    pub fn private(pem: &str) -> Result<Self, KeyError> {
        let key = EncodingKey::from_ed_pem(pem.as_bytes()).map_err(|_| KeyError::NoKeys)?;
        Ok(Self { key, algorithm: PUBLIC })
    }
}

/// A token to make.
#[derive(Clone, Debug)]
pub struct Minted<'a> {
    /// Who issues it.
    pub issuer: &'a str,
    /// Whom it is for.
    pub audience: &'a str,
    /// Who may act with it.
    pub subject: &'a str,
    /// In which workspace; `None` for the deployment's own administration.
    pub workspace: Option<WorkspaceId>,
    /// What they may.
    pub authorities: &'a [Authority],
    /// The only agents that they may reach; `None` for all.
    pub agents: Option<&'a [AgentId]>,
    /// Which token it is; what it is revoked by.
    pub id: &'a str,
    /// When it ends, in seconds since the Unix epoch.
    pub expires_s: u64,
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    aud: &'a str,
    sub: &'a str,
    jti: &'a str,
    exp: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<Uuid>,
    authorities: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agents: Option<Vec<Uuid>>,
}

/// Makes a token.
///
/// # Errors
/// [`KeyError::NoKeys`] if the key cannot sign.
pub fn mint(token: &Minted<'_>, key: &SigningKey) -> Result<String, KeyError> {
    let claims = Claims {
        iss: token.issuer,
        aud: token.audience,
        sub: token.subject,
        jti: token.id,
        exp: token.expires_s,
        workspace: token.workspace.map(|workspace| workspace.0),
        authorities: token.authorities.iter().map(|authority| authority.as_str()).collect(),
        agents: token.agents.map(|agents| agents.iter().map(|agent| agent.0).collect()),
    };
    encode(&Header::new(key.algorithm), &claims, &key.key).map_err(|_| KeyError::NoKeys)
}
