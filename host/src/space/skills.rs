//! Contents of files of skills: each stands under its hash, whatever names it.

use bytes::Bytes;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use sha2::Digest as _;

use super::{Error, Storage};
use crate::scope::{ObjectKey, Sha256, WorkspaceId, skill_blob};
use crate::store::{Effect, Precondition, StoreError};

/// Contents that are stored at once.
const AT_ONCE: usize = 8;

impl Storage {
    /// Stores contents of files, each under its hash. One that is there already is left as it is.
    /// Whoever names them claims them first, or they may be removed as unused meanwhile.
    ///
    /// # Errors
    /// `unavailable` if storage fails; some may be stored then.
    pub async fn keep_blobs(
        &self,
        owner: WorkspaceId,
        contents: impl IntoIterator<Item = Bytes> + Send,
    ) -> Result<(), Error> {
        let puts: Vec<_> = contents.into_iter().map(|bytes| self.keep_blob(owner, bytes)).collect();
        stream::iter(puts).buffer_unordered(AT_ONCE).try_collect().await
    }

    async fn keep_blob(&self, owner: WorkspaceId, bytes: Bytes) -> Result<(), Error> {
        let key = skill_blob(owner, Sha256(sha2::Sha256::digest(&bytes).into()));
        let put = async {
            match self.store.put(&key, bytes, &Precondition::IfAbsent).await {
                Ok(_) | Err(StoreError::PreconditionFailed) => Ok(()),
                Err(error) => Err(error),
            }
        };
        self.bounded(Effect::Unknown, put).await
    }

    /// Removes contents of files. Those that are not there are no error.
    ///
    /// # Errors
    /// `unavailable` if storage fails; some may be gone then.
    pub async fn drop_blobs(&self, owner: WorkspaceId, contents: &[Sha256]) -> Result<(), Error> {
        let keys: Vec<ObjectKey> =
            contents.iter().map(|sha256| skill_blob(owner, *sha256)).collect();
        self.bounded(Effect::Unknown, self.store.delete_many(&keys)).await
    }
}
