//! Deletions: of many, of nothing, and of the last in a folder.

use bailiwick::store::{Depth, Precondition, StoreError};

use super::{Place, Subject, many};

/// 999, 1,000, 1,001 and 2,500 objects go in one call, and no other.
pub(crate) async fn a_thousand_and_more_at_once(subject: &Subject) {
    let place = Place::new();
    for count in [999, 1000, 1001, 2500] {
        let names: Vec<String> = (0..count).map(|n| format!("{count}/n{n:04}")).collect();
        let keep = [format!("{count}"), format!("{count}/n"), format!("{count}/n0000/kept")];
        many(subject, &place, &names).await;
        many(subject, &place, &keep).await;
        let keys: Vec<_> = names.iter().map(|name| place.key(name)).collect();
        subject.store.delete_many(&keys).await.unwrap();
    }
    let (objects, _) = subject.list_all(&place.folder(""), Depth::All, 1000).await;
    let kept = [999, 1000, 1001, 2500].iter().flat_map(|count| {
        [format!("{count}"), format!("{count}/n"), format!("{count}/n0000/kept")]
    });
    subject.assert_listed(place.rests(&objects), kept.collect());
}

/// Deleting what is not there succeeds, once and again, alone and among others.
pub(crate) async fn nothing_there_is_no_error(subject: &Subject) {
    let place = Place::new();
    let (there, absent) = (place.key("there"), place.key("absent/deep/down"));
    subject.put(&there, "x").await;
    subject.store.delete(&absent, &Precondition::Always).await.unwrap();
    subject.store.delete(&place.key("there/below"), &Precondition::Always).await.unwrap();
    subject.store.delete_many(&[]).await.unwrap();
    subject.store.delete_many(&[absent.clone(), there.clone(), absent.clone()]).await.unwrap();
    subject.store.delete_many(&[there.clone(), there.clone()]).await.unwrap();
    subject.store.delete(&there, &Precondition::Always).await.unwrap();
    assert!(matches!(subject.store.head(&there).await, Err(StoreError::NotFound)));
}

/// A folder is there as long as a file is in it, and its name is free again after.
pub(crate) async fn a_deleted_file_leaves_no_folder(subject: &Subject) {
    let place = Place::new();
    for _ in 0..3 {
        many(subject, &place, &["a/b/c/d", "a/b/e"].map(str::to_owned)).await;
        subject.store.delete(&place.key("a/b/c/d"), &Precondition::Always).await.unwrap();
        let (_, folders) = subject.list_all(&place.folder("a/b"), Depth::Children, 10).await;
        assert!(folders.is_empty(), "{folders:?}");
        subject.store.delete(&place.key("a/b/e"), &Precondition::Always).await.unwrap();
        let (objects, folders) = subject.list_all(&place.folder(""), Depth::Children, 10).await;
        assert!(objects.is_empty() && folders.is_empty(), "{objects:?} {folders:?}");
        subject.put(&place.key("a"), "a file now").await;
        subject.store.delete(&place.key("a"), &Precondition::Always).await.unwrap();
    }
}
