use std::sync::{Arc, Mutex};

use super::{Collected, LogLines, Sink};
use crate::engine::journal::Journal;
use crate::engine::turn::{Level, Observer};
use crate::limits::Limits;

#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl Observer for Seen {
    fn said(&self, _: &str) {}

    fn logged(&self, _: Level, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }
}

fn logged(line_bytes_max: usize, writes: &[&[u8]]) -> Vec<String> {
    let seen = Arc::new(Seen::default());
    let limits = Limits { log_line_bytes_max: line_bytes_max, ..Limits::default() };
    let lines = LogLines::new(Journal::new(seen.clone(), &limits), Level::Info);
    for write in writes {
        assert!(lines.accept(write));
    }
    lines.finish();
    seen.0.lock().unwrap().clone()
}

/// A line ends where the guest ends it, and not where a write does.
#[test]
fn lines_are_put_together_from_writes() {
    assert_eq!(
        logged(100, &[b"one", b" line\ntwo\r\n", b"\nlast"]),
        ["one line", "two", "", "last"]
    );
}

/// A long line is cut at its bound, however it was written, and the next one is whole.
#[test]
fn a_long_line_is_cut_once() {
    assert_eq!(logged(4, &[b"123", b"456", b"789\nnext\n"]), ["1234…", "next"]);
    assert_eq!(logged(4, &[b"1234\n"]), ["1234"]);
}

/// What is no text is shown as far as it is one, and characters are never halved.
#[test]
fn bytes_that_are_no_text_do_no_harm() {
    assert_eq!(logged(100, &[b"a\xffb\n"]), ["a\u{fffd}b"]);
    assert_eq!(logged(4, &["aaaéé\n".as_bytes()]), ["aaa…"]);
}

/// What is collected is whole or nothing.
#[test]
fn a_reply_is_whole_or_nothing() {
    let reply = Collected::new(4);
    assert!(reply.accept(b"12"));
    assert!(reply.accept(b"34"));
    assert_eq!(reply.take().unwrap(), b"1234");
    assert!(!reply.accept(b"12345"));
    assert!(!reply.accept(b"6"));
    assert!(reply.take().is_err());
}
