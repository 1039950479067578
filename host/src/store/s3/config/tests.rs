use super::S3Config;

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
