//! Calling the host without end.

use bailiwick_guest::{Failure, files, session};

pub(crate) fn calls(_: u64) -> Result<String, Failure> {
    files::write("session/called.txt", "called")?;
    loop {
        files::stat("session/called.txt")?;
    }
}

pub(crate) fn writes(_: u64) -> Result<String, Failure> {
    loop {
        files::write("session/called.txt", "called")?;
    }
}

pub(crate) fn until_cancelled(_: u64) -> Result<String, Failure> {
    let mut calls = 0_u64;
    while !session::cancelled() {
        calls += 1;
    }
    Ok(format!("cancelled after {calls} calls, {} ms left", session::remaining().as_millis()))
}
