//! Cursors. What a listing needs to go on may hold a server's token, and that a key: a caller
//! gets it sealed, and can use it for the same listing of the same space only.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use super::error::Error;

const NONCE_BYTES: usize = 24;

/// Seals the cursors of this process, and makes numbers of names that nobody else can tell.
pub(super) struct Seal {
    cipher: XChaCha20Poly1305,
    identities: Sha256,
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

/// What cursors are sealed with: hosts that have the same accept one another's.
#[derive(Clone)]
pub struct SealKey([u8; 32]);

impl std::fmt::Debug for SealKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SealKey")
    }
}

impl SealKey {
    /// One that no other host has.
    pub fn random() -> Self {
        Self(rand::random())
    }

    /// One made of a secret, which may be used for other things as well.
    pub fn of(secret: &[u8]) -> Self {
        let mut hash = Sha256::new_with_prefix(b"bailiwick cursors\0");
        hash.update(secret);
        Self(hash.finalize().into())
    }
}

impl Seal {
    pub(super) fn new(key: &SealKey) -> Self {
        let mut identities = Sha256::new_with_prefix(b"bailiwick identities\0");
        identities.update(key.0);
        Self { cipher: XChaCha20Poly1305::new(&key.0.into()), identities }
    }

    /// A number of a name: equal names have equal ones. Half of the hash is told, and the key comes
    /// first and has one length, so that nothing can be added to a name that is known.
    pub(super) fn fingerprint(&self, name: &str) -> u128 {
        let mut hash = self.identities.clone();
        hash.update(name);
        let hash: [u8; 32] = hash.finalize().into();
        let half = hash.first_chunk().copied().unwrap_or_default();
        u128::from_le_bytes(half)
    }

    /// Seals where a listing goes on; `listing` names it.
    pub(super) fn seal(&self, listing: &str, state: &impl Serialize) -> Result<String, Error> {
        let failed =
            || Error::new(super::ErrorCode::Unavailable, "cursor", "no cursor could be made");
        let plain = serde_json::to_vec(state).map_err(|_| failed())?;
        let nonce: [u8; NONCE_BYTES] = rand::random();
        let payload = Payload { msg: &plain, aad: listing.as_bytes() };
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| failed())?;
        Ok(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    /// Opens what [`Self::seal`] returned for the same listing.
    pub(super) fn open<T: DeserializeOwned>(
        &self,
        listing: &str,
        cursor: &str,
    ) -> Result<T, Error> {
        let opened = || {
            let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
            let (nonce, sealed) = bytes.split_first_chunk::<NONCE_BYTES>()?;
            let payload = Payload { msg: sealed, aad: listing.as_bytes() };
            let plain = self.cipher.decrypt(&XNonce::from(*nonce), payload).ok()?;
            serde_json::from_slice(&plain).ok()
        };
        opened().ok_or_else(|| {
            let message = "that cursor is not one of this listing: start it anew without a cursor";
            Error::invalid("cursor", message)
        })
    }
}
