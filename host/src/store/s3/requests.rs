//! One request each, sent once: no retries, no judgement.

use std::borrow::Borrow;
use std::sync::{Arc, OnceLock};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::interceptors::BeforeDeserializationInterceptorContextRef;
use aws_sdk_s3::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_s3::error::BoxError;
use aws_sdk_s3::primitives::{DateTime, DateTimeFormat};
use aws_sdk_s3::types::{Delete, MetadataDirective, ObjectIdentifier, ServerSideEncryption};

use super::config::{Connection, Encryption, S3Config};
use super::errors::{Failure, FailureKind};
use super::lineage::{Lineage, METADATA_NAME};
use super::wire::Wire;
use crate::clock::Clock;
use crate::scope::ObjectKey;
use crate::store::{Object, Precondition, Revision};

mod lifecycle;
mod listing;
mod multipart;
mod objects;
mod remains;

pub(super) use listing::{Entries, ListRequest};
pub(super) use multipart::{Part, PartSource, UploadId};
pub(super) use objects::Checksums;
pub(super) use remains::{Left, LeftRequest, Versioning};

use remains::refused_in;

/// Sends requests to one bucket.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    client: Client,
    wire: Arc<Wire>,
    checksums: Checksums,
    bucket: String,
    /// Empty, or ending in `/`.
    prefix: String,
    encryption: Encryption,
    clock: Arc<dyn Clock>,
}

impl Requests {
    pub(super) fn new(
        connection: Connection,
        prefix: String,
        config: &S3Config,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            client: connection.client,
            wire: Arc::new(connection.wire),
            checksums: connection.checksums,
            bucket: config.bucket.clone(),
            prefix,
            encryption: config.encryption.clone(),
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
    fn made(
        &self,
        e_tag: Option<&str>,
        size: u64,
        server_ms: Option<u64>,
    ) -> Result<Object, Failure> {
        let modified_ms = server_ms.unwrap_or_else(|| self.clock.now_ms() / 1000 * 1000);
        Ok(Object { revision: revision(e_tag)?, size, modified_ms })
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
        self.made(made, pinned.size, date.now_ms())
    }

    /// Deletes at most 1,000 objects.
    pub(super) async fn delete_many<K>(&self, keys: &[K]) -> Result<(), Failure>
    where
        K: Borrow<ObjectKey>,
    {
        let unfit = |error| Failure::new(FailureKind::Refused, anyhow::Error::new(error));
        let named = |key: &K| ObjectIdentifier::builder().key(self.name(key.borrow())).build();
        let named = keys.iter().map(named).collect::<Result<Vec<_>, _>>().map_err(unfit)?;
        let delete = Delete::builder().quiet(true).set_objects(Some(named));
        let delete = delete.build().map_err(unfit)?;
        let request = self.client.delete_objects().bucket(&self.bucket).delete(delete);
        refused_in(request.send().await?.errors())
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

/// Longest revision that a server can have given, in bytes.
pub(super) const E_TAG_BYTES_MAX: usize = 256;

/// An object without an ETag is none that we can work with.
fn revision(e_tag: Option<&str>) -> Result<Revision, Failure> {
    match e_tag.map(|e_tag| e_tag.trim_matches('"')) {
        Some(e_tag) if (1..=E_TAG_BYTES_MAX).contains(&e_tag.len()) => {
            Ok(Revision(e_tag.to_owned()))
        }
        _ => Err(Failure::lost("S3 answered without an ETag")),
    }
}

fn size(length: Option<i64>) -> Result<u64, Failure> {
    let size = length.and_then(|length| u64::try_from(length).ok());
    size.ok_or_else(|| Failure::lost("S3 answered without a size"))
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
