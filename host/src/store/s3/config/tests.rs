use aws_config::SdkConfig;
use aws_sdk_s3::config::RequestChecksumCalculation;

use super::{Checksums, S3Config, checksums};

fn prefix(text: &str) -> anyhow::Result<String> {
    S3Config { prefix: text.to_owned(), ..S3Config::new("files") }.key_prefix()
}

/// A prefix of keys is empty or ends in one `/`.
#[test]
fn a_prefix_ends_in_one_slash() {
    assert_eq!(prefix("").unwrap(), "");
    assert_eq!(prefix("/").unwrap(), "");
    assert_eq!(prefix("team").unwrap(), "team/");
    assert_eq!(prefix("team/a/").unwrap(), "team/a/");
}

/// A prefix that would climb, double a separator or outgrow its bound is refused.
#[test]
fn a_prefix_that_keys_cannot_start_with_is_refused() {
    for odd in ["/team", "a//b", "a/../b", ".", "a\\b", "a\nb"] {
        assert!(prefix(odd).is_err(), "{odd:?}");
    }
    assert!(prefix(&"x".repeat(63)).is_ok());
    let refusal = prefix(&"x".repeat(64)).unwrap_err().to_string();
    assert!(refusal.contains("65 bytes"), "{refusal}");
}

/// Checksums go with what is sent, unless the AWS tools' own setting says that they must not.
#[test]
fn checksums_are_left_where_the_aws_tools_leave_them() {
    assert_eq!(checksums(&SdkConfig::builder().build()), Checksums::Sent);
    for (setting, kept) in [
        (RequestChecksumCalculation::WhenSupported, Checksums::Sent),
        (RequestChecksumCalculation::WhenRequired, Checksums::Left),
    ] {
        let shared = SdkConfig::builder().request_checksum_calculation(setting).build();
        assert_eq!(checksums(&shared), kept);
    }
}
