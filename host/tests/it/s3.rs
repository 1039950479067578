//! What only an S3 store does.

use std::sync::Arc;

use bailiwick::store::s3::S3Config;
use futures::FutureExt;

use crate::conformance::{Ability, Subject};
use crate::servers::{self, Server};

mod buckets;
mod conformance;
mod given_up;
mod hostile_servers;
mod opening;
mod parts;
mod reports;
mod requests;
mod revisions;
mod versions;

/// A server's store, by way of `port`.
async fn subject(name: &'static str, server: &'static Server, config: &S3Config) -> Subject {
    let store = servers::open(config).await;
    let prefix = config.prefix.clone();
    Subject::new(name, Arc::new(store))
        .with_leftovers(move || open_uploads(server, prefix.clone()).boxed())
        .with_model_runs(12)
}

/// The uploads that the server still holds under a prefix, asked past any proxy.
async fn open_uploads(server: &'static Server, prefix: String) -> Vec<String> {
    let client = server.client(server.port);
    let request = client.list_multipart_uploads().bucket(server.bucket()).prefix(prefix);
    let uploads = request.send().await.unwrap().uploads.unwrap_or_default();
    uploads.into_iter().filter_map(|upload| upload.key).collect()
}

/// What SeaweedFS cannot do.
const SEAWEED_LACKS: [Ability; 3] =
    [Ability::ByteOrder, Ability::NamesBeyondXml, Ability::IfAbsentBesideFolder];
