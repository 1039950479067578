//! Handles held, left and used again.

use bailiwick_guest::bindings::bailiwick::storage::files as host;
use bailiwick_guest::{Error, Failure, Precondition, Reader, Writer, files};

pub(crate) fn readers(number: u64) -> Result<String, Failure> {
    let path = files::write("session/read-often.txt", "read often")?.path;
    open(number, || Reader::open(&path))
}

pub(crate) fn writers(number: u64) -> Result<String, Failure> {
    open(number, || Writer::create("session/never-finished.txt"))
}

fn open<T>(number: u64, one: impl Fn() -> Result<T, Error>) -> Result<String, Failure> {
    let mut held = Vec::new();
    for _ in 0..number {
        match one() {
            Ok(handle) => held.push(handle),
            Err(error) => return Ok(format!("{} open, then {}", held.len(), told(error))),
        }
    }
    Ok(format!("{} open", held.len()))
}

fn told(error: Error) -> String {
    format!("{}: {}", error.code.name(), error.message)
}

pub(crate) fn leave_writer(number: u64) -> Result<String, Failure> {
    let writer =
        host::open_writer("session/left.bin", &Precondition::Always).map_err(Error::from)?;
    let block = vec![7; 1 << 20];
    for _ in 0..number.div_ceil(1 << 20) {
        writer.write(&block).map_err(Error::from)?;
    }
    panic!("a writer with {number} bytes is open");
}

pub(crate) fn poisoned_writer(_: u64) -> Result<String, Failure> {
    let writer =
        host::open_writer("session/poisoned.bin", &Precondition::Always).map_err(Error::from)?;
    writer.write(b"a beginning").map_err(Error::from)?;
    let answers = [
        ("too much", outcome(writer.write(&vec![0; (4 << 20) + 1]))),
        ("again", outcome(writer.write(b"again"))),
        ("finish", outcome(writer.finish())),
        ("finish again", outcome(writer.finish())),
    ];
    writer.abort();
    writer.abort();
    let lines = answers.map(|(name, answer)| format!("{name}: {answer}"));
    Ok(lines.join("\n"))
}

fn outcome<T>(result: Result<T, impl Into<Error>>) -> String {
    result.map_or_else(|error| error.into().code.name().to_owned(), |_| "ok".to_owned())
}
