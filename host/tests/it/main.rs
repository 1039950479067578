//! The one integration binary: with an engine linked in, each further one is paid at every link.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says so by panicking"
)]

mod api;
mod architecture;
mod cli;
mod conformance;
mod engine;
mod erasure;
mod examples;
mod faulty;
mod folders;
mod guests;
mod local;
mod lost_answers;
mod postgres;
mod proxy;
mod retention;
mod s3;
mod semantics;
mod servers;
mod slow;
mod space;
mod worker;
