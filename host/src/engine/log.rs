//! `bailiwick:agent/log`: lines of the turn's journal.

use super::bindings::bailiwick::agent::log;
use super::state::TurnState;
use super::turn::Level;

impl log::Host for TurnState {
    fn emit(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        self.count_call();
        self.journal.log(level.into(), &message);
        Ok(())
    }
}

impl From<log::Level> for Level {
    fn from(level: log::Level) -> Self {
        match level {
            log::Level::Debug => Self::Debug,
            log::Level::Info => Self::Info,
            log::Level::Warn => Self::Warn,
            log::Level::Error => Self::Error,
        }
    }
}
