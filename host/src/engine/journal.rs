//! What a turn says and logs, as far as its bounds go. More is cut, told once, and never an error.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::turn::{Level, Observer};
use crate::limits::{Limits, TURN_TEXT_BYTES_MAX};

/// What a log line counts for beside its bytes, so that empty ones come to an end too.
const LINE_OVERHEAD_BYTES: usize = 16;

/// The log and the pieces of the reply of one turn.
pub(super) struct Journal {
    observer: Arc<dyn Observer>,
    line_bytes_max: usize,
    log_bytes_max: usize,
    written: Mutex<Written>,
}

#[derive(Default)]
struct Written {
    log_bytes: usize,
    lines_dropped: u64,
    said: String,
    said_is_cut: bool,
}

impl Journal {
    pub(super) fn new(observer: Arc<dyn Observer>, limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            observer,
            line_bytes_max: limits.log_line_bytes_max,
            log_bytes_max: limits.log_bytes_max,
            written: Mutex::default(),
        })
    }

    /// Longest line that is kept whole, in bytes.
    pub(super) fn line_bytes_max(&self) -> usize {
        self.line_bytes_max
    }

    /// Keeps a line of the log, cut to its bound.
    pub(super) fn log(&self, level: Level, line: &str) {
        let kept = prefix(line, self.line_bytes_max);
        let mut written = self.written();
        let log_bytes = written.log_bytes.saturating_add(kept.len() + LINE_OVERHEAD_BYTES);
        if log_bytes > self.log_bytes_max {
            return self.drop_line(&mut written);
        }
        written.log_bytes = log_bytes;
        if kept.len() == line.len() {
            return self.observer.logged(level, line);
        }
        self.observer.logged(level, &format!("{kept}…"));
    }

    // A later line is dropped too, though it might fit: a log has no holes but its end.
    fn drop_line(&self, written: &mut Written) {
        written.log_bytes = usize::MAX;
        written.lines_dropped += 1;
        if written.lines_dropped == 1 {
            let notice = format!(
                "the log of a turn is at most {} bytes: the rest is not kept",
                self.log_bytes_max
            );
            self.observer.logged(Level::Warn, &notice);
        }
    }

    /// Keeps a piece of the reply.
    pub(super) fn say(&self, part: &str) {
        let mut written = self.written();
        let kept = prefix(part, TURN_TEXT_BYTES_MAX - written.said.len());
        if !kept.is_empty() && !written.said_is_cut {
            written.said.push_str(kept);
            self.observer.said(kept);
        }
        if kept.len() < part.len() && !std::mem::replace(&mut written.said_is_cut, true) {
            let notice =
                format!("a turn says at most {TURN_TEXT_BYTES_MAX} bytes: the rest is not kept");
            self.observer.logged(Level::Warn, &notice);
        }
    }

    /// Everything said, and the number of log lines that were not kept.
    pub(super) fn close(&self) -> (String, u64) {
        let mut written = self.written();
        (std::mem::take(&mut written.said), written.lines_dropped)
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The start of a text, whole characters, at most `bytes_max` bytes.
fn prefix(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
