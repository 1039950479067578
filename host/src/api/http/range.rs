//! Ranges. <https://www.rfc-editor.org/rfc/rfc9110#section-14>

use std::ops::Range;

use axum::http::HeaderMap;
use axum::http::header::RANGE;

/// What of a file is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::api) enum Asked {
    /// All of it. Also what is asked for in a way that is not understood, or in several ranges:
    /// a server may answer those so.
    Whole,
    /// These bytes, some of them at least.
    Part(Range<u64>),
    /// Bytes that it does not have.
    Beyond,
}

/// What the `Range` of a request asks for of a file of `size` bytes.
pub(in crate::api) fn asked(headers: &HeaderMap, size: u64) -> Asked {
    let mut values = headers.get_all(RANGE).iter();
    let value = values.next().and_then(|value| value.to_str().ok());
    match value.filter(|_| values.next().is_none()) {
        Some(value) => parse(value, size).unwrap_or(Asked::Whole),
        None => Asked::Whole,
    }
}

fn parse(value: &str, size: u64) -> Option<Asked> {
    let (unit, range) = value.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (first, last) = range.trim().split_once('-')?;
    let within = match (first, last) {
        ("", length) => {
            let length = number(length)?.min(size);
            size - length..size
        }
        (first, "") => number(first)?..size,
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return None;
            }
            first..last.saturating_add(1).min(size)
        }
    };
    Some(if within.start < within.end { Asked::Part(within) } else { Asked::Beyond })
}

/// Digits alone; more than there can be is as much as there can be.
fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    /// One range is answered; what is not understood is answered with the whole.
    #[test]
    fn a_range_is_what_there_is_of_it() {
        use Asked::{Beyond, Part, Whole};
        for (value, expected) in [
            ("bytes=0-4", Part(0..5)),
            ("bytes=9-9", Part(9..10)),
            ("bytes=5-", Part(5..10)),
            ("bytes=0-", Part(0..10)),
            ("bytes=2-99999999999999999999999", Part(2..10)),
            ("bytes=-3", Part(7..10)),
            ("bytes=-99", Part(0..10)),
            ("Bytes= 0-0 ", Part(0..1)),
            ("bytes=10-", Beyond),
            ("bytes=10-11", Beyond),
            ("bytes=-0", Beyond),
            ("bytes=99999999999999999999999-", Beyond),
            ("bytes=4-2", Whole),
            ("bytes=-", Whole),
            ("bytes=", Whole),
            ("bytes", Whole),
            ("lines=0-1", Whole),
            ("bytes=a-b", Whole),
            ("bytes=+1-2", Whole),
            ("bytes=0--1", Whole),
            ("bytes=0-0,2-3", Whole),
            ("", Whole),
        ] {
            let headers = HeaderMap::from_iter([(RANGE, HeaderValue::from_static(value))]);
            assert_eq!(asked(&headers, 10), expected, "{value}");
        }
        let of_nothing =
            |value| asked(&HeaderMap::from_iter([(RANGE, HeaderValue::from_static(value))]), 0);
        assert_eq!((of_nothing("bytes=0-"), of_nothing("bytes=-1")), (Beyond, Beyond));
        let mut twice = HeaderMap::new();
        twice.append(RANGE, HeaderValue::from_static("bytes=0-1"));
        twice.append(RANGE, HeaderValue::from_static("bytes=2-3"));
        assert_eq!((asked(&twice, 10), asked(&HeaderMap::new(), 10)), (Whole, Whole));
    }
}
