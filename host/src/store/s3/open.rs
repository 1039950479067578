//! Opening a bucket: whether it is there, may be used, and holds a layout that we know.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use bytes::Bytes;

use super::S3Store;
use super::conditions::Conditions;
use super::config::S3Config;
use super::errors::{Failure, FailureKind};
use super::known::KnownObjects;
use super::lineage::{Lineage, Lineages, WriteId};
use super::requests::Requests;
use super::retry::RetryBudget;
use crate::clock::Clock;
use crate::scope::ObjectKey;
use crate::store::Precondition;
use crate::store::layout::{check_marker, marker_text};

/// How long opening may take. A person is waiting.
const OPEN_LIMIT: Duration = Duration::from_secs(15);
/// Longest layout marker that is read, in bytes.
const MARKER_BYTES_MAX: u64 = 64;

impl S3Store {
    /// Opens a bucket, and marks it with the version of the layout if it is new.
    ///
    /// # Errors
    /// A sentence for a person, within seconds: the server cannot be reached, the bucket does
    /// not exist, the credentials are missing or not accepted, the layout is another one.
    pub async fn open(config: &S3Config, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        let prefix = config.key_prefix()?;
        let whole = async {
            let connection = config.connect(Arc::clone(&clock)).await?;
            let requests = Requests::new(connection, prefix, config, clock);
            let store = Self {
                requests,
                lineages: Arc::new(Lineages::new()),
                objects: Arc::new(KnownObjects::new()),
                budget: Arc::new(RetryBudget::new()),
                conditions: Arc::new(Conditions::default()),
                tuning: config.tuning.clone(),
                bucket: config.bucket.clone(),
            };
            store.check_layout(config).await?;
            Ok(store)
        };
        match tokio::time::timeout(OPEN_LIMIT, whole).await {
            Ok(opened) => opened,
            Err(_) => bail!(
                "{} did not answer within {} seconds: {}",
                server(config),
                OPEN_LIMIT.as_secs(),
                CHECK_ENDPOINT
            ),
        }
    }

    async fn check_layout(&self, config: &S3Config) -> anyhow::Result<()> {
        let key = ObjectKey::layout_marker();
        for _ in 0..2 {
            let read = || self.requests.get(&key, 0..MARKER_BYTES_MAX, None);
            match self.repeat(read).await {
                Ok((_, bytes)) => {
                    return check_marker(&bytes)
                        .with_context(|| format!("the bucket `{}` cannot be used", config.bucket));
                }
                Err(failure) if failure.kind == FailureKind::NotFound => {}
                Err(failure) => return Err(explained(failure, config)),
            }
            // Whoever comes first writes the same bytes, whether or not the server keeps the
            // condition.
            let lineage = Lineage::from_nothing(WriteId::random());
            let bytes = Bytes::from(marker_text());
            let when = Precondition::IfAbsent;
            let mark = || self.requests.put(&key, bytes.clone(), when.clone(), &lineage);
            match self.repeat(mark).await {
                Ok(_) => return Ok(()),
                Err(failure) if failure.kind == FailureKind::Condition => {}
                Err(failure) => return Err(explained(failure, config)),
            }
        }
        bail!("the layout of the bucket `{}` cannot be read: try again", config.bucket)
    }
}

const CHECK_ENDPOINT: &str = "is it running, and is the endpoint (AWS_ENDPOINT_URL_S3) right?";

fn server(config: &S3Config) -> String {
    match &config.endpoint {
        Some(endpoint) => format!("the S3 server at {endpoint}"),
        None => "the S3 server".to_owned(),
    }
}

/// What a person can do about it, before all that is known.
fn explained(failure: Failure, config: &S3Config) -> anyhow::Error {
    let (server, bucket) = (server(config), &config.bucket);
    let sentence = match failure.kind {
        FailureKind::Unreached => format!("{server} cannot be reached: {CHECK_ENDPOINT}"),
        FailureKind::NoBucket | FailureKind::NotFound => {
            format!("there is no bucket `{bucket}` on {server}: make it first, or name another one")
        }
        FailureKind::Denied => format!(
            "{server} does not let these credentials use the bucket `{bucket}`: check \
             AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, and what they may do"
        ),
        FailureKind::Lost | FailureKind::Again => {
            format!("{server} does not answer as an S3 server should: {CHECK_ENDPOINT}")
        }
        FailureKind::Full => format!("{server} has no room left"),
        FailureKind::Refused
        | FailureKind::Condition
        | FailureKind::SourceChanged
        | FailureKind::NoUpload
        | FailureKind::Range
        | FailureKind::TooLarge
        | FailureKind::NotImplemented => format!(
            "{server} refused to open the bucket `{bucket}`: check its region (AWS_REGION) and \
             the credentials"
        ),
    };
    anyhow!(failure.source).context(sentence)
}
