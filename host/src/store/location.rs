//! Where a store is, as a person writes it.

use std::path::PathBuf;
use std::str::FromStr;

/// A store's address: `s3://bucket[/prefix]`, or else the path of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreLocation {
    /// Files in a directory.
    Directory(PathBuf),
    /// Objects in a bucket.
    S3 {
        /// The bucket's name.
        bucket: String,
        /// What every key starts with, without a `/` at either end; empty for the whole bucket.
        prefix: String,
    },
}

impl FromStr for StoreLocation {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(rest) = text.strip_prefix("s3://") {
            return bucket_and_prefix(rest);
        }
        match text.split_once("://") {
            Some((scheme, _)) => Err(LocationError::Scheme(scheme.to_owned())),
            None if text.is_empty() => Err(LocationError::Empty),
            None => Ok(Self::Directory(PathBuf::from(text))),
        }
    }
}

fn bucket_and_prefix(rest: &str) -> Result<StoreLocation, LocationError> {
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.is_empty() {
        return Err(LocationError::NoBucket);
    }
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if !bucket.chars().all(legal) {
        return Err(LocationError::Bucket(bucket.to_owned()));
    }
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    Ok(StoreLocation::S3 { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
}

/// Why a text is no store's address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// Nothing was written.
    #[error("a store is a directory or `s3://bucket/prefix`, not an empty text")]
    Empty,
    /// Not a kind of store that there is.
    #[error("there is no store of the kind `{0}://`: name a directory or `s3://bucket/prefix`")]
    Scheme(String),
    /// No bucket follows `s3://`.
    #[error("`s3://` names no bucket: write `s3://bucket` or `s3://bucket/prefix`")]
    NoBucket,
    /// Not a name that a bucket can have.
    #[error("`{0}` is not the name of a bucket: letters, digits, `.`, `-` and `_` are")]
    Bucket(String),
}

#[cfg(test)]
mod tests;
