use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{EncodingKey, Header, encode};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::api::authority::Authority;

const NOW_S: u64 = 1_700_000_000;
const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";
const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIL9C6p4RcMWYSueb3LUQVsMwhOr8slbA+zAX64/+WPX0
-----END PRIVATE KEY-----
";
const PUBLIC_PEM: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAaa6JFtHK76y27lEgMb1RbJtrhoMwT6HVNpTJf+B6qGs=
-----END PUBLIC KEY-----
";
const PUBLIC_X: &str = "aa6JFtHK76y27lEgMb1RbJtrhoMwT6HVNpTJf-B6qGs";

#[derive(Debug)]
struct Still(u64);

impl Clock for Still {
    fn now_ms(&self) -> u64 {
        self.0
    }
}

fn verifier(keys: TokenKeys) -> Verifier {
    let (issuer, audience) = ("platform".to_owned(), "bailiwick".to_owned());
    let options = TokenOptions { keys, issuer, audience, leeway_s: 30 };
    Verifier::new(options, Arc::new(Still(NOW_S * 1000)))
}

fn shared() -> Verifier {
    verifier(TokenKeys::secret(SECRET).unwrap())
}

fn claims() -> Value {
    json!({
        "iss": "platform", "aud": "bailiwick", "sub": "ann", "jti": "t1", "exp": NOW_S + 60,
        "workspace": Uuid::from_u128(1), "authorities": ["sessions:read", "of:tomorrow"],
    })
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

fn without(name: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().unwrap().remove(name);
    claims
}

fn signed(claims: &impl Serialize) -> String {
    encode(&Header::new(SHARED), claims, &EncodingKey::from_secret(SECRET).unwrap()).unwrap()
}

/// Claims, and one more entry of a name that may be there already.
struct Doubled(Value, &'static str, Value);

impl Serialize for Doubled {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(self.1, &self.2)?;
        for (name, value) in self.0.as_object().unwrap() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

fn part(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(text)
}

/// What is signed, meant for us and in its time is who it says; unknown authorities grant nothing.
#[test]
fn a_token_is_who_it_says_and_may_what_is_known() {
    let caller = shared().verify(&signed(&claims())).unwrap();
    assert_eq!(caller.subject, "ann");
    assert_eq!(caller.workspace, Some(WorkspaceId(Uuid::from_u128(1))));
    assert_eq!(caller.authorities, [Authority::SessionsRead].into_iter().collect());
    assert_eq!((caller.agents, caller.token_id.as_str()), (None, "t1"));
    let several = with("aud", json!(["other", "bailiwick"]));
    assert!(shared().verify(&signed(&several)).is_ok());
    let narrowed = shared().verify(&signed(&with("agents", json!([])))).unwrap();
    assert_eq!(narrowed.agents, Some(BTreeSet::new()));
}

/// A claim that is missing, or not what it must be, makes a token none.
#[test]
fn a_token_that_says_too_little_or_too_much_is_refused() {
    let long = "x".repeat(300);
    let nobody: Vec<_> = (0..65).map(Uuid::from_u128).collect();
    let hostile = [
        without("exp"),
        without("iss"),
        without("aud"),
        without("sub"),
        without("jti"),
        with("exp", json!(null)),
        with("exp", json!("1800000000")),
        with("exp", json!(-1)),
        with("exp", json!(1.8e9)),
        with("iss", json!("other")),
        with("iss", json!(["platform"])),
        with("iss", json!(["platform", "other"])),
        with("aud", json!("other")),
        with("aud", json!([])),
        with("aud", json!({"bailiwick": 1})),
        with("sub", json!("")),
        with("sub", json!(7)),
        with("sub", json!("a\nb")),
        with("sub", json!(long)),
        with("jti", json!("")),
        with("jti", json!(long)),
        with("workspace", json!(null)),
        with("workspace", json!("acme")),
        with("workspace", json!([])),
        with("agents", json!(null)),
        with("agents", json!("all")),
        with("agents", json!(["*"])),
        with("agents", json!(nobody)),
        with("authorities", json!("admin")),
        with("authorities", json!([1])),
        with("authorities", json!(vec!["x"; 65])),
        json!([]),
        json!("admin"),
    ];
    for claims in hostile {
        assert_eq!(shared().verify(&signed(&claims)), Err(TokenError::Refused), "{claims}");
    }
}

/// A claim that is there twice is not taken for either.
#[test]
fn a_claim_that_is_there_twice_is_refused() {
    let narrowed = with("agents", json!([]));
    let doubled = |name, value| shared().verify(&signed(&Doubled(narrowed.clone(), name, value)));
    assert!(doubled("extra", json!(1)).is_ok());
    for (name, value) in [
        ("sub", json!("bob")),
        ("iss", json!("platform")),
        ("aud", json!("bailiwick")),
        ("jti", json!("t9")),
        ("exp", json!(NOW_S + 99)),
        ("agents", json!([Uuid::nil()])),
        ("workspace", json!(Uuid::nil())),
        ("authorities", json!(["admin"])),
    ] {
        assert_eq!(doubled(name, value), Err(TokenError::Refused), "{name}");
    }
}

/// Times are those of the clock that was passed in, with a leeway either way.
#[test]
fn a_token_holds_in_its_time_and_the_leeway() {
    let verify = |claims: Value| shared().verify(&signed(&claims)).map(|_| ());
    for (exp, held) in [
        (NOW_S - 29, Ok(())),
        (NOW_S - 30, Err(TokenError::Expired)),
        (0, Err(TokenError::Expired)),
        (u64::MAX, Ok(())),
    ] {
        assert_eq!(verify(with("exp", json!(exp))), held, "exp {exp}");
    }
    for (nbf, held) in [
        (NOW_S + 30, Ok(())),
        (NOW_S + 31, Err(TokenError::Early)),
        (u64::MAX, Err(TokenError::Early)),
    ] {
        assert_eq!(verify(with("nbf", json!(nbf))), held, "nbf {nbf}");
    }
}

/// The token does not choose how it is checked.
#[test]
fn the_algorithm_is_not_the_tokens_to_choose() {
    let body = part(&claims().to_string());
    for header in [
        r#"{"alg":"none"}"#,
        r#"{"alg":"None"}"#,
        r#"{"alg":"HS384"}"#,
        r#"{"alg":"RS256"}"#,
        r#"{}"#,
        r#"{"alg":"HS256","alg":"none"}"#,
        r#"{"alg":"HS256","crit":["exp"]}"#,
        "null",
        "",
    ] {
        for signature in ["", "AAAA"] {
            let token = format!("{}.{body}.{signature}", part(header));
            assert_eq!(shared().verify(&token), Err(TokenError::Refused), "{header}");
        }
    }
    let good = signed(&claims());
    for bad in [
        "",
        ".",
        "..",
        "...",
        &good[..good.len() - 1],
        &format!("{good}x"),
        &format!("{good}."),
        &good.replacen('.', "..", 1),
    ] {
        assert_eq!(shared().verify(bad), Err(TokenError::Refused), "{bad}");
    }
    let huge = signed(&with("authorities", json!(["x".repeat(9 << 10)])));
    assert_eq!(shared().verify(&huge), Err(TokenError::Refused));
    let other =
        encode(&Header::new(SHARED), &claims(), &EncodingKey::from_secret(&[7; 32]).unwrap());
    assert_eq!(shared().verify(&other.unwrap()), Err(TokenError::Refused));
}

/// What everybody may know, the public key, signs nothing.
#[test]
fn a_public_key_is_no_shared_secret() {
    let public = verifier(TokenKeys::public(PUBLIC_PEM).unwrap());
    let private = EncodingKey::from_ed_pem(PRIVATE.as_bytes()).unwrap();
    let good = encode(&Header::new(PUBLIC), &claims(), &private).unwrap();
    assert_eq!(public.verify(&good).unwrap().subject, "ann");
    assert_eq!(shared().verify(&good), Err(TokenError::Refused));
    let raw = URL_SAFE_NO_PAD.decode(PUBLIC_X).unwrap();
    for known in [PUBLIC_PEM.as_bytes(), PUBLIC_X.as_bytes(), &raw] {
        let key = EncodingKey::from_secret(known).unwrap();
        let forged = encode(&Header::new(SHARED), &claims(), &key).unwrap();
        assert_eq!(public.verify(&forged), Err(TokenError::Refused));
    }
}

/// Of several keys a token names one; keys that cannot be told apart or used are refused.
#[test]
fn a_key_set_is_used_by_the_ids_of_its_keys() {
    let ed = |id: Option<&str>| json!({"kty": "OKP", "crv": "Ed25519", "x": PUBLIC_X, "kid": id});
    let other = json!({"kty": "OKP", "crv": "Ed25519", "kid": "b",
        "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
    let secret = json!({"kty": "oct", "k": URL_SAFE_NO_PAD.encode(SECRET), "kid": "s"});
    let set = |keys: Value| TokenKeys::public(&json!({ "keys": keys }).to_string());
    let private = EncodingKey::from_ed_pem(PRIVATE.as_bytes()).unwrap();
    let token = |id: Option<&str>| {
        let header = Header { kid: id.map(str::to_owned), ..Header::new(PUBLIC) };
        encode(&header, &claims(), &private).unwrap()
    };
    let two = verifier(set(json!([ed(Some("a")), other, secret])).unwrap());
    assert!(two.verify(&token(Some("a"))).is_ok());
    for id in [None, Some("b"), Some("s"), Some("c"), Some("")] {
        assert_eq!(two.verify(&token(id)), Err(TokenError::Refused), "{id:?}");
    }
    let forged = encode(
        &Header { kid: Some("s".into()), ..Header::new(SHARED) },
        &claims(),
        &EncodingKey::from_secret(SECRET).unwrap(),
    );
    assert_eq!(two.verify(&forged.unwrap()), Err(TokenError::Refused));
    assert!(verifier(set(json!([ed(None)])).unwrap()).verify(&token(None)).is_ok());

    assert_eq!(set(json!([secret])).unwrap_err(), KeyError::NoneUsable);
    assert_eq!(set(json!([])).unwrap_err(), KeyError::NoneUsable);
    assert_eq!(set(json!([ed(Some("a")), ed(Some("a"))])).unwrap_err(), KeyError::Ambiguous);
    assert_eq!(set(json!([ed(Some("a")), ed(None)])).unwrap_err(), KeyError::Ambiguous);
    assert_eq!(set(json!(vec![ed(None); 17])).unwrap_err(), KeyError::TooMany);
    for text in ["", "{", "{\"keys\":1}", "-----BEGIN", PRIVATE] {
        assert_eq!(TokenKeys::public(text).unwrap_err(), KeyError::NoKeys, "{text}");
    }
    assert_eq!(TokenKeys::secret(&SECRET[1..]).unwrap_err(), KeyError::ShortSecret(31));
}

/// What is minted for development is what is accepted.
#[test]
fn a_minted_token_is_accepted() {
    let agents = [AgentId(Uuid::from_u128(2))];
    let authorities = [Authority::Admin, Authority::AgentFilesWrite];
    let minted = Minted {
        issuer: "platform",
        audience: "bailiwick",
        subject: "ann",
        id: "t2",
        workspace: Some(WorkspaceId(Uuid::from_u128(1))),
        authorities: &authorities,
        agents: Some(&agents),
        expires_s: NOW_S + 60,
    };
    let pairs = [
        (SigningKey::secret(SECRET).unwrap(), shared()),
        (SigningKey::private(PRIVATE).unwrap(), verifier(TokenKeys::public(PUBLIC_PEM).unwrap())),
    ];
    for (key, verifier) in pairs {
        let caller = verifier.verify(&mint(&minted, &key).unwrap()).unwrap();
        assert_eq!(caller.authorities, authorities.into_iter().collect());
        assert_eq!(caller.agents, Some(agents.into_iter().collect()));
    }
}
