//! What is left of a prefix in a bucket, and removing it for good.

use super::S3Store;
use super::changes::{DELETIONS_MAX, fits_xml};
use super::conditions::Condition;
use super::errors::{Failure, FailureKind};
use super::requests::{Left, LeftRequest, Versioning};
use crate::scope::KeyPrefix;
use crate::store::{Layer, ListToken, Remain, RemainKind, Remains, StoreError};

/// Uploads that are aborted at once.
const ABORTS_AT_ONCE: usize = 16;

impl S3Store {
    pub(super) async fn remains_page(
        &self,
        prefix: &KeyPrefix,
        layer: Layer,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Remains, StoreError> {
        let after = after.map(|token| serde_json::from_str(&token.0)).transpose();
        let after = after.map_err(StoreError::unchanged)?;
        let under = prefix.as_str();
        let page = LeftRequest { prefix, under, after: after.as_ref(), limit };
        if layer == Layer::Versions && self.versioning().await? == Versioning::Never {
            return Ok(Remains::default());
        }
        let condition = match layer {
            Layer::Uploads => Some(Condition::UploadsListed),
            Layer::Versions => Some(Condition::VersionsListed),
            Layer::Objects => None,
        };
        if let Some(condition) = condition
            && !self.keeps(condition).await?
        {
            return Ok(Remains::blind());
        }
        match self.left(layer, page).await {
            Ok(Left { left, next }) => {
                let token = |next| serde_json::to_string(&next).map(ListToken);
                let next = next.map(token).transpose().map_err(StoreError::unchanged)?;
                Ok(Remains { left, next, ..Remains::default() })
            }
            // The right was there when it was tried out.
            Err(failure) if failure.kind == FailureKind::Denied && layer != Layer::Objects => {
                Ok(Remains::blind())
            }
            Err(failure) => Err(failure.into_error()),
        }
    }

    /// One page as the server has it.
    pub(super) async fn left(&self, layer: Layer, page: LeftRequest<'_>) -> Result<Left, Failure> {
        match layer {
            Layer::Uploads => self.repeat(|| self.requests.uploads(page)).await,
            Layer::Versions => self.repeat(|| self.requests.versions(page)).await,
            Layer::Objects => self.repeat(|| self.requests.names(page)).await,
        }
    }

    /// Asked anew each time: who turns it on tells nobody.
    pub(super) async fn versioning(&self) -> Result<Versioning, StoreError> {
        self.repeat(|| self.requests.versioning()).await.map_err(Failure::into_error)
    }

    pub(super) async fn destroy_all(&self, remains: &[Remain]) -> Result<(), StoreError> {
        self.objects.forget_all(remains.iter().map(|remain| &remain.key));
        let (uploads, objects): (Vec<_>, Vec<_>) =
            remains.iter().cloned().partition(|remain| remain.kind == RemainKind::Upload);
        self.abort_all(&uploads).await?;
        let (latest, versions): (Vec<_>, Vec<_>) =
            objects.into_iter().partition(|remain| remain.id.is_empty());
        let keys: Vec<_> = latest.into_iter().map(|remain| remain.key).collect();
        self.delete_all(&keys).await?;
        let (plain, odd): (Vec<_>, Vec<_>) =
            versions.into_iter().partition(|remain| fits_xml(remain.key.as_str()));
        for versions in plain.chunks(DELETIONS_MAX) {
            let destroyed = self.repeat(|| self.requests.destroy_versions(versions)).await;
            destroyed.map_err(|failure| StoreError::ambiguous(failure.source))?;
        }
        for version in &odd {
            gone(self.repeat(|| self.requests.destroy_version(version)).await)?;
        }
        Ok(())
    }

    async fn abort_all(&self, uploads: &[Remain]) -> Result<(), StoreError> {
        for uploads in uploads.chunks(ABORTS_AT_ONCE) {
            let aborts = uploads.iter().map(|upload| async move {
                gone(self.repeat(|| self.requests.destroy_upload(upload)).await)
            });
            futures::future::try_join_all(aborts).await?;
        }
        Ok(())
    }
}

fn gone(destroyed: Result<(), Failure>) -> Result<(), StoreError> {
    match destroyed {
        Ok(()) => Ok(()),
        Err(failure) if matches!(failure.kind, FailureKind::NotFound | FailureKind::NoUpload) => {
            Ok(())
        }
        Err(failure) => Err(StoreError::ambiguous(failure.source)),
    }
}
