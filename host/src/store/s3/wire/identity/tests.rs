use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, future};
use aws_sdk_s3::config::{Credentials, SharedCredentialsProvider};

use super::{ASKED_MS_MIN, Identities, RENEWED_MS_BEFORE, UNDATED_MS_MAX};
use crate::clock::Clock;
use crate::store::s3::wire::time::ServerTime;

#[derive(Clone, Debug, Default)]
struct Hand(Arc<AtomicU64>);

impl Clock for Hand {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Each answer is another session, which lasts as long as it is told.
#[derive(Debug)]
struct Source {
    asked: Arc<AtomicU64>,
    clock: Hand,
    lasts_ms: Option<u64>,
    fails_after: u64,
}

impl ProvideCredentials for Source {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        if asked > self.fails_after {
            return future::ProvideCredentials::ready(Err(CredentialsError::not_loaded("down")));
        }
        let expiry =
            self.lasts_ms.map(|ms| UNIX_EPOCH + Duration::from_millis(self.clock.now_ms() + ms));
        let token = Some(format!("session {asked}"));
        let credentials = Credentials::new("key", "secret", token, expiry, "tests");
        future::ProvideCredentials::ready(Ok(credentials))
    }
}

struct Setup {
    identities: Identities,
    clock: Hand,
    time: ServerTime,
    asked: Arc<AtomicU64>,
}

fn setup(lasts_ms: Option<u64>, fails_after: u64) -> Setup {
    let (clock, asked) = (Hand::default(), Arc::new(AtomicU64::new(0)));
    clock.0.store(1_000_000, Ordering::SeqCst);
    let source = Source { asked: Arc::clone(&asked), clock: clock.clone(), lasts_ms, fails_after };
    let identities = Identities::new(SharedCredentialsProvider::new(source));
    Setup { identities, time: ServerTime::new(Arc::new(clock.clone())), clock, asked }
}

impl Setup {
    async fn session(&self) -> Option<String> {
        let identity = self.identities.current(&self.time).await.ok()?;
        identity.session_token().map(str::to_owned)
    }

    fn later(&self, ms: u64) {
        self.clock.0.fetch_add(ms, Ordering::SeqCst);
    }

    fn asked(&self) -> u64 {
        self.asked.load(Ordering::SeqCst)
    }
}

/// Credentials are kept, and renewed before they expire.
#[tokio::test]
async fn credentials_are_renewed_before_they_expire() {
    let setup = setup(Some(60_000), u64::MAX);
    assert_eq!(setup.session().await.as_deref(), Some("session 1"));
    setup.later(60_000 - RENEWED_MS_BEFORE - 1);
    assert_eq!(setup.session().await.as_deref(), Some("session 1"));
    setup.later(1);
    assert_eq!(setup.session().await.as_deref(), Some("session 2"));
    assert_eq!(setup.asked(), 2);
}

/// Credentials that do not say how long they last are asked for again now and then.
#[tokio::test]
async fn undated_credentials_are_asked_for_again() {
    let setup = setup(None, u64::MAX);
    setup.session().await;
    setup.later(UNDATED_MS_MAX - 1);
    assert_eq!(setup.session().await.as_deref(), Some("session 1"));
    setup.later(1);
    assert_eq!(setup.session().await.as_deref(), Some("session 2"));
}

/// While the old ones hold, a source that fails is no failure, and is not asked at every request;
/// after that there is nothing to sign with.
#[tokio::test]
async fn old_credentials_are_used_while_they_hold_and_no_longer() {
    let setup = setup(Some(60_000), 1);
    setup.session().await;
    setup.later(60_000 - RENEWED_MS_BEFORE);
    for _ in 0..3 {
        assert_eq!(setup.session().await.as_deref(), Some("session 1"));
    }
    assert_eq!(setup.asked(), 2);
    setup.later(ASKED_MS_MIN);
    assert_eq!(setup.session().await.as_deref(), Some("session 1"));
    assert_eq!(setup.asked(), 3);
    setup.later(RENEWED_MS_BEFORE);
    assert_eq!(setup.session().await, None);
}

/// However many ask at once, the source is asked once.
#[tokio::test]
async fn many_ask_the_source_once() {
    let setup = setup(Some(60_000), u64::MAX);
    let sessions = futures::future::join_all((0..50).map(|_| setup.session())).await;
    assert!(sessions.iter().all(|session| session.as_deref() == Some("session 1")));
    assert_eq!(setup.asked(), 1);
}

/// No secret is printed.
#[tokio::test]
async fn an_identity_prints_no_secret() {
    let setup = setup(Some(60_000), u64::MAX);
    let identity = setup.identities.current(&setup.time).await.unwrap();
    let printed = format!("{identity:?} {:?}", setup.identities);
    assert!(!printed.contains("secret") && !printed.contains("session 1"), "{printed}");
}
