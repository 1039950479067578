#![doc = include_str!("../../README.md")]

pub mod api;
mod buffer;
pub mod catalog;
pub mod clock;
pub mod engine;
pub mod erasure;
pub mod limits;
pub mod proofs;
pub mod receipts;
pub mod retention;
pub mod scope;
pub mod settings;
pub mod skills;
pub mod space;
pub mod store;
mod walk;
pub mod worker;
