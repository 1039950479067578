//! What is left under a prefix, listed or not, and removing it for good.

use std::collections::BTreeSet;
use std::time::Duration;

use bailiwick::scope::KeyPrefix;
use bailiwick::store::{Depth, Layer, Precondition, Remain, RemainKind, Sight, StoreError};

use super::{Place, Subject, content, many};

/// Everything that one layer holds, over pages of `limit`.
pub(crate) async fn left(
    subject: &Subject,
    prefix: &KeyPrefix,
    layer: Layer,
    limit: usize,
) -> Vec<Remain> {
    let (mut left, mut after) = (Vec::new(), None);
    loop {
        let page = subject.store.remains(prefix, layer, after.as_ref(), limit).await.unwrap();
        assert!(page.left.len() <= limit, "a page over its limit");
        assert_eq!(page.sight, Sight::Clear, "{layer:?}");
        left.extend(page.left);
        after = page.next;
        if after.is_none() {
            return left;
        }
    }
}

async fn destroy_all(subject: &Subject, prefix: &KeyPrefix) -> Vec<Remain> {
    let mut destroyed = Vec::new();
    for layer in Layer::ALL {
        loop {
            let found = left(subject, prefix, layer, 1000).await;
            if found.is_empty() {
                break;
            }
            subject.store.destroy(&found).await.unwrap();
            // What is gone is no error.
            subject.store.destroy(&found).await.unwrap();
            destroyed.extend(found);
        }
    }
    destroyed
}

/// What is left of a folder is every file in it and no other, whatever the names, and is gone once
/// it is destroyed.
pub(crate) async fn what_is_left_is_found_and_destroyed(subject: &Subject) {
    let place = Place::new();
    let odd = ["doomed/a", "doomed/a b+c%2F", "doomed/é/[x]*?&<>\"'", "doomed/deep/er/file"];
    let kept = ["doomed", "doomed.txt", "doome", "doomedly/file"];
    many(subject, &place, &odd.map(str::to_owned)).await;
    many(subject, &place, &kept.map(str::to_owned)).await;
    let destroyed = destroy_all(subject, &place.folder("doomed")).await;
    let found: BTreeSet<_> =
        destroyed.iter().map(|remain| place.rest(remain.key.as_str())).collect();
    assert_eq!(found, BTreeSet::from(odd));
    let objects = destroyed.iter().filter(|remain| remain.kind == RemainKind::Object);
    let bytes: u64 = objects.map(|remain| remain.size).sum();
    assert_eq!(bytes, odd.iter().map(|name| name.len() as u64).sum::<u64>());
    let (objects, _) = subject.list_all(&place.folder(""), Depth::All, 100).await;
    subject.assert_listed(place.rests(&objects), kept.map(str::to_owned).to_vec());
}

/// Pages show everything once.
pub(crate) async fn pages_show_everything_that_is_left(subject: &Subject) {
    let place = Place::new();
    let names: Vec<_> = (0..25).map(|n| format!("pages/n{n:02}")).collect();
    many(subject, &place, &names).await;
    let folder = place.folder("pages");
    for limit in [1, 7, 25] {
        let found = left(subject, &folder, Layer::Objects, limit).await;
        let found = found.iter().map(|remain| place.rest(remain.key.as_str()).to_owned());
        subject.assert_listed(found.collect(), names.clone());
    }
    destroy_all(subject, &folder).await;
}

/// An upload that is not over is found under its prefix alone; once it is destroyed, its writer
/// cannot complete it, and nothing of it is left.
pub(crate) async fn an_unfinished_upload_is_found_and_destroyed(subject: &Subject) {
    let place = Place::new();
    let key = place.key("doomed/large");
    let mut upload = subject.store.upload(&key, Precondition::Always).await.unwrap();
    upload.write(content(1, 9 << 20)).await.unwrap();
    let folder = place.folder("doomed");
    let mut found = Vec::new();
    for _ in 0..100 {
        found = left(subject, &folder, Layer::Uploads, 10).await;
        if !found.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(matches!(&found[..], [Remain { kind: RemainKind::Upload, .. }]), "{found:?}");
    assert!(left(subject, &place.folder("doom"), Layer::Uploads, 10).await.is_empty());
    subject.store.destroy(&found).await.unwrap();
    subject.store.destroy(&found).await.unwrap();
    let completed = upload.complete().await;
    assert!(completed.is_err(), "{completed:?}");
    assert!(matches!(subject.store.head(&key).await, Err(StoreError::NotFound)));
    // A part that was on its way may have arrived late.
    let late = destroy_all(subject, &folder).await;
    assert!(late.iter().all(|remain| remain.kind == RemainKind::Upload), "{late:?}");
    assert!(left(subject, &folder, Layer::Uploads, 10).await.is_empty());
}
