//! The deployment's key for receipts: it signs them, and hides the subjects in them.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::encoding::{AsBigEndian, Curve25519SeedBin};
use aws_lc_rs::hmac;
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{ReceiptError, Signature};

const ALGORITHM: &str = "Ed25519";
const PRIVATE: &str = "PRIVATE KEY";
const PUBLIC: &str = "PUBLIC KEY";
/// What stands before the 32 bytes of a public key in its document.
/// <https://www.rfc-editor.org/rfc/rfc8410#section-4>
const SPKI_START: [u8; 12] =
    [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
const PUBLIC_BYTES: usize = 32;
/// What a key for hashing subjects is made of, beside the private key.
const HASHED: &[u8] = b"bailiwick subjects in receipts 1";

/// A private key. What it is is shown by nothing.
#[derive(Clone)]
pub struct ReceiptKey {
    pair: Arc<Ed25519KeyPair>,
    subjects: hmac::Key,
}

impl fmt::Debug for ReceiptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReceiptKey")
    }
}

/// Why a key is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptKeyError {
    /// It is no private key.
    #[error("it is no private Ed25519 key in PEM (PKCS #8)")]
    Private,
    /// It is no public key.
    #[error("it is no public Ed25519 key: neither its 32 bytes in base64 nor PEM")]
    Public,
    /// There is no randomness to make one of.
    #[error("no key can be made")]
    NotMade,
}

impl ReceiptKey {
    /// A new one, and how it is kept: in PEM.
    ///
    /// # Errors
    /// [`ReceiptKeyError::NotMade`].
    pub fn generate() -> Result<(Self, String), ReceiptKeyError> {
        let pair = Ed25519KeyPair::generate().map_err(|_| ReceiptKeyError::NotMade)?;
        let document = pair.to_pkcs8v1().map_err(|_| ReceiptKeyError::NotMade)?;
        let text = armoured(PRIVATE, document.as_ref());
        Ok((Self::of(pair)?, text))
    }

    /// The private key of a PEM file.
    ///
    /// # Errors
    /// [`ReceiptKeyError::Private`].
    pub fn from_pem(text: &str) -> Result<Self, ReceiptKeyError> {
        let document = bared(PRIVATE, text).ok_or(ReceiptKeyError::Private)?;
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&document);
        Self::of(pair.map_err(|_| ReceiptKeyError::Private)?)
    }

    fn of(pair: Ed25519KeyPair) -> Result<Self, ReceiptKeyError> {
        let seed = pair.seed().map_err(|_| ReceiptKeyError::Private)?;
        let seed = AsBigEndian::<Curve25519SeedBin<'_>>::as_be_bytes(&seed);
        let seed = seed.map_err(|_| ReceiptKeyError::Private)?;
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, seed.as_ref()), HASHED);
        let subjects = hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref());
        Ok(Self { pair: Arc::new(pair), subjects })
    }

    /// What others check receipts with.
    pub fn public(&self) -> PublicKey {
        let mut bytes = [0; PUBLIC_BYTES];
        bytes.copy_from_slice(self.pair.public_key().as_ref());
        PublicKey(bytes)
    }

    /// A subject as a receipt names it: HMAC-SHA-256, in hexadecimal, with a key made of this one.
    /// Whoever has the key finds out whether it is a subject that he knows, and nobody else.
    pub fn hash(&self, subject: &str) -> String {
        use std::fmt::Write as _;

        let tag = hmac::sign(&self.subjects, subject.as_bytes());
        tag.as_ref().iter().fold("hmac-sha256:".to_owned(), |mut text, byte| {
            let _infallible = write!(text, "{byte:02x}");
            text
        })
    }

    pub(super) fn sign(&self, bytes: &[u8]) -> Signature {
        Signature {
            algorithm: ALGORITHM.to_owned(),
            public_key: self.public().to_string(),
            value: STANDARD.encode(self.pair.sign(bytes)),
        }
    }
}

/// A public key; prints as base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; PUBLIC_BYTES]);

impl PublicKey {
    /// Its 32 bytes in base64, or PEM.
    ///
    /// # Errors
    /// [`ReceiptKeyError::Public`].
    pub fn parse(text: &str) -> Result<Self, ReceiptKeyError> {
        let bytes = match bared(PUBLIC, text) {
            Some(document) => document.strip_prefix(&SPKI_START).map(<[u8]>::to_vec),
            None => STANDARD.decode(text.trim()).ok(),
        };
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or(ReceiptKeyError::Public)
    }

    /// As other tools read it.
    pub fn to_pem(&self) -> String {
        armoured(PUBLIC, &[SPKI_START.as_slice(), &self.0].concat())
    }

    pub(super) fn check(&self, bytes: &[u8], signature: &Signature) -> Result<(), ReceiptError> {
        let Signature { algorithm, public_key, value } = signature;
        if algorithm != ALGORITHM || Self::parse(public_key) != Ok(*self) {
            return Err(ReceiptError::AnotherKey);
        }
        let value = STANDARD.decode(value).map_err(|_| ReceiptError::Forged)?;
        let key = UnparsedPublicKey::new(&ED25519, &self.0);
        key.verify(bytes, &value).map_err(|_| ReceiptError::Forged)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

/// A document in PEM. <https://www.rfc-editor.org/rfc/rfc7468>
fn armoured(label: &str, document: &[u8]) -> String {
    let body = STANDARD.encode(document);
    let lines: Vec<_> = body.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// The document in a text of PEM; what stands around it is left out.
fn bared(label: &str, text: &str) -> Option<Vec<u8>> {
    let (_, after) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = after.split_once(&format!("-----END {label}-----"))?;
    let body: String = body.split_ascii_whitespace().collect();
    STANDARD.decode(body).ok()
}
