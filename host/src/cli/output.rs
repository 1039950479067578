//! What goes to standard output: answers alone, so that it can be piped.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;

use super::failure::Failure;

/// Standard output, buffered; what nobody reads ends the command quietly.
#[derive(Debug)]
pub(super) struct Output {
    out: io::BufWriter<io::Stdout>,
    is_terminal: bool,
}

impl Output {
    pub(super) fn new() -> Self {
        let out = io::stdout();
        Self { is_terminal: out.is_terminal(), out: io::BufWriter::with_capacity(1 << 16, out) }
    }

    pub(super) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Text that others wrote, shown so that it cannot drive a terminal.
    pub(super) fn text(&mut self, text: &str) -> Result<(), Failure> {
        let shown = if self.is_terminal { for_terminal(text) } else { Cow::Borrowed(text) };
        self.bytes(shown.as_bytes())
    }

    pub(super) fn line(&mut self, line: &str) -> Result<(), Failure> {
        self.text(line)?;
        self.bytes(b"\n")
    }

    pub(super) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let line = serde_json::to_string(value)
            .map_err(|error| Failure::because("this cannot be written as JSON", &error))?;
        self.bytes(escaped(&line).as_bytes())?;
        self.bytes(b"\n")
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(unwritten)
    }

    /// Everything printed so far has left this process.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(unwritten)
    }
}

fn unwritten(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Unheard,
        _ => Failure::because("standard output cannot be written", &error),
    }
}

/// Whether a character does something to a terminal instead of being shown: control characters,
/// and those that turn the direction of what follows or begin a line by another name.
fn drives(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// What drives a terminal made visible, but for tab and newline.
pub(super) fn for_terminal(text: &str) -> Cow<'_, str> {
    let drives = |c: char| drives(c) && c != '\n' && c != '\t';
    if !text.contains(drives) {
        return Cow::Borrowed(text);
    }
    let show = |c: char| {
        if drives(c) { c.escape_default().to_string() } else { c.to_string() }
    };
    Cow::Owned(text.chars().map(show).collect())
}

/// As [`for_terminal`], for a line of a log: a newline within it does not begin another one,
/// which would pass for a line of somebody else.
pub(super) fn for_line(text: &str) -> String {
    for_terminal(text).replace('\n', "\n      ")
}

/// JSON in which nothing drives a terminal. Such characters stand within its strings alone.
fn escaped(json: &str) -> Cow<'_, str> {
    if !json.contains(drives) {
        return Cow::Borrowed(json);
    }
    let show = |c: char| {
        if drives(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() }
    };
    Cow::Owned(json.chars().map(show).collect())
}

/// Bytes of a file, shown so that they cannot drive a terminal, a chunk at a time.
#[derive(Debug, Default)]
pub(super) struct Terminal {
    /// The start of a character whose end is in the next chunk.
    carried: Vec<u8>,
}

impl Terminal {
    pub(super) fn show(&mut self, chunk: &[u8]) -> String {
        let mut bytes = std::mem::take(&mut self.carried);
        bytes.extend_from_slice(chunk);
        let whole = match std::str::from_utf8(&bytes) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => bytes.len(),
        };
        self.carried = bytes.split_off(whole);
        for_terminal(&String::from_utf8_lossy(&bytes)).into_owned()
    }

    /// What is left at the end of the file.
    pub(super) fn rest(&mut self) -> String {
        let carried = std::mem::take(&mut self.carried);
        String::from_utf8_lossy(&carried).into_owned()
    }
}

/// A table with a heading, columns as wide as they need; the last is not padded.
pub(super) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        widest.max(headings.get(column).map_or(0, |heading| heading.chars().count()))
    };
    let widths: Vec<_> = (0..headings.len()).map(width).collect();
    let headings: Vec<_> = headings.iter().map(ToString::to_string).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    std::iter::once(&headings).chain(rows).map(line).collect()
}

/// `1 file`, `2 files`.
pub(super) fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// A time, in UTC, as `2026-01-31T12:00:00Z`.
pub(super) fn time(ms: u64) -> String {
    // Later than the year 9999 there is no such spelling.
    let latest = Duration::from_secs(253_402_300_799);
    let since = Duration::from_millis(ms).min(latest);
    humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_cannot_drive_a_terminal() {
        assert_eq!(for_terminal("plain\tü\n"), "plain\tü\n");
        assert_eq!(for_terminal("\u{1b}[2Jx\u{9b}y\r"), "\\u{1b}[2Jx\\u{9b}y\\r");
        assert_eq!(for_terminal("a\u{202e}b\u{2028}"), "a\\u{202e}b\\u{2028}");
    }

    /// A line of the log stays one: what follows a newline in it stands apart from lines of
    /// others.
    #[test]
    fn a_line_cannot_pass_for_two() {
        assert_eq!(for_line("a\nerror b"), "a\n      error b");
    }

    #[test]
    fn json_cannot_drive_a_terminal_and_means_the_same() {
        let text = "\u{1b}[2J \u{9b}2J \u{7f} \u{202e} \u{2028} \n ü 😀 \\u0041";
        let line = serde_json::to_string(&[text]).unwrap();
        let shown = escaped(&line);
        assert!(!shown.contains(drives), "{shown}");
        assert_eq!(serde_json::from_str::<[String; 1]>(&shown).unwrap(), [text]);
    }

    #[test]
    fn a_character_split_between_chunks_is_shown_whole() {
        let mut terminal = Terminal::default();
        let shown =
            [b"a\xc3".as_slice(), b"\xbc\xff\x1b", b"\xe2\x82"].map(|chunk| terminal.show(chunk));
        assert_eq!(shown.concat() + &terminal.rest(), "aü\u{fffd}\\u{1b}\u{fffd}");
    }

    #[test]
    fn a_table_is_aligned_and_ends_its_lines_clean() {
        let rows = [vec!["a".into(), "1".into()], vec!["long".into(), String::new()]];
        assert_eq!(table(&["NAME", "N"], &rows), "NAME  N\na     1\nlong\n");
    }

    #[test]
    fn any_time_can_be_shown() {
        assert_eq!(time(0), "1970-01-01T00:00:00Z");
        assert_eq!(time(u64::MAX), "9999-12-31T23:59:59Z");
    }
}
