//! What a reader has not asked for yet: blocks of its file, each fetched by a task of its own, in
//! a window that reaches as far as its reader is fast and there is spare room.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::Instant;

use super::room::SpareHeld;
use super::{Error, Inner, Space};
use crate::limits::{
    READ_AHEAD_BLOCK_BYTES_MAX, READ_AHEAD_BLOCK_BYTES_MIN, READ_AHEAD_BYTES_MAX,
    READ_AHEAD_BYTES_MIN, READ_AHEAD_IDLE_MS_MAX, READ_AHEAD_NEAR_BYTES_MAX, READ_FAR_MS_MIN,
};

/// Blocks ahead of a reader, one after the other.
pub(super) struct Window {
    blocks: VecDeque<Block>,
    /// How far beyond what is being read, in bytes.
    reach: u64,
    stage: Stage,
    used: Used,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    /// Nothing is fetched or kept any more.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Used {
    /// By a call that is under way.
    Now,
    /// Last at that time.
    Until(Instant),
}

/// A range of the file, there or on its way.
pub(super) struct Block {
    pub(super) range: Range<u64>,
    fetch: Fetch,
}

enum Fetch {
    Flying(Flying),
    Landed(Bytes, SpareHeld),
}

/// A task that ends with whoever waits for it.
struct Flying(JoinHandle<Fetched>);

/// The bytes of a block, and the room that they take.
pub(super) type Fetched = Result<(Bytes, SpareHeld), Error>;

impl Drop for Flying {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Block {
    pub(super) fn flying(range: Range<u64>, task: JoinHandle<Fetched>) -> Self {
        Self { range, fetch: Fetch::Flying(Flying(task)) }
    }

    pub(super) fn landed(range: Range<u64>, bytes: Bytes, room: SpareHeld) -> Self {
        Self { range, fetch: Fetch::Landed(bytes, room) }
    }

    fn is_there(&self) -> bool {
        match &self.fetch {
            Fetch::Flying(task) => task.0.is_finished(),
            Fetch::Landed(..) => true,
        }
    }

    /// Waits for it.
    pub(super) async fn land(self) -> Result<Fetched, JoinError> {
        match self.fetch {
            Fetch::Flying(mut task) => (&mut task.0).await,
            Fetch::Landed(bytes, room) => Ok(Ok((bytes, room))),
        }
    }
}

/// What a reader finds at its offset.
pub(super) enum Found {
    /// A block that holds it.
    Block(Block),
    /// Nothing, up to there.
    Gap(u64),
}

impl Window {
    fn new() -> Self {
        let used = Used::Until(Instant::now());
        Self { blocks: VecDeque::new(), reach: 0, stage: Stage::Open, used }
    }

    /// Takes what is at `offset` out of the window, and lets go of what is before it.
    pub(super) fn find(&mut self, offset: u64) -> Found {
        while self.blocks.front().is_some_and(|block| block.range.end <= offset) {
            self.blocks.pop_front();
        }
        match self.blocks.front() {
            Some(block) if block.range.start > offset => Found::Gap(block.range.start),
            Some(_) => self.blocks.pop_front().map_or(Found::Gap(u64::MAX), Found::Block),
            None => Found::Gap(u64::MAX),
        }
    }

    /// Puts a block before all others.
    pub(super) fn put_first(&mut self, block: Block) {
        if self.stage == Stage::Open {
            self.blocks.push_front(block);
        }
    }

    /// A reader has gone on to `range`, having `waited` so long for the last one. Reaches further
    /// if that is not there yet, and fills what is in reach with blocks that `fetch` begins,
    /// while it has room.
    pub(super) fn go_on(
        &mut self,
        range: &Range<u64>,
        size: u64,
        waited: Duration,
        mut fetch: impl FnMut(Range<u64>) -> Option<Block>,
    ) {
        if self.stage == Stage::Over {
            return;
        }
        let read = range.end - range.start;
        if !self.holds(range) {
            let least = read.max(READ_AHEAD_BYTES_MIN);
            let is_far = waited >= Duration::from_millis(READ_FAR_MS_MIN);
            let most = if is_far { READ_AHEAD_BYTES_MAX } else { READ_AHEAD_NEAR_BYTES_MAX };
            self.reach = (self.reach * 2).min(most).max(self.reach).max(least);
        }
        let step = step(self.reach, read);
        let mut at = self.blocks.back().map_or(range.end, |last| last.range.end.max(range.end));
        let end = size.min(range.end.saturating_add(self.reach));
        while at < end {
            let Some(block) = fetch(at..size.min(at + step)) else { return };
            at = block.range.end;
            self.blocks.push_back(block);
        }
    }

    /// Whether all of a range is there already.
    fn holds(&self, range: &Range<u64>) -> bool {
        let mut at = range.start;
        for block in &self.blocks {
            if at >= range.end || block.range.start > at || !block.is_there() {
                break;
            }
            at = block.range.end;
        }
        at >= range.end
    }

    /// The reader goes on elsewhere. What is at hand there stays.
    pub(super) fn seek(&mut self, offset: u64) {
        self.reach = 0;
        let at_hand = |block: &Block| block.range.contains(&offset) && block.is_there();
        self.blocks.retain(at_hand);
    }

    pub(super) fn clear(&mut self) {
        self.reach = 0;
        self.blocks.clear();
    }

    fn close(&mut self) {
        self.stage = Stage::Over;
        self.clear();
    }

    /// Lets go of what its reader has not come for in time. Whether anything is left.
    fn sweep(&mut self, now: Instant) -> bool {
        let patience = Duration::from_millis(READ_AHEAD_IDLE_MS_MAX);
        if matches!(self.used, Used::Until(last) if now.duration_since(last) >= patience) {
            self.clear();
        }
        !self.blocks.is_empty()
    }
}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window").field("blocks", &self.blocks.len()).finish_non_exhaustive()
    }
}

/// How long a block is: a whole number of reads, so that no read needs two.
fn step(reach: u64, read: u64) -> u64 {
    let step = (reach / 8).clamp(READ_AHEAD_BLOCK_BYTES_MIN, READ_AHEAD_BLOCK_BYTES_MAX);
    if read >= step { read } else { step - step % read.max(1) }
}

/// A window as its reader, and whoever may end it, hold it.
#[derive(Clone, Debug)]
pub(super) struct SharedWindow(Arc<Mutex<Window>>);

impl SharedWindow {
    pub(super) fn lock(&self) -> MutexGuard<'_, Window> {
        lock(&self.0)
    }

    /// To be held while a call uses it.
    pub(super) fn in_use(&self) -> InUse {
        self.lock().used = Used::Now;
        InUse(self.clone())
    }
}

/// Keeps a window from being swept.
#[derive(Debug)]
pub(super) struct InUse(SharedWindow);

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.lock().used = Used::Until(Instant::now());
    }
}

// Nothing panics while one of these locks is held, so what a poisoned one guards is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The windows of all readers of one caller.
#[derive(Debug, Default)]
pub(super) struct Windows(Mutex<Registry>);

#[derive(Debug, Default)]
struct Registry {
    windows: Vec<Weak<Mutex<Window>>>,
    watch: Watch,
}

/// Whether a task looks for windows that nobody uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Watch {
    #[default]
    None,
    Kept,
}

impl Windows {
    pub(super) fn open(&self) -> SharedWindow {
        let window = Arc::new(Mutex::new(Window::new()));
        let mut registry = lock(&self.0);
        registry.windows.retain(|window| window.strong_count() > 0);
        registry.windows.push(Arc::downgrade(&window));
        SharedWindow(window)
    }

    /// Lets go of everything.
    pub(super) fn clear(&self) {
        lock(&self.0).each(Window::clear);
    }

    /// Lets go of everything for good.
    pub(super) fn close(&self) {
        lock(&self.0).each(Window::close);
    }
}

impl Registry {
    fn each(&self, mut act: impl FnMut(&mut Window)) {
        for window in self.windows.iter().filter_map(Weak::upgrade) {
            act(&mut lock(&window));
        }
    }

    /// Whether there is more to watch.
    fn sweep(&mut self) -> Watch {
        let (now, mut watch) = (Instant::now(), Watch::None);
        self.each(|window| {
            if window.sweep(now) {
                watch = Watch::Kept;
            }
        });
        self.watch = watch;
        watch
    }
}

impl Space {
    /// Sees to it that what nobody comes for is let go.
    pub(super) fn watch_windows(&self) {
        let mut registry = lock(&self.0.windows.0);
        if registry.watch == Watch::None {
            registry.watch = Watch::Kept;
            tokio::spawn(watch(Arc::downgrade(&self.0)));
        }
    }
}

async fn watch(inner: Weak<Inner>) {
    loop {
        tokio::time::sleep(Duration::from_millis(READ_AHEAD_IDLE_MS_MAX)).await;
        let Some(inner) = inner.upgrade() else { return };
        if lock(&inner.windows.0).sweep() == Watch::None {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However often a reader finds nothing there, it reads far ahead only of what is far, and
    /// does not draw back once it is near.
    #[test]
    fn a_window_reaches_far_where_reads_wait() {
        const READ: u64 = 1 << 20;
        let (near, far) = (Duration::ZERO, Duration::from_millis(READ_FAR_MS_MIN));
        let mut window = Window::new();
        let mut reach_after = |waited| {
            for at in 0..10 {
                let range = at * READ..(at + 1) * READ;
                window.go_on(&range, u64::MAX, waited, |_| None);
            }
            window.reach
        };
        assert_eq!(reach_after(near), READ_AHEAD_NEAR_BYTES_MAX);
        assert_eq!(reach_after(far), READ_AHEAD_BYTES_MAX);
        assert_eq!(reach_after(near), READ_AHEAD_BYTES_MAX);
    }
}
