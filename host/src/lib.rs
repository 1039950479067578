//! A WebAssembly host for agents: scoped places for files, one turn at a time.

pub mod catalog;
pub mod clock;
pub mod engine;
pub mod limits;
pub mod scope;
pub mod space;
pub mod store;
mod walk;
