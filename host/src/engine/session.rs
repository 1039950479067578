//! `bailiwick:agent/session`: the conversation around the turn.

use super::bindings::bailiwick::agent::session;
use super::state::TurnState;
use super::turn::Wake;
use crate::limits::{TURN_TEXT_BYTES_MAX, TURN_WAKES_MAX};

impl session::Host for TurnState {
    fn say(&mut self, part: String) -> wasmtime::Result<()> {
        self.count_call();
        self.journal.say(&part);
        Ok(())
    }

    fn wake(&mut self, after_ms: u64, input: String) -> wasmtime::Result<Result<(), String>> {
        self.count_call();
        if self.wakes.len() == TURN_WAKES_MAX {
            return Ok(Err(format!("a turn asks for at most {TURN_WAKES_MAX} wakes")));
        }
        // All the inputs together, or a turn would hold sixteen times as much.
        let held: usize = self.wakes.iter().map(|wake| wake.input.len()).sum();
        if held + input.len() > TURN_TEXT_BYTES_MAX {
            let message = format!(
                "the inputs of a turn's wakes are at most {TURN_TEXT_BYTES_MAX} bytes together: keep more in a file"
            );
            return Ok(Err(message));
        }
        self.wakes.push(Wake { after_ms, input });
        Ok(Ok(()))
    }

    fn current_status(&mut self) -> wasmtime::Result<session::Status> {
        self.count_call();
        let remaining = self.remaining();
        Ok(session::Status {
            cancelled: self.cancel.is_cancelled(),
            remaining_ms: u64::try_from(remaining.as_millis()).unwrap_or(u64::MAX),
        })
    }
}
