//! How long things are kept, and how they go.
//!
//! [`policy`] decides of one session, from what is known of it: pure. [`Sweeper`] walks through
//! sessions, rows and files owed to deletion, a bounded amount at a time, in short transactions; any
//! number of hosts may, and one that is killed leaves nothing that others do not go on with.

mod judge;
pub mod policy;
mod preview;
mod sweeper;

pub use judge::Settled;
pub use preview::{Fate, Foreseen, Preview, foresee};
pub use sweeper::{Observer, Sweeper, Tick};
