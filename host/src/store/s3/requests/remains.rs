//! What a bucket holds beside what a listing shows: unfinished uploads, versions, marks of
//! deletions; and removing it.

use aws_sdk_s3::types::{
    BucketVersioningStatus, Delete, EncodingType, Error as Refused, ObjectIdentifier,
};

use super::listing::decoded;
use super::{Failure, FailureKind, Requests, UploadId};
use crate::scope::KeyPrefix;
use crate::store::s3::wire::{Call, Method, encoded_query};
use crate::store::{Remain, RemainKind};

/// A page of what is left; `next` is where it goes on, by name and id.
#[derive(Debug, Default)]
pub(in super::super) struct Left {
    pub(in super::super) left: Vec<Remain>,
    pub(in super::super) next: Option<(String, Option<String>)>,
}

/// Whether a bucket keeps what is replaced and deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Versioning {
    /// It never did.
    Never,
    /// It does, or did once.
    Kept,
    /// Whoever asks may not know.
    Unknown,
}

/// What is asked for: under a prefix, from where an earlier page ended.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct LeftRequest<'a> {
    pub(in super::super) prefix: &'a KeyPrefix,
    /// Where, within it, the server is to look; the prefix itself or longer.
    pub(in super::super) under: &'a str,
    pub(in super::super) after: Option<&'a (String, Option<String>)>,
    pub(in super::super) limit: usize,
}

impl LeftRequest<'_> {
    fn after(&self) -> (Option<String>, Option<String>) {
        match self.after {
            Some((name, id)) => (Some(name.clone()), id.clone()),
            None => (None, None),
        }
    }

    fn limit(&self) -> i32 {
        i32::try_from(self.limit.clamp(1, 1000)).unwrap_or(1000)
    }
}

impl Requests {
    pub(in super::super) async fn versioning(&self) -> Result<Versioning, Failure> {
        let refused = match self.client.get_bucket_versioning().bucket(&self.bucket).send().await {
            Ok(answer) => {
                return Ok(match answer.status() {
                    Some(BucketVersioningStatus::Enabled | BucketVersioningStatus::Suspended) => {
                        Versioning::Kept
                    }
                    None => Versioning::Never,
                    Some(_) => Versioning::Unknown,
                });
            }
            Err(refused) => refused,
        };
        // Some answer with a document of another name.
        if refused.raw_response().is_some_and(|answer| answer.status().is_success()) {
            return Ok(Versioning::Unknown);
        }
        let failure = Failure::from(refused);
        match failure.kind {
            // Who does not know what versions are keeps none.
            FailureKind::NotImplemented => Ok(Versioning::Never),
            FailureKind::Denied | FailureKind::Refused => Ok(Versioning::Unknown),
            _ => Err(failure),
        }
    }

    /// Every version under a prefix, those that are listed included, and every mark of a deletion.
    pub(in super::super) async fn versions(&self, page: LeftRequest<'_>) -> Result<Left, Failure> {
        let (name, id) = page.after();
        let request = self
            .client
            .list_object_versions()
            .bucket(&self.bucket)
            .prefix(format!("{}{}", self.prefix, page.under))
            .set_key_marker(name)
            .set_version_id_marker(id)
            .encoding_type(EncodingType::Url)
            .max_keys(page.limit());
        let answer = request.send().await?;
        let encoded = answer.encoding_type() == Some(&EncodingType::Url);
        let remain = |key: Option<&str>, kind, id: Option<&str>, size: Option<i64>| {
            let key = self.remnant(page.prefix, key, encoded)?;
            let id = id.unwrap_or("null").to_owned();
            Some(Remain { key, kind, id, size: size.and_then(|s| s.try_into().ok()).unwrap_or(0) })
        };
        let versions = answer.versions().iter().filter_map(|version| {
            let kind = match version.is_latest() {
                Some(true) => RemainKind::Object,
                _ => RemainKind::Version,
            };
            remain(version.key(), kind, version.version_id(), version.size())
        });
        let markers = answer.delete_markers().iter().filter_map(|marker| {
            remain(marker.key(), RemainKind::Marker, marker.version_id(), None)
        });
        let left = versions.chain(markers).collect();
        let next = match answer.is_truncated() {
            Some(true) => {
                let name = decoded_owned(answer.next_key_marker(), encoded)?;
                Some((name, answer.next_version_id_marker().map(str::to_owned)))
            }
            _ => None,
        };
        Ok(Left { left, next })
    }

    /// The uploads under a prefix that are neither completed nor aborted.
    pub(in super::super) async fn uploads(&self, page: LeftRequest<'_>) -> Result<Left, Failure> {
        let (name, id) = page.after();
        let request = self
            .client
            .list_multipart_uploads()
            .bucket(&self.bucket)
            .prefix(format!("{}{}", self.prefix, page.under))
            .set_key_marker(name)
            .set_upload_id_marker(id)
            .encoding_type(EncodingType::Url)
            .max_uploads(page.limit());
        let answer = request.send().await?;
        let encoded = answer.encoding_type() == Some(&EncodingType::Url);
        let uploads = answer.uploads().iter().filter_map(|upload| {
            let key = self.remnant(page.prefix, upload.key(), encoded)?;
            let id = upload.upload_id()?.to_owned();
            Some(Remain { key, kind: RemainKind::Upload, id, size: 0 })
        });
        let left = uploads.collect();
        let next = match answer.is_truncated() {
            Some(true) => {
                let name = decoded_owned(answer.next_key_marker(), encoded)?;
                Some((name, answer.next_upload_id_marker().map(str::to_owned)))
            }
            _ => None,
        };
        Ok(Left { left, next })
    }

    /// What a listing of a prefix shows, legal or not.
    pub(in super::super) async fn names(&self, page: LeftRequest<'_>) -> Result<Left, Failure> {
        let request = self
            .client
            .list_objects_v2()
            .bucket(&self.bucket)
            .prefix(format!("{}{}", self.prefix, page.under))
            .set_continuation_token(page.after().0)
            .encoding_type(EncodingType::Url)
            .max_keys(page.limit());
        let answer = request.send().await?;
        let encoded = answer.encoding_type() == Some(&EncodingType::Url);
        let objects = answer.contents().iter().filter_map(|object| {
            let key = self.remnant(page.prefix, object.key(), encoded)?;
            let size = object.size().and_then(|size| size.try_into().ok()).unwrap_or(0);
            Some(Remain { key, kind: RemainKind::Object, id: String::new(), size })
        });
        let left = objects.collect();
        let next = match answer.is_truncated() {
            Some(true) => Some((cut_off(answer.next_continuation_token)?, None)),
            _ => None,
        };
        Ok(Left { left, next })
    }

    fn remnant(
        &self,
        prefix: &KeyPrefix,
        listed: Option<&str>,
        encoded: bool,
    ) -> Option<crate::scope::ObjectKey> {
        let name = decoded(listed?, encoded)?;
        prefix.remnant(name.strip_prefix(&self.prefix)?)
    }

    /// Removes at most 1,000 versions and marks.
    pub(in super::super) async fn destroy_versions(&self, left: &[Remain]) -> Result<(), Failure> {
        let mut delete = Delete::builder().quiet(true);
        for Remain { key, id, .. } in left {
            let named = ObjectIdentifier::builder().key(self.name(key)).version_id(id).build();
            delete = delete.objects(named.map_err(|e| Failure::new(FailureKind::Refused, e))?);
        }
        let delete = delete.build().map_err(|e| Failure::new(FailureKind::Refused, e))?;
        let request = self.client.delete_objects().bucket(&self.bucket).delete(delete);
        refused_in(request.send().await?.errors())
    }

    /// Removes one version whose name no document can hold.
    pub(in super::super) async fn destroy_version(&self, left: &Remain) -> Result<(), Failure> {
        let mut call = Call::new(Method::Delete, self.name(&left.key));
        call.query = format!("versionId={}", encoded_query(&left.id));
        self.wire.send(call).await.map(drop)
    }

    /// Aborts an upload that somebody began.
    pub(in super::super) async fn destroy_upload(&self, left: &Remain) -> Result<(), Failure> {
        self.abort((&left.key, &UploadId::of(left))).await
    }
}

/// What of a deletion of many did not succeed. What is gone already did.
pub(super) fn refused_in(errors: &[Refused]) -> Result<(), Failure> {
    let is_gone = |code| matches!(code, "NoSuchKey" | "NoSuchVersion" | "NotFound");
    let left = errors.iter().find(|error| !error.code().is_some_and(is_gone));
    let Some(error) = left else { return Ok(()) };
    let kind = match error.code() {
        Some("AccessDenied") => FailureKind::Denied,
        _ => FailureKind::Again,
    };
    let source = anyhow::anyhow!("S3 deleted some objects and not others: {error:?}");
    Err(Failure::new(kind, source))
}

fn cut_off(next: Option<String>) -> Result<String, Failure> {
    next.ok_or_else(|| Failure::lost("S3 cut a listing off and did not say where"))
}

fn decoded_owned(name: Option<&str>, encoded: bool) -> Result<String, Failure> {
    cut_off(name.and_then(|name| decoded(name, encoded)).map(std::borrow::Cow::into_owned))
}
