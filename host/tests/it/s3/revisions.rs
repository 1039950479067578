//! Revisions that no server gave: a caller's word that becomes part of a header.

use bailiwick::store::{Precondition, Revision, StoreError};

use super::subject;
use crate::conformance::{Place, read_whole};
use crate::servers;

/// Whatever a revision is made of, it is another one: no verb takes it for what is there.
#[tokio::test]
async fn a_forged_revision_is_another_one() {
    for server in [servers::seaweed(), servers::moto()].into_iter().flatten() {
        let subject = subject("forged revisions", server, &server.config(server.port)).await;
        let (place, store) = (Place::new(), &subject.store);
        let (key, other) = (place.key("key"), place.key("other"));
        let Revision(there) = subject.put(&key, "there").await.revision;
        subject.put(&other, "other").await;
        for forged in [
            String::new(),
            "*".to_owned(),
            format!("none\", \"{there}"),
            format!("{there}\r\nx-amz-acl: public-read"),
            format!("{there}\u{e9}"),
            "x".repeat(1 << 20),
        ] {
            let when = Precondition::IfRevision(Revision(forged.clone()));
            let mut upload = store.upload(&key, when.clone()).await.unwrap();
            upload.write("forged".into()).await.unwrap();
            for (verb, answer) in [
                ("put", store.put(&key, "forged".into(), &when).await.map(drop)),
                ("complete", upload.complete().await.map(drop)),
                ("copy", store.copy(&other, None, &key, &when).await.map(drop)),
                ("delete", store.delete(&key, &when).await),
            ] {
                let refused = matches!(
                    answer,
                    Err(StoreError::PreconditionFailed | StoreError::Unsupported(_))
                );
                assert!(refused, "{verb} {forged:.40?}: {answer:?}");
            }
        }
        assert_eq!(read_whole(&*subject.store, &key).await, "there");
    }
}
