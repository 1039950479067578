use super::*;

fn piece(bytes: usize) -> Bytes {
    Bytes::from(vec![0; bytes])
}

fn taken(brought: &Brought) -> Option<usize> {
    brought.take().map(|pieces| pieces.iter().map(Bytes::len).sum())
}

#[test]
fn a_thread_is_asked_for_once_there_is_enough_and_returns_until_there_is_not() {
    let brought = Brought::default();
    assert_eq!(brought.push(&piece(WRITTEN_BYTES_MIN - 1)), Pushed::Done);
    assert_eq!(brought.push(&piece(1)), Pushed::WantsThread);
    assert_eq!(brought.push(&piece(WRITTEN_BYTES_MIN)), Pushed::Done);
    assert_eq!(taken(&brought), Some(2 * WRITTEN_BYTES_MIN));
    assert_eq!(brought.push(&piece(WRITTEN_BYTES_MIN)), Pushed::Done);
    assert_eq!(taken(&brought), Some(WRITTEN_BYTES_MIN));
    assert_eq!(brought.push(&piece(7)), Pushed::Done);
    assert_eq!(taken(&brought), None);
    assert_eq!(brought.push(&piece(WRITTEN_BYTES_MIN)), Pushed::WantsThread);
    assert_eq!(taken(&brought), Some(7 + WRITTEN_BYTES_MIN));
}

#[test]
fn what_is_gathered_is_bounded_and_all_of_it_has_a_thread_that_comes() {
    let brought = Brought::default();
    let mut wanted = 0;
    loop {
        match brought.push(&piece(WRITTEN_BYTES_MIN / 2)) {
            Pushed::Done => {}
            Pushed::WantsThread => wanted += 1,
            Pushed::Full => break,
        }
    }
    assert_eq!(wanted, 1);
    assert_eq!(taken(&brought), Some(GATHERED_BYTES_MAX));
    // One large piece is not turned away for a few bytes that nobody comes for.
    assert_eq!(taken(&brought), None);
    assert_eq!(brought.push(&piece(1)), Pushed::Done);
    assert_eq!(brought.push(&piece(GATHERED_BYTES_MAX)), Pushed::WantsThread);
    assert_eq!(brought.push(&piece(1)), Pushed::Full);
}

#[tokio::test]
async fn one_who_waits_for_room_is_told_of_it_also_when_it_was_made_before() {
    let brought = Brought::default();
    assert_eq!(brought.push(&piece(GATHERED_BYTES_MAX)), Pushed::WantsThread);
    assert_eq!(brought.push(&piece(1)), Pushed::Full);
    assert_eq!(taken(&brought), Some(GATHERED_BYTES_MAX));
    brought.taken().await;
    assert_eq!(brought.push(&piece(1)), Pushed::Done);
}
