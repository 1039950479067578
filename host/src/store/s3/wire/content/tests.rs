use http_body::Body;

use super::super::address::Payload;
use super::super::signing::content_hash;
use super::*;

/// Pieces go out as they are and in order, and their length is known before.
#[tokio::test]
async fn pieces_are_sent_as_they_are() {
    let texts = ["", "first ", "", "second ", "third"];
    let pieces = texts.map(|text| Bytes::copy_from_slice(text.as_bytes()));
    let places: Vec<_> =
        pieces.iter().filter(|piece| !piece.is_empty()).map(|piece| piece.as_ptr()).collect();
    let content = Content::from(pieces.to_vec());
    assert_eq!(content.len(), 18);
    let mut body = content.clone().into_body();
    assert_eq!(body.size_hint().exact(), Some(18));
    let mut sent = Vec::new();
    while let Some(frame) =
        std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
    {
        sent.push(frame.unwrap().into_data().unwrap());
    }
    assert_eq!(sent.concat(), b"first second third");
    assert_eq!(sent.iter().map(|piece| piece.as_ptr()).collect::<Vec<_>>(), places);
    assert!(matches!(Content::from(vec![Bytes::new()]).held, Held::Nothing));
    assert!(matches!(Content::from(pieces[..2].to_vec()).held, Held::One(_)));
}

/// Several pieces are signed as the one that they are together.
#[test]
fn pieces_are_signed_as_one() {
    let pieces = Content::from(vec![Bytes::from_static(b"first "), Bytes::from_static(b"second")]);
    let whole = Content::from(Bytes::from_static(b"first second"));
    let hashes = [pieces, whole].map(|content| content_hash(&content, Payload::Signed));
    assert_eq!(hashes[0], hashes[1]);
    assert_eq!(hashes[0].len(), 64);
}

/// A sum is of all bytes since the last one, however they came. The value is that of the RFC.
#[test]
fn a_sum_is_of_the_bytes_since_the_last_one() {
    let zeros = Bytes::from(vec![0; 32]);
    let whole = Content::from(zeros.clone());
    assert_eq!(whole.crc32c(), 0x8A91_36AA);
    let pieces = Content::from(vec![zeros.slice(..5), zeros.slice(5..)]);
    assert_eq!(pieces.crc32c(), whole.crc32c());
    let mut sum = Crc32c::default();
    for _ in 0..2 {
        sum.update(&zeros[..9]);
        sum.update(&zeros[9..]);
        assert_eq!(sum.take(), whole.crc32c());
    }
    assert_eq!(pieces.with_crc32c(7).crc32c(), 7);
}
