use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Marks, RESERVED_NS, Stamps};
use crate::clock::Clock;

#[derive(Debug, Default)]
struct Hand(AtomicU64);

impl Clock for Hand {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct Bench {
    hand: Arc<Hand>,
    file: tempfile::NamedTempFile,
}

impl Bench {
    fn new() -> Self {
        Self { hand: Arc::default(), file: tempfile::NamedTempFile::new().unwrap() }
    }

    fn open(&self, step_ns: u64) -> Stamps {
        let (clock, file) = (Arc::clone(&self.hand), self.file.reopen().unwrap());
        Stamps::new(clock, file, step_ns)
    }
}

/// Stamps rise, whether the machine's clock stands, goes back, or another process is at it.
#[test]
fn stamps_never_go_back() {
    let bench = Bench::new();
    let (one, two) = (bench.open(1), bench.open(1));
    let mut last = 0;
    for now in [1_000, 1_000, 5_000, 10, 0, 5_001, 5_000] {
        bench.hand.0.store(now, Ordering::Relaxed);
        for stamps in [&one, &two, &one] {
            let next = stamps.next().unwrap();
            assert!(next > last, "{next} after {last}");
            last = next;
        }
    }
    assert_eq!(last / 1_000_000, 5_001);
}

/// After a power cut that forgot every mark that was not synced, stamps go on behind all that
/// were given out.
#[test]
fn stamps_survive_a_forgotten_last_mark() {
    let bench = Bench::new();
    bench.hand.0.store(7, Ordering::Relaxed);
    let stamps = bench.open(1);
    let first = stamps.next().unwrap();
    let synced = Marks::read(bench.file.as_file()).unwrap();
    let given: Vec<_> = (0..1000).map(|_| stamps.next().unwrap()).collect();
    std::mem::forget(stamps);
    synced.write(bench.file.as_file()).unwrap();

    let stamps = bench.open(1);
    stamps.recover().unwrap();
    let next = stamps.next().unwrap();
    assert!(next > *given.last().unwrap() && next <= first + RESERVED_NS + 1);
}

/// A store that was closed in order goes on where it was: closing costs no time.
#[test]
fn closing_gives_back_what_was_reserved() {
    let bench = Bench::new();
    bench.hand.0.store(9, Ordering::Relaxed);
    for round in 0..100 {
        let stamps = bench.open(1);
        stamps.recover().unwrap();
        assert_eq!(stamps.next().unwrap(), 9_000_000 + round);
    }
}

/// On a filesystem that keeps whole seconds, stamps are whole seconds, and still no two the same.
#[test]
fn stamps_are_what_the_filesystem_keeps() {
    let bench = Bench::new();
    bench.hand.0.store(1_500, Ordering::Relaxed);
    let stamps = bench.open(1_000_000_000);
    let given: Vec<_> = (0..3).map(|_| stamps.next().unwrap() / 1_000_000_000).collect();
    assert_eq!(given, [2, 3, 4]);
}

/// A mark at the end of time is an error, not a stamp that comes twice.
#[test]
fn the_end_of_time_is_an_error() {
    let bench = Bench::new();
    Marks { last: u64::MAX, reserved: u64::MAX }.write(bench.file.as_file()).unwrap();
    assert!(bench.open(1).next().is_err());
}

/// A damaged clock is not taken for an empty one.
#[test]
fn a_damaged_clock_is_refused() {
    let bench = Bench::new();
    std::os::unix::fs::FileExt::write_all_at(bench.file.as_file(), b"12 x", 0).unwrap();
    let error = bench.open(1).next().unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
}
