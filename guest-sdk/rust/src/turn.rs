//! One turn: what comes in, what goes out.

use std::error::Error;

use crate::log;

pub use crate::bindings::exports::bailiwick::agent::turn::{Outcome, Request};

/// Why a turn failed: any error, or a text. `?` makes one of whatever implements
/// [`std::error::Error`]. The caller reads its message and those of its sources.
pub type Failure = Box<dyn Error + Send + Sync>;

impl From<String> for Outcome {
    fn from(reply: String) -> Self {
        Self::Reply(reply)
    }
}

impl From<&str> for Outcome {
    fn from(reply: &str) -> Self {
        Self::Reply(reply.to_owned())
    }
}

/// Runs a guest's turn, for [`crate::agent!`].
pub fn run_turn<R, E>(
    turn: fn(Request) -> Result<R, E>,
    request: Request,
) -> Result<Outcome, String>
where
    R: Into<Outcome>,
    E: Into<Failure>,
{
    log::log_panics();
    turn(request).map(Into::into).map_err(|failure| explain(failure.into().as_ref()))
}

/// The messages of an error and its sources, without those that repeat what was said.
pub(crate) fn explain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
