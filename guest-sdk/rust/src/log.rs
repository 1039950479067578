//! Lines that a guest reports about its own work; the host keeps them with the turn.
//!
//! Each takes anything that can be shown: `log::info("started")`, or
//! `log::info(format_args!("{rows} rows"))`.

use std::fmt::Display;
use std::{panic, sync};

use crate::bindings::bailiwick::agent::log::{Level, emit};

/// A line for whoever looks for a fault.
pub fn debug(message: impl Display) {
    emit(Level::Debug, &message.to_string());
}

/// A line on the normal course of the turn.
pub fn info(message: impl Display) {
    emit(Level::Info, &message.to_string());
}

/// A line on something unexpected that the turn gets over.
pub fn warn(message: impl Display) {
    emit(Level::Warn, &message.to_string());
}

/// A line on something that keeps the turn from its work.
pub fn error(message: impl Display) {
    emit(Level::Error, &message.to_string());
}

/// Logs panics from now on: a trap says nothing about what led to it.
pub(crate) fn log_panics() {
    static ONCE: sync::Once = sync::Once::new();
    if cfg!(target_arch = "wasm32") {
        ONCE.call_once(|| panic::set_hook(Box::new(|panic| error(panic))));
    }
}
