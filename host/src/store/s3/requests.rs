//! One request each, sent once: no retries, no judgement.

use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::interceptors::BeforeDeserializationInterceptorContextRef;
use aws_sdk_s3::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_s3::error::BoxError;
use aws_sdk_s3::operation::get_object::GetObjectOutput;
use aws_sdk_s3::primitives::{ByteStream, DateTime, DateTimeFormat};
use aws_sdk_s3::types::{Delete, MetadataDirective, ObjectIdentifier, ServerSideEncryption};
use bytes::{Bytes, BytesMut};

use super::config::{Encryption, S3Config};
use super::errors::{Failure, FailureKind};
use super::lineage::{Lineage, METADATA_NAME};
use super::settle::Seen;
use crate::clock::Clock;
use crate::scope::ObjectKey;
use crate::store::{Object, Precondition, Revision};

mod listing;
mod multipart;

pub(super) use listing::{Entries, ListRequest};
pub(super) use multipart::{Part, UploadId};

/// Sends requests to one bucket.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    client: Client,
    bucket: String,
    /// Empty, or ending in `/`.
    prefix: String,
    encryption: Encryption,
    idle: Duration,
    clock: Arc<dyn Clock>,
}

impl Requests {
    pub(super) fn new(
        client: Client,
        prefix: String,
        config: &S3Config,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            client,
            bucket: config.bucket.clone(),
            prefix,
            encryption: config.encryption.clone(),
            idle: Duration::from_millis(config.tuning.idle_ms_max),
            clock,
        }
    }

    fn name(&self, key: &ObjectKey) -> String {
        format!("{}{}", self.prefix, key.as_str())
    }

    /// How a source is named in a header: percent-encoded.
    fn source_name(&self, key: &ObjectKey) -> String {
        const KEPT: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
            .remove(b'/')
            .remove(b'-')
            .remove(b'.')
            .remove(b'_')
            .remove(b'~');
        let name = format!("{}/{}", self.bucket, self.name(key));
        percent_encoding::utf8_percent_encode(&name, KEPT).to_string()
    }

    fn encryption(&self) -> (Option<ServerSideEncryption>, Option<String>) {
        match &self.encryption {
            Encryption::BucketDefault => (None, None),
            Encryption::ServerKeys => (Some(ServerSideEncryption::Aes256), None),
            Encryption::ManagedKey(id) => (Some(ServerSideEncryption::AwsKms), id.clone()),
        }
    }

    /// An object that was just made, dated by the server where it said the time.
    fn made(&self, e_tag: Option<&str>, size: u64, date: &ServerDate) -> Result<Object, Failure> {
        let modified_ms = date.now_ms().unwrap_or_else(|| self.clock.now_ms() / 1000 * 1000);
        Ok(Object { revision: revision(e_tag)?, size, modified_ms })
    }

    pub(super) async fn head(&self, key: &ObjectKey) -> Result<Seen, Failure> {
        let date = ServerDate::default();
        let request = self.client.head_object().bucket(&self.bucket).key(self.name(key));
        let answer = request.customize().interceptor(date.clone()).send().await?;
        let lineage = answer.metadata().and_then(|metadata| metadata.get(METADATA_NAME));
        let object = Object {
            revision: revision(answer.e_tag())?,
            size: size(answer.content_length())?,
            modified_ms: whole_seconds(answer.last_modified()),
        };
        let lineage = lineage.map(|text| Lineage::parse(text)).unwrap_or_default();
        Ok(Seen { object, lineage, server_ms: date.now_ms() })
    }

    /// The bytes of a range that is not empty, as far as they exist.
    pub(super) async fn get(
        &self,
        key: &ObjectKey,
        range: Range<u64>,
        pinned: Option<&Revision>,
    ) -> Result<(Seen, Bytes), Failure> {
        let mut request = self.client.get_object().bucket(&self.bucket).key(self.name(key));
        request = request.range(format!("bytes={}-{}", range.start, range.end - 1));
        request = request.set_if_match(pinned.map(e_tag));
        let mut answer = request.send().await?;
        let total = total_size(&answer, &range)?;
        let lineage = answer.metadata().and_then(|metadata| metadata.get(METADATA_NAME));
        let object = Object {
            revision: revision(answer.e_tag())?,
            size: total,
            modified_ms: whole_seconds(answer.last_modified()),
        };
        let lineage = lineage.map(|text| Lineage::parse(text)).unwrap_or_default();
        let length = range.end.min(total).saturating_sub(range.start);
        let bytes = self.body(&mut answer.body, length).await?;
        Ok((Seen { object, lineage, server_ms: None }, bytes))
    }

    /// Reads exactly `length` bytes; standing still for too long is a failure.
    async fn body(&self, body: &mut ByteStream, length: u64) -> Result<Bytes, Failure> {
        let short = || Failure::lost("S3 sent another number of bytes than it said");
        let length = usize::try_from(length).map_err(|_| short())?;
        let mut bytes = BytesMut::with_capacity(length);
        loop {
            let next = tokio::time::timeout(self.idle, body.next());
            let Ok(chunk) = next.await else {
                return Err(Failure::lost("the transfer stood still"));
            };
            let Some(chunk) = chunk else { break };
            let chunk = chunk.map_err(|error| Failure::new(FailureKind::Lost, error))?;
            if bytes.len() + chunk.len() > length {
                return Err(short());
            }
            bytes.extend_from_slice(&chunk);
        }
        if bytes.len() == length { Ok(bytes.freeze()) } else { Err(short()) }
    }

    pub(super) async fn put(
        &self,
        key: &ObjectKey,
        bytes: Bytes,
        when: Precondition,
        lineage: &Lineage,
    ) -> Result<Object, Failure> {
        let (date, size) = (ServerDate::default(), bytes.len() as u64);
        let (encryption, encryption_key) = self.encryption();
        let request = self
            .client
            .put_object()
            .bucket(&self.bucket)
            .key(self.name(key))
            .metadata(METADATA_NAME, lineage.to_string())
            .set_server_side_encryption(encryption)
            .set_ssekms_key_id(encryption_key)
            .set_if_none_match(if_none_match(&when))
            .set_if_match(if_match(&when))
            .body(ByteStream::from(bytes));
        let answer = request.customize().interceptor(date.clone()).send().await;
        let answer = answer.map_err(|error| of_target(error.into(), &when))?;
        self.made(answer.e_tag(), size, &date)
    }

    /// Copies within the server. What the target holds must be what `pinned` names.
    pub(super) async fn copy(
        &self,
        (source, pinned): (&ObjectKey, &Object),
        target: &ObjectKey,
        when: Precondition,
        lineage: &Lineage,
    ) -> Result<Object, Failure> {
        let date = ServerDate::default();
        let (encryption, encryption_key) = self.encryption();
        let request = self
            .client
            .copy_object()
            .copy_source(self.source_name(source))
            .copy_source_if_match(e_tag(&pinned.revision))
            .bucket(&self.bucket)
            .key(self.name(target))
            .metadata_directive(MetadataDirective::Replace)
            .metadata(METADATA_NAME, lineage.to_string())
            .set_server_side_encryption(encryption)
            .set_ssekms_key_id(encryption_key)
            .set_if_none_match(if_none_match(&when))
            .set_if_match(if_match(&when));
        let answer = request.customize().interceptor(date.clone()).send().await?;
        let made = answer.copy_object_result().and_then(|made| made.e_tag());
        self.made(made, pinned.size, &date)
    }

    pub(super) async fn delete(&self, key: &ObjectKey, when: Precondition) -> Result<(), Failure> {
        let request = self.client.delete_object().bucket(&self.bucket).key(self.name(key));
        let answer = request.set_if_match(if_match(&when)).send().await;
        answer.map(drop).map_err(|error| of_target(error.into(), &when))
    }

    /// Deletes at most 1,000 objects.
    pub(super) async fn delete_many(&self, keys: &[ObjectKey]) -> Result<(), Failure> {
        let mut delete = Delete::builder().quiet(true);
        for key in keys {
            let named = ObjectIdentifier::builder().key(self.name(key)).build();
            delete = delete.objects(named.map_err(|e| Failure::new(FailureKind::Refused, e))?);
        }
        let delete = delete.build().map_err(|e| Failure::new(FailureKind::Refused, e))?;
        let request = self.client.delete_objects().bucket(&self.bucket).delete(delete);
        let answer = request.send().await?;
        match answer.errors().first() {
            None => Ok(()),
            Some(error) => Err(Failure::new(
                FailureKind::Again,
                anyhow::anyhow!("S3 deleted some objects and not others: {error:?}"),
            )),
        }
    }
}

/// A condition on an object that is not there fails as 404 on some servers.
fn of_target(failure: Failure, when: &Precondition) -> Failure {
    match (failure.kind, when) {
        (FailureKind::NotFound, Precondition::IfRevision(_)) => {
            Failure { kind: FailureKind::Condition, ..failure }
        }
        _ => failure,
    }
}

fn if_match(when: &Precondition) -> Option<String> {
    match when {
        Precondition::IfRevision(revision) => Some(e_tag(revision)),
        Precondition::Always | Precondition::IfAbsent => None,
    }
}

fn if_none_match(when: &Precondition) -> Option<String> {
    (*when == Precondition::IfAbsent).then(|| "*".to_owned())
}

fn e_tag(revision: &Revision) -> String {
    format!("\"{revision}\"")
}

/// An object without an ETag is none that we can work with.
fn revision(e_tag: Option<&str>) -> Result<Revision, Failure> {
    match e_tag.map(|e_tag| e_tag.trim_matches('"')) {
        Some(e_tag) if !e_tag.is_empty() => Ok(Revision(e_tag.to_owned())),
        _ => Err(Failure::lost("S3 answered without an ETag")),
    }
}

fn size(length: Option<i64>) -> Result<u64, Failure> {
    let size = length.and_then(|length| u64::try_from(length).ok());
    size.ok_or_else(|| Failure::lost("S3 answered without a size"))
}

/// The size of the whole object of which a range was answered.
fn total_size(answer: &GetObjectOutput, range: &Range<u64>) -> Result<u64, Failure> {
    match answer.content_range() {
        Some(range) => {
            let total = range.rsplit_once('/').and_then(|(_, total)| total.parse().ok());
            total.ok_or_else(|| Failure::lost("S3 answered with a range that cannot be read"))
        }
        // All of it, from a server that takes a range from the start for no range.
        None if range.start == 0 => size(answer.content_length()),
        None => Err(Failure::new(
            FailureKind::Refused,
            anyhow::Error::msg("this server does not read ranges"),
        )),
    }
}

/// Milliseconds since the Unix epoch. Some answers have fractions of a second and others,
/// about the same object, have none.
fn whole_seconds(time: Option<&DateTime>) -> u64 {
    let seconds = time.map_or(0, DateTime::secs);
    u64::try_from(seconds).unwrap_or(0).saturating_mul(1000)
}

/// Catches the time at which the server answered.
#[derive(Clone, Debug, Default)]
struct ServerDate(Arc<OnceLock<u64>>);

impl ServerDate {
    fn now_ms(&self) -> Option<u64> {
        self.0.get().copied()
    }
}

impl Intercept for ServerDate {
    fn name(&self) -> &'static str {
        "ServerDate"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date");
        let date = date.and_then(|date| DateTime::from_str(date, DateTimeFormat::HttpDate).ok());
        if let Some(date) = date {
            _ = self.0.set(whole_seconds(Some(&date)));
        }
        Ok(())
    }
}
