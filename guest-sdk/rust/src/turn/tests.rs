use std::fmt;

use super::*;

#[derive(Debug)]
struct Reading(std::num::ParseIntError);

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the year")
    }
}

impl Error for Reading {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

fn year(request: Request) -> Result<String, Failure> {
    let year: u16 = request.input.parse().map_err(Reading)?;
    Ok(year.to_string())
}

fn request(input: &str) -> Request {
    Request { input: input.to_owned(), answer: None, attempt: 1 }
}

/// A text that a turn returns is its reply.
#[test]
fn a_text_is_a_reply() {
    assert_eq!(run_turn(year, request("2009")), Ok(Outcome::Reply("2009".to_owned())));
}

/// The caller of a failed turn reads the error and what caused it.
#[test]
fn a_failure_names_its_sources() {
    let failure = run_turn(year, request("last")).unwrap_err();
    assert_eq!(failure, "the year: invalid digit found in string");
}
