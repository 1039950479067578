#![doc = include_str!("../../README.md")]

mod buffer;
pub mod catalog;
pub mod clock;
pub mod engine;
pub mod limits;
pub mod scope;
pub mod space;
pub mod store;
mod walk;
