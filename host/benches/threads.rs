//! Which thread should touch the disk? Reads and stats of 4 KiB from a directory, four ways, with
//! 1, 16 and 1,000 turns at once, on the disk at hand and on a slow one.
//!
//! `cargo bench -p bailiwick --bench threads`; add `-- --quick` for a look (a test run is one). A slow disk is one
//! whose calls take 5 ms longer, for all files or for one in a hundred (the others being in
//! memory). The bystander is a task that only sleeps: how late it wakes is what one tenant's
//! files cost another.
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on says so by panicking")]

use std::io::IoSliceMut;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

const FILES: usize = 200;
const FILE_BYTES: usize = 4096;
const SLOW: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// On the turn's thread.
    Inline,
    /// On the turn's thread, which tokio replaces meanwhile.
    BlockInPlace,
    /// On a thread for blocking calls.
    SpawnBlocking,
    /// On the turn's thread if the kernel has it in memory, else on one for blocking calls.
    InlineIfCached,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Verb {
    Read,
    Stat,
}

/// How many in a hundred files are slow.
type SlowFiles = usize;

fn main() {
    let told = |word| std::env::args().any(|argument| argument == word);
    let quick = told("--quick") || !told("--bench");
    let span = Duration::from_millis(if quick { 50 } else { 500 });
    let folder = tempfile::tempdir().unwrap();
    let dir = Arc::new(Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap());
    dir.create_dir_all("sessions/workspace/agent/session").unwrap();
    for file in 0..FILES {
        dir.write(path(file), vec![b'x'; FILE_BYTES]).unwrap();
    }
    baseline(&dir);
    println!(
        "| verb | slow files | turns | way | calls/s | p50 µs | p99 µs | bystander late, p50 / max ms |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for verb in [Verb::Read, Verb::Stat] {
        for slow in [0, 1, 100] {
            for turns in [1, 16, 1000] {
                for way in [Way::Inline, Way::BlockInPlace, Way::SpawnBlocking, Way::InlineIfCached]
                {
                    measure(&dir, verb, slow, turns, way, span);
                }
            }
        }
    }
}

fn path(file: usize) -> String {
    format!("sessions/workspace/agent/session/file-{file:03}")
}

/// One thread and no runtime: what the other figures are to be held against.
fn baseline(dir: &Dir) {
    for verb in [Verb::Read, Verb::Stat] {
        let start = Instant::now();
        for call in 0..20_000 {
            raw(dir, verb, call % FILES);
        }
        println!(
            "raw cap-std, {verb:?}: {:.1} µs a call",
            start.elapsed().as_micros() as f64 / 2e4
        );
    }
    println!();
}

fn raw(dir: &Dir, verb: Verb, file: usize) {
    use std::io::Read;
    match verb {
        Verb::Stat => assert_eq!(dir.metadata(path(file)).unwrap().len(), FILE_BYTES as u64),
        Verb::Read => {
            let mut bytes = vec![0; FILE_BYTES];
            dir.open(path(file)).unwrap().read_exact(&mut bytes).unwrap();
            assert_eq!(bytes[0], b'x');
        }
    }
}

fn call(dir: &Dir, verb: Verb, file: usize, slow: SlowFiles) {
    if file % 100 < slow {
        std::thread::sleep(SLOW);
    }
    raw(dir, verb, file);
}

/// The same, only if the kernel need not ask the disk.
fn cached(dir: &Dir, verb: Verb, file: usize, slow: SlowFiles) -> Result<(), Errno> {
    if file % 100 < slow {
        return Err(Errno::AGAIN);
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::CACHED;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = openat2(dir, path(file), flags, Mode::empty(), resolve)?;
    let size = rustix::fs::fstat(&file)?.st_size;
    if verb == Verb::Read {
        let mut bytes = vec![0; usize::try_from(size).unwrap()];
        let read = preadv2(&file, &mut [IoSliceMut::new(&mut bytes)], 0, ReadWriteFlags::NOWAIT)?;
        assert_eq!((read, bytes[0]), (FILE_BYTES, b'x'));
    }
    Ok(())
}

async fn turn_call(dir: &Arc<Dir>, verb: Verb, file: usize, slow: SlowFiles, way: Way) {
    match way {
        Way::Inline => call(dir, verb, file, slow),
        Way::BlockInPlace => tokio::task::block_in_place(|| call(dir, verb, file, slow)),
        Way::InlineIfCached if cached(dir, verb, file, slow).is_ok() => {}
        Way::SpawnBlocking | Way::InlineIfCached => {
            let dir = Arc::clone(dir);
            tokio::task::spawn_blocking(move || call(&dir, verb, file, slow)).await.unwrap();
        }
    }
}

fn measure(dir: &Arc<Dir>, verb: Verb, slow: SlowFiles, turns: usize, way: Way, span: Duration) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(256)
        .enable_all()
        .build()
        .unwrap();
    let (mut calls, mut late) = runtime.block_on(run(dir, verb, slow, 0..turns, way, span));
    runtime.shutdown_background();
    calls.sort();
    late.sort();
    let per_second = calls.len() as f64 / span.as_secs_f64();
    let micros = |at: &Duration| at.as_secs_f64() * 1e6;
    let (middle, last) = (&calls[calls.len() / 2], &calls[calls.len() * 99 / 100]);
    let milliseconds = |at: &Duration| at.as_secs_f64() * 1e3;
    println!(
        "| {verb:?} | {slow} % | {turns} | {way:?} | {per_second:.0} | {:.1} | {:.1} | {:.1} / {:.1} |",
        micros(middle),
        micros(last),
        milliseconds(&late[late.len() / 2]),
        milliseconds(&late[late.len() - 1]),
    );
}

/// How long each call took, and how late the bystander woke each time.
async fn run(
    dir: &Arc<Dir>,
    verb: Verb,
    slow: SlowFiles,
    turns: Range<usize>,
    way: Way,
    span: Duration,
) -> (Vec<Duration>, Vec<Duration>) {
    let stop = Arc::new(AtomicBool::new(false));
    let bystander = tokio::spawn(bystand(Arc::clone(&stop)));
    let turns: Vec<_> = turns
        .map(|turn| {
            let (dir, stop) = (Arc::clone(dir), Arc::clone(&stop));
            tokio::spawn(async move {
                let (mut took, mut file) = (Vec::new(), turn * 7);
                while !stop.load(Ordering::Relaxed) {
                    let start = Instant::now();
                    turn_call(&dir, verb, file % FILES, slow, way).await;
                    took.push(start.elapsed());
                    file += 1;
                    tokio::task::yield_now().await;
                }
                took
            })
        })
        .collect();
    // Not tokio's timer, which starved workers would delay.
    std::thread::sleep(span);
    stop.store(true, Ordering::Relaxed);
    let mut calls = Vec::new();
    for turn in turns {
        calls.extend(turn.await.unwrap());
    }
    (calls, bystander.await.unwrap())
}

async fn bystand(stop: Arc<AtomicBool>) -> Vec<Duration> {
    const NAP: Duration = Duration::from_millis(2);
    let mut late = Vec::new();
    while late.is_empty() || !stop.load(Ordering::Relaxed) {
        let start = Instant::now();
        tokio::time::sleep(NAP).await;
        late.push(start.elapsed().saturating_sub(NAP));
    }
    late
}
