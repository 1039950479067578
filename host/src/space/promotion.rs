//! Copies to longer-lived scopes: none without a receipt, however the copy ends.

use std::fmt;

use async_trait::async_trait;
use uuid::Uuid;

use super::{Error, ErrorCode, File, Space};
use crate::scope::Scope;
use crate::store::Revision;

/// Who keeps receipts of what is promoted in a space. What one of these acknowledges is durable.
#[async_trait]
pub trait Receipts: fmt::Debug + Send + Sync {
    /// Keeps a receipt of a copy that is about to be made, from one path to another. Which content
    /// the copy has is not known yet; where it never is, nobody knows whether there is one.
    async fn open(&self, source: &str, target: &str) -> anyhow::Result<Uuid>;

    /// The copy was made, and has this content.
    async fn complete(&self, receipt: Uuid, revision: &Revision) -> anyhow::Result<()>;

    /// There is no copy, and so there was no promotion.
    async fn withdraw(&self, receipt: Uuid) -> anyhow::Result<()>;
}

impl Space {
    /// Opens a receipt, if a copy from one scope to another needs one.
    pub(super) async fn open_receipt(
        &self,
        (source, from): (&str, Scope<'_>),
        (target, to): (&str, Scope<'_>),
    ) -> Result<Option<Uuid>, Error> {
        match &self.0.receipts {
            Some(receipts) if is_promotion(from, to) => {
                let opened = receipts.open(source, target).await;
                Ok(Some(opened.map_err(|source| Error::unrecorded(NOTHING_COPIED, source))?))
            }
            _ => Ok(None),
        }
    }

    /// Closes a receipt by what became of the copy.
    pub(super) async fn close_receipt(
        &self,
        receipt: Option<Uuid>,
        copied: &Result<File, Error>,
    ) -> Result<(), Error> {
        let Some((receipts, receipt)) = self.0.receipts.as_ref().zip(receipt) else {
            return Ok(());
        };
        match copied {
            Ok(File { revision, .. }) => {
                let completed = receipts.complete(receipt, revision).await;
                completed.map_err(|source| Error::unrecorded(COPIED, source))
            }
            Err(error) if may_be_copied(error) => Ok(()),
            Err(_) => {
                // Left open it says too much, which is no reason to answer anything else.
                if let Err(error) = receipts.withdraw(receipt).await {
                    tracing::warn!(error = format!("{error:#}"), "a receipt was not withdrawn");
                }
                Ok(())
            }
        }
    }
}

const NOTHING_COPIED: &str = "this promotion could not be recorded; nothing changed";
const COPIED: &str =
    "the copy is there, but its receipt could not be completed: look before you repeat it";

pub(super) fn is_promotion(from: Scope<'_>, to: Scope<'_>) -> bool {
    lifetime(to) > lifetime(from)
}

fn may_be_copied(error: &Error) -> bool {
    error.code == ErrorCode::Unavailable && error.reason != "full"
}

fn lifetime(scope: Scope<'_>) -> u8 {
    match scope {
        Scope::Session => 0,
        Scope::Agent => 1,
        Scope::Workspace => 2,
        Scope::Skill(_) => 3,
    }
}
