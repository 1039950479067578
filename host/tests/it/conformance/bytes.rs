//! Bytes go in and come out.

use std::sync::Arc;

use bailiwick::store::{Precondition, StoreError};
use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::{Place, Plenty, Subject, content, read_whole};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Objects of every size come back whole, with their size.
pub(crate) async fn every_size_comes_back_whole(subject: &Subject) {
    let place = Place::new();
    let sizes = [0, 1, 4095, 4096, 4097, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1];
    let large = [MIB, 5 * MIB - 1, 5 * MIB, 5 * MIB + 1];
    for size in sizes.into_iter().chain(large) {
        let key = place.key(&format!("size-{size}"));
        let bytes = content(size as u64, size);
        let put = subject.put(&key, bytes.clone()).await;
        assert_eq!(put.size, size as u64);
        assert_eq!(subject.store.head(&key).await.unwrap().revision, put.revision);
        assert!(read_whole(&*subject.store, &key).await == bytes, "{size} bytes differ");
    }
}

/// 64 MiB go up in pieces, as many at once as the store likes, and down in ranges, and are the
/// same by hash.
pub(crate) async fn sixty_four_mebibytes_stream_through(subject: &Subject) {
    const PIECE: usize = 3 * MIB + 7;
    let key = Place::new().key("large");
    let (mut upload, mut sent) =
        (subject.store.upload(&key, Precondition::Always).await.unwrap(), Sha256::new());
    upload.lend(Arc::new(Plenty));
    let mut left = 64 * MIB;
    while left > 0 {
        let piece = content(left as u64, PIECE.min(left));
        sent.update(&piece);
        left -= piece.len();
        upload.write(piece).await.unwrap();
    }
    let object = upload.complete().await.unwrap();
    assert_eq!(object.size, 64 * MIB as u64);

    let (mut received, mut at) = (Sha256::new(), 0);
    while at < object.size {
        let range = at..at + (4 * MIB) as u64;
        let (_, bytes) = subject.store.get(&key, range, Some(&object.revision)).await.unwrap();
        received.update(&bytes);
        at += bytes.len() as u64;
    }
    assert_eq!(received.finalize(), sent.finalize());
    subject.store.delete(&key, &Precondition::Always).await.unwrap();
}

/// A range is cut where the object ends; one that starts there or later is empty, not an error.
pub(crate) async fn ranges_end_where_the_object_ends(subject: &Subject) {
    let place = Place::new();
    let key = place.key("ten");
    let put = subject.put(&key, &b"0123456789"[..]).await;
    #[expect(clippy::reversed_empty_ranges, reason = "a caller may ask for one")]
    let ranges: [(std::ops::Range<u64>, &[u8]); 12] = [
        (0..10, b"0123456789"),
        (0..0, b""),
        (3..3, b""),
        (0..1, b"0"),
        (9..10, b"9"),
        (9..11, b"9"),
        (4..u64::MAX, b"456789"),
        (10..10, b""),
        (10..11, b""),
        (11..20, b""),
        (u64::MAX - 1..u64::MAX, b""),
        (7..3, b""),
    ];
    for (range, expected) in ranges {
        let (object, bytes) = subject.store.get(&key, range.clone(), None).await.unwrap();
        assert_eq!(bytes, expected, "{range:?}");
        assert_eq!((object.size, &object.revision), (10, &put.revision), "{range:?}");
    }

    let empty = place.key("empty");
    let put = subject.put(&empty, Bytes::new()).await;
    for range in [0..0, 0..1, 5..9, 0..u64::MAX] {
        let (object, bytes) = subject.store.get(&empty, range, Some(&put.revision)).await.unwrap();
        assert_eq!((object.size, bytes.len()), (0, 0));
    }
}

/// What is not there, or is only a folder, is not found.
pub(crate) async fn what_is_not_there_is_not_found(subject: &Subject) {
    let place = Place::new();
    subject.put(&place.key("folder/file"), "x").await;
    for rest in ["nothing", "folder", "folder/file/below", "folder/other"] {
        let key = place.key(rest);
        let head = subject.store.head(&key).await;
        assert!(matches!(head, Err(StoreError::NotFound)), "{rest}: {head:?}");
        let get = subject.store.get(&key, 0..1, None).await;
        assert!(matches!(get, Err(StoreError::NotFound)), "{rest}: {get:?}");
    }
}

/// A pinned read is of that revision, or fails.
pub(crate) async fn a_pinned_read_never_sees_other_bytes(subject: &Subject) {
    let place = Place::new();
    let key = place.key("file");
    let first = subject.put(&key, "first").await;
    let (_, bytes) = subject.store.get(&key, 0..5, Some(&first.revision)).await.unwrap();
    assert_eq!(bytes, "first");

    let second = subject.put(&key, "other").await;
    for range in [0..5, 0..0, 5..9, 2..3] {
        let stale = subject.store.get(&key, range, Some(&first.revision)).await;
        assert!(matches!(stale, Err(StoreError::PreconditionFailed)), "{stale:?}");
    }
    let (object, bytes) = subject.store.get(&key, 0..9, Some(&second.revision)).await.unwrap();
    assert_eq!((object.revision, &bytes[..]), (second.revision.clone(), &b"other"[..]));

    subject.store.delete(&key, &Precondition::Always).await.unwrap();
    for below in [None, Some(place.key("file/below"))] {
        if let Some(below) = below {
            subject.put(&below, "below").await;
        }
        let gone = subject.store.get(&key, 0..5, Some(&second.revision)).await;
        assert!(matches!(gone, Err(StoreError::NotFound)), "{gone:?}");
    }
}

/// A shorter object replaces a longer one whole.
pub(crate) async fn replacing_leaves_nothing_of_what_was_there(subject: &Subject) {
    let key = Place::new().key("file");
    for size in [70_000, 10, 0, 3] {
        let bytes = content(size as u64, size);
        subject.put(&key, bytes.clone()).await;
        assert_eq!(read_whole(&*subject.store, &key).await, bytes);
    }
}
