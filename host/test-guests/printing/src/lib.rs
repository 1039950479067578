//! An agent that prints, as programs of other toolchains do. The input is `STREAM LINES BYTES`:
//! `stdout` or `stderr`, how many lines, and how long each is.

#[expect(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    unused_qualifications,
    clippy::allow_attributes,
    reason = "generated"
)]
pub mod bindings;

use bailiwick_guest::{Failure, Request, agent};
use bindings::wasi::cli::{stderr, stdout};
use bindings::wasi::io::streams::StreamError;

agent!(run);

fn run(request: Request) -> Result<String, Failure> {
    let words: Vec<_> = request.input.split_whitespace().collect();
    let [stream, lines, bytes] = words[..] else {
        return Err("The input is `STREAM LINES BYTES`.".into());
    };
    let stream = match stream {
        "stdout" => stdout::get_stdout(),
        "stderr" => stderr::get_stderr(),
        _ => return Err(format!("`{stream}` is neither `stdout` nor `stderr`.").into()),
    };
    let line = format!("{}\n", "x".repeat(bytes.parse()?));
    for number in 0..lines.parse::<u64>()? {
        for part in line.as_bytes().chunks(4096) {
            if let Err(error) = stream.blocking_write_and_flush(part) {
                return Ok(format!("line {number}: {}", told(&error)));
            }
        }
    }
    Ok(format!("{lines} lines of {bytes} bytes"))
}

fn told(error: &StreamError) -> &'static str {
    match error {
        StreamError::LastOperationFailed(_) => "failed",
        StreamError::Closed => "closed",
    }
}
