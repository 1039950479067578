use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey};

use super::{PUBLIC, SHARED};
use crate::limits::{TOKEN_KEYS_MAX, TOKEN_SECRET_BYTES_MIN};

const ED25519_BYTES: usize = 32;

/// What tokens are checked with: it decides their algorithm.
#[derive(Clone, Debug)]
pub struct TokenKeys(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Secret(DecodingKey),
    Public(Vec<PublicKey>),
}

#[derive(Clone, Debug)]
struct PublicKey {
    id: Option<String>,
    key: DecodingKey,
}

/// Why keys are not usable, in a sentence for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// A short secret can be guessed.
    #[error("a token secret has at least {TOKEN_SECRET_BYTES_MIN} bytes, and this one {0}")]
    ShortSecret(usize),
    /// Neither a key in PEM nor a set of keys.
    #[error("it is neither a public Ed25519 key in PEM nor a JSON Web Key Set")]
    NoKeys,
    /// A set without one that can be used.
    #[error("the key set has no Ed25519 key (`kty` OKP, `crv` Ed25519)")]
    NoneUsable,
    /// More than anybody rotates through.
    #[error("a key set has at most {TOKEN_KEYS_MAX} keys")]
    TooMany,
    /// Which key is meant would be open.
    #[error("each of several keys has a `kid` of its own")]
    Ambiguous,
}

impl TokenKeys {
    /// Tokens are signed with HMAC-SHA-256 and this secret.
    ///
    /// # Errors
    /// [`KeyError::ShortSecret`] under [`TOKEN_SECRET_BYTES_MIN`].
    pub fn secret(secret: &[u8]) -> Result<Self, KeyError> {
        let short = KeyError::ShortSecret(secret.len());
        if secret.len() < TOKEN_SECRET_BYTES_MIN {
            return Err(short);
        }
        DecodingKey::from_secret(secret).map(|key| Self(Kind::Secret(key))).map_err(|_| short)
    }

    /// Tokens are signed with EdDSA (Ed25519) by one of these: a public key in PEM, or a JSON
    /// Web Key Set, whose other keys are left out.
    ///
    /// # Errors
    /// A [`KeyError`] that says what is wrong.
    pub fn public(text: &str) -> Result<Self, KeyError> {
        if text.trim_start().starts_with('{') {
            return Self::key_set(text);
        }
        let key = DecodingKey::from_ed_pem(text.as_bytes()).map_err(|_| KeyError::NoKeys)?;
        Ok(Self(Kind::Public(vec![PublicKey { id: None, key }])))
    }

    fn key_set(text: &str) -> Result<Self, KeyError> {
        let set: JwkSet = serde_json::from_str(text).map_err(|_| KeyError::NoKeys)?;
        if set.keys.len() > TOKEN_KEYS_MAX {
            return Err(KeyError::TooMany);
        }
        let keys: Vec<_> = set.keys.iter().filter_map(public_key).collect();
        if keys.is_empty() {
            return Err(KeyError::NoneUsable);
        }
        let is_told_apart = |(at, key): (usize, &PublicKey)| {
            key.id.is_some() && keys[..at].iter().all(|earlier| earlier.id != key.id)
        };
        if keys.len() > 1 && !keys.iter().enumerate().all(is_told_apart) {
            return Err(KeyError::Ambiguous);
        }
        Ok(Self(Kind::Public(keys)))
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        match self.0 {
            Kind::Secret(_) => SHARED,
            Kind::Public(_) => PUBLIC,
        }
    }

    /// The key that a token says it is signed with; without a word about it, the only one.
    pub(super) fn find(&self, id: Option<&str>) -> Option<&DecodingKey> {
        let keys = match &self.0 {
            Kind::Secret(key) => return Some(key),
            Kind::Public(keys) => keys,
        };
        match (keys.as_slice(), id) {
            ([only], None) => Some(&only.key),
            ([PublicKey { id: None, key }], Some(_)) => Some(key),
            (_, Some(id)) => {
                keys.iter().find(|key| key.id.as_deref() == Some(id)).map(|key| &key.key)
            }
            (_, None) => None,
        }
    }
}

fn public_key(jwk: &Jwk) -> Option<PublicKey> {
    let AlgorithmParameters::OctetKeyPair(pair) = &jwk.algorithm else { return None };
    let bytes = URL_SAFE_NO_PAD.decode(&pair.x).ok()?;
    if pair.curve != EllipticCurve::Ed25519 || bytes.len() != ED25519_BYTES {
        return None;
    }
    let key = DecodingKey::from_ed_components(&pair.x).ok()?;
    Some(PublicKey { id: jwk.common.key_id.clone(), key })
}
