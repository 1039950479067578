//! Holds every property of resolution against two strings, parted by the first line feed.
//!
//! `scope` is pure, so it is compiled into this target alone: the host's engine and clients
//! would take minutes to build under a sanitizer, and add nothing.
#![no_main]
#![allow(dead_code, reason = "of what is included, resolution alone is exercised")]

#[path = "../../src/limits.rs"]
mod limits;
#[path = "../../src/scope/mod.rs"]
mod scope;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let (path, other) = input.split_once('\n').unwrap_or((input, ""));
    scope::properties::check(path, other);
});
