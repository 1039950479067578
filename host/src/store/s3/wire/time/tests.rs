use std::sync::Arc;

use super::{LAST_MS, ServerTime, Stamp};
use crate::clock::Clock;

#[derive(Debug)]
struct At(u64);

impl Clock for At {
    fn now_ms(&self) -> u64 {
        self.0
    }
}

/// 2026-11-29T12:00:00Z.
const NOON_MS: u64 = 1_795_953_600_000;

/// A stamp says the second, and the day it is signed for.
#[test]
fn a_stamp_says_second_and_day() {
    let stamp = Stamp::new(NOON_MS + 61_999);
    assert_eq!(stamp.to_string(), "20261129T120101Z");
    assert_eq!((stamp.day(), &stamp.day_bytes()), ("20261129", b"20261129"));
    assert_eq!(Stamp::new(0).to_string(), "19700101T000000Z");
    assert_eq!(Stamp::new(u64::MAX).to_string(), "99991231T235959Z");
}

/// A server's time is taken where ours is far off, and not for a little.
#[test]
fn the_servers_time_is_taken_where_ours_is_far_off() {
    let time = ServerTime::new(Arc::new(At(NOON_MS)));
    assert!(!time.learns(&time.stamp(), Some(NOON_MS + 60_000)));
    assert!(!time.learns(&time.stamp(), None));
    assert!(!time.learns(&time.stamp(), Some(u64::MAX)));
    assert_eq!(time.now_ms(), NOON_MS);
    for server_ms in [NOON_MS + 3_600_000, NOON_MS - 86_400_000, 0, LAST_MS] {
        assert!(time.learns(&time.stamp(), Some(server_ms)));
        assert_eq!(time.now_ms(), server_ms);
        assert!(!time.learns(&time.stamp(), Some(server_ms)), "once it is known it is no reason");
    }
}
