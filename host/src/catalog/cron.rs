use std::fmt;

use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::integer;
use crate::limits::CRON_BYTES_MAX;

/// Times that recur: a pattern of five fields (minute, hour, day of the month, month, day of the
/// week) as cron knows them, read in a time zone.
#[derive(Clone, Debug)]
pub struct Cron {
    pattern: Box<croner::Cron>,
    written: String,
    zone: TimeZone,
    zone_name: String,
}

/// Why a pattern was not taken, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// It cannot be read.
    #[error("a pattern has five fields: minute, hour, day of the month, month, day of the week")]
    Pattern,
    /// There is no such time zone.
    #[error("there is no such time zone: name one as `Europe/Berlin`, or `UTC`")]
    Zone,
    /// It names no time that ever comes.
    #[error("this pattern names no time that ever comes")]
    Never,
}

impl Cron {
    /// A pattern, in a zone of the IANA database (`UTC`, `Europe/Berlin`).
    ///
    /// # Errors
    /// If it is no such pattern, one that never comes after `now_ms`, or no such zone.
    pub fn new(pattern: &str, zone: &str, now_ms: u64) -> Result<Self, CronError> {
        let cron = Self::parse(pattern, zone)?;
        cron.after(now_ms).ok_or(CronError::Never)?;
        Ok(cron)
    }

    /// One that was taken before.
    pub(super) fn parse(pattern: &str, zone: &str) -> Result<Self, CronError> {
        // What only this library knows (`@daily`, `#`, `+`) is not promised.
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b" *,-/".contains(&byte);
        if pattern.len() > CRON_BYTES_MAX || !pattern.bytes().all(legal) {
            return Err(CronError::Pattern);
        }
        let parser =
            CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let parsed = parser.parse(pattern).map_err(|_| CronError::Pattern)?;
        let legal_zone = zone.len() <= CRON_BYTES_MAX && zone.is_ascii();
        let found = legal_zone.then(|| TimeZone::get(zone).ok()).flatten();
        let (written, zone_name) = (pattern.to_owned(), zone.to_owned());
        let zone = found.ok_or(CronError::Zone)?;
        Ok(Self { pattern: Box::new(parsed), written, zone, zone_name })
    }

    /// The first time after one, both in milliseconds since the Unix epoch.
    pub(super) fn after(&self, ms: u64) -> Option<u64> {
        let start = Timestamp::from_millisecond(integer(ms)).ok()?.to_zoned(self.zone.clone());
        let next = self.pattern.find_next_occurrence(&start, false).ok()?;
        u64::try_from(next.timestamp().as_millisecond()).ok()
    }

    /// The pattern as it was given.
    pub fn pattern(&self) -> &str {
        &self.written
    }

    /// The zone as it was given.
    pub fn zone(&self) -> &str {
        &self.zone_name
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.written, self.zone_name)
    }
}

impl PartialEq for Cron {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written && self.zone_name == other.zone_name
    }
}

impl Eq for Cron {}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(time: &str) -> u64 {
        u64::try_from(time.parse::<Timestamp>().unwrap().as_millisecond()).unwrap()
    }

    /// Times are those of the zone, over changes of its clocks.
    #[test]
    fn a_pattern_is_read_in_its_zone() {
        let morning = Cron::parse("30 8 * * 1-5", "Europe/Berlin").unwrap();
        for (after, next) in [
            ("2026-01-02T07:29:59Z", "2026-01-02T07:30:00Z"),
            ("2026-01-02T07:30:00Z", "2026-01-05T07:30:00Z"),
            ("2026-07-01T07:00:00Z", "2026-07-02T06:30:00Z"),
        ] {
            assert_eq!(morning.after(ms(after)), Some(ms(next)), "after {after}");
        }
        // 02:30 is skipped on that day, and told once on the day that has it twice.
        let night = Cron::parse("30 2 * * *", "Europe/Berlin").unwrap();
        assert_eq!(night.after(ms("2026-03-29T00:00:00Z")), Some(ms("2026-03-29T01:00:00Z")));
        let first = night.after(ms("2026-10-24T22:00:00Z")).unwrap();
        let second = night.after(first).unwrap();
        assert_eq!((first, second), (ms("2026-10-25T00:30:00Z"), ms("2026-10-26T01:30:00Z")));
    }

    #[test]
    fn what_is_no_pattern_and_what_never_comes_is_refused() {
        let long = "1,".repeat(CRON_BYTES_MAX);
        for bad in ["", "* * * *", "* * * * * *", "60 * * * *", "@daily", "a b c d e", "\0", &long]
        {
            assert_eq!(Cron::new(bad, "UTC", 0), Err(CronError::Pattern), "{bad:?}");
        }
        for bad in ["", "Mars/Olympus", "../../etc/passwd", "\0"] {
            assert_eq!(Cron::new("* * * * *", bad, 0), Err(CronError::Zone), "{bad:?}");
        }
        for never in ["0 0 31 2 *", "0 0 30 2 *"] {
            assert_eq!(Cron::new(never, "UTC", 0), Err(CronError::Never), "{never:?}");
        }
        assert!(Cron::new("0 0 29 2 *", "UTC", ms("2096-03-01T00:00:00Z")).is_ok());
    }
}
