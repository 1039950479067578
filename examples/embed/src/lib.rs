//! A small agent platform: the crate `bailiwick`, a language model of the platform's own that its
//! guests may import, and one page of HTTP.
//!
//! [`platform`] puts the parts together, [`model`] is the import, [`http`] the door.

pub mod http;
pub mod model;
pub mod platform;
