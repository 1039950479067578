//! The requests that are made most, about one object each. They go past the SDK's client: see
//! `wire`.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use super::{
    Failure, Lineage, Object, ObjectKey, Precondition, Requests, Revision, e_tag, if_match,
    if_none_match, of_target, revision,
};
use crate::store::s3::config::Encryption;
use crate::store::s3::errors::FailureKind;
use crate::store::s3::lineage::METADATA_FIELD;
use crate::store::s3::settle::Seen;
use crate::store::s3::wire::{Answer, Call, Content, Method};

/// Whether a server is told by what to check the bytes it got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Checksums {
    /// By their CRC-32C.
    Sent,
    /// Not at all.
    Left,
}

impl Requests {
    pub(in super::super) async fn head(&self, key: &ObjectKey) -> Result<Seen, Failure> {
        let answer = self.wire.send(Call::new(Method::Head, self.name(key))).await?;
        let size = answer.length().ok_or_else(|| Failure::lost("S3 answered without a size"))?;
        let server_ms = answer.date_ms();
        Ok(Seen { server_ms, ..seen(&answer, size)? })
    }

    /// The bytes of a range that is not empty, as far as they exist.
    pub(in super::super) async fn get(
        &self,
        key: &ObjectKey,
        range: Range<u64>,
        pinned: Option<&Revision>,
    ) -> Result<(Seen, Bytes), Failure> {
        let mut call = Call::new(Method::Get, self.name(key));
        call.field("range", format!("bytes={}-{}", range.start, range.end - 1));
        if let Some(pinned) = pinned {
            call.field("if-match", e_tag(pinned));
        }
        let answer = self.wire.send(call).await?;
        let total = total_size(&answer, &range)?;
        let seen = seen(&answer, total)?;
        let length = range.end.min(total).saturating_sub(range.start);
        Ok((seen, answer.bytes(length).await?))
    }

    pub(in super::super) async fn put(
        &self,
        key: &ObjectKey,
        content: impl Into<Content> + Send,
        when: Precondition,
        lineage: &Lineage,
    ) -> Result<Object, Failure> {
        let content = content.into();
        let size = content.len();
        let mut call = Call::new(Method::Put, self.name(key));
        call.field(METADATA_FIELD, lineage.to_string());
        self.encrypt(&mut call);
        if let Some(e_tag) = if_match(&when) {
            call.field("if-match", e_tag);
        }
        if let Some(any) = if_none_match(&when) {
            call.field("if-none-match", any);
        }
        self.checksum(&mut call, &content);
        call.content = content;
        let answer = self.wire.send(call).await.map_err(|failure| of_target(failure, &when))?;
        self.made(answer.field("etag"), size, answer.date_ms())
    }

    pub(in super::super) async fn delete(
        &self,
        key: &ObjectKey,
        when: Precondition,
    ) -> Result<(), Failure> {
        let mut call = Call::new(Method::Delete, self.name(key));
        if let Some(e_tag) = if_match(&when) {
            call.field("if-match", e_tag);
        }
        let sent = self.wire.send(call).await;
        sent.map(drop).map_err(|failure| of_target(failure, &when))
    }

    /// Says by what the server is to check the bytes.
    pub(super) fn checksum(&self, call: &mut Call, content: &Content) -> Option<String> {
        if self.checksums == Checksums::Left {
            return None;
        }
        let text = STANDARD.encode(content.crc32c().to_be_bytes());
        call.field("x-amz-checksum-crc32c", text.clone());
        Some(text)
    }

    fn encrypt(&self, call: &mut Call) {
        const ENCRYPTION_FIELD: &str = "x-amz-server-side-encryption";
        match &self.encryption {
            Encryption::BucketDefault => {}
            Encryption::ServerKeys => call.field(ENCRYPTION_FIELD, "AES256"),
            Encryption::ManagedKey(id) => {
                call.field(ENCRYPTION_FIELD, "aws:kms");
                if let Some(id) = id {
                    call.field("x-amz-server-side-encryption-aws-kms-key-id", id.clone());
                }
            }
        }
    }
}

fn seen(answer: &Answer, size: u64) -> Result<Seen, Failure> {
    let object = Object {
        revision: revision(answer.field("etag"))?,
        size,
        modified_ms: answer.time_ms("last-modified").unwrap_or(0),
    };
    let lineage = answer.field(METADATA_FIELD).map(Lineage::parse).unwrap_or_default();
    Ok(Seen { object, lineage, server_ms: None })
}

/// The size of the whole object of which a range was answered.
fn total_size(answer: &Answer, range: &Range<u64>) -> Result<u64, Failure> {
    match answer.field("content-range") {
        Some(answered) => {
            let total = read_range(answered).filter(|(start, _)| *start == range.start);
            total
                .map(|(_, total)| total)
                .ok_or_else(|| Failure::lost("S3 answered with a range that cannot be read"))
        }
        // All of it, from a server that takes a range from the start for no range.
        None if range.start == 0 => {
            answer.length().ok_or_else(|| Failure::lost("S3 answered without a size"))
        }
        None => Err(Failure::new(
            FailureKind::Refused,
            anyhow::Error::msg("this server does not read ranges"),
        )),
    }
}

/// Start and total of `bytes 0-9/100`.
fn read_range(text: &str) -> Option<(u64, u64)> {
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (start, _) = range.split_once('-')?;
    Some((start.parse().ok()?, total.parse().ok()?))
}

#[cfg(test)]
mod tests;
