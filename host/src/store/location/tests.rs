use std::path::PathBuf;

use super::{LocationError, StoreLocation};

fn s3(bucket: &str, prefix: &str) -> StoreLocation {
    StoreLocation::S3 { bucket: bucket.to_owned(), prefix: prefix.to_owned() }
}

/// A bucket may be followed by a prefix; a `/` at its end says nothing more.
#[test]
fn a_bucket_and_its_prefix_are_told_apart() {
    assert_eq!("s3://files".parse(), Ok(s3("files", "")));
    assert_eq!("s3://files/".parse(), Ok(s3("files", "")));
    assert_eq!("s3://files/team/a/".parse(), Ok(s3("files", "team/a")));
}

/// Whatever names no other kind of store is a directory's path.
#[test]
fn everything_else_is_a_directory() {
    let directory = |path: &str| Ok(StoreLocation::Directory(PathBuf::from(path)));
    assert_eq!("data".parse(), directory("data"));
    assert_eq!("/srv/s3/x".parse(), directory("/srv/s3/x"));
}

/// A mistake is answered with what to write, not with a directory of that name.
#[test]
fn mistakes_are_refused() {
    let parse = str::parse::<StoreLocation>;
    assert_eq!(parse(""), Err(LocationError::Empty));
    assert_eq!(parse("s3://"), Err(LocationError::NoBucket));
    assert_eq!(parse("s3:///prefix"), Err(LocationError::NoBucket));
    assert_eq!(parse("gs://b"), Err(LocationError::Scheme("gs".to_owned())));
    assert_eq!(parse("s3://a b"), Err(LocationError::Bucket("a b".to_owned())));
}
