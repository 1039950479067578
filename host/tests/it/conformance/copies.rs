//! Copies: of one revision, under a condition on the target.

use bailiwick::store::{Precondition, StoreError};

use super::{Ability, Place, Subject, content, read_whole};

/// A copy holds its source's bytes, and each changes without the other.
pub(crate) async fn a_copy_is_whole_and_apart(subject: &Subject) {
    let place = Place::new();
    let (source, target) = (place.key("from/source"), place.key("to/a b%+#é"));
    for size in [0, 1, 70_000] {
        let bytes = content(size as u64, size);
        let put = subject.put(&source, bytes.clone()).await;
        let copied =
            subject.store.copy(&source, None, &target, &Precondition::Always).await.unwrap();
        assert_eq!(copied.size, put.size);
        assert_eq!(subject.store.head(&target).await.unwrap().revision, copied.revision);
        subject.put(&source, "changed").await;
        assert_eq!(read_whole(&*subject.store, &target).await, bytes);
        subject.store.delete(&source, &Precondition::Always).await.unwrap();
        assert_eq!(read_whole(&*subject.store, &target).await, bytes);
    }
    let nothing = subject.store.copy(&source, None, &target, &Precondition::Always).await;
    assert!(matches!(nothing, Err(StoreError::NotFound)), "{nothing:?}");
}

/// A copy of a pinned source is of that revision, or is not made.
pub(crate) async fn a_copy_is_of_the_pinned_revision_alone(subject: &Subject) {
    let place = Place::new();
    let (source, target) = (place.key("source"), place.key("target"));
    let first = subject.put(&source, "first").await;
    let second = subject.put(&source, "second").await;
    let stale =
        subject.store.copy(&source, Some(&first.revision), &target, &Precondition::Always).await;
    let Some(stale) = subject.offered(Ability::CopyPinned, stale) else { return };
    assert!(matches!(stale, Err(StoreError::PreconditionFailed)), "{stale:?}");
    assert!(matches!(subject.store.head(&target).await, Err(StoreError::NotFound)));
    subject
        .store
        .copy(&source, Some(&second.revision), &target, &Precondition::Always)
        .await
        .unwrap();
    assert_eq!(read_whole(&*subject.store, &target).await, "second");
}

/// The condition of a copy is about its target.
pub(crate) async fn a_copy_obeys_the_condition_on_its_target(subject: &Subject) {
    let place = Place::new();
    let (source, target) = (place.key("source"), place.key("target"));
    subject.put(&source, "source").await;
    let copy = async |when: &Precondition| subject.store.copy(&source, None, &target, when).await;

    if let Some(copied) =
        subject.offered(Ability::CopyIfAbsent, copy(&Precondition::IfAbsent).await)
    {
        copied.unwrap();
        assert_eq!(read_whole(&*subject.store, &target).await, "source");
    }
    let old = subject.put(&target, "older").await;
    let now = subject.put(&target, "target").await;
    if let Some(refused) =
        subject.offered(Ability::CopyIfAbsent, copy(&Precondition::IfAbsent).await)
    {
        assert!(matches!(refused, Err(StoreError::PreconditionFailed)), "{refused:?}");
    }
    let stale = copy(&Precondition::IfRevision(old.revision)).await;
    if let Some(refused) = subject.offered(Ability::CopyIfRevision, stale) {
        assert!(matches!(refused, Err(StoreError::PreconditionFailed)), "{refused:?}");
        assert_eq!(read_whole(&*subject.store, &target).await, "target");
        copy(&Precondition::IfRevision(now.revision)).await.unwrap();
        assert_eq!(read_whole(&*subject.store, &target).await, "source");
    }
}

/// A copy of an object onto itself leaves its bytes as they are.
pub(crate) async fn a_copy_onto_itself_keeps_the_bytes(subject: &Subject) {
    let key = Place::new().key("self");
    let put = subject.put(&key, "myself").await;
    let copied = subject.store.copy(&key, None, &key, &Precondition::Always).await.unwrap();
    assert_eq!(copied.size, put.size);
    assert_eq!(read_whole(&*subject.store, &key).await, "myself");
    assert_eq!(subject.store.head(&key).await.unwrap().revision, copied.revision);
    let absent = subject.store.copy(&key, None, &key, &Precondition::IfAbsent).await;
    if let Some(absent) = subject.offered(Ability::CopyIfAbsent, absent) {
        assert!(matches!(absent, Err(StoreError::PreconditionFailed)), "{absent:?}");
    }
}

/// A copy of many parts is whole.
pub(crate) async fn a_large_copy_is_whole(subject: &Subject) {
    let place = Place::new();
    let (source, target) = (place.key("source"), place.key("target"));
    let mut upload = subject.store.upload(&source, Precondition::Always).await.unwrap();
    for piece in 0..5 {
        upload.write(content(piece, 4 << 20)).await.unwrap();
    }
    let object = upload.complete().await.unwrap();
    let copied =
        subject.store.copy(&source, Some(&object.revision), &target, &Precondition::Always).await;
    let Some(copied) = subject.offered(Ability::CopyPinned, copied) else { return };
    assert_eq!(copied.unwrap().size, 20 << 20);
    assert!(
        read_whole(&*subject.store, &target).await == read_whole(&*subject.store, &source).await
    );
}
