//! What of a request is signed, in the form that signatures want. The key and the signature
//! itself are made by `aws-sigv4`.
//! <https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html>

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::Field;
use super::address::Payload;
use super::content::Content;
use super::time::Stamp;

/// A request whose fields are in order of their names, and have no spaces around or in a row.
pub(super) struct Unsigned<'a> {
    pub(super) method: &'static str,
    /// Encoded.
    pub(super) path: &'a str,
    /// Encoded, in order of names.
    pub(super) query: &'a str,
    pub(super) fields: &'a [Field],
    pub(super) content_hash: &'a str,
}

const OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// What a signature says of a body.
pub(super) fn content_hash(content: &Content, payload: Payload) -> Cow<'static, str> {
    match payload {
        _ if content.is_empty() => Cow::Borrowed(OF_NOTHING),
        Payload::Unsigned => Cow::Borrowed("UNSIGNED-PAYLOAD"),
        Payload::Signed => Cow::Owned(sha256_hex(content.pieces())),
    }
}

impl Unsigned<'_> {
    /// What the signature is made of.
    pub(super) fn to_sign(&self, stamp: &Stamp, within: &str) -> String {
        format!("AWS4-HMAC-SHA256\n{stamp}\n{within}\n{}", sha256_hex(&[self.canonical()]))
    }

    fn canonical(&self) -> String {
        let mut text = String::with_capacity(1024);
        for line in [self.method, self.path, self.query] {
            text.push_str(line);
            text.push('\n');
        }
        for (name, value) in self.fields {
            text.push_str(name);
            text.push(':');
            text.push_str(value);
            text.push('\n');
        }
        text.push('\n');
        self.push_names(&mut text);
        text.push('\n');
        text.push_str(self.content_hash);
        text
    }

    pub(super) fn push_names(&self, text: &mut String) {
        for (at, (name, _)) in self.fields.iter().enumerate() {
            if at > 0 {
                text.push(';');
            }
            text.push_str(name);
        }
    }
}

fn sha256_hex(pieces: &[impl AsRef<[u8]>]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(64);
    let mut hash = Sha256::new();
    pieces.iter().for_each(|piece| hash.update(piece));
    for byte in hash.finalize() {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}
