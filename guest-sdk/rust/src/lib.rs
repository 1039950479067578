//! Write agent guests for Bailiwick in Rust.
//!
//! A guest is a function and one macro: the function takes what the caller sent and returns
//! the reply. Between the two it keeps files in the few places that the host gave its turn:
//! `session/…` lives as long as the conversation, `agent/…` as long as the agent,
//! `workspace/…` is shared by the workspace's agents, and `skill/<slug>/…` is a read-only
//! package.
//!
//! ```
//! use bailiwick_guest::{Failure, Request, agent, files, text};
//!
//! agent!(run);
//!
//! fn run(request: Request) -> Result<String, Failure> {
//!     let reference = files::read_to_string("workspace/reference/penguins.csv")?;
//!     let rows = reference.lines().skip(1).count();
//!     let summary = format!("{} asks; the data has {rows} rows.\n", request.input);
//!     files::write("session/summary.md", &summary)?;
//!     text::append("agent/notes.md", "- penguins.csv has a header line\n")?;
//!     Ok(format!("Written to session/summary.md: {summary}"))
//! }
//! ```
//!
//! With `crate-type = ["cdylib"]`, `wasm-component-ld` as the linker of the target and
//! `cargo build --release --target wasm32-unknown-unknown`, this is a component; `bailiwick
//! new` makes such a project.
//!
//! - [`files`]: read, write, list, copy, move, delete; [`Reader`] is `Read + Seek`, [`Writer`]
//!   is `Write`, for files of any size.
//! - [`text`]: slices by line, exact replacement, appending, searching.
//! - [`spill`](fn@spill): a result too large to show goes to a file, a digest of it to the model.
//! - [`session`]: pieces of the reply while the turn runs, a later turn, the time that is left.
//! - [`log`]: lines about the guest's own work. A panic is logged before it ends the turn.
//! - [`tasks`]: asynchronous turns, whose calls overlap.
//! - [`tools`](fn@tools) and [`dispatch`]: all of it as tools for a language model, in two lines.
//!
//! Every call answers with [`Error`] on failure: its message is one or two sentences that a
//! model can act on. On a target other than WebAssembly there is no host, and calling it panics.

mod error;
pub mod files;
pub mod log;
mod reader;
pub mod session;
mod spill;
pub mod tasks;
pub mod text;
mod tools;
mod turn;
mod writer;

/// The contract in `wit/` as it was generated, for a guest that wants its calls as they are.
#[expect(
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    clippy::allow_attributes,
    clippy::unwrap_used,
    reason = "generated"
)]
pub mod bindings;

pub use bindings::bailiwick::storage::types::{Access, ErrorCode, File, Mount, Precondition};
pub use error::{Error, Result};
pub use reader::Reader;
pub use spill::{Spilled, spill};
pub use tools::{Answer, Tool, dispatch, tools};
pub use turn::{Failure, Outcome, Request};
pub use writer::Writer;

#[doc(hidden)]
pub use turn::run_turn;

/// What this turn can reach, each place with what may be done there. A place that the turn has
/// no grant for is not listed.
#[must_use]
pub fn mounts() -> Vec<Mount> {
    bindings::bailiwick::storage::files::mounts()
}

/// Exports a function as the guest's turn.
///
/// The function takes a [`Request`] and returns `Result<R, E>`, where `R` becomes an
/// [`Outcome`] (text is a reply) and `E` a [`Failure`] (any error is one). With `async` before
/// its name, it is an `async fn`, whose calls may overlap: see [`tasks`]. Before it runs, a
/// panic hook is set that writes the panic's message to the turn's log: on
/// `wasm32-unknown-unknown` a panic is otherwise a trap without a word.
///
/// ```
/// # use bailiwick_guest::{agent, Failure, Outcome, Request};
/// agent!(run);
///
/// fn run(request: Request) -> Result<Outcome, Failure> {
///     match request.answer {
///         None => Ok(Outcome::Park("Which year?".into())),
///         Some(year) => Ok(format!("The year is {year}.").into()),
///     }
/// }
/// ```
#[macro_export]
macro_rules! agent {
    (async $turn:path) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            struct Agent;

            impl $crate::tasks::bindings::exports::bailiwick::agent::async_turn::Guest for Agent {
                async fn run(
                    request: $crate::tasks::AsyncRequest,
                ) -> Result<$crate::tasks::AsyncOutcome, String> {
                    $crate::tasks::run_turn($turn, request).await
                }
            }

    $crate::tasks::bindings::export!(Agent with_types_in $crate::tasks::bindings);
        };

        // Elsewhere there is nobody to export to; the function is checked all the same.
        #[cfg(not(target_arch = "wasm32"))]
        const _: fn($crate::tasks::AsyncRequest) = |request| {
            let _ = $crate::tasks::run_turn($turn, request);
        };
    };
    ($turn:path) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            struct Agent;

            impl $crate::bindings::exports::bailiwick::agent::turn::Guest for Agent {
                fn run(request: $crate::Request) -> Result<$crate::Outcome, String> {
                    $crate::run_turn($turn, request)
                }
            }

    $crate::bindings::export!(Agent with_types_in $crate::bindings);
        };

        // Elsewhere there is nobody to export to; the function is checked all the same.
        #[cfg(not(target_arch = "wasm32"))]
        const _: fn($crate::Request) -> Result<$crate::Outcome, String> =
            |request| $crate::run_turn($turn, request);
    };
}
