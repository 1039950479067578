//! What `bailiwick new` makes is made of what this crate has.

#[path = "../../template-async/lib.rs"]
mod asynchronous;
#[path = "../../template/src/lib.rs"]
mod synchronous;
