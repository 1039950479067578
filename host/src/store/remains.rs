//! What is left under a prefix, listed or not: to be removed for good.

use serde::{Deserialize, Serialize};

use super::ListToken;
use crate::scope::ObjectKey;

/// Where something can be left. What is left of a prefix is what all of them hold together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// Uploads that were neither completed nor aborted, and what a crash left of writes.
    Uploads,
    /// Where earlier content is kept: every version, that which is listed included, and the marks
    /// of deletions. Empty where none is kept.
    Versions,
    /// What a listing shows, and what it leaves out since it is no legal path.
    Objects,
}

impl Layer {
    /// All of them, in the order in which they are emptied.
    pub const ALL: [Self; 3] = [Self::Uploads, Self::Versions, Self::Objects];

    /// What cannot be promised where a store does not show it.
    pub fn unpromised(self) -> &'static str {
        match self {
            Self::Uploads => {
                "that no part of an unfinished upload is left: the store does not show them; a rule of the bucket is to end them"
            }
            Self::Versions => {
                "that no earlier version is left: the store does not show them, or does not let this host remove them; a rule of the bucket is to remove them"
            }
            Self::Objects => "that no file is left: the store does not show them",
        }
    }

    /// The same of several of them.
    pub const UNPROMISED: &str = "that no unfinished upload and no earlier version is left: the store does not show them; rules of the bucket are to end and to remove them";
}

/// What kind of thing is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RemainKind {
    /// An object that a listing shows.
    Object,
    /// Content that was replaced or deleted, and kept.
    Version,
    /// The mark of a deletion.
    Marker,
    /// An upload that is not over.
    Upload,
}

impl RemainKind {
    /// Its name, for digests and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Version => "version",
            Self::Marker => "marker",
            Self::Upload => "upload",
        }
    }
}

/// One thing that is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remain {
    /// The key that it stands at, or would. It need be no legal path.
    pub key: ObjectKey,
    /// What it is.
    pub kind: RemainKind,
    /// The store's own word for which one of those of its key it is; may be empty.
    pub id: String,
    /// Its bytes, where the store says so.
    pub size: u64,
}

/// A page of what is left in one layer.
#[derive(Clone, Debug, Default)]
pub struct Remains {
    /// In no order.
    pub left: Vec<Remain>,
    /// Absent on the last page. A page may be empty and not the last.
    pub next: Option<ListToken>,
    /// Whether all of the layer can be seen.
    pub sight: Sight,
}

/// Whether a store shows a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sight {
    /// It does.
    #[default]
    Clear,
    /// It does not, or whoever asks may not look: what is there stays unknown.
    Blind,
}

impl Remains {
    /// Of a layer that cannot be seen.
    pub fn blind() -> Self {
        Self { sight: Sight::Blind, ..Self::default() }
    }
}
