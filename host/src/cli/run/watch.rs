//! What a person sees of a turn while it runs.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use bailiwick::engine::{Level, Observer};
use bailiwick::worker::Journal;

use super::super::output::{Output, for_line};

/// What becomes of the pieces of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pieces {
    /// They go to standard output at once.
    Printed,
    /// They are part of what is printed at the end.
    Kept,
}

/// Prints on a thread of its own: a pipe that nobody reads holds up no turn. What it holds is
/// bounded by what a turn may say and log.
#[derive(Debug)]
pub(super) struct Watch {
    shown: Arc<Shared>,
    printer: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The pieces of the reply.
    said: Mutex<String>,
    due: Mutex<Due>,
    more: Condvar,
}

/// What is still to be shown.
#[derive(Debug, Default)]
struct Due {
    lines: VecDeque<Line>,
    /// Nothing more will come.
    is_over: bool,
}

impl Shared {
    /// Pieces that wait together become one: a guest may say a single letter at a time.
    fn show(&self, line: Line) {
        let mut due = lock(&self.due);
        match (due.lines.back_mut(), &line) {
            (Some(Line::Said(waiting)), Line::Said(part)) => waiting.push_str(part),
            _ => due.lines.push_back(line),
        }
        self.more.notify_one();
    }

    fn end(&self) {
        lock(&self.due).is_over = true;
        self.more.notify_one();
    }

    /// Waits for the next one; `None` once all is shown.
    fn next(&self) -> Option<Line> {
        let due = lock(&self.due);
        let waits = |due: &mut Due| due.lines.is_empty() && !due.is_over;
        let mut due = self.more.wait_while(due, waits).unwrap_or_else(PoisonError::into_inner);
        due.lines.pop_front()
    }
}

#[derive(Debug)]
enum Line {
    Said(String),
    Logged(Level, String),
}

impl Watch {
    pub(super) fn start(pieces: Pieces) -> Self {
        let shown = Arc::new(Shared::default());
        let lines = shown.clone();
        let printer = std::thread::Builder::new()
            .name("printer".into())
            .spawn(move || print(&lines, pieces))
            .inspect_err(|error| tracing::warn!(%error, "nothing can be shown while the turn runs"))
            .ok();
        Self { shown, printer }
    }

    /// Shows a turn, and writes it into its journal.
    pub(super) fn observer(&self, journal: Arc<Journal>) -> Arc<dyn Observer> {
        Arc::new(Watcher { shown: self.shown.clone(), journal })
    }

    /// What was said so far.
    pub(super) fn said(&self) -> String {
        lock(&self.shown.said).clone()
    }

    /// Waits until all is printed.
    pub(super) fn finish(mut self) {
        self.shown.end();
        if let Some(printer) = self.printer.take() {
            // It does not panic; if it did, what it did not print is lost and nothing else.
            let _ = printer.join();
        }
    }
}

struct Watcher {
    shown: Arc<Shared>,
    journal: Arc<Journal>,
}

impl Observer for Watcher {
    fn said(&self, part: &str) {
        lock(&self.shown.said).push_str(part);
        self.shown.show(Line::Said(part.to_owned()));
        self.journal.said(part);
    }

    fn logged(&self, level: Level, line: &str) {
        self.shown.show(Line::Logged(level, line.to_owned()));
        self.journal.logged(level, line);
    }
}

/// Nothing panics while a lock is held, so what it guards is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn print(lines: &Shared, pieces: Pieces) {
    let mut output = Some(Output::new()).filter(|_| pieces == Pieces::Printed);
    let mut errors = io::stderr();
    let paint = errors.is_terminal();
    while let Some(line) = lines.next() {
        match line {
            Line::Said(part) => {
                let said = output.as_mut().map(|out| out.text(&part).and_then(|()| out.flush()));
                // Nobody listens any more; the turn goes on.
                output = output.filter(|_| said.is_some_and(|said| said.is_ok()));
            }
            Line::Logged(level, line) => {
                let _ = writeln!(errors, "{} {}", word(level, paint), for_line(&line));
            }
        }
    }
}

fn word(level: Level, paint: bool) -> String {
    let (word, colour) = match level {
        Level::Debug => ("debug", 2),
        Level::Info => ("info ", 32),
        Level::Warn => ("warn ", 33),
        Level::Error => ("error", 31),
    };
    if paint { format!("\u{1b}[{colour}m{word}\u{1b}[0m") } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What waits for a pipe that nobody reads takes no more room than what was said.
    #[test]
    fn small_pieces_wait_as_one() {
        let shared = Arc::new(Shared::default());
        let watcher = Watcher { shown: shared.clone(), journal: Arc::default() };
        (0..100_000).for_each(|_| watcher.said("a"));
        watcher.logged(Level::Info, "line");
        (0..10).for_each(|_| watcher.said("b"));
        assert_eq!(lock(&shared.due).lines.len(), 3);
        shared.end();
        let mut shown = Vec::new();
        while let Some(line) = shared.next() {
            shown.push(match line {
                Line::Said(part) => part,
                Line::Logged(_, line) => line,
            });
        }
        assert_eq!(shown, ["a".repeat(100_000), "line".to_owned(), "b".repeat(10)]);
    }
}
