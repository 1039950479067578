use super::{CODE_BYTES_MAX, MESSAGE_BYTES_MAX, Refusal};

fn read(text: &str) -> (String, String) {
    let Refusal { code, message } = Refusal::read(text.as_bytes());
    (code, message)
}

/// Code and message are read where S3 puts them, and nowhere else.
#[test]
fn a_refusal_is_read_where_it_stands() {
    let text = r#"<?xml version="1.0" encoding="UTF-8"?>
        <Error><Code>NoSuchKey</Code><Message>It isn&apos;t &lt;there&gt;</Message>
        <Key>a</Key><Detail><Code>Other</Code></Detail></Error>"#;
    assert_eq!(read(text), ("NoSuchKey".to_owned(), "It isn't <there>".to_owned()));
    for nothing in
        ["", "<html><Code>x</Code></html>", "{\"Code\":1}", "<Error", "<a><Error><Code>x"]
    {
        assert_eq!(read(nothing), Default::default(), "{nothing}");
    }
}

/// Only a refusal that says so, or says nothing, is taken for one of a signature's time.
#[test]
fn other_refusals_are_not_taken_for_one_of_time() {
    let refusal = |code: &str| Refusal { code: code.to_owned(), message: String::new() };
    assert!(refusal("RequestTimeTooSkewed").may_be_about_time(403));
    assert!(refusal("").may_be_about_time(403));
    assert!(!refusal("AccessDenied").may_be_about_time(403));
    assert!(!refusal("").may_be_about_time(404));
}

/// Whatever a server sends, little of it is kept.
#[test]
fn a_refusal_keeps_little_of_much() {
    let long = "é".repeat(40_000);
    let (code, message) = read(&format!("<Error><Code>{long}</Code><Message>{long}"));
    assert_eq!((code.len(), message.len()), (CODE_BYTES_MAX, MESSAGE_BYTES_MAX));
    assert_eq!(read(&"<Error>".repeat(9_000)), Default::default());
    assert_eq!(Refusal::read(&[0xff; 1000]), Refusal::default());
}
