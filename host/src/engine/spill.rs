//! `bailiwick:storage/spill` over a space.

use super::bindings::bailiwick::storage::spill;
use super::convert::Failure;
use super::state::TurnState;

impl spill::Host for TurnState {
    async fn spill(&mut self, name: String, bytes: Vec<u8>) -> Result<spill::Spilled, Failure> {
        Ok(self.space().spill(&name, bytes.into()).await?.into())
    }
}
