//! Cursors. What a listing needs to go on may hold a server's token, and that a key: a caller
//! gets it sealed, and can use it for the same listing of the same space only.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::Error;

const NONCE_BYTES: usize = 24;

/// The key that this process seals its cursors with.
pub(super) struct Seal(XChaCha20Poly1305);

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

impl Seal {
    /// A seal with a key of its own.
    pub(super) fn random() -> Self {
        Self(XChaCha20Poly1305::new(&rand::random::<[u8; 32]>().into()))
    }

    /// Seals where a listing goes on; `listing` names it.
    pub(super) fn seal(&self, listing: &str, state: &impl Serialize) -> Result<String, Error> {
        let failed =
            || Error::new(super::ErrorCode::Unavailable, "cursor", "no cursor could be made");
        let plain = serde_json::to_vec(state).map_err(|_| failed())?;
        let nonce: [u8; NONCE_BYTES] = rand::random();
        let payload = Payload { msg: &plain, aad: listing.as_bytes() };
        let sealed = self.0.encrypt(&XNonce::from(nonce), payload).map_err(|_| failed())?;
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
            let plain = self.0.decrypt(&XNonce::from(*nonce), payload).ok()?;
            serde_json::from_slice(&plain).ok()
        };
        opened().ok_or_else(|| {
            let message = "that cursor is not one of this listing: start it anew without a cursor";
            Error::invalid("cursor", message)
        })
    }
}
