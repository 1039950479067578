//! A bucket's own rules, and what is said where rights are missing.

use std::sync::Arc;

use aws_sdk_s3::types::{
    BucketLifecycleConfiguration, ExpirationStatus, LifecycleExpiration, LifecycleRule,
    LifecycleRuleFilter,
};
use bailiwick::clock::SystemClock;
use bailiwick::limits::Limits;
use bailiwick::scope::{Deletion, LifetimeOf, WorkspaceId};
use bailiwick::space::Storage;
use bailiwick::store::Layer;
use bailiwick::store::s3::{
    BucketError, Lifetime, MaximumDays, S3Config, Standing, Versions, WantedRules,
};
use uuid::Uuid;

use super::hostile_servers::{Script, open, serve};
use crate::servers::{self, Server};

fn foreign(id: &str, days: i32) -> LifecycleRule {
    LifecycleRule::builder()
        .id(id)
        .status(ExpirationStatus::Enabled)
        .filter(LifecycleRuleFilter::builder().prefix(format!("{id}/")).build())
        .expiration(LifecycleExpiration::builder().days(days).build())
        .build()
        .unwrap()
}

async fn rules(server: &Server, bucket: &str) -> Vec<(String, Option<i32>)> {
    let asked = server.client(server.port).get_bucket_lifecycle_configuration().bucket(bucket);
    let there = asked.send().await.unwrap();
    let rule = |rule: &LifecycleRule| {
        let days = rule.expiration().and_then(LifecycleExpiration::days);
        (rule.id().unwrap_or_default().to_owned(), days)
    };
    there.rules().iter().map(rule).collect()
}

/// Rules that are wanted come among those of the bucket, which stay as and where they are; what is
/// there already is not changed; a maximum lifetime is taken back alone.
#[tokio::test]
async fn rules_are_merged_into_those_of_the_bucket() {
    for server in [servers::seaweed(), servers::moto()].into_iter().flatten() {
        let bucket = server.another_bucket().await;
        let client = server.client(server.port);
        let there = BucketLifecycleConfiguration::builder();
        let there = there.rules(foreign("zebra", 3)).rules(foreign("ape", 400)).build().unwrap();
        let put = client.put_bucket_lifecycle_configuration().bucket(&bucket);
        put.lifecycle_configuration(there).send().await.unwrap();
        let before = rules(server, &bucket).await;
        let config = S3Config { bucket: bucket.clone(), ..server.config(server.port) };
        let store = servers::open(&config).await;

        let wanted = WantedRules::default();
        let report = store.bucket_report(&wanted).await.unwrap();
        let standings: Vec<_> = report.rules.iter().map(|line| line.standing).collect();
        assert_eq!(standings[..3], [Standing::Foreign, Standing::Foreign, Standing::Missing]);
        assert!(!report.is_whole() && report.rules_used >= 3, "{report}");
        assert_eq!(rules(server, &bucket).await, before, "a look changes nothing");

        let report = store.apply_rules(&wanted).await.unwrap();
        println!("{}, {report}", server.name);
        assert!(report.is_whole(), "{}: {report}", server.name);
        let after = rules(server, &bucket).await;
        assert_eq!(after[..2], before[..], "{}", server.name);

        let workspace = Some(WorkspaceId(Uuid::new_v4()));
        let lifetime = |days| {
            let lifetimes = vec![Lifetime { of: LifetimeOf::Sessions, workspace, days }];
            WantedRules { lifetimes, ..WantedRules::default() }
        };
        let report = store.apply_rules(&lifetime(MaximumDays::Days(90))).await.unwrap();
        assert_eq!(report.lifetimes.len(), 4, "{report}");
        let report = store.apply_rules(&wanted).await.unwrap();
        assert_eq!(report.lifetimes.len(), 4, "what is not named stays: {report}");
        let report = store.apply_rules(&lifetime(MaximumDays::Unlimited)).await.unwrap();
        assert_eq!(report.lifetimes.len(), 2, "{report}");
        assert_eq!(rules(server, &bucket).await, after, "{}", server.name);
    }
}

const FORBIDDEN: &str = "HTTP/1.1 403 Forbidden\r\ncontent-length: 52\r\nconnection: close\r\n\r\n\
     <Error><Code>AccessDenied</Code><Message/></Error>\r\n";
const BEGUN: &str = "HTTP/1.1 200 OK\r\ncontent-length: 91\r\nconnection: close\r\n\r\n\
     <InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>    \r\n";
const NOTHING: &str = "HTTP/1.1 200 OK\r\ncontent-length: 73\r\nconnection: close\r\n\r\n\
     <ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>  \r\n";
const DONE: &str =
    "HTTP/1.1 200 OK\r\netag: \"e\"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// A bucket in which whoever asks may read, write and list, and nothing else.
fn narrow(head: &str) -> Script {
    let line = head.lines().next().unwrap_or_default();
    let beginning = match line.split(' ').next() {
        Some("POST") if line.contains("?uploads") => BEGUN,
        Some("GET") if line.contains("list-type=2") => NOTHING,
        Some("GET") => FORBIDDEN,
        _ => DONE,
    };
    Script { beginning, on_and_on: "" }
}

/// Where rights are missing, what cannot be promised is said, by name of the right, and in what an
/// emptying comes to; and rules that cannot be seen are not replaced.
#[tokio::test]
async fn missing_rights_are_told() {
    let store = open(serve(narrow).await, Arc::new(SystemClock)).await;
    let report = store.bucket_report(&WantedRules::default()).await.unwrap();
    assert_eq!(report.versions, Versions::Unknown);
    let told = report.to_string();
    for right in [
        "s3:ListBucketMultipartUploads",
        "s3:ListBucketVersions",
        "s3:DeleteObjectVersion",
        "s3:GetLifecycleConfiguration",
    ] {
        assert!(told.contains(right), "{right}: {told}");
    }
    assert!(!report.is_whole());
    let applied = store.apply_rules(&WantedRules::default()).await;
    assert!(matches!(applied, Err(BucketError::Refused(_))), "{applied:?}");
    let storage = Storage::new(Arc::new(store), Arc::new(SystemClock), Limits::default());
    let workspace = WorkspaceId(Uuid::new_v4());
    let emptied = storage.empty(Deletion::Workspace(workspace)).await.unwrap();
    assert_eq!(emptied.unseen, [Layer::Uploads, Layer::Versions]);
}
