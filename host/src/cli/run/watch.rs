//! What a person sees of a turn while it runs.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use bailiwick::engine::{Level, Observer};

use super::super::output::{Output, for_terminal};

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
    seen: Arc<Shared>,
    printer: Option<JoinHandle<()>>,
}

/// All that a turn said and logged.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The pieces of the reply.
    pub(super) said: String,
    /// The lines, in order.
    pub(super) log: Vec<(Level, String)>,
}

#[derive(Debug)]
struct Shared {
    seen: Mutex<Seen>,
    /// Gone once the watch is over.
    printer: Mutex<Option<Sender<Line>>>,
}

#[derive(Debug)]
enum Line {
    Said(String),
    Logged(Level, String),
}

impl Watch {
    pub(super) fn start(pieces: Pieces) -> Self {
        let (sender, lines) = channel();
        let seen = Arc::new(Shared { seen: Mutex::default(), printer: Mutex::new(Some(sender)) });
        let printer = std::thread::Builder::new()
            .name("printer".into())
            .spawn(move || print(&lines, pieces))
            .inspect_err(|error| tracing::warn!(%error, "nothing can be shown while the turn runs"))
            .ok();
        Self { seen, printer }
    }

    pub(super) fn observer(&self) -> Arc<dyn Observer> {
        Arc::new(Watcher(self.seen.clone()))
    }

    /// What was said so far.
    pub(super) fn said(&self) -> String {
        self.said_since(0)
    }

    /// What was said after the first `bytes`.
    pub(super) fn said_since(&self, bytes: usize) -> String {
        lock(&self.seen.seen).said.get(bytes..).unwrap_or_default().to_owned()
    }

    /// Waits until all is printed.
    pub(super) fn finish(mut self) -> Seen {
        lock(&self.seen.printer).take();
        if let Some(printer) = self.printer.take() {
            // It does not panic; if it did, what it did not print is lost and nothing else.
            let _ = printer.join();
        }
        std::mem::take(&mut *lock(&self.seen.seen))
    }
}

struct Watcher(Arc<Shared>);

impl Observer for Watcher {
    fn said(&self, part: &str) {
        lock(&self.0.seen).said.push_str(part);
        self.show(Line::Said(part.to_owned()));
    }

    fn logged(&self, level: Level, line: &str) {
        lock(&self.0.seen).log.push((level, line.to_owned()));
        self.show(Line::Logged(level, line.to_owned()));
    }
}

impl Watcher {
    fn show(&self, line: Line) {
        if let Some(printer) = &*lock(&self.0.printer) {
            // A printer that is gone has nothing more to show.
            let _ = printer.send(line);
        }
    }
}

/// Nothing panics while a lock is held, so what it guards is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn print(lines: &Receiver<Line>, pieces: Pieces) {
    let mut output = Some(Output::new()).filter(|_| pieces == Pieces::Printed);
    let mut errors = io::stderr();
    let paint = errors.is_terminal();
    for line in lines {
        match line {
            Line::Said(part) => {
                let said = output.as_mut().map(|out| out.text(&part).and_then(|()| out.flush()));
                // Nobody listens any more; the turn goes on.
                output = output.filter(|_| said.is_some_and(|said| said.is_ok()));
            }
            Line::Logged(level, line) => {
                let _ = writeln!(errors, "{} {}", word(level, paint), for_terminal(&line));
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
