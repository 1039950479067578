//! Uploads and copies in parts.

use bailiwick::store::{Precondition, StoreError};

use super::{SEAWEED_LACKS, subject};
use crate::conformance::{Place, content, read_whole};
use crate::servers;

/// An object that is too large for one copy request is copied in parts, of one revision.
#[tokio::test]
async fn a_copy_too_large_for_one_request_is_made_in_parts() {
    for server in [servers::seaweed(), servers::moto()].into_iter().flatten() {
        let mut config = server.config(server.port);
        config.tuning.part_bytes = 5 << 20;
        config.tuning.copy_bytes_max = 6 << 20;
        let subject = subject("small copies", server, &config).await;
        let place = Place::new();
        let (source, target) = (place.key("source"), place.key("target"));
        let bytes = content(1, (11 << 20) + 3);
        let first = subject.put(&source, bytes.clone()).await;
        let copy =
            subject.store.copy(&source, Some(&first.revision), &target, &Precondition::Always);
        let copied = copy.await.unwrap();
        assert_eq!(subject.store.head(&target).await.unwrap().revision, copied.revision);
        assert!(read_whole(&*subject.store, &target).await == bytes);
        subject.put(&source, "another").await;
        let copy =
            subject.store.copy(&source, Some(&first.revision), &target, &Precondition::Always);
        let late = copy.await;
        assert!(matches!(late, Err(StoreError::PreconditionFailed)), "{late:?}");
        assert!(read_whole(&*subject.store, &target).await == bytes);
        subject.assert_nothing_left().await;
    }
}

/// Where a server would lose the condition among racers, a conditional upload in parts is
/// refused before a part is sent, and nothing is there.
#[tokio::test]
async fn a_conditional_upload_in_parts_is_refused_where_it_would_race() {
    let Some(server) = servers::seaweed() else { return };
    let subject = subject("SeaweedFS", server, &server.config(server.port)).await;
    let subject = subject.lacking(SEAWEED_LACKS);
    let key = Place::new().key("large");
    let mut upload = subject.store.upload(&key, Precondition::IfAbsent).await.unwrap();
    let refused = upload.write(content(1, (8 << 20) + 1)).await;
    assert!(matches!(refused, Err(StoreError::Unsupported(_))), "{refused:?}");
    assert!(upload.complete().await.is_err());
    assert!(matches!(subject.store.head(&key).await, Err(StoreError::NotFound)));
    subject.assert_nothing_left().await;
}
