use aws_sdk_s3::config::endpoint::Params;

use super::{Address, Payload, encoded_query};

async fn address(endpoint: Option<&str>, in_path: bool) -> Address {
    let params = Params::builder()
        .bucket("files")
        .region("eu-west-1")
        .set_endpoint(endpoint.map(str::to_owned))
        .force_path_style(in_path);
    Address::resolve(params.build().unwrap(), "eu-west-1").await.unwrap()
}

/// A bucket stands where the SDK puts it, whatever the endpoint looks like.
#[tokio::test]
async fn a_bucket_is_addressed_as_the_sdk_has_it() {
    let cases = [
        (
            None,
            false,
            "https://files.s3.eu-west-1.amazonaws.com/k",
            "files.s3.eu-west-1.amazonaws.com",
        ),
        (None, true, "https://s3.eu-west-1.amazonaws.com/files/k", "s3.eu-west-1.amazonaws.com"),
        (Some("http://127.0.0.1:8333"), true, "http://127.0.0.1:8333/files/k", "127.0.0.1:8333"),
        (Some("http://[::1]:8333/"), true, "http://[::1]:8333/files/k", "[::1]:8333"),
        (
            Some("https://s3.example.com"),
            false,
            "https://files.s3.example.com/k",
            "files.s3.example.com",
        ),
        (
            Some("https://example.com:443/a/b/"),
            true,
            "https://example.com:443/a/b/files/k",
            "example.com",
        ),
        (Some("http://example.com:80"), true, "http://example.com:80/files/k", "example.com"),
    ];
    for (endpoint, in_path, uri, host) in cases {
        let address = address(endpoint, in_path).await;
        assert_eq!(address.uri("k", ""), uri, "{endpoint:?}");
        assert_eq!(address.host(), host, "{endpoint:?}");
        assert_eq!(address.scope().region, "eu-west-1");
        assert_eq!(address.scope().service, "s3");
        let path = address.path_of(uri, "").to_owned();
        assert!(path.starts_with('/') && uri.ends_with(&path), "{path}");
    }
}

/// Each byte of a name that is not plain is encoded once, and nothing is taken for syntax.
#[tokio::test]
async fn names_are_encoded_as_signatures_want_them() {
    let address = address(Some("http://127.0.0.1:1"), true).await;
    let uri = address.uri("a b/%2F+/?x=1&y#z/~é-._'*", "partNumber=1&uploadId=u");
    let path = "/files/a%20b/%252F%2B/%3Fx%3D1%26y%23z/~%C3%A9-._%27%2A";
    assert_eq!(uri, format!("http://127.0.0.1:1{path}?partNumber=1&uploadId=u"));
    assert_eq!(address.path_of(&uri, "partNumber=1&uploadId=u"), path);
    assert_eq!(encoded_query("a/b+c=="), "a%2Fb%2Bc%3D%3D");
}

/// What is sent goes unsigned only where nobody else can change it.
#[tokio::test]
async fn payloads_are_signed_where_others_could_change_them() {
    let cases = [
        ("http://127.0.0.1:8333", Payload::Unsigned),
        ("http://127.1.2.3", Payload::Unsigned),
        ("http://[::1]:8333", Payload::Unsigned),
        ("http://LOCALHOST", Payload::Unsigned),
        ("https://s3.example.com", Payload::Unsigned),
        ("http://s3.example.com", Payload::Signed),
        ("http://127.0.0.1.example.com", Payload::Signed),
        ("http://localhost.example.com", Payload::Signed),
        ("http://10.0.0.1:8333", Payload::Signed),
    ];
    for (endpoint, payload) in cases {
        assert_eq!(address(Some(endpoint), true).await.payload(), payload, "{endpoint}");
    }
}

/// A bucket whose requests are signed in another way is refused, not asked.
#[tokio::test]
async fn buckets_of_another_kind_are_refused() {
    for bucket in ["files--euw1-az1--x-s3", "arn:aws:s3::123456789012:accesspoint:mrap.mrap"] {
        let params = Params::builder().bucket(bucket).region("eu-west-1");
        let refused = Address::resolve(params.build().unwrap(), "eu-west-1").await;
        let refusal = refused.unwrap_err().to_string();
        assert!(refusal.contains("signed in another way"), "{refusal}");
    }
}
