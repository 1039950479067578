//! The server's time, as far as it differs from ours: a signature is good for minutes only.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_smithy_async::time::TimeSource;

use crate::clock::Clock;

/// How far a signature's time may be off without anybody minding, in milliseconds.
const OFF_MS_MAX: u64 = 4 * 60_000;

/// Our clock, set by the server's where that refuses ours. Clones are the same.
#[derive(Clone, Debug)]
pub(in super::super) struct ServerTime {
    clock: Arc<dyn Clock>,
    /// What the server's clock is ahead, in milliseconds.
    ahead_ms: Arc<AtomicI64>,
}

impl ServerTime {
    pub(in super::super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, ahead_ms: Arc::new(AtomicI64::new(0)) }
    }

    /// Milliseconds since the Unix epoch.
    pub(super) fn now_ms(&self) -> u64 {
        self.clock.now_ms().saturating_add_signed(self.ahead_ms.load(Ordering::Relaxed))
    }

    pub(super) fn stamp(&self) -> Stamp {
        Stamp::new(self.now_ms())
    }

    /// Takes the server's time for the right one where a request's was far from it; whether it
    /// was.
    pub(super) fn learns(&self, sent: &Stamp, server_ms: Option<u64>) -> bool {
        let Some(server_ms) = server_ms.filter(|server_ms| *server_ms <= LAST_MS) else {
            return false;
        };
        if server_ms.abs_diff(sent.ms) <= OFF_MS_MAX {
            return false;
        }
        let ahead_ms = i128::from(server_ms) - i128::from(self.clock.now_ms());
        let Ok(ahead_ms) = i64::try_from(ahead_ms) else { return false };
        tracing::warn!(ahead_ms, "the S3 server's clock is another one: signing by it");
        self.ahead_ms.store(ahead_ms, Ordering::Relaxed);
        true
    }
}

impl TimeSource for ServerTime {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.now_ms().min(LAST_MS))
    }
}

/// The end of the year 9999, in milliseconds: no stamp can say a later time.
const LAST_MS: u64 = 253_402_300_799_000;

/// When a request is signed, to the second: `20261129T203000Z`.
#[derive(Clone, Debug)]
pub(in super::super) struct Stamp {
    ms: u64,
    text: [u8; 16],
}

impl Stamp {
    pub(super) fn new(ms: u64) -> Self {
        let ms = ms.min(LAST_MS);
        let at = UNIX_EPOCH + Duration::from_millis(ms);
        let mut text = *b"00000000T000000Z";
        let digits = humantime::format_rfc3339_seconds(at).to_string();
        let digits = digits.bytes().filter(|byte| !matches!(byte, b'-' | b':'));
        for (place, digit) in text.iter_mut().zip(digits) {
            *place = digit;
        }
        Self { ms, text }
    }

    pub(super) fn time(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.ms)
    }

    pub(super) fn day(&self) -> &str {
        self.text().get(..8).unwrap_or_default()
    }

    pub(super) fn day_bytes(&self) -> [u8; 8] {
        let [a, b, c, d, e, f, g, h, ..] = self.text;
        [a, b, c, d, e, f, g, h]
    }

    fn text(&self) -> &str {
        // ASCII throughout.
        str::from_utf8(&self.text).unwrap_or_default()
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

#[cfg(test)]
mod tests;
