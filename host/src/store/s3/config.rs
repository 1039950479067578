//! What an operator says about a bucket, and the client made of it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use aws_config::meta::region::ProvideRegion;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_s3::Client;
use aws_sdk_s3::config::endpoint::Params;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::{
    ProvideCredentials, Region, RequestChecksumCalculation, ResponseChecksumValidation,
    SharedCredentialsProvider, StalledStreamProtectionConfig,
};
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::{Connector, tls};
use aws_smithy_runtime_api::client::http::{
    HttpConnectorSettings, SharedHttpConnector, http_client_fn,
};

use super::requests::Checksums;
use super::wire::{Address, ServerTime, Wire, WireLimits};
use crate::clock::Clock;
use crate::limits::OPERATOR_PREFIX_BYTES_MAX;

/// How a bucket is reached, and how objects are kept in it.
///
/// What is not set comes from where the AWS tools take it: environment (`AWS_REGION`,
/// `AWS_ENDPOINT_URL_S3`, `AWS_ACCESS_KEY_ID`, …), profile, container or instance.
#[derive(Clone, Debug)]
pub struct S3Config {
    /// The bucket; it must exist.
    pub bucket: String,
    /// What every key starts with, at most 64 bytes with its `/`; empty for none.
    pub prefix: String,
    /// The server's URL, when it is not AWS and the environment does not name it.
    pub endpoint: Option<String>,
    /// The region; where none is named at all, `us-east-1`.
    pub region: Option<String>,
    /// How the bucket stands in a URL.
    pub addressing: Addressing,
    /// How the server is to encrypt what it keeps.
    pub encryption: Encryption,
    /// Whose authority is used, when not that of the environment.
    pub credentials: Option<SharedCredentialsProvider>,
    /// Sizes and time limits.
    pub tuning: Tuning,
}

/// How the bucket stands in a URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Addressing {
    /// In the path for an endpoint that was named, in the host name for AWS.
    #[default]
    Automatic,
    /// `https://server/bucket/key`.
    Path,
    /// `https://bucket.server/key`.
    VirtualHost,
}

/// How the server is to encrypt an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    /// As the bucket's own setting says.
    #[default]
    BucketDefault,
    /// With keys that the server manages (`AES256`).
    ServerKeys,
    /// With a key of the key management service; without an id, its default one.
    ManagedKey(Option<String>),
}

/// Sizes and time limits of the S3 store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Bytes of one part of an upload, at least 5 MiB; two parts are held, more as far as there
    /// is room.
    pub part_bytes: usize,
    /// Most parts of one upload that are on their way at once.
    pub parts_at_once_max: usize,
    /// Largest object that one copy request takes, in bytes; a larger one is copied in parts.
    pub copy_bytes_max: u64,
    /// How long a connection may take to open, in milliseconds.
    pub connect_ms_max: u64,
    /// How long one request may take until its answer begins, in milliseconds.
    pub request_ms_max: u64,
    /// How long a change may take, with everything that is tried for it, in milliseconds. Once
    /// it is over, no request of it is on its way any more.
    pub change_ms_max: u64,
    /// How long a transfer may stand still, in milliseconds.
    pub idle_ms_max: u64,
    /// How often one request is sent at most.
    pub attempts_max: u32,
}

/// What requests to a bucket go through.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) wire: Wire,
    pub(super) checksums: Checksums,
}

/// Smallest part of an upload that is not its last, in bytes.
/// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html>
pub(super) const PART_BYTES_MIN: usize = 5 << 20;
/// Most parts of one upload.
pub(super) const PARTS_MAX: usize = 10_000;

impl Default for Tuning {
    fn default() -> Self {
        Self {
            part_bytes: 8 << 20,
            parts_at_once_max: 8,
            copy_bytes_max: 5 << 30,
            connect_ms_max: 3_000,
            request_ms_max: 20_000,
            change_ms_max: 28_000,
            idle_ms_max: 20_000,
            attempts_max: 8,
        }
    }
}

impl S3Config {
    /// A bucket, the rest as the environment says.
    pub fn new(bucket: impl Into<String>) -> Self {
        Self {
            bucket: bucket.into(),
            prefix: String::new(),
            endpoint: None,
            region: None,
            addressing: Addressing::default(),
            encryption: Encryption::default(),
            credentials: None,
            tuning: Tuning::default(),
        }
    }

    /// What every key starts with: empty, or ending in one `/`.
    pub(super) fn key_prefix(&self) -> anyhow::Result<String> {
        let prefix = self.prefix.strip_suffix('/').unwrap_or(&self.prefix);
        if prefix.is_empty() {
            return Ok(String::new());
        }
        let odd = |segment: &str| {
            matches!(segment, "" | "." | "..")
                || segment.contains('\\')
                || segment.chars().any(char::is_control)
        };
        if prefix.split('/').any(odd) {
            bail!("`{prefix}` is no prefix of keys: write names separated by single `/`");
        }
        let prefix = format!("{prefix}/");
        ensure!(
            prefix.len() <= OPERATOR_PREFIX_BYTES_MAX,
            "the key prefix `{prefix}` has {} bytes: it may have {OPERATOR_PREFIX_BYTES_MAX}",
            prefix.len()
        );
        Ok(prefix)
    }

    /// The SDK's client, and what goes past it over the same connections.
    pub(super) async fn connect(&self, clock: Arc<dyn Clock>) -> anyhow::Result<Connection> {
        ensure!(
            self.tuning.part_bytes >= PART_BYTES_MIN,
            "a part of an upload has at least {PART_BYTES_MIN} bytes"
        );
        let shared = self.shared().await;
        let credentials = shared.credentials_provider().context(NO_CREDENTIALS)?;
        credentials.provide_credentials().await.context(NO_CREDENTIALS)?;
        let (connector, time) = (self.connector(), ServerTime::new(clock));
        let same = connector.clone();
        let client = aws_sdk_s3::config::Builder::from(&shared)
            .http_client(http_client_fn(move |_, _| same.clone()))
            .time_source(time.clone())
            .force_path_style(self.is_in_path(&shared))
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired);
        let address = self.address(&shared).await?;
        let wire = Wire::new(connector, address, credentials, time, self.wire_limits());
        let client = Client::from_conf(client.build());
        Ok(Connection { client, wire, checksums: checksums(&shared) })
    }

    /// As the SDK makes its own: the platform's certificates, the environment's proxies.
    fn connector(&self) -> SharedHttpConnector {
        let settings = HttpConnectorSettings::builder()
            .connect_timeout(Duration::from_millis(self.tuning.connect_ms_max))
            .build();
        let connector = Connector::builder()
            .connector_settings(settings)
            .proxy_config(ProxyConfig::from_env())
            .tls_provider(tls::Provider::Rustls(CryptoMode::AwsLc))
            .build();
        SharedHttpConnector::new(connector)
    }

    async fn address(&self, shared: &SdkConfig) -> anyhow::Result<Address> {
        let region = shared.region().map_or(DEFAULT_REGION, Region::as_ref);
        let params = Params::builder()
            .bucket(&self.bucket)
            .region(region)
            .set_endpoint(self.endpoint_of(shared))
            .set_use_fips(shared.use_fips())
            .set_use_dual_stack(shared.use_dual_stack())
            .force_path_style(self.is_in_path(shared));
        let address = Address::resolve(params.build()?, region).await;
        address.with_context(|| format!("the bucket `{}` cannot be addressed", self.bucket))
    }

    fn is_in_path(&self, shared: &SdkConfig) -> bool {
        match self.addressing {
            Addressing::Path => true,
            Addressing::VirtualHost => false,
            Addressing::Automatic => self.endpoint_of(shared).is_some(),
        }
    }

    /// The endpoint that is named: here, or for S3 or all services by environment or profile.
    fn endpoint_of(&self, shared: &SdkConfig) -> Option<String> {
        let named = || named_endpoint(shared).or_else(|| shared.endpoint_url().map(str::to_owned));
        self.endpoint.clone().or_else(named)
    }

    fn wire_limits(&self) -> WireLimits {
        WireLimits {
            request: Duration::from_millis(self.tuning.request_ms_max),
            idle: Duration::from_millis(self.tuning.idle_ms_max),
        }
    }

    async fn shared(&self) -> SdkConfig {
        let idle = Duration::from_millis(self.tuning.idle_ms_max);
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(Duration::from_millis(self.tuning.connect_ms_max))
            .operation_attempt_timeout(Duration::from_millis(self.tuning.request_ms_max))
            .build();
        let region = match &self.region {
            Some(region) => Some(Region::new(region.clone())),
            None => aws_config::default_provider::region::default_provider().region().await,
        };
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .region(region.unwrap_or(Region::from_static(DEFAULT_REGION)))
            // A change must not be sent twice by somebody who cannot tell whether it was made.
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts)
            .stalled_stream_protection(
                StalledStreamProtectionConfig::enabled().grace_period(idle).build(),
            );
        if let Some(endpoint) = &self.endpoint {
            loader = loader.endpoint_url(endpoint);
        }
        if let Some(credentials) = &self.credentials {
            loader = loader.credentials_provider(credentials.clone());
        }
        loader.load().await
    }
}

const NO_CREDENTIALS: &str = "no credentials for S3 were found: set AWS_ACCESS_KEY_ID and \
     AWS_SECRET_ACCESS_KEY, or AWS_PROFILE";

const DEFAULT_REGION: &str = "us-east-1";

/// The endpoint that environment or profile name for S3.
fn named_endpoint(shared: &SdkConfig) -> Option<String> {
    let key = aws_types::service_config::ServiceConfigKey::builder()
        .service_id("S3")
        .env("AWS_ENDPOINT_URL")
        .profile("endpoint_url")
        .build()
        .ok()?;
    shared.service_config()?.load_config(key)
}

/// Servers that refuse checksums are named to the AWS tools by
/// `AWS_REQUEST_CHECKSUM_CALCULATION=when_required`.
fn checksums(shared: &SdkConfig) -> Checksums {
    match shared.request_checksum_calculation() {
        Some(RequestChecksumCalculation::WhenRequired) => Checksums::Left,
        Some(_) | None => Checksums::Sent,
    }
}

#[cfg(test)]
mod tests;
