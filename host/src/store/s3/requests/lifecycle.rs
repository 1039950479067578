//! The rules of a bucket.

use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::types::{
    BucketLifecycleConfiguration, LifecycleRule, TransitionDefaultMinimumObjectSize,
};

use super::{Failure, FailureKind, Requests};
use crate::store::s3::bucket::Lifecycle;

impl Requests {
    /// What every key starts with: empty, or ending in `/`.
    pub(in super::super) fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(in super::super) async fn lifecycle(&self) -> Result<Lifecycle, Failure> {
        let asked = self.client.get_bucket_lifecycle_configuration().bucket(&self.bucket);
        match asked.send().await {
            Ok(there) => Ok(Lifecycle {
                smallest: there.transition_default_minimum_object_size().cloned(),
                rules: there.rules.unwrap_or_default(),
            }),
            Err(error) if error.code() == Some("NoSuchLifecycleConfiguration") => {
                Ok(Lifecycle::default())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Puts rules in the place of all that there are.
    pub(in super::super) async fn put_lifecycle(
        &self,
        rules: &[LifecycleRule],
        smallest: Option<&TransitionDefaultMinimumObjectSize>,
    ) -> Result<(), Failure> {
        let rules = BucketLifecycleConfiguration::builder().set_rules(Some(rules.to_vec()));
        let rules = rules.build().map_err(|error| Failure::new(FailureKind::Refused, error))?;
        let put = self
            .client
            .put_bucket_lifecycle_configuration()
            .bucket(&self.bucket)
            .set_transition_default_minimum_object_size(smallest.cloned())
            .lifecycle_configuration(rules);
        put.send().await?;
        Ok(())
    }
}
