//! What is measured, a file each.

use anyhow::Result;
use futures::future::BoxFuture;

use crate::figure::Figure;
use crate::setting::Setting;

mod deleting;
mod folders;
mod growth;
mod host_calls;
mod key_value;
mod large_directory;
mod large_s3;
mod listing;
mod many_turns;
mod overlapping;
mod retention;
mod scope_check;
mod search;
mod small_directory;
mod small_s3;
mod start;

/// One kind of work, and who does it.
pub(crate) struct Workload {
    /// For `--only`, and of its picture's file.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// Who is measured, and how, in a paragraph.
    pub(crate) about: &'static str,
    pub(crate) run: for<'a> fn(&'a Setting) -> BoxFuture<'a, Result<Found>>,
}

/// What came out.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) figures: Vec<Figure>,
    /// What a reader should know of these figures.
    pub(crate) notes: Vec<String>,
}

impl From<Vec<Figure>> for Found {
    fn from(figures: Vec<Figure>) -> Self {
        Self { figures, notes: Vec::new() }
    }
}

/// In the order of the page.
pub(crate) fn all() -> Vec<Workload> {
    vec![
        host_calls::WORKLOAD,
        overlapping::WORKLOAD,
        small_directory::WORKLOAD,
        small_s3::WORKLOAD,
        large_s3::WORKLOAD,
        large_directory::WORKLOAD,
        folders::WORKLOAD,
        scope_check::WORKLOAD,
        start::WORKLOAD,
        many_turns::WORKLOAD,
        key_value::WORKLOAD,
        listing::WORKLOAD,
        deleting::WORKLOAD,
        retention::WORKLOAD,
        search::WORKLOAD,
        growth::WORKLOAD,
    ]
}
