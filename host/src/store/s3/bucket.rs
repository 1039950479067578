//! A bucket's own rules, and what can be promised of a deletion in it.

use std::fmt;

use anyhow::anyhow;
use aws_sdk_s3::types::{LifecycleRule, TransitionDefaultMinimumObjectSize};
use serde::Serialize;

use super::S3Store;
use super::conditions::{Condition, Support};
use super::errors::{Failure, FailureKind};
use super::lifecycle::{Keeps, Plan, RuleLine, Standing, WantedRules, plan};
use super::requests::Versioning;
use crate::limits::LIFECYCLE_RULES_MAX;
use crate::store::StoreError;

/// The rules of a bucket beside those that are wanted, and what cannot be promised; prints as a
/// table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BucketReport {
    /// The bucket.
    pub bucket: String,
    /// Whether it keeps what is replaced and deleted.
    pub versions: Versions,
    /// Every rule that is there or wanted, in their order.
    pub rules: Vec<RuleLine>,
    /// How many it would have, of [`LIFECYCLE_RULES_MAX`].
    pub rules_used: usize,
    /// Ids of the rules that remove files for their age, idle or not.
    pub lifetimes: Vec<String>,
    /// What cannot be promised, and why, in sentences.
    pub unpromised: Vec<String>,
}

/// Whether a bucket keeps what is replaced and deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Versions {
    /// It never did.
    Never,
    /// It does, or did once.
    Kept,
    /// Whoever asks may not know.
    Unknown,
}

impl BucketReport {
    /// Whether every rule is as it is wanted, and everything can be promised.
    pub fn is_whole(&self) -> bool {
        let kept = |line: &RuleLine| matches!(line.standing, Standing::Kept | Standing::Foreign);
        self.unpromised.is_empty() && self.rules.iter().all(kept)
    }
}

impl fmt::Display for BucketReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bucket, versions, rules, rules_used, unpromised, .. } = self;
        let versions = match versions {
            Versions::Never => "keeps no versions",
            Versions::Kept => "keeps versions of what is replaced and deleted",
            Versions::Unknown => "does not say whether it keeps versions",
        };
        writeln!(f, "bucket {bucket}: {versions}")?;
        writeln!(f, "rules: {rules_used} of {LIFECYCLE_RULES_MAX}")?;
        for RuleLine { id, standing, does } in rules {
            let id = if id.is_empty() { "(no id)" } else { id };
            writeln!(f, "  {standing:<9} {id}\n            {does}")?;
        }
        for sentence in unpromised {
            writeln!(f, "not promised: {sentence}")?;
        }
        Ok(())
    }
}

/// Why rules were not applied.
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    /// In a sentence for whoever asked.
    #[error("{0}")]
    Refused(String),
    /// The server did not do it; the source is for whoever asked as well.
    #[error("the bucket's rules cannot be {what}: {source:#}")]
    Failed {
        /// What was to be done with them.
        what: &'static str,
        /// What happened.
        source: anyhow::Error,
    },
}

impl From<StoreError> for BucketError {
    fn from(error: StoreError) -> Self {
        Self::Failed { what: "looked at", source: anyhow!(error) }
    }
}

/// What a bucket has.
#[derive(Debug, Default)]
pub(super) struct Lifecycle {
    pub(super) rules: Vec<LifecycleRule>,
    pub(super) smallest: Option<TransitionDefaultMinimumObjectSize>,
}

const NO_RULES: &str = "rules of the bucket cannot be seen (s3:GetLifecycleConfiguration): whether \
     it ends unfinished uploads, or removes files for their age, is not known";

impl S3Store {
    /// The rules of the bucket beside those that are wanted, and what cannot be promised.
    ///
    /// # Errors
    /// [`BucketError::Refused`] for more rules than a bucket has; [`BucketError::Failed`] if the
    /// server does not answer.
    pub async fn bucket_report(&self, wanted: &WantedRules) -> Result<BucketReport, BucketError> {
        let (keeps, versions) = self.keeping().await?;
        let mut unpromised = self.unpromised().await?;
        let there = match self.lifecycle().await? {
            Some(there) => there,
            None => {
                unpromised.push(NO_RULES.to_owned());
                Lifecycle::default()
            }
        };
        let plan = self.plan(&there, wanted, keeps)?;
        let lifetimes = Plan::lifetimes(&there.rules).collect();
        let (rules_used, rules) = (plan.rules.len(), plan.lines);
        let bucket = self.bucket.clone();
        Ok(BucketReport { bucket, versions, rules, rules_used, lifetimes, unpromised })
    }

    /// Puts the wanted rules among those of the bucket, and returns what it has then.
    ///
    /// # Errors
    /// As [`Self::bucket_report`]; [`BucketError::Refused`] where the rules cannot be seen, since
    /// they would be replaced; [`BucketError::Failed`] if the server does not keep all of them.
    pub async fn apply_rules(&self, wanted: &WantedRules) -> Result<BucketReport, BucketError> {
        let (keeps, _) = self.keeping().await?;
        let there = self.lifecycle().await?.ok_or_else(|| {
            BucketError::Refused(format!("nothing was changed: {NO_RULES}, and would be lost"))
        })?;
        let plan = self.plan(&there, wanted, keeps)?;
        if plan.changes() {
            let put = || self.requests.put_lifecycle(&plan.rules, there.smallest.as_ref());
            self.repeat(put).await.map_err(|failure| refused("changed", failure))?;
            self.check_applied(&there.rules, wanted, keeps).await?;
        }
        self.bucket_report(wanted).await
    }

    /// What was there is there still, in its order, and what was wanted is there as well.
    async fn check_applied(
        &self,
        before: &[LifecycleRule],
        wanted: &WantedRules,
        keeps: Keeps,
    ) -> Result<(), BucketError> {
        let after = self.lifecycle().await?.unwrap_or_default();
        let foreign = |rules: &[LifecycleRule]| -> Result<Vec<RuleLine>, BucketError> {
            let there = Lifecycle { rules: rules.to_vec(), smallest: None };
            let lines = self.plan(&there, wanted, keeps)?.lines;
            Ok(lines.into_iter().filter(|line| line.standing == Standing::Foreign).collect())
        };
        if foreign(before)? != foreign(&after.rules)? {
            let source = anyhow!(
                "rules of others are not as they were: somebody may have changed them in the same moment; look at them"
            );
            return Err(BucketError::Failed { what: "kept", source });
        }
        if self.plan(&after, wanted, keeps)?.changes() {
            let source = anyhow!("the server took them and does not have them all");
            return Err(BucketError::Failed { what: "kept", source });
        }
        Ok(())
    }

    fn plan(
        &self,
        there: &Lifecycle,
        wanted: &WantedRules,
        keeps: Keeps,
    ) -> Result<Plan, BucketError> {
        plan(&there.rules, self.requests.prefix(), wanted, keeps).map_err(BucketError::Refused)
    }

    /// `None` where whoever asks may not see them.
    async fn lifecycle(&self) -> Result<Option<Lifecycle>, BucketError> {
        match self.repeat(|| self.requests.lifecycle()).await {
            Ok(there) => Ok(Some(there)),
            Err(failure) => match failure.kind {
                FailureKind::Denied | FailureKind::NotImplemented => Ok(None),
                _ => Err(refused("looked at", failure)),
            },
        }
    }

    async fn keeping(&self) -> Result<(Keeps, Versions), BucketError> {
        Ok(match self.versioning().await? {
            Versioning::Never => (Keeps::Nothing, Versions::Never),
            Versioning::Kept => (Keeps::Versions, Versions::Kept),
            Versioning::Unknown => (Keeps::Nothing, Versions::Unknown),
        })
    }

    async fn unpromised(&self) -> Result<Vec<String>, BucketError> {
        let mut unpromised = Vec::new();
        if self.support(Condition::UploadsListed).await? != Support::Kept {
            unpromised.push(format!(
                "{} (s3:ListBucketMultipartUploads, s3:AbortMultipartUpload)",
                Condition::UploadsListed.consequence()
            ));
        }
        if self.support(Condition::VersionsListed).await? != Support::Kept {
            unpromised.push(format!(
                "{} (s3:ListBucketVersions, s3:DeleteObjectVersion)",
                Condition::VersionsListed.consequence()
            ));
        }
        Ok(unpromised)
    }
}

fn refused(what: &'static str, failure: Failure) -> BucketError {
    let source = match failure.kind {
        FailureKind::Denied => {
            failure.source.context("these credentials may not (s3:PutLifecycleConfiguration)")
        }
        _ => failure.source,
    };
    BucketError::Failed { what, source }
}
