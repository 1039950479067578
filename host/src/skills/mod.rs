//! Skills between the catalog, which knows their versions, and the store, which has their bytes:
//! publishing them, giving them to turns, and removing what nobody needs.

mod collecting;
mod frontmatter;
mod publisher;
mod shelf;

pub use collecting::{Collected, collect_once};
pub use frontmatter::{About, PAGE};
pub use publisher::{PublishError, Publisher};
pub use shelf::Shelf;
