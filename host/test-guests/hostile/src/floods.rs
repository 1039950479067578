//! Saying too much.

use std::time::Duration;

use bailiwick_guest::{Failure, log, session};

fn long(bytes: u64) -> Result<String, Failure> {
    Ok("x".repeat(usize::try_from(bytes)?))
}

pub(crate) fn log(number: u64) -> Result<String, Failure> {
    for line in 0..number {
        log::info(format_args!("line {line} of a flood"));
    }
    Ok(format!("{number} lines"))
}

pub(crate) fn log_line(number: u64) -> Result<String, Failure> {
    log::info(long(number)?);
    Ok(format!("a line of {number} bytes"))
}

pub(crate) fn say(number: u64) -> Result<String, Failure> {
    for part in 0..number {
        session::say(format!("part {part} of a flood\n"));
    }
    Ok(format!("{number} parts"))
}

pub(crate) fn say_part(number: u64) -> Result<String, Failure> {
    session::say(long(number)?);
    Ok(format!("a part of {number} bytes"))
}

pub(crate) fn wake(number: u64) -> Result<String, Failure> {
    for asked in 0..number {
        if let Err(error) = session::wake(Duration::from_millis(u64::MAX), "again") {
            return Ok(format!("{asked} wakes, then: {error}"));
        }
    }
    Ok(format!("{number} wakes"))
}

pub(crate) fn reply(number: u64) -> Result<String, Failure> {
    long(number)
}

pub(crate) fn error(number: u64) -> Result<String, Failure> {
    Err(long(number)?.into())
}

pub(crate) fn say_and_spin(number: u64) -> Result<String, Failure> {
    session::say("said before it was too late");
    crate::computing::spin(number)
}
