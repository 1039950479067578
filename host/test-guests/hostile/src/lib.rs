//! Does what a host must withstand. The input is `NAME [NUMBER]`, a line of `BEHAVIOURS`.

mod calls;
mod computing;
mod floods;
mod handles;
mod numbers;

use bailiwick_guest::{Failure, Request, agent};

/// What it is called by, and what it does with the number.
type Behaviour = (&'static str, fn(u64) -> Result<String, Failure>);

const BEHAVIOURS: &[Behaviour] = &[
    // Never returns, and calls nothing.
    ("spin", computing::spin),
    // Takes memory, a MiB at a time, and writes to it: NUMBER of them, or without end.
    ("memory", computing::memory),
    ("stack", computing::stack),
    ("panic", computing::panic),
    // NUMBER lines, lines of NUMBER bytes, and so on.
    ("log", floods::log),
    ("log-line", floods::log_line),
    ("say", floods::say),
    ("say-part", floods::say_part),
    // Says something, and never returns.
    ("say-and-spin", floods::say_and_spin),
    ("wake", floods::wake),
    ("reply", floods::reply),
    ("error", floods::error),
    // Opens NUMBER and closes none.
    ("readers", handles::readers),
    ("writers", handles::writers),
    // Leaves a writer that has NUMBER bytes when it panics.
    ("leave-writer", handles::leave_writer),
    // Uses a writer again after its error.
    ("poisoned-writer", handles::poisoned_writer),
    // The least, the largest and other awkward numbers in every argument.
    ("numbers", numbers::numbers),
    ("cursors", numbers::cursors),
    // An argument of NUMBER bytes.
    ("path-bytes", numbers::path_bytes),
    ("write-bytes", numbers::write_bytes),
    ("replace-bytes", numbers::replace_bytes),
    ("spill-bytes", numbers::spill_bytes),
    // Calls the host, never asking whether it was cancelled.
    ("calls", calls::calls),
    ("writes", calls::writes),
    // Calls the host until it is cancelled.
    ("until-cancelled", calls::until_cancelled),
];

agent!(run);

fn run(request: Request) -> Result<String, Failure> {
    let mut words = request.input.split_whitespace();
    let name = words.next().unwrap_or_default();
    let number = words.next().unwrap_or("0").parse()?;
    let Some((_, behaviour)) = BEHAVIOURS.iter().find(|(known, _)| *known == name) else {
        let names: Vec<_> = BEHAVIOURS.iter().map(|(name, _)| *name).collect();
        return Err(format!("`{name}` is none of {}.", names.join(", ")).into());
    };
    behaviour(number)
}
