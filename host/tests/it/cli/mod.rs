//! The command, as a person runs it: the real binary, in a process of its own.

#![expect(
    clippy::disallowed_methods,
    reason = "the files of the person at the command line are beside any store"
)]

mod bad_input;
mod deploy;
mod erasure;
mod files;
mod folders;
mod harness;
mod hosts;
mod memory;
mod names;
mod new;
mod options;
mod postgres;
mod run;
mod s3;
mod serve;
mod skills;
mod sweep;
mod traces;
