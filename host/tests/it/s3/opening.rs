//! A store that cannot be opened says what to do, within seconds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_sdk_s3::config::{Credentials, SharedCredentialsProvider};
use bailiwick::clock::SystemClock;
use bailiwick::store::s3::{S3Config, S3Store};

use crate::servers;

async fn refusal(config: &S3Config) -> String {
    let started = Instant::now();
    let refused = S3Store::open(config, Arc::new(SystemClock)).await.unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(16), "took {:?}", started.elapsed());
    // What stands below is for the log.
    refused.to_string()
}

#[track_caller]
fn assert_says(refusal: &str, parts: &[&str]) {
    for part in parts {
        assert!(refusal.contains(part), "{refusal:?} does not say {part:?}");
    }
}

/// Where nothing listens, the endpoint is named, and the setting that says it.
#[tokio::test]
async fn an_unreachable_endpoint_is_named() {
    let endpoint = format!("http://127.0.0.1:{}", servers::free_port());
    let config = S3Config { endpoint: Some(endpoint.clone()), ..servers::config() };
    let refusal = refusal(&config).await;
    assert_says(&refusal, &[&endpoint, "cannot be reached", "AWS_ENDPOINT_URL_S3"]);
}

/// A server that takes connections and never answers is given up.
#[tokio::test]
async fn a_silent_server_is_given_up() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = silent.local_addr().unwrap().port();
    let mut config =
        S3Config { endpoint: Some(format!("http://127.0.0.1:{port}")), ..servers::config() };
    config.tuning.request_ms_max = 300;
    config.tuning.attempts_max = 2;
    assert_says(&refusal(&config).await, &["does not answer", "AWS_ENDPOINT_URL_S3"]);
}

/// A bucket that is not there is not made, and is named.
#[tokio::test]
async fn a_missing_bucket_is_named() {
    for server in [servers::seaweed(), servers::moto()].into_iter().flatten() {
        let bucket = "no-such-bucket".to_owned();
        let config = S3Config { bucket, ..server.config(server.port) };
        assert_says(&refusal(&config).await, &["no bucket `no-such-bucket`", "make it first"]);
    }
}

/// Credentials that the server does not accept are told from everything else.
#[tokio::test]
async fn wrong_credentials_are_told() {
    let Some(server) = servers::seaweed() else { return };
    let wrong = Credentials::new("tests", "wrong", None, None, "tests");
    let credentials = Some(SharedCredentialsProvider::new(wrong));
    let config = S3Config { credentials, ..server.config(server.port) };
    assert_says(&refusal(&config).await, &["credentials", "AWS_ACCESS_KEY_ID"]);
}

/// A bucket in the layout of another version is refused, and left as it is.
#[tokio::test]
async fn another_layout_is_refused() {
    let Some(server) = servers::seaweed() else { return };
    let config = server.config(server.port);
    let marker = format!("{}/.bailiwick-layout", config.prefix);
    let client = server.client(server.port);
    let put = client.put_object().bucket(server.bucket()).key(&marker);
    put.body(b"99\n".to_vec().into()).send().await.unwrap();
    assert_says(&refusal(&config).await, &["cannot be used"]);
    let kept = client.get_object().bucket(server.bucket()).key(&marker).send().await.unwrap();
    assert_eq!(kept.body.collect().await.unwrap().to_vec(), b"99\n");
}

/// A store that was opened once is opened again, and what was in it is there.
#[tokio::test]
async fn a_second_opening_finds_the_first() {
    use bailiwick::store::{ObjectStore, Precondition};
    let Some(server) = servers::seaweed() else { return };
    let config = server.config(server.port);
    let key = crate::conformance::Place::new().key("kept");
    let first = servers::open(&config).await;
    let put = first.put(&key, "kept".into(), &Precondition::Always).await.unwrap();
    let second = servers::open(&config).await;
    assert_eq!(second.head(&key).await.unwrap().revision, put.revision);
}
