use super::*;

const LARGE: usize = 1 << 20;

/// What comes back is used again for what it fits, and shows nothing of what it held.
#[test]
fn a_buffer_is_used_again_and_empty() {
    let mut kept = Kept::new();
    assert!(kept.put(vec![7; LARGE]).is_empty());
    for unfit in [LARGE / 2, LARGE + 1, LARGE * 4 / 5 - 1, 1, 0] {
        assert!(kept.take(unfit).is_none(), "{unfit}");
    }
    let again = kept.take(LARGE - 1).unwrap();
    assert_eq!((again.len(), again.capacity()), (0, LARGE));
    assert!(kept.take(LARGE - 1).is_none(), "it is held");
    assert_eq!(kept.bytes, 0);
}

/// So much is kept and no more; what was not used for longest goes first.
#[test]
fn what_is_kept_is_bounded() {
    let mut kept = Kept::new();
    assert!(!is_large(BUFFER_KEPT_BYTES_MIN - 1) && !is_large(BUFFERS_KEPT_BYTES_MAX + 1));
    kept.put(vec![0; 2 * LARGE]);
    for _ in 0..BUFFERS_KEPT_BYTES_MAX / LARGE {
        kept.put(vec![0; LARGE]);
        assert!(kept.bytes <= BUFFERS_KEPT_BYTES_MAX);
    }
    assert!(kept.take(2 * LARGE).is_none());
    assert_eq!(kept.buffers.len(), BUFFERS_KEPT_BYTES_MAX / LARGE);
}

/// Shared bytes are those that were put in, and their buffer goes back with the last of them.
#[test]
fn shared_bytes_give_their_buffer_back() {
    let unusual = LARGE + 12_345;
    let bytes = Buffer::of(&vec![5; unusual]).freeze();
    let part = bytes.slice(10..20);
    drop(bytes);
    assert!(kept(|kept| kept.take(unusual)).is_none(), "a part of it is held");
    assert_eq!(part, [5; 10][..]);
    drop(part);
    assert!(kept(|kept| kept.take(unusual)).is_some());
    assert_eq!(Buffer::of(b"small").freeze(), "small");
}
