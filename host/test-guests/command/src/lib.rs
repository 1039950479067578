//! A program with no contract of ours: input on stdin, reply on stdout. What it does is the
//! first word on stdin.

#[expect(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    unused_qualifications,
    clippy::allow_attributes,
    clippy::unwrap_used,
    reason = "generated"
)]
pub mod bindings;

use bindings::wasi::cli::{environment, stderr, stdin, stdout};
use bindings::wasi::filesystem::preopens;
use bindings::wasi::io::streams::{OutputStream, StreamError};

struct Command;

impl bindings::exports::wasi::cli::run::Guest for Command {
    fn run() -> Result<(), ()> {
        let input = read_input();
        let (verb, rest) = input.split_once(' ').unwrap_or((&input, ""));
        match verb {
            "echo" => write(&stdout::get_stdout(), rest),
            "both" => {
                write(&stderr::get_stderr(), "on the way\n")?;
                write(&stdout::get_stdout(), rest)
            }
            "fail" => {
                write(&stderr::get_stderr(), "cannot go on\n")?;
                Err(())
            }
            "flood" => flood(&stdout::get_stdout(), rest.trim().parse().map_err(|_| ())?),
            "given" => write(&stdout::get_stdout(), &given()),
            _ => Err(()),
        }
    }
}

#[cfg(target_arch = "wasm32")]
#[expect(
    unsafe_code,
    unreachable_pub,
    clippy::allow_attributes,
    reason = "generated: the export is a symbol by name"
)]
mod export {
    use super::{Command, bindings};
    bindings::export!(Command with_types_in bindings);
}

#[cfg(not(target_arch = "wasm32"))]
const _: fn() -> Result<(), ()> = <Command as bindings::exports::wasi::cli::run::Guest>::run;

fn read_input() -> String {
    let stdin = stdin::get_stdin();
    let mut bytes = Vec::new();
    while let Ok(more) = stdin.blocking_read(4096) {
        bytes.extend(more);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn write(stream: &OutputStream, text: &str) -> Result<(), ()> {
    let written = text.as_bytes().chunks(4096).try_for_each(|part| send(stream, part));
    written.map_err(|_| ())
}

fn send(stream: &OutputStream, part: &[u8]) -> Result<(), StreamError> {
    stream.blocking_write_and_flush(part)
}

fn flood(stream: &OutputStream, lines: u64) -> Result<(), ()> {
    (0..lines).try_for_each(|line| write(stream, &format!("line {line} of a flood\n")))
}

/// Everything that WASI gave it, a line each.
fn given() -> String {
    let variables = environment::get_environment();
    let variables = variables.into_iter().map(|(name, value)| format!("variable {name}={value}\n"));
    let arguments = environment::get_arguments();
    let arguments = arguments.into_iter().map(|argument| format!("argument {argument}\n"));
    let folders = preopens::get_directories();
    let folders = folders.into_iter().map(|(_, name)| format!("folder {name}\n"));
    variables.chain(arguments).chain(folders).collect()
}
