//! What a server can be relied on for. Each condition is tried out when it is first needed,
//! and at most once in the life of a store.

use std::fmt;

use serde::Serialize;
use tokio::sync::OnceCell;

use super::S3Store;
use super::probe::Probe;
use crate::store::{Precondition, StoreError};

/// A promise that some servers keep and others do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// A put where nothing is there.
    PutIfAbsent,
    /// A put onto one revision.
    PutIfRevision,
    /// The end of an upload in parts where nothing is there.
    CompleteIfAbsent,
    /// The end of an upload in parts onto one revision.
    CompleteIfRevision,
    /// A copy of one revision.
    CopySource,
    /// A copy of one revision, in parts.
    PartCopySource,
    /// A copy to where nothing is there.
    CopyIfAbsent,
    /// A copy onto one revision.
    CopyIfRevision,
    /// A deletion of one revision.
    DeleteIfRevision,
    /// Metadata, of puts, uploads and copies: it says which write made an object.
    WriteIds,
    /// Listings in byte order.
    ListingOrder,
    /// No folder is listed once its last file is gone.
    FoldersVanish,
    /// Names with characters that XML cannot hold.
    NamesBeyondXml,
    /// A list of the uploads under a prefix that are not over.
    UploadsListed,
    /// A list of versions and marks of deletions, and their removal; or none are kept.
    VersionsListed,
}

/// A change of one object, by the request that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Put,
    Complete,
    Copy,
    Delete,
}

impl Verb {
    /// What the server must keep if the change is to be made only then.
    pub(super) fn condition(self, when: &Precondition) -> Option<Condition> {
        match (self, when) {
            (_, Precondition::Always) | (Self::Delete, Precondition::IfAbsent) => None,
            (Self::Put, Precondition::IfAbsent) => Some(Condition::PutIfAbsent),
            (Self::Put, Precondition::IfRevision(_)) => Some(Condition::PutIfRevision),
            (Self::Complete, Precondition::IfAbsent) => Some(Condition::CompleteIfAbsent),
            (Self::Complete, Precondition::IfRevision(_)) => Some(Condition::CompleteIfRevision),
            (Self::Copy, Precondition::IfAbsent) => Some(Condition::CopyIfAbsent),
            (Self::Copy, Precondition::IfRevision(_)) => Some(Condition::CopyIfRevision),
            (Self::Delete, Precondition::IfRevision(_)) => Some(Condition::DeleteIfRevision),
        }
    }
}

impl Condition {
    /// All of them, in the order in which they are reported.
    pub const ALL: [Self; 15] = [
        Self::PutIfAbsent,
        Self::PutIfRevision,
        Self::CompleteIfAbsent,
        Self::CompleteIfRevision,
        Self::CopySource,
        Self::PartCopySource,
        Self::CopyIfAbsent,
        Self::CopyIfRevision,
        Self::DeleteIfRevision,
        Self::WriteIds,
        Self::ListingOrder,
        Self::FoldersVanish,
        Self::NamesBeyondXml,
        Self::UploadsListed,
        Self::VersionsListed,
    ];

    /// What was tried, in a few words.
    pub fn name(self) -> &'static str {
        match self {
            Self::PutIfAbsent => "put if absent",
            Self::PutIfRevision => "put onto one revision",
            Self::CompleteIfAbsent => "upload in parts if absent",
            Self::CompleteIfRevision => "upload in parts onto one revision",
            Self::CopySource => "copy of one revision",
            Self::PartCopySource => "copy of one revision in parts",
            Self::CopyIfAbsent => "copy if absent",
            Self::CopyIfRevision => "copy onto one revision",
            Self::DeleteIfRevision => "delete of one revision",
            Self::WriteIds => "ids of writes in metadata",
            Self::ListingOrder => "listings in byte order",
            Self::FoldersVanish => "no folders without files",
            Self::NamesBeyondXml => "names that XML cannot hold",
            Self::UploadsListed => "list of unfinished uploads",
            Self::VersionsListed => "list and removal of versions",
        }
    }

    /// What it means that a server does not keep it.
    pub fn consequence(self) -> &'static str {
        match self {
            Self::CopySource | Self::PartCopySource | Self::CopyIfAbsent | Self::CopyIfRevision => {
                "emulated: such copies pass through this host"
            }
            Self::UploadsListed => {
                "not promised: that no part of an unfinished upload is left of what was deleted,                  until a rule of the bucket has ended it"
            }
            Self::VersionsListed => {
                "not promised: that no earlier version is left of what was deleted, until a rule of \
                 the bucket has removed it"
            }
            Self::WriteIds => "a write whose answer is lost fails, as one that may have been made",
            Self::ListingOrder => "each page is sorted, pages follow in the server's order",
            Self::FoldersVanish => {
                "emulated: every folder is looked into; a file and what is in a folder of its name \
                 must not be made in the same moment"
            }
            Self::PutIfAbsent
            | Self::PutIfRevision
            | Self::CompleteIfAbsent
            | Self::CompleteIfRevision
            | Self::DeleteIfRevision
            | Self::NamesBeyondXml => self.refusal(),
        }
    }

    /// The sentence with which a verb is refused that needs it.
    pub(super) fn refusal(self) -> &'static str {
        match self {
            Self::PutIfAbsent => "this storage cannot write a file only if there is none",
            Self::PutIfRevision => {
                "this storage cannot write a file only if it is unchanged, so it cannot edit one"
            }
            Self::CompleteIfAbsent => {
                "this storage cannot write a large file only if there is none"
            }
            Self::CompleteIfRevision => {
                "this storage cannot write a large file only if it is unchanged"
            }
            Self::DeleteIfRevision => {
                "this storage cannot delete a file only if it is unchanged, so it cannot move one"
            }
            Self::CopySource | Self::PartCopySource | Self::CopyIfAbsent | Self::CopyIfRevision => {
                "this storage cannot copy a file on that condition"
            }
            Self::WriteIds => "this storage does not keep metadata",
            Self::ListingOrder => "this storage does not list in order",
            Self::FoldersVanish => "this storage lists folders that are none",
            Self::UploadsListed => "this storage does not show unfinished uploads",
            Self::VersionsListed => "this storage does not show or remove versions",
            Self::NamesBeyondXml => {
                "this storage cannot hold a name with the characters U+FFFE and U+FFFF"
            }
        }
    }
}

/// What a server made of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Support {
    /// It kept it, among racers too.
    Kept,
    /// It took no notice of it, or not among racers.
    Ignored,
    /// It refused to hear of it.
    Refused,
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Kept => "kept",
            Self::Ignored => "ignored",
            Self::Refused => "refused",
        })
    }
}

/// What is known so far.
#[derive(Debug, Default)]
pub(super) struct Conditions([OnceCell<Support>; Condition::ALL.len()]);

impl S3Store {
    /// Whether the server keeps a condition; tried out if it is not known.
    pub(super) async fn keeps(&self, condition: Condition) -> Result<bool, StoreError> {
        Ok(self.support(condition).await? == Support::Kept)
    }

    pub(super) async fn support(&self, condition: Condition) -> Result<Support, StoreError> {
        let cell = &self.conditions.0[condition as usize];
        let probe = Probe::new(self);
        let tried_out = || async {
            let support = Box::pin(probe.run(condition)).await;
            support.map_err(|failure| StoreError::unchanged(failure.source))
        };
        let support = *cell.get_or_try_init(tried_out).await?;
        tracing::trace!(condition = condition.name(), %support, "known");
        Ok(support)
    }

    /// Tries out everything that was not needed yet, and says what is known of the server.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the server does not answer.
    pub async fn report(&self) -> Result<ProbeReport, StoreError> {
        let mut probed = Vec::new();
        for condition in Condition::ALL {
            let support = self.support(condition).await?;
            let consequence = match support {
                Support::Kept => "",
                Support::Ignored | Support::Refused => condition.consequence(),
            };
            probed.push(Probed { condition, support, consequence });
        }
        Ok(ProbeReport { bucket: self.bucket.clone(), probed })
    }
}

/// What a server can be relied on for; prints as a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProbeReport {
    /// The bucket that was probed.
    pub bucket: String,
    /// Every condition, and what became of it.
    pub probed: Vec<Probed>,
}

/// A condition that was tried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Probed {
    /// What was tried.
    pub condition: Condition,
    /// What the server made of it.
    pub support: Support,
    /// What follows; empty for a condition that is kept.
    pub consequence: &'static str,
}

impl ProbeReport {
    /// What the server made of one condition.
    pub fn support(&self, condition: Condition) -> Option<Support> {
        let found = self.probed.iter().find(|probed| probed.condition == condition);
        found.map(|probed| probed.support)
    }
}

impl fmt::Display for ProbeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "bucket {}", self.bucket)?;
        for Probed { condition, support, consequence } in &self.probed {
            let line = format!("  {:<34} {support:<8} {consequence}", condition.name());
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
