//! Receipts of deletion: what was asked, what was done, and what that proves, in a document that
//! anybody can check who has the deployment's public key. Pure.
//!
//! A receipt is JSON. What is signed is the document without its `signature`, written with the
//! names of each object in byte order and without any space (as RFC 8785 has it: no number has a
//! fraction, no name is other than ASCII), after the line [`SIGNED_LINE`].

use serde::{Deserialize, Serialize};
use serde_json::Value;

mod keys;

pub use keys::{PublicKey, ReceiptKey, ReceiptKeyError};

/// What comes before the document in what is signed, so that a signature of it is one of nothing
/// else.
pub const SIGNED_LINE: &str = "bailiwick receipt of deletion 1\n";
/// What a receipt says it is.
const KIND: &str = "bailiwick-deletion-receipt";
const VERSION: u32 = 1;

/// A receipt of deletion. Times are milliseconds since the Unix epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    kind: String,
    version: u32,
    /// The id of the erasure.
    pub erasure: String,
    /// What was asked.
    pub asked: Asked,
    /// When all of it was proved.
    pub proved_ms: u64,
    /// Each deletion that it came to, in order of their ids.
    pub deletions: Vec<Done>,
    /// Copies that were promoted out of what was deleted, and live on elsewhere.
    pub promoted: Vec<LivesOn>,
    /// Whether `promoted` has all of them.
    pub promoted_cut: bool,
    /// What cannot be promised, in sentences.
    pub unpromised: Vec<String>,
}

/// What was asked, by whom and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The id of the workspace.
    pub workspace: String,
    /// Whose sessions were to go, as [`ReceiptKey::hash`] has it; all of the workspace if nobody
    /// is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Who asked, by the same hash; whoever runs the host if nobody is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When it was asked.
    pub at_ms: u64,
    /// By when it was to be done.
    pub deadline_ms: u64,
}

/// One deletion, and what was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// `workspace`, `agent` or `session`.
    pub what: String,
    /// Its id.
    pub id: String,
    /// When it was deleted.
    pub deleted_ms: u64,
    /// When a look began that found nothing left of it, later than any change that had begun before
    /// it was deleted could take effect.
    pub proved_ms: u64,
    /// Files.
    pub files: u64,
    /// Bytes of all that was removed.
    pub bytes: u64,
    /// Contents that had been replaced or deleted before, and were kept.
    pub versions: u64,
    /// Marks of earlier deletions.
    pub markers: u64,
    /// Unfinished uploads.
    pub uploads: u64,
    /// Pages in which they were removed.
    pub pages: u64,
    /// SHA-256 over all pages.
    pub digest: String,
    /// How often it was begun again in the middle of a page, which may be counted twice.
    pub resumed: u64,
}

/// In place of a revision, of a promotion that was never completed.
pub const NOT_KNOWN: &str = "not known";

/// A copy that lives on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LivesOn {
    /// The id of the agent whose `agent/` is meant.
    pub agent: String,
    /// The path of the copy.
    pub path: String,
    /// Which content it had; [`NOT_KNOWN`] where that is not known, nor whether there is a copy.
    pub revision: String,
    /// When it was made.
    pub at_ms: u64,
}

/// A receipt that was signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedReceipt {
    /// What is signed.
    pub receipt: Receipt,
    /// By whom.
    pub signature: Signature,
}

/// An Ed25519 signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// `Ed25519`.
    pub algorithm: String,
    /// The public key, in base64.
    pub public_key: String,
    /// The signature, in base64.
    pub value: String,
}

/// What a receipt is made of.
#[derive(Clone, Debug)]
pub struct Proved {
    /// The id of the erasure.
    pub erasure: String,
    /// What was asked.
    pub asked: Asked,
    /// Each deletion that it came to.
    pub deletions: Vec<Done>,
    /// Copies that live on.
    pub promoted: Vec<LivesOn>,
    /// Whether there are more of them.
    pub promoted_cut: bool,
    /// What cannot be promised.
    pub unpromised: Vec<String>,
}

impl Receipt {
    /// The receipt of what was proved.
    pub fn new(proved: Proved) -> Self {
        let Proved { erasure, asked, mut deletions, promoted, promoted_cut, unpromised } = proved;
        deletions.sort_by(|one, other| one.id.cmp(&other.id));
        let proved_ms = deletions.iter().map(|done| done.proved_ms).max();
        Self {
            kind: KIND.to_owned(),
            version: VERSION,
            erasure,
            proved_ms: proved_ms.unwrap_or(asked.at_ms),
            asked,
            deletions,
            promoted,
            promoted_cut,
            unpromised,
        }
    }

    /// The bytes that are signed.
    fn signed_bytes(&self) -> Vec<u8> {
        let document = serde_json::to_value(self).unwrap_or_default();
        let mut bytes = SIGNED_LINE.as_bytes().to_vec();
        write_canonical(&document, &mut bytes);
        bytes
    }
}

/// Why a receipt is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptError {
    /// It cannot be read, and why.
    #[error("this is no receipt of deletion that this version reads: {0}")]
    Unreadable(String),
    /// It is signed with another key than the one that was named.
    #[error("the receipt is signed with another key than this one")]
    AnotherKey,
    /// The signature is not one of this document.
    #[error(
        "the signature does not fit: the receipt was changed, or was never signed with this key"
    )]
    Forged,
}

impl SignedReceipt {
    /// Signs a receipt.
    pub fn sign(receipt: Receipt, key: &ReceiptKey) -> Self {
        let signature = key.sign(&receipt.signed_bytes());
        Self { receipt, signature }
    }

    /// Reads a receipt and checks that this key signed it.
    ///
    /// # Errors
    /// A [`ReceiptError`], for whatever is not just that.
    pub fn verified(text: &str, key: &PublicKey) -> Result<Self, ReceiptError> {
        let unreadable = |error: serde_json::Error| ReceiptError::Unreadable(error.to_string());
        let signed: Self = serde_json::from_str(text).map_err(unreadable)?;
        let Receipt { kind, version, .. } = &signed.receipt;
        if kind != KIND || *version != VERSION {
            return Err(ReceiptError::Unreadable(format!("it is a `{kind}`, version {version}")));
        }
        key.check(&signed.receipt.signed_bytes(), &signed.signature)?;
        Ok(signed)
    }

    /// As it is handed out: in one line, names in byte order.
    pub fn to_text(&self) -> String {
        let mut bytes = Vec::new();
        write_canonical(&serde_json::to_value(self).unwrap_or_default(), &mut bytes);
        String::from_utf8(bytes).unwrap_or_default()
    }
}

/// Writes JSON with the names of each object in byte order and without any space.
fn write_canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            out.push(b'{');
            for (at, (name, value)) in members.into_iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(Value::from(name.as_str()).to_string().as_bytes());
                out.push(b':');
                write_canonical(value, out);
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_canonical(item, out);
            }
            out.push(b']');
        }
        plain => out.extend_from_slice(plain.to_string().as_bytes()),
    }
}

#[cfg(test)]
mod tests;
