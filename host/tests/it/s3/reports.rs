//! What the probe says of real servers.

use bailiwick::store::s3::{Condition, Support};

use crate::servers;

/// SeaweedFS keeps every condition but those on uploads in parts, which it loses among racers;
/// it lists in an order of its own, and shows folders that are none.
#[tokio::test]
async fn seaweed_keeps_most_conditions() {
    let Some(server) = servers::seaweed() else { return };
    let report = server.store().await.report().await.unwrap();
    println!("SeaweedFS, {report}");
    for condition in Condition::ALL {
        let expected = match condition {
            Condition::CompleteIfAbsent
            | Condition::CompleteIfRevision
            | Condition::ListingOrder
            | Condition::FoldersVanish
            | Condition::NamesBeyondXml => Support::Ignored,
            _ => Support::Kept,
        };
        assert_eq!(report.support(condition), Some(expected), "{condition:?}");
    }
}

/// What moto takes no notice of is found out.
#[tokio::test]
async fn moto_is_found_out() {
    let Some(server) = servers::moto() else { return };
    let report = server.store().await.report().await.unwrap();
    println!("moto, {report}");
    for condition in Condition::ALL {
        let expected = match condition {
            Condition::CompleteIfRevision
            | Condition::CopySource
            | Condition::PartCopySource
            | Condition::CopyIfAbsent
            | Condition::CopyIfRevision => Support::Ignored,
            _ => Support::Kept,
        };
        assert_eq!(report.support(condition), Some(expected), "{condition:?}");
    }
}
