//! The conversation around this turn.

use std::time::Duration;

use crate::bindings::bailiwick::agent::session;
use crate::{Error, ErrorCode, Result};

/// A piece of the reply, shown while the turn still runs. The pieces of a turn that is
/// interrupted are kept as its partial reply.
pub fn say(part: impl AsRef<str>) {
    session::say(part.as_ref());
}

/// Runs another turn of this session, with this input, once `after` has passed (counted in
/// whole milliseconds). At most 16 a turn.
///
/// # Errors
/// [`ErrorCode::TooLarge`] with the host's sentence if it is one too many, or its input too long.
pub fn wake(after: Duration, input: impl AsRef<str>) -> Result<()> {
    let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
    session::wake(after_ms, input.as_ref())
        .map_err(|message| Error::new(ErrorCode::TooLarge, "wake", message))
}

/// Whether somebody asked this turn to stop. Finish what is in hand, and return.
#[must_use]
pub fn cancelled() -> bool {
    session::current_status().cancelled
}

/// Wall clock left before the host ends the turn.
#[must_use]
pub fn remaining() -> Duration {
    Duration::from_millis(session::current_status().remaining_ms)
}
