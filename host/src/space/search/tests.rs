use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use regex::bytes::Regex;

use super::pattern::Pattern;
use super::scan::{Scan, Stopped, Text};

/// Matching lines by the plain rule: each line alone, without its end.
fn one_by_one(pattern: &str, text: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let regex = Regex::new(pattern).unwrap();
    let lines = text.split_inclusive(|byte| *byte == b'\n').map(|line| {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.strip_suffix(b"\r").unwrap_or(line)
    });
    (1..)
        .zip(lines)
        .filter(|(_, line)| regex.is_match(line))
        .map(|(n, l)| (n, l.to_vec()))
        .collect()
}

fn scan(pattern: &str, texts: &[&str], matches_max: usize, time_left: Duration) -> super::Scanned {
    let text = |text: &&str| Text {
        path: "session/a".to_owned(),
        bytes: Bytes::copy_from_slice(text.as_bytes()),
        first_line: 1,
    };
    let pattern = Arc::new(Pattern::compile(pattern).unwrap());
    Scan { pattern, texts: texts.iter().map(text).collect(), matches_max, time_left }.run()
}

fn all_at_once(pattern: &str, text: &str) -> Vec<(u32, Vec<u8>)> {
    let scanned = scan(pattern, &[text], usize::MAX, Duration::MAX);
    scanned.found.into_iter().map(|found| (found.line, found.text.into_bytes())).collect()
}

fn patterns() -> impl Strategy<Value = String> {
    let atoms = [
        "a",
        "b",
        "ab",
        ".",
        "[^a]",
        "\\s",
        "\\W",
        "^",
        "$",
        "\\A",
        "\\z",
        "\\b",
        "\\B",
        "\\n",
        "\\r",
        "(?m:^)",
        "(?-m:$)",
        "(?s:.)",
        "(?-u:[^b])",
        "(?R:$)",
        "(?i:A)",
        "\\x0a",
        "[a\\n]",
    ];
    let atom = (
        proptest::sample::select(atoms.to_vec()),
        proptest::sample::select(vec!["", "*", "+", "?", "{2}", "*?"]),
    );
    // An assertion cannot be repeated without a group.
    let repeated = atom.prop_map(|(atom, times)| format!("(?:{atom}){times}"));
    let row = proptest::collection::vec(repeated, 0..4).prop_map(|row| row.concat());
    proptest::collection::vec(row, 1..3).prop_map(|rows| rows.join("|"))
}

fn texts() -> impl Strategy<Value = String> {
    let piece =
        proptest::sample::select(vec!["a", "b", "ab", "\n", "\n", "\r\n", "\r", " ", "é", "\n\n"]);
    proptest::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// Many lines at once have the matches of each line alone.
    #[test]
    fn lines_together_match_as_each_alone(pattern in patterns(), text in texts()) {
        prop_assert_eq!(all_at_once(&pattern, &text), one_by_one(&pattern, text.as_bytes()));
    }

    /// Wherever a scan stops for its matches, going on from there finds the rest and nothing twice.
    #[test]
    fn a_scan_goes_on_where_it_stopped(text in texts(), matches_max in 1_usize..4) {
        let (mut found, mut from, mut line) = (Vec::new(), 0, 0);
        loop {
            let scanned = scan("a|^$", &[&text[from..]], matches_max, Duration::MAX);
            found.extend(scanned.found.into_iter().map(|found| found.line + line));
            let Some(Stopped { used, .. }) = scanned.stopped else { break };
            line += super::scan::lines(&text.as_bytes()[from..from + used]);
            from += used;
        }
        let expected = one_by_one("a|^$", text.as_bytes());
        prop_assert_eq!(found, expected.into_iter().map(|(line, _)| line).collect::<Vec<_>>());
    }
}

/// Lines beyond what is matched at once are found like others, and what surrounds them.
#[test]
fn pieces_are_cut_between_lines() {
    let long = "x".repeat(200_000);
    let text =
        format!("a\n{}hit\n{long}\nb hit\n{long} hit {long}\nhit", "filling\n".repeat(20_000));
    let lines: Vec<_> = all_at_once("hit", &text).into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, [20_002, 20_004, 20_005, 20_006]);
}

/// Without time it goes on all the same, by one piece.
#[test]
fn a_scan_without_time_makes_progress() {
    let scanned = scan("a", &["b\n", "a\n"], 9, Duration::ZERO);
    let stopped = scanned.stopped.unwrap();
    assert_eq!((stopped.text, stopped.used, scanned.found.len()), (1, 0, 0));
}
