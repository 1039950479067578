//! Rules by which a bucket removes things itself. Pure: which rules are wanted, and how they come
//! among those that are there. A rule of ours is known by its id; all others are somebody else's,
//! and stay as and where they are.

use std::fmt;
use std::str::FromStr;

use aws_sdk_s3::types::{
    AbortIncompleteMultipartUpload, ExpirationStatus, LifecycleExpiration, LifecycleRule,
    LifecycleRuleFilter, NoncurrentVersionExpiration,
};
use serde::Serialize;

use crate::limits::LIFECYCLE_RULES_MAX;
use crate::scope::{LifetimeOf, WorkspaceId};

/// How long a bucket keeps files at most, in days, whatever happens with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaximumDays {
    /// So many, at least one.
    Days(u16),
    /// For as long as they are not deleted: the rule is to go.
    Unlimited,
}

impl FromStr for MaximumDays {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.parse()) {
            ("unlimited", _) => Ok(Self::Unlimited),
            (_, Ok(days)) if days > 0 => Ok(Self::Days(days)),
            _ => Err("write a number of days from 1 to 65535, or `unlimited`"),
        }
    }
}

/// A maximum lifetime, and whose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// Which files.
    pub of: LifetimeOf,
    /// Of one workspace; `None` for all of this deployment.
    pub workspace: Option<WorkspaceId>,
    /// How long.
    pub days: MaximumDays,
}

/// What rules a bucket is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedRules {
    /// After how many days an upload that was begun and not finished goes.
    pub uploads_days: u16,
    /// After how many days what was replaced or deleted goes, where a bucket keeps it.
    pub noncurrent_days: u16,
    /// Maximum lifetimes to be set or taken back; those that are there and not named stay.
    pub lifetimes: Vec<Lifetime>,
}

impl Default for WantedRules {
    fn default() -> Self {
        Self { uploads_days: 1, noncurrent_days: 7, lifetimes: Vec::new() }
    }
}

/// Where a rule stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It is there as it is wanted.
    Kept,
    /// It is to be there and is not.
    Missing,
    /// It is there otherwise than it is wanted.
    Differs,
    /// It is there, and to go.
    Unwanted,
    /// It is somebody else's.
    Foreign,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Kept => "kept",
            Self::Missing => "missing",
            Self::Differs => "differs",
            Self::Unwanted => "unwanted",
            Self::Foreign => "foreign",
        })
    }
}

/// What one rule does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleLine {
    /// Its id; may be empty.
    pub id: String,
    /// Where it stands.
    pub standing: Standing,
    /// What it does, in words.
    pub does: String,
}

/// What a rule of ours changes.
#[derive(Clone, Debug, PartialEq)]
enum Change {
    Set(Box<LifecycleRule>),
    Remove,
}

/// How the rules of a bucket are to be, and what that changes.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) rules: Vec<LifecycleRule>,
    pub(super) lines: Vec<RuleLine>,
}

impl Plan {
    /// Whether anything is to be changed.
    pub(super) fn changes(&self) -> bool {
        self.lines.iter().any(|line| {
            matches!(line.standing, Standing::Missing | Standing::Differs | Standing::Unwanted)
        })
    }

    /// Ids of the rules that remove files for their age, ours and foreign ones, and are in force.
    pub(super) fn lifetimes(there: &[LifecycleRule]) -> impl Iterator<Item = String> {
        let by_age = |rule: &&LifecycleRule| {
            rule.status == ExpirationStatus::Enabled
                && rule.expiration().is_some_and(|e| e.days().is_some() || e.date().is_some())
        };
        there.iter().filter(by_age).map(|rule| rule.id().unwrap_or_default().to_owned())
    }
}

/// Whether a bucket keeps what is replaced and deleted, as far as rules go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeps {
    Versions,
    Nothing,
}

/// The rules of a bucket, with those of ours that are wanted put in their places: known ones where
/// they stand, new ones at the end.
///
/// # Errors
/// A sentence, if that were more rules than a bucket has.
pub(super) fn plan(
    there: &[LifecycleRule],
    prefix: &str,
    wanted: &WantedRules,
    keeps: Keeps,
) -> Result<Plan, String> {
    let mut due = changes(prefix, wanted, keeps)?;
    let (mut rules, mut lines) = (Vec::new(), Vec::new());
    for rule in there {
        let id = rule.id().unwrap_or_default().to_owned();
        let change = due.iter().position(|(wanted, _)| *wanted == id).map(|at| due.remove(at).1);
        let (standing, rule) = match change {
            Some(Change::Remove) => (Standing::Unwanted, None),
            Some(Change::Set(wanted)) if is_alike(rule, &wanted) => {
                (Standing::Kept, Some(rule.clone()))
            }
            Some(Change::Set(wanted)) => (Standing::Differs, Some(*wanted)),
            None if id.starts_with(&own_id(prefix, "")) => (Standing::Kept, Some(rule.clone())),
            None => (Standing::Foreign, Some(rule.clone())),
        };
        lines.push(RuleLine { id, standing, does: rule.as_ref().map_or_else(String::new, does) });
        rules.extend(rule);
    }
    for (id, change) in due {
        let Change::Set(rule) = change else { continue };
        lines.push(RuleLine { id, standing: Standing::Missing, does: does(&rule) });
        rules.push(*rule);
    }
    if rules.len() > LIFECYCLE_RULES_MAX {
        return Err(format!(
            "a bucket has at most {LIFECYCLE_RULES_MAX} rules, and this would be {}",
            rules.len()
        ));
    }
    Ok(Plan { rules, lines })
}

fn changes(
    prefix: &str,
    wanted: &WantedRules,
    keeps: Keeps,
) -> Result<Vec<(String, Change)>, String> {
    let mut changes = Vec::new();
    let mut change = |name: &str, change: Result<LifecycleRule, String>| -> Result<(), String> {
        changes.push((own_id(prefix, name), Change::Set(Box::new(change?))));
        Ok(())
    };
    let days = i32::from(wanted.uploads_days);
    let abort = AbortIncompleteMultipartUpload::builder().days_after_initiation(days).build();
    let uploads = rule(prefix, "unfinished-uploads", prefix);
    let uploads = uploads.abort_incomplete_multipart_upload(abort);
    change("unfinished-uploads", built(uploads))?;
    if keeps == Keeps::Versions {
        let days = i32::from(wanted.noncurrent_days);
        let noncurrent = NoncurrentVersionExpiration::builder().noncurrent_days(days).build();
        let markers = LifecycleExpiration::builder().expired_object_delete_marker(true).build();
        let versions = rule(prefix, "earlier-versions", prefix);
        let versions = versions.noncurrent_version_expiration(noncurrent).expiration(markers);
        change("earlier-versions", built(versions))?;
    }
    for Lifetime { of, workspace, days } in &wanted.lifetimes {
        for under in of.prefixes(*workspace) {
            let name = format!("maximum-{}", under.as_str().trim_end_matches('/'));
            let change = match days {
                MaximumDays::Unlimited => Change::Remove,
                MaximumDays::Days(days) => {
                    let age = LifecycleExpiration::builder().days(i32::from(*days)).build();
                    let under = format!("{prefix}{}", under.as_str());
                    let lifetime = rule(prefix, &name, &under).expiration(age);
                    Change::Set(Box::new(built(lifetime)?))
                }
            };
            changes.push((own_id(prefix, &name), change));
        }
    }
    Ok(changes)
}

/// The id of a rule of the deployment that has this prefix in a bucket.
fn own_id(prefix: &str, name: &str) -> String {
    format!("bailiwick:{prefix}:{name}")
}

fn rule(
    prefix: &str,
    name: &str,
    under: &str,
) -> aws_sdk_s3::types::builders::LifecycleRuleBuilder {
    LifecycleRule::builder()
        .id(own_id(prefix, name))
        .status(ExpirationStatus::Enabled)
        .filter(LifecycleRuleFilter::builder().prefix(under).build())
}

fn built(rule: aws_sdk_s3::types::builders::LifecycleRuleBuilder) -> Result<LifecycleRule, String> {
    rule.build().map_err(|error| error.to_string())
}

/// Whether two rules do the same. Servers write the same rule in several ways.
fn is_alike(one: &LifecycleRule, other: &LifecycleRule) -> bool {
    does(one) == does(other)
}

#[expect(deprecated, reason = "rules that were made long ago name their prefix so")]
fn under(rule: &LifecycleRule) -> String {
    let filter = rule.filter();
    let and = filter.and_then(LifecycleRuleFilter::and);
    let prefix = filter
        .and_then(LifecycleRuleFilter::prefix)
        .or_else(|| and.and_then(|and| and.prefix()))
        .or_else(|| rule.prefix())
        .unwrap_or_default();
    let narrowed = and.is_some()
        || filter.is_some_and(|filter| {
            filter.tag().is_some()
                || filter.object_size_greater_than().is_some()
                || filter.object_size_less_than().is_some()
        });
    let all = if prefix.is_empty() { "everything".to_owned() } else { format!("`{prefix}`") };
    if narrowed { format!("{all}, in part") } else { all }
}

/// What a rule does, in words.
fn does(rule: &LifecycleRule) -> String {
    let days = |days: i32| if days == 1 { "a day".to_owned() } else { format!("{days} days") };
    let mut acts = Vec::new();
    if let Some(age) = rule.expiration() {
        acts.extend(age.days().map(|age| format!("removes files {} old", days(age))));
        acts.extend(age.date().map(|date| format!("removes files from {date} on")));
        if age.expired_object_delete_marker() == Some(true) {
            acts.push("removes marks of deletions that hide nothing".to_owned());
        }
    }
    if let Some(noncurrent) = rule.noncurrent_version_expiration() {
        let after = noncurrent.noncurrent_days().map_or_else(|| "a while".to_owned(), days);
        let but =
            noncurrent.newer_noncurrent_versions().map(|kept| format!(", but {kept} of each"));
        acts.push(format!("removes earlier versions after {after}{}", but.unwrap_or_default()));
    }
    if let Some(abort) = rule.abort_incomplete_multipart_upload() {
        let after = abort.days_after_initiation().map_or_else(|| "a while".to_owned(), days);
        acts.push(format!("ends unfinished uploads after {after}"));
    }
    if !rule.transitions().is_empty() || !rule.noncurrent_version_transitions().is_empty() {
        acts.push("moves files to other storage".to_owned());
    }
    let acts = if acts.is_empty() { "does nothing".to_owned() } else { acts.join(", ") };
    let off = if rule.status == ExpirationStatus::Enabled { "" } else { " (switched off)" };
    format!("{}: {acts}{off}", under(rule))
}

#[cfg(test)]
mod tests;
