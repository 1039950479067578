use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

use super::*;
use crate::engine::folders::error::Failure;

fn gathering(limits: Limits) -> Arc<Gathering> {
    let host = HostGathering::new(&limits, None);
    Arc::new(Gathering::new(GatheringBounds::of(&limits), host))
}

fn code<T>(answer: Answer<T>) -> Option<ErrorCode> {
    match answer {
        Err(Failure::Code(code)) => Some(code),
        Err(Failure::Fatal(_)) | Ok(_) => None,
    }
}

/// Whatever is written where, and however often it moves to a file, it reads as a plain list of
/// bytes would.
#[tokio::test]
async fn what_is_gathered_reads_as_it_was_written() {
    let mut random = SmallRng::seed_from_u64(7);
    for held in [0, 10_000, GATHERED_HELD_BYTES_MAX] {
        let limits = Limits { turn_gathered_held_bytes_max: held, ..Limits::default() };
        let mut gathered = Gathered::new(&gathering(limits), None);
        let mut model = Vec::new();
        for step in 0..300_u32 {
            let at = random.random_range(0..60_000_usize);
            match random.random_range(0..10) {
                0 => {
                    gathered.resize(at as u64).await.unwrap();
                    model.resize(at, 0);
                }
                1 => gathered.settle().await.unwrap(),
                2..6 => {
                    let length = random.random_range(0..40_000);
                    let start = at.min(model.len());
                    let end = (start + length).min(model.len());
                    let read = gathered.read(at as u64, length).await.unwrap();
                    assert_eq!(read, model[start..end], "step {step}");
                }
                _ => {
                    let piece = vec![step as u8; random.random_range(0..40_000)];
                    if !piece.is_empty() {
                        model.resize(model.len().max(at + piece.len()), 0);
                        model[at..at + piece.len()].copy_from_slice(&piece);
                    }
                    gathered.write(at as u64, piece.into()).unwrap();
                }
            }
            assert_eq!(gathered.size(), model.len() as u64);
        }
        assert_eq!(gathered.read(0, usize::MAX).await.unwrap(), model);
    }
}

/// More than a turn, or a host, may gather is refused; what was there stays, and room comes back.
#[tokio::test]
async fn what_is_gathered_is_bounded() {
    for host_max in [100_000, 250_000] {
        let limits = Limits {
            turn_gathered_bytes_max: 250_000 - host_max + 100_000,
            host_gathered_bytes_max: host_max,
            ..Limits::default()
        };
        let gathering = gathering(limits);
        let mut first = Gathered::new(&gathering, None);
        first.write(0, vec![1; 60_000].into()).unwrap();
        let mut second = Gathered::new(&gathering, None);
        let refused = code(second.write(0, vec![2; 40_001].into()));
        assert_eq!(refused, Some(ErrorCode::InsufficientSpace));
        // Holes count as what they would be if they were stored.
        let sparse = code(second.write(40_000, Bytes::from_static(b"x")));
        assert_eq!(sparse, Some(ErrorCode::InsufficientSpace));
        assert_eq!(code(second.resize(40_001).await), Some(ErrorCode::InsufficientSpace));
        assert_eq!(second.size(), 0);
        assert_eq!(first.read(0, usize::MAX).await.unwrap(), vec![1; 60_000]);
        first.resize(0).await.unwrap();
        second.write(0, vec![2; 100_000].into()).unwrap();
        drop(second);
        first.write(0, vec![1; 100_000].into()).unwrap();
    }
}

/// However many files take small pieces here and there, little of them is in memory.
#[tokio::test]
async fn what_waits_in_memory_is_bounded() {
    const HELD: u64 = 100_000;
    let limits = Limits { turn_gathered_held_bytes_max: HELD, ..Limits::default() };
    let gathering = gathering(limits);
    let mut files: Vec<_> = (0..100).map(|_| Gathered::new(&gathering, None)).collect();
    for round in 0..200_u64 {
        for file in &mut files {
            if file.room() == 0 {
                file.settle().await.unwrap();
            }
            assert!(file.room() > 0);
            file.write(GATHERED_HELD_BYTES_MAX + 2 * round, Bytes::from_static(b"x")).unwrap();
        }
        let uncounted = files.iter().filter(|file| file.room() == 0).count();
        assert!(gathering.held.used.load(Ordering::SeqCst) <= HELD);
        assert!(files.iter().all(|file| file.pending.len() <= 2_000) && uncounted <= 100);
    }
    let size = GATHERED_HELD_BYTES_MAX + 2 * 199 + 1;
    for file in &mut files {
        assert_eq!(file.size(), size);
        let end = file.read(size - 3, 3).await.unwrap();
        assert_eq!(end[..], *b"x\0x");
    }
    drop(files);
    assert_eq!(gathering.held.used.load(Ordering::SeqCst), 0);
}

/// Offsets and sizes that no file has are refused.
#[tokio::test]
async fn a_number_that_no_file_has_is_refused() {
    let limits = Limits { turn_gathered_bytes_max: u64::MAX, ..Limits::default() };
    let mut gathered = Gathered::new(&gathering(limits), None);
    let one = || Bytes::from_static(b"x");
    assert_eq!(code(gathered.write(u64::MAX, one())), Some(ErrorCode::FileTooLarge));
    assert_eq!(code(gathered.write(i64::MAX as u64, one())), Some(ErrorCode::FileTooLarge));
    assert_eq!(code(gathered.resize(u64::MAX).await), Some(ErrorCode::FileTooLarge));
    assert!(gathered.read(u64::MAX, usize::MAX).await.unwrap().is_empty());
}
