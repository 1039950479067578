//! What is there, and its bytes.

use std::ops::Range;

use bytes::Bytes;

use super::S3Store;
use super::errors::{Failure, FailureKind, OBJECT_BYTES_MAX};
use crate::scope::ObjectKey;
use crate::store::{Object, Revision, StoreError};

/// How often a range is asked for again that grew while it was looked at.
const RANGE_TRIES_MAX: u32 = 5;

impl S3Store {
    pub(super) async fn read_head(&self, key: &ObjectKey) -> Result<Object, StoreError> {
        match self.look(key).await {
            Ok(Some(seen)) => Ok(seen.object),
            Ok(None) => Err(StoreError::NotFound),
            Err(failure) => Err(read_failed(failure)),
        }
    }

    pub(super) async fn read_range(
        &self,
        key: &ObjectKey,
        range: Range<u64>,
        pinned: Option<&Revision>,
    ) -> Result<(Object, Bytes), StoreError> {
        // No object reaches further, and not every server reads larger numbers.
        let range = range.start..range.end.min(OBJECT_BYTES_MAX);
        for _ in 0..RANGE_TRIES_MAX {
            if !range.is_empty() {
                let get = || self.requests.get(key, range.clone(), pinned);
                match self.repeat(get).await {
                    Ok((seen, bytes)) => {
                        self.lineages.saw(key, &seen.object.revision, &seen.lineage);
                        self.objects.saw(key, &seen.object);
                        // A server that takes no notice of the condition is found out here.
                        check_pin(&seen.object, pinned)?;
                        return Ok((seen.object, bytes));
                    }
                    // Some servers answer so, too, where a folder is all that has the name.
                    Err(failure) if failure.kind == FailureKind::Condition => {}
                    Err(failure) if failure.kind == FailureKind::Range => {}
                    Err(failure) => return Err(read_failed(failure)),
                }
            }
            let object = self.read_head(key).await?;
            check_pin(&object, pinned)?;
            if range.is_empty() || object.size <= range.start {
                return Ok((object, Bytes::new()));
            }
        }
        Err(StoreError::unchanged(anyhow::Error::msg("an object keeps changing while it is read")))
    }
}

fn check_pin(object: &Object, pinned: Option<&Revision>) -> Result<(), StoreError> {
    match pinned {
        Some(pinned) if *pinned != object.revision => Err(StoreError::PreconditionFailed),
        Some(_) | None => Ok(()),
    }
}

/// Reading changes nothing, so nothing about it is in doubt.
fn read_failed(failure: Failure) -> StoreError {
    match failure.kind {
        FailureKind::Lost => StoreError::unchanged(failure.source),
        _ => failure.into_error(),
    }
}
