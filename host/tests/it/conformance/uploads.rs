//! Uploads: nothing until completion, all of it after, and nothing of one given up.

use std::os::unix::fs::FileExt as _;

use bailiwick::store::{Depth, Precondition, StoreError};
use bytes::Bytes;

use super::{Ability, Place, Subject, content, read_whole};

/// A reader sees what was there before until the upload is completed, and all of it after.
pub(crate) async fn nothing_shows_before_completion(subject: &Subject) {
    let place = Place::new();
    let (fresh, old) = (place.key("a/fresh"), place.key("old"));
    subject.put(&old, "old").await;
    let mut first = subject.store.upload(&fresh, Precondition::Always).await.unwrap();
    let mut second = subject.store.upload(&old, Precondition::Always).await.unwrap();
    for piece in 0..3 {
        first.write(content(piece, 4 << 20)).await.unwrap();
        second.write(content(piece, 4 << 20)).await.unwrap();
        assert!(matches!(subject.store.head(&fresh).await, Err(StoreError::NotFound)));
        assert_eq!(read_whole(&*subject.store, &old).await, "old");
        let (objects, _) = subject.list_all(&place.folder(""), Depth::All, 10).await;
        assert_eq!(place.rests(&objects), ["old"]);
    }
    for (key, upload) in [(&fresh, first), (&old, second)] {
        let object = upload.complete().await.unwrap();
        assert_eq!(object.size, 12 << 20);
        assert_eq!(subject.store.head(key).await.unwrap().revision, object.revision);
        let whole = read_whole(&*subject.store, key).await;
        assert!(whole[8 << 20..] == content(2, 4 << 20));
    }
}

/// An upload that is aborted or dropped, at whatever point, leaves nothing behind.
pub(crate) async fn aborted_and_dropped_uploads_leave_nothing(subject: &Subject) {
    let place = Place::new();
    for (case, size) in [0_usize, 1, 100 << 10, 9 << 20].into_iter().enumerate() {
        for end in ["aborted", "dropped"] {
            let key = place.key(&format!("{end}/{case}/file"));
            let mut upload = subject.store.upload(&key, Precondition::Always).await.unwrap();
            if size > 0 {
                upload.write(content(1, size)).await.unwrap();
            }
            match end {
                "aborted" => upload.abort().await.unwrap(),
                _ => drop(upload),
            }
            assert!(matches!(subject.store.head(&key).await, Err(StoreError::NotFound)));
        }
    }
    let (objects, folders) = subject.list_all(&place.folder(""), Depth::Children, 10).await;
    assert!(objects.is_empty() && folders.is_empty(), "{objects:?} {folders:?}");
    subject.assert_nothing_left().await;
}

/// Whether an upload's precondition holds is decided when it is completed, not before.
pub(crate) async fn conditions_are_decided_at_completion(subject: &Subject) {
    let place = Place::new();
    let start = async |key, when| {
        let mut upload = subject.store.upload(key, when).await?;
        upload.write("upload".into()).await?;
        Ok(upload)
    };
    let (raced, freed) = (place.key("raced"), place.key("freed"));
    let upload = start(&raced, Precondition::IfAbsent).await;
    if let Some(upload) = offered(subject, Ability::CompleteIfAbsent, upload).await {
        subject.put(&raced, "meanwhile").await;
        let late = upload.complete().await;
        assert!(matches!(late, Err(StoreError::PreconditionFailed)), "{late:?}");
        assert_eq!(read_whole(&*subject.store, &raced).await, "meanwhile");

        subject.put(&freed, "still there").await;
        let upload = start(&freed, Precondition::IfAbsent).await.unwrap();
        subject.store.delete(&freed, &Precondition::Always).await.unwrap();
        upload.complete().await.unwrap();
        assert_eq!(read_whole(&*subject.store, &freed).await, "upload");
    }
    let now = subject.put(&raced, "now").await;
    let when = Precondition::IfRevision(now.revision);
    let upload = start(&raced, when.clone()).await;
    if let Some(upload) = offered(subject, Ability::CompleteIfRevision, upload).await {
        let second = start(&raced, when).await.unwrap();
        upload.complete().await.unwrap();
        let late = second.complete().await;
        assert!(matches!(late, Err(StoreError::PreconditionFailed)), "{late:?}");
        assert_eq!(read_whole(&*subject.store, &raced).await, "upload");
        let gone = subject.store.head(&raced).await.unwrap().revision;
        let upload = start(&raced, Precondition::IfRevision(gone)).await.unwrap();
        subject.store.delete(&raced, &Precondition::Always).await.unwrap();
        let late = upload.complete().await;
        assert!(subject.refused_or_open(&late), "{late:?}");
        assert!(matches!(subject.store.head(&raced).await, Err(StoreError::NotFound)));
    }
}

/// A store that lacks the ability says so when the upload begins, or at its completion.
async fn offered(
    subject: &Subject,
    ability: Ability,
    begun: Result<Box<dyn bailiwick::store::Upload>, StoreError>,
) -> Option<Box<dyn bailiwick::store::Upload>> {
    if !subject.lacks(ability) {
        return Some(begun.unwrap());
    }
    let answer = match begun {
        Ok(upload) => upload.complete().await,
        Err(error) => Err(error),
    };
    assert!(subject.offered(ability, answer).is_none());
    None
}

/// An upload without a write is an empty object.
pub(crate) async fn an_upload_without_bytes_is_an_empty_object(subject: &Subject) {
    let place = Place::new();
    for pieces in 0..3 {
        let key = place.key(&format!("empty-{pieces}"));
        let mut upload = subject.store.upload(&key, Precondition::Always).await.unwrap();
        for _ in 0..pieces {
            upload.write(Bytes::new()).await.unwrap();
        }
        assert_eq!(upload.complete().await.unwrap().size, 0);
        assert_eq!(read_whole(&*subject.store, &key).await, "");
    }
}

/// Pieces of any size, around and across what a store sends at once, come together in order.
pub(crate) async fn pieces_of_any_size_come_together(subject: &Subject) {
    let key = Place::new().key("pieces");
    let sizes = [1, (8 << 20) - 1, 1, 8 << 20, (8 << 20) + 1, 0, 5, 70_000, (5 << 20) - 1];
    let mut upload = subject.store.upload(&key, Precondition::Always).await.unwrap();
    let mut expected = Vec::new();
    for (piece, size) in sizes.into_iter().enumerate() {
        let bytes = content(piece as u64, size);
        expected.extend_from_slice(&bytes);
        upload.write(bytes).await.unwrap();
    }
    for byte in 0..1000_u32 {
        let bytes = byte.to_le_bytes();
        expected.extend_from_slice(&bytes);
        upload.write(Bytes::copy_from_slice(&bytes)).await.unwrap();
    }
    assert_eq!(upload.complete().await.unwrap().size, expected.len() as u64);
    assert!(read_whole(&*subject.store, &key).await == expected);
}

/// Two uploads to one key do not mix; the later completion stays.
pub(crate) async fn of_two_uploads_the_later_completion_stays(subject: &Subject) {
    let key = Place::new().key("twice");
    let mut first = subject.store.upload(&key, Precondition::Always).await.unwrap();
    let mut second = subject.store.upload(&key, Precondition::Always).await.unwrap();
    for piece in 0..3 {
        first.write(content(piece, 1 << 20)).await.unwrap();
        second.write(content(piece + 10, 1 << 20)).await.unwrap();
    }
    second.complete().await.unwrap();
    let last = first.complete().await.unwrap();
    assert_eq!(subject.store.head(&key).await.unwrap().revision, last.revision);
    assert!(read_whole(&*subject.store, &key).await[..1 << 20] == content(0, 1 << 20));
}

/// Where an upload has a file of this machine, that file becomes the object, however it was written
/// to, under the same conditions; one that is given up leaves nothing. Where it has none, it goes on
/// as any other.
pub(crate) async fn a_file_of_an_upload_becomes_the_object(subject: &Subject) {
    let place = Place::new();
    let (key, whole) = (place.key("a/written"), content(1, 3 << 20));
    let mut upload = subject.store.upload(&key, Precondition::Always).await.unwrap();
    match upload.file().await.unwrap() {
        Some(file) => {
            for start in [2 << 20, 0, 1 << 20] {
                file.write_all_at(&whole[start..start + (1 << 20)], start as u64).unwrap();
            }
            let mut first = [0; 100];
            file.read_exact_at(&mut first, 0).unwrap();
            assert!(whole.starts_with(&first));
        }
        None => upload.write(whole.clone()).await.unwrap(),
    }
    assert!(matches!(subject.store.head(&key).await, Err(StoreError::NotFound)));
    let object = upload.complete().await.unwrap();
    assert_eq!(object.size, 3 << 20);
    assert_eq!(subject.store.head(&key).await.unwrap().revision, object.revision);
    assert!(read_whole(&*subject.store, &key).await == whole);

    let late = Precondition::IfRevision(object.revision.clone());
    subject.put(&key, "meanwhile").await;
    for end in ["completed", "dropped"] {
        let mut upload = subject.store.upload(&key, late.clone()).await.unwrap();
        let Some(file) = upload.file().await.unwrap() else { return };
        file.write_all_at(b"too late", 0).unwrap();
        if end == "completed" {
            let answer = upload.complete().await;
            assert!(matches!(answer, Err(StoreError::PreconditionFailed)), "{answer:?}");
        } else {
            drop(upload);
        }
        assert_eq!(read_whole(&*subject.store, &key).await, "meanwhile");
    }
    subject.assert_nothing_left().await;
}
