//! Uploads in parts.

use std::ops::Range;

use aws_sdk_s3::types::{ChecksumAlgorithm, CompletedMultipartUpload, CompletedPart};

use super::{
    Checksums, Failure, Lineage, METADATA_NAME, Object, ObjectKey, Precondition, Requests,
    Revision, ServerDate, e_tag, if_match, if_none_match, of_target, revision,
};
use crate::store::Remain;
use crate::store::s3::wire::{Call, Content, Method, encoded_query};

/// The server's name for an upload.
#[derive(Clone, Debug)]
pub(in super::super) struct UploadId(String);

impl UploadId {
    /// Of an upload that a listing showed.
    pub(super) fn of(left: &Remain) -> Self {
        Self(left.id.clone())
    }
}

/// A part that the server has taken.
#[derive(Clone, Debug)]
pub(in super::super) struct Part {
    number: i32,
    e_tag: Revision,
    /// What the server was told to check it by.
    checksum: Option<String>,
}

/// Where the parts of an upload come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum PartSource {
    /// This host.
    Sent,
    /// An object of the same server.
    Copied,
}

impl Requests {
    pub(in super::super) async fn begin_upload(
        &self,
        key: &ObjectKey,
        lineage: &Lineage,
        source: PartSource,
    ) -> Result<UploadId, Failure> {
        let (encryption, encryption_key) = self.encryption();
        let is_checked = source == PartSource::Sent && self.checksums == Checksums::Sent;
        let request = self
            .client
            .create_multipart_upload()
            .bucket(&self.bucket)
            .key(self.name(key))
            .metadata(METADATA_NAME, lineage.to_string())
            .set_checksum_algorithm(is_checked.then_some(ChecksumAlgorithm::Crc32C))
            .set_server_side_encryption(encryption)
            .set_ssekms_key_id(encryption_key);
        let id = request.send().await?.upload_id;
        id.map(UploadId).ok_or_else(|| Failure::lost("S3 began an upload and did not name it"))
    }

    /// Sending a part again replaces it.
    pub(in super::super) async fn part(
        &self,
        (key, upload): (&ObjectKey, &UploadId),
        number: i32,
        content: impl Into<Content> + Send,
    ) -> Result<Part, Failure> {
        let content = content.into();
        let mut call = Call::new(Method::Put, self.name(key));
        call.query = format!("partNumber={number}&uploadId={}", encoded_query(&upload.0));
        let checksum = self.checksum(&mut call, &content);
        call.content = content;
        let answer = self.wire.send(call).await?;
        Ok(Part { number, e_tag: revision(answer.field("etag"))?, checksum })
    }

    pub(in super::super) async fn copied_part(
        &self,
        (key, upload): (&ObjectKey, &UploadId),
        number: i32,
        (source, pinned): (&ObjectKey, &Revision),
        range: Range<u64>,
    ) -> Result<Part, Failure> {
        let request = self
            .client
            .upload_part_copy()
            .bucket(&self.bucket)
            .key(self.name(key))
            .upload_id(&upload.0)
            .part_number(number)
            .copy_source(self.source_name(source))
            .copy_source_if_match(e_tag(pinned))
            .copy_source_range(format!("bytes={}-{}", range.start, range.end - 1));
        let answer = request.send().await?;
        let made = answer.copy_part_result().and_then(|made| made.e_tag());
        Ok(Part { number, e_tag: revision(made)?, checksum: None })
    }

    /// Makes the object of `size` bytes appear.
    pub(in super::super) async fn complete(
        &self,
        (key, upload): (&ObjectKey, &UploadId),
        (parts, size): (&[Part], u64),
        when: Precondition,
    ) -> Result<Object, Failure> {
        let completed = parts.iter().map(|part| {
            let named = CompletedPart::builder().part_number(part.number);
            named.e_tag(e_tag(&part.e_tag)).set_checksum_crc32_c(part.checksum.clone()).build()
        });
        let parts = CompletedMultipartUpload::builder().set_parts(Some(completed.collect()));
        let date = ServerDate::default();
        let request = self
            .client
            .complete_multipart_upload()
            .bucket(&self.bucket)
            .key(self.name(key))
            .upload_id(&upload.0)
            .multipart_upload(parts.build())
            .set_if_none_match(if_none_match(&when))
            .set_if_match(if_match(&when));
        let answer = request.customize().interceptor(date.clone()).send().await;
        let answer = answer.map_err(|error| of_target(error.into(), &when))?;
        self.made(answer.e_tag(), size, date.now_ms())
    }

    pub(in super::super) async fn abort(
        &self,
        (key, upload): (&ObjectKey, &UploadId),
    ) -> Result<(), Failure> {
        let request = self.client.abort_multipart_upload().bucket(&self.bucket);
        request.key(self.name(key)).upload_id(&upload.0).send().await?;
        Ok(())
    }
}
