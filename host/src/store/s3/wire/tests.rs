use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_s3::config::endpoint::Params;
use aws_sdk_s3::config::{Credentials, SharedCredentialsProvider};
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
    UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4::SigningParams;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use proptest::prelude::*;

use super::{Address, Call, Method, ServerTime, Stamp, Wire, WireLimits, encoded_query};
use crate::clock::Clock;

const NOON_MS: u64 = 1_795_953_600_000;
const TOKEN: &str = "session/token+=";

#[derive(Debug)]
struct Noon;

impl Clock for Noon {
    fn now_ms(&self) -> u64 {
        NOON_MS
    }
}

/// Keeps what it is sent, and says that all is well.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<HttpRequest>>>);

impl HttpConnector for Kept {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        self.0.lock().unwrap().push(request);
        HttpConnectorFuture::ready(Ok(HttpResponse::new(200.try_into().unwrap(), SdkBody::empty())))
    }
}

fn credentials() -> Credentials {
    Credentials::new("AKIDEXAMPLE", "secret/key", Some(TOKEN.to_owned()), None, "tests")
}

async fn sent(endpoint: &str, call: Call) -> HttpRequest {
    let params = Params::builder()
        .bucket("files")
        .region("eu-west-1")
        .endpoint(endpoint)
        .force_path_style(true);
    let address = Address::resolve(params.build().unwrap(), "eu-west-1").await.unwrap();
    let limits = WireLimits { request: Duration::from_secs(1), idle: Duration::from_secs(1) };
    let (kept, time) = (Kept::default(), ServerTime::new(Arc::new(Noon)));
    let credentials = SharedCredentialsProvider::new(credentials());
    let wire =
        Wire::new(SharedHttpConnector::new(kept.clone()), address, credentials, time, limits);
    wire.send(call).await.unwrap();
    kept.0.lock().unwrap().pop().unwrap()
}

/// What `aws-sigv4` itself says of a request.
fn reference(request: &HttpRequest) -> String {
    let mut settings = SigningSettings::default();
    settings.percent_encoding_mode = PercentEncodingMode::Single;
    settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
    settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
    let identity = credentials().into();
    let params = SigningParams::builder()
        .identity(&identity)
        .region("eu-west-1")
        .name("s3")
        .time(Stamp::new(NOON_MS).time())
        .settings(settings)
        .build()
        .unwrap()
        .into();
    let own = [
        "authorization",
        "content-length",
        "x-amz-date",
        "x-amz-content-sha256",
        "x-amz-security-token",
    ];
    let fields = request.headers().iter().filter(|(name, _)| !own.contains(name));
    let hash = request.headers().get("x-amz-content-sha256").unwrap();
    let body = match hash {
        "UNSIGNED-PAYLOAD" => SignableBody::UnsignedPayload,
        _ => SignableBody::Bytes(request.body().bytes().unwrap()),
    };
    let signable = SignableRequest::new(request.method(), request.uri(), fields, body).unwrap();
    let (instructions, _) = sign(signable, &params).unwrap().into_parts();
    let authorization = instructions.headers().find(|(name, _)| *name == "authorization");
    authorization.unwrap().1.to_owned()
}

fn call(name: &str, upload: &str, body: &[u8]) -> Call {
    let mut call = Call::new(Method::Put, name.to_owned());
    if !upload.is_empty() {
        call.query = format!("partNumber=7&uploadId={}", encoded_query(upload));
    }
    call.field("if-match", "\"e-tag\"");
    call.field("x-amz-meta-bailiwick-writes", "abc");
    call.field("range", "bytes=0-9");
    call.content = Bytes::copy_from_slice(body).into();
    call
}

fn now<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever an object is called and whatever is sent, the signature is the one that
    /// `aws-sigv4` makes.
    #[test]
    fn signatures_are_those_of_the_reference(
        name in "[^\\p{C}/]{1,20}(/[^\\p{C}/]{1,20}){0,3}",
        upload in "[ -~]{0,12}",
        body in prop::collection::vec(any::<u8>(), 0..100),
        endpoint in prop::sample::select(vec!["http://127.0.0.1:8333", "http://10.0.0.1", "https://example.com/base"]),
    ) {
        let request = now(sent(endpoint, call(&name, &upload, &body)));
        prop_assert_eq!(request.headers().get("authorization").unwrap(), reference(&request));
        prop_assert_eq!(request.headers().get("x-amz-security-token"), Some(TOKEN));
        prop_assert_eq!(request.headers().get("x-amz-date"), Some("20261129T120000Z"));
        let length = body.len().to_string();
        prop_assert_eq!(request.headers().get("content-length"), Some(length.as_str()));
    }
}

/// A field that would begin another one is never sent.
#[tokio::test]
async fn a_field_cannot_begin_another_one() {
    let params =
        Params::builder().bucket("files").region("eu-west-1").endpoint("http://127.0.0.1:1");
    let address = Address::resolve(params.build().unwrap(), "eu-west-1").await.unwrap();
    let limits = WireLimits { request: Duration::from_secs(1), idle: Duration::from_secs(1) };
    let kept = Kept::default();
    let wire = Wire::new(
        SharedHttpConnector::new(kept.clone()),
        address,
        SharedCredentialsProvider::new(credentials()),
        ServerTime::new(Arc::new(Noon)),
        limits,
    );
    let mut call = Call::new(Method::Get, "name".to_owned());
    call.field("if-match", "\"a\"\r\nx-amz-acl: public-read".to_owned());
    assert!(wire.send(call).await.is_err());
    assert!(kept.0.lock().unwrap().is_empty());
}
