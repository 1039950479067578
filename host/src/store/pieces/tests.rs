use super::*;

/// Whatever the sizes, the bytes come out as they went in, and large pieces are not copied.
#[test]
fn pieces_stay_in_order_and_large_ones_are_kept() {
    let sizes = [0, 1, 70_000, 3, KEPT_BYTES_MIN - 1, KEPT_BYTES_MIN, 0, 5, 300_000, 9];
    let (mut pieces, mut expected, mut large) = (Pieces::default(), Vec::new(), Vec::new());
    for (number, size) in (0..).zip(sizes) {
        let bytes = Bytes::from(vec![number; size]);
        expected.extend_from_slice(&bytes);
        if size >= KEPT_BYTES_MIN {
            large.push(bytes.as_ptr());
        }
        pieces.push(bytes);
    }
    assert_eq!(pieces.len(), expected.len());
    let taken = pieces.take();
    assert_eq!(taken.concat(), expected);
    let kept = taken.iter().filter(|piece| large.contains(&piece.as_ptr())).count();
    assert_eq!(kept, large.len());
    assert_eq!((pieces.len(), pieces.take()), (0, Vec::new()));
}

/// A flood of single bytes between large pieces takes no room for each of them.
#[test]
fn small_pieces_share_their_room() {
    let mut pieces = Pieces::default();
    let large = Bytes::from(vec![1; KEPT_BYTES_MIN]);
    for _ in 0..100 {
        pieces.push(Bytes::from_static(b"x"));
        pieces.push(large.clone());
    }
    let taken = pieces.take();
    let small: Vec<_> = taken.iter().filter(|piece| piece.len() == 1).collect();
    let beside = |pair: &&[&Bytes]| pair[0].as_ptr().wrapping_add(1) == pair[1].as_ptr();
    let rooms = small.len() - small.windows(2).filter(beside).count();
    assert_eq!(small.len(), 100);
    assert!(rooms < 10, "{rooms} rooms");
}
