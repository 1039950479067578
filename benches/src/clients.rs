//! Those who speak S3 beside us: the SDK as it comes and tuned by hand, `object_store`, and HTTP
//! without anything on top.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::{
    BehaviorVersion, Builder, Credentials, Region, RequestChecksumCalculation,
    ResponseChecksumValidation, StalledStreamProtectionConfig,
};
use aws_sdk_s3::presigning::PresigningConfig;
use aws_sdk_s3::primitives::ByteStream;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use object_store::aws::{AmazonS3, AmazonS3Builder};

use crate::server::BUCKET;

pub(crate) const ACCESS_KEY: &str = "bench";
pub(crate) const SECRET_KEY: &str = "bench-secret";
const PRESIGNED_FOR: Duration = Duration::from_secs(3600);

pub(crate) fn credentials() -> Credentials {
    Credentials::new(ACCESS_KEY, SECRET_KEY, None, None, "bench")
}

fn base(endpoint: &str) -> Builder {
    Builder::new()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(credentials())
        .endpoint_url(endpoint)
        .force_path_style(true)
}

/// The SDK as it comes.
pub(crate) fn plain(endpoint: &str) -> Client {
    Client::from_conf(base(endpoint).build())
}

/// The SDK with everything off that a caller can do without.
pub(crate) fn tuned(endpoint: &str) -> Client {
    let config = base(endpoint)
        .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
        .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
        .retry_config(RetryConfig::disabled())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
    Client::from_conf(config.build())
}

/// `object_store`, its payloads signed as the SDK's are.
pub(crate) fn peer(endpoint: &str) -> Result<AmazonS3> {
    let builder = AmazonS3Builder::new()
        .with_endpoint(endpoint)
        .with_allow_http(true)
        .with_region("us-east-1")
        .with_bucket_name(BUCKET)
        .with_access_key_id(ACCESS_KEY)
        .with_secret_access_key(SECRET_KEY);
    Ok(builder.build()?)
}

/// HTTP and nothing else.
#[derive(Clone)]
pub(crate) struct Http(legacy::Client<HttpConnector, Empty<Bytes>>);

impl Http {
    pub(crate) fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self(legacy::Client::builder(TokioExecutor::new()).build(connector))
    }

    /// Reads a range to its end, copying it into so much room again and again, or dropping it;
    /// answers how many bytes came.
    pub(crate) async fn get(&self, url: &str, first: u64, last: u64, room: usize) -> Result<u64> {
        let mut copied = vec![0; room];
        let request = hyper::Request::get(url)
            .header("range", format!("bytes={first}-{last}"))
            .body(Empty::new())?;
        let answer = self.0.request(request).await?;
        ensure!(answer.status().is_success(), "the server answered {}", answer.status());
        let (mut body, mut length) = (answer.into_body(), 0);
        while let Some(frame) = body.frame().await {
            let frame = frame?;
            let bytes = frame.data_ref().map_or(&[][..], |bytes| bytes);
            length += bytes.len() as u64;
            if room > 0 {
                for piece in bytes.chunks(room) {
                    std::hint::black_box(&mut copied[..piece.len()]).copy_from_slice(piece);
                }
            }
        }
        Ok(length)
    }
}

/// A URL by which an object can be read without a signature of its own.
pub(crate) async fn presigned(client: &Client, key: &str) -> Result<String> {
    let request = client.get_object().bucket(BUCKET).key(key);
    let signed = request.presigned(PresigningConfig::expires_in(PRESIGNED_FOR)?).await;
    Ok(signed.context("presigning")?.uri().to_owned())
}

/// Puts an object of one byte under each key, 32 at once.
pub(crate) async fn put_all(client: &Client, keys: Vec<String>) -> Result<()> {
    let puts = keys.into_iter().map(|key| {
        let put = client.put_object().bucket(BUCKET).key(key);
        tokio::spawn(put.body(ByteStream::from_static(b"x")).send())
    });
    let puts = stream::iter(puts).buffer_unordered(32);
    puts.map(|put| put.context("a task")?.map(drop).context("put")).try_collect().await
}
