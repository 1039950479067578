use super::*;

fn receipt() -> Receipt {
    let key = ReceiptKey::from_pem(KEY).unwrap();
    let done = |id: &str| Done {
        what: "session".to_owned(),
        id: id.to_owned(),
        deleted_ms: 1,
        proved_ms: 2,
        files: 3,
        bytes: 4,
        versions: 5,
        markers: 6,
        uploads: 7,
        pages: 8,
        digest: "00".repeat(32),
        resumed: 0,
    };
    Receipt::new(Proved {
        erasure: "e".to_owned(),
        asked: Asked {
            workspace: "w".to_owned(),
            subject: Some(key.hash("ann")),
            by: None,
            at_ms: 0,
            deadline_ms: 9,
        },
        deletions: vec![done("b"), done("a")],
        promoted: vec![LivesOn {
            agent: "g".to_owned(),
            path: "agent/é\"\n\u{1f}".to_owned(),
            revision: "r".to_owned(),
            at_ms: 1,
        }],
        promoted_cut: false,
        unpromised: vec!["nothing".to_owned()],
    })
}

/// The test key of RFC 8032, section 7.1, test 1, as `openssl pkey` writes it.
const KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
    -----END PRIVATE KEY-----\n";

#[test]
fn a_receipt_is_verified_by_its_key_alone() {
    let key = ReceiptKey::from_pem(KEY).unwrap();
    let signed = SignedReceipt::sign(receipt(), &key);
    let text = signed.to_text();
    assert_eq!(SignedReceipt::verified(&text, &key.public()), Ok(signed.clone()));
    let spaced = serde_json::to_string_pretty(&signed).unwrap();
    assert_eq!(SignedReceipt::verified(&spaced, &key.public()), Ok(signed));
    let (other, _) = ReceiptKey::generate().unwrap();
    let refused = SignedReceipt::verified(&text, &other.public());
    assert_eq!(refused, Err(ReceiptError::AnotherKey));
}

/// Whatever is changed, left out, added or said twice, it is no receipt any more.
#[test]
fn a_receipt_that_was_changed_is_refused() {
    let key = ReceiptKey::from_pem(KEY).unwrap();
    let text = SignedReceipt::sign(receipt(), &key).to_text();
    let (other, _) = ReceiptKey::generate().unwrap();
    let as_others = text.replace(&key.public().to_string(), &other.public().to_string());
    assert_eq!(SignedReceipt::verified(&as_others, &other.public()), Err(ReceiptError::Forged));
    for (from, to) in [
        ("\"files\":3", "\"files\":30"),
        ("\"files\":3", "\"files\":3,\"files\":3"),
        ("\"files\":3", "\"files\":3,\"more\":0"),
        ("\"unpromised\":[\"nothing\"]", "\"unpromised\":[]"),
        ("\"deadline_ms\":9", "\"deadline_ms\":10"),
        ("\"version\":1", "\"version\":2"),
        ("Ed25519", "none"),
        ("\"signature\":{", "\"signature\":null,\"x\":{"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        assert!(SignedReceipt::verified(&changed, &key.public()).is_err(), "{from} as {to}");
    }
    for wrong in ["", "{}", "[]", "null"] {
        assert!(SignedReceipt::verified(wrong, &key.public()).is_err(), "{wrong}");
    }
}

/// What is signed has one spelling, and stays what it was from version to version.
#[test]
fn what_is_signed_stays_the_same() {
    let bytes = receipt().signed_bytes();
    let text = std::str::from_utf8(&bytes).unwrap();
    let start = "bailiwick receipt of deletion 1\n{\"asked\":{\"at_ms\":0,\"deadline_ms\":9,\"subject\":\"hmac-sha256:";
    assert!(text.starts_with(start), "{text}");
    assert!(text.contains("\"deletions\":[{\"bytes\":4,\"deleted_ms\":1,\"digest\":"), "{text}");
    assert!(text.contains("\"path\":\"agent/é\\\"\\n\\u001f\""), "{text}");
    assert!(text.ends_with(",\"unpromised\":[\"nothing\"],\"version\":1}"), "{text}");
}

#[test]
fn keys_are_read_as_they_are_written() {
    let key = ReceiptKey::from_pem(KEY).unwrap();
    // Of the same test of RFC 8032.
    let public = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
    assert_eq!(key.public().to_string(), public);
    assert_eq!(PublicKey::parse(public), Ok(key.public()));
    assert_eq!(PublicKey::parse(&key.public().to_pem()), Ok(key.public()));
    let (made, kept) = ReceiptKey::generate().unwrap();
    assert_eq!(ReceiptKey::from_pem(&kept).unwrap().public(), made.public());
    for wrong in ["", "AAAA", public.get(1..).unwrap(), KEY] {
        assert_eq!(PublicKey::parse(wrong), Err(ReceiptKeyError::Public), "{wrong}");
    }
    let pem = key.public().to_pem();
    for wrong in ["", public, pem.as_str()] {
        assert!(ReceiptKey::from_pem(wrong).is_err(), "{wrong}");
    }
    assert!(!format!("{key:?}").contains(public));
}

#[test]
fn a_subject_is_hidden_by_the_key() {
    let (one, other) = (ReceiptKey::from_pem(KEY).unwrap(), ReceiptKey::generate().unwrap().0);
    assert_eq!(one.hash("ann"), one.hash("ann"));
    assert_ne!(one.hash("ann"), one.hash("Ann"));
    assert_ne!(one.hash("ann"), other.hash("ann"));
    assert!(one.hash("ann").starts_with("hmac-sha256:") && one.hash("ann").len() == 12 + 64);
}
