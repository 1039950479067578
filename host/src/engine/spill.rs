//! `bailiwick:storage/spill` over a space.

use std::pin::pin;

use super::bindings::bailiwick::storage::spill;
use super::convert::Failure;
use super::invocations::{Called, outcome_of_verb};
use super::state::TurnState;

impl spill::Host for TurnState {
    async fn spill(&mut self, name: String, bytes: Vec<u8>) -> Result<spill::Spilled, Failure> {
        let mut called = Called::of("spill.spill", "session");
        let length = bytes.len() as u64;
        let done = called.during(pin!(self.space().spill(&name, bytes.into()))).await;
        let is_kept = done.as_ref().is_ok_and(|spilled| spilled.path.is_some());
        self.invocations.count(called, outcome_of_verb(&done), if is_kept { length } else { 0 });
        Ok(done?.into())
    }
}
