//! Whose requests these are: credentials, kept until shortly before they expire, and the key that
//! is made of them once a day.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, UNIX_EPOCH};

use anyhow::Context;
use aws_sdk_s3::config::{Credentials, ProvideCredentials, SharedCredentialsProvider};
use aws_sigv4::sign::v4::{calculate_signature, generate_signing_key};

use super::address::Scope;
use super::signing::Unsigned;
use super::time::{ServerTime, Stamp};
use crate::store::s3::errors::{Failure, FailureKind};

/// How long before they expire credentials are asked for again, in milliseconds.
const RENEWED_MS_BEFORE: u64 = 10_000;
/// After how long those are asked for again that do not say when they expire, in milliseconds.
const UNDATED_MS_MAX: u64 = 15 * 60_000;
/// How long nobody asks again after an answer, whatever it was, in milliseconds.
const ASKED_MS_MIN: u64 = 1_000;
/// How long a source of credentials may take.
const LOAD_LIMIT: Duration = Duration::from_secs(10);

/// Credentials, as far as they are known.
#[derive(Debug)]
pub(super) struct Identities {
    provider: SharedCredentialsProvider,
    known: RwLock<Option<Arc<Identity>>>,
    /// Held by whoever asks for new ones.
    asking: tokio::sync::Mutex<()>,
}

impl Identities {
    pub(super) fn new(provider: SharedCredentialsProvider) -> Self {
        let asking = tokio::sync::Mutex::new(());
        Self { provider, known: RwLock::new(None), asking }
    }

    /// Credentials that hold now. While old ones do, nobody waits but the one who asks for new
    /// ones.
    pub(super) async fn current(&self, time: &ServerTime) -> Result<Arc<Identity>, Failure> {
        let known = self.known();
        let now_ms = time.now_ms();
        if let Some(fresh) = known.as_ref().filter(|known| now_ms < known.renewed_ms) {
            return Ok(Arc::clone(fresh));
        }
        let holds = known.filter(|known| known.holds(now_ms));
        let _asking = match (self.asking.try_lock(), holds) {
            (Ok(asking), _) => asking,
            (Err(_), Some(holds)) => return Ok(holds),
            (Err(_), None) => self.asking.lock().await,
        };
        self.renewed(time).await
    }

    async fn renewed(&self, time: &ServerTime) -> Result<Arc<Identity>, Failure> {
        let known = self.known();
        let now_ms = time.now_ms();
        if let Some(fresh) = known.as_ref().filter(|known| now_ms < known.renewed_ms) {
            return Ok(Arc::clone(fresh));
        }
        let loaded = tokio::time::timeout(LOAD_LIMIT, self.provider.provide_credentials()).await;
        let loaded = match loaded {
            Ok(loaded) => loaded.context("no credentials for S3 were given"),
            Err(_) => Err(anyhow::Error::msg("credentials for S3 were not given in time")),
        };
        let identity = match (loaded, known) {
            (Ok(credentials), _) => Identity::new(credentials, time.now_ms()),
            (Err(error), Some(known)) if known.holds(time.now_ms()) => {
                tracing::warn!(error = format!("{error:#}"), "old credentials are used on");
                known.kept(time.now_ms())
            }
            // Nothing was sent.
            (Err(error), _) => return Err(Failure::new(FailureKind::Unreached, error)),
        };
        let identity = Arc::new(identity);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        *known = Some(Arc::clone(&identity));
        Ok(identity)
    }

    fn known(&self) -> Option<Arc<Identity>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Credentials, and what is made of them.
pub(super) struct Identity {
    credentials: Credentials,
    /// When to ask for others.
    renewed_ms: u64,
    /// When nobody takes them any more.
    expires_ms: Option<u64>,
    key: Mutex<Option<DayKey>>,
}

#[derive(Clone)]
struct DayKey {
    day: [u8; 8],
    key: [u8; 32],
}

impl Identity {
    fn new(credentials: Credentials, now_ms: u64) -> Self {
        let since = credentials.expiry().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let expires_ms = since.map(|since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
        let due_ms = match expires_ms {
            Some(expires_ms) => expires_ms.saturating_sub(RENEWED_MS_BEFORE),
            None => now_ms.saturating_add(UNDATED_MS_MAX),
        };
        let renewed_ms = due_ms.max(now_ms.saturating_add(ASKED_MS_MIN));
        Self { credentials, renewed_ms, expires_ms, key: Mutex::new(None) }
    }

    /// The same, for a little longer.
    fn kept(&self, now_ms: u64) -> Self {
        let renewed_ms = now_ms.saturating_add(ASKED_MS_MIN);
        let credentials = self.credentials.clone();
        Self { credentials, renewed_ms, expires_ms: self.expires_ms, key: Mutex::new(None) }
    }

    fn holds(&self, now_ms: u64) -> bool {
        self.expires_ms.is_none_or(|expires_ms| now_ms < expires_ms)
    }

    pub(super) fn session_token(&self) -> Option<&str> {
        self.credentials.session_token()
    }

    /// What a request says of who sends it.
    pub(super) fn authorize(
        &self,
        unsigned: &Unsigned<'_>,
        stamp: &Stamp,
        scope: &Scope,
    ) -> String {
        let within = format!("{}/{}/{}/aws4_request", stamp.day(), scope.region, scope.service);
        let signature = calculate_signature(
            self.key(stamp, scope),
            unsigned.to_sign(stamp, &within).as_bytes(),
        );
        let mut text = String::with_capacity(384);
        text.push_str("AWS4-HMAC-SHA256 Credential=");
        text.push_str(self.credentials.access_key_id());
        text.push('/');
        text.push_str(&within);
        text.push_str(", SignedHeaders=");
        unsigned.push_names(&mut text);
        text.push_str(", Signature=");
        text.push_str(&signature);
        text
    }

    fn key(&self, stamp: &Stamp, scope: &Scope) -> [u8; 32] {
        let mut known = self.key.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref().filter(|known| known.day == stamp.day_bytes()) {
            return known.key;
        }
        let secret = self.credentials.secret_access_key();
        let made = generate_signing_key(secret, stamp.time(), &scope.region, &scope.service);
        let mut key = [0; 32];
        key.copy_from_slice(made.as_ref());
        *known = Some(DayKey { day: stamp.day_bytes(), key });
        key
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("expires_ms", &self.expires_ms).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
