//! Tokens: who asks, and what they may. Checked with keys and an algorithm that the deployment
//! chose, never one that a token names.

use std::collections::BTreeSet;
use std::sync::Arc;

use jsonwebtoken::{Algorithm, Validation, decode, decode_header};

use super::authority::Authorities;
use crate::clock::Clock;
use crate::limits::{TOKEN_BYTES_MAX, TOKEN_LEEWAY_S_MAX};
use crate::scope::{AgentId, WorkspaceId};

mod claims;
mod keys;
mod mint;
#[cfg(test)]
mod tests;

pub use keys::{KeyError, TokenKeys};
pub use mint::{Minted, SigningKey, mint};

use claims::Claims;
pub(super) use claims::is_word;

/// Whoever sent a request, as a token that was checked says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Who: what a session's participants are known by.
    pub subject: String,
    /// Whose workspace they act in; `None` for the deployment's own administration.
    pub workspace: Option<WorkspaceId>,
    /// What they may.
    pub authorities: Authorities,
    /// The only agents that they may reach anything of; `None` for all of the workspace's.
    pub agents: Option<BTreeSet<AgentId>>,
    /// Which token it was.
    pub token_id: String,
    /// When its time is over, in seconds since the Unix epoch.
    pub expires_s: u64,
}

/// What a token has to say and how it has to be signed.
#[derive(Clone, Debug)]
pub struct TokenOptions {
    /// What it is signed with.
    pub keys: TokenKeys,
    /// Who issues tokens: what `iss` must be.
    pub issuer: String,
    /// Whom they are for: what `aud` must be, or have among others.
    pub audience: String,
    /// How much clocks may differ, in seconds; at most [`TOKEN_LEEWAY_S_MAX`].
    pub leeway_s: u64,
}

/// Checks tokens.
#[derive(Clone, Debug)]
pub struct Verifier {
    keys: TokenKeys,
    issuer: String,
    validation: Validation,
    leeway_s: u64,
    clock: Arc<dyn Clock>,
}

/// Why a token is not accepted, in a sentence for whoever sent it. Before its signature was
/// checked, all that is said of it is that it is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It is no token of this deployment's.
    #[error("the token is not one that is accepted here")]
    Refused,
    /// Its time is over.
    #[error("the token has expired")]
    Expired,
    /// Its time has not come.
    #[error("the token is not valid yet")]
    Early,
    /// It was taken back.
    #[error("the token was revoked")]
    Revoked,
}

impl Verifier {
    /// Checks tokens as `options` say; a longer leeway than [`TOKEN_LEEWAY_S_MAX`] is that one.
    pub fn new(options: TokenOptions, clock: Arc<dyn Clock>) -> Self {
        let TokenOptions { keys, issuer, audience, leeway_s } = options;
        let mut validation = Validation::new(keys.algorithm());
        validation.set_issuer(&[&issuer]);
        validation.set_audience(&[&audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        // Times are checked below, by the clock that was passed in.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        Self { keys, issuer, validation, leeway_s: leeway_s.min(TOKEN_LEEWAY_S_MAX), clock }
    }

    /// The caller that a token speaks of. Whether it was revoked is not known here.
    ///
    /// # Errors
    /// [`TokenError::Refused`] for whatever is not signed as it must be, or says less than it
    /// must; [`TokenError::Expired`] and [`TokenError::Early`].
    pub fn verify(&self, token: &str) -> Result<Caller, TokenError> {
        let claims = self.claims(token).ok_or(TokenError::Refused)?;
        let (now, leeway) = (self.clock.now_ms(), self.leeway_s);
        if self.is_over(claims.exp) {
            return Err(TokenError::Expired);
        }
        if claims.nbf.is_some_and(|nbf| now < ms(nbf.saturating_sub(leeway))) {
            return Err(TokenError::Early);
        }
        claims.caller().ok_or(TokenError::Refused)
    }

    /// Whether the time of a token that was valid is over by now.
    pub(super) fn has_expired(&self, caller: &Caller) -> bool {
        self.is_over(caller.expires_s)
    }

    fn is_over(&self, expires_s: u64) -> bool {
        self.clock.now_ms() >= ms(expires_s.saturating_add(self.leeway_s))
    }

    /// What the clock says, in milliseconds since the Unix epoch.
    pub(super) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    fn claims(&self, token: &str) -> Option<Claims> {
        if token.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let header = decode_header(token).ok()?;
        let key = self.keys.find(header.kid.as_deref())?;
        let claims = decode::<Claims>(token, key, &self.validation).ok()?.claims;
        // One issuer, and not one among others.
        (claims.iss == self.issuer).then_some(claims)
    }
}

fn ms(seconds: u64) -> u64 {
    seconds.saturating_mul(1000)
}

/// The two ways in which tokens may be signed here.
const SHARED: Algorithm = Algorithm::HS256;
const PUBLIC: Algorithm = Algorithm::EdDSA;
