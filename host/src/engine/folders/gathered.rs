//! Bytes of a file that is being written, until they are stored: in memory while they are few, and
//! once they are many in a file: one that becomes the store's own, where it keeps files of this
//! machine, or else an unlinked temporary one.

use std::fs::File;
use std::io::{self, Seek};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use tokio::task::spawn_blocking;

use super::error::{Answer, ErrorCode};
use crate::buffer::Buffer;
use crate::limits::{GATHERED_HELD_BYTES_MAX, GATHERED_PIECE_BYTES, Limits};
use crate::space::{self, Draft, Space};
use crate::store::Precondition;

/// Pieces that are at least so long are kept as they came, shorter ones are put together, in bytes.
const WHOLE_BYTES_MIN: usize = 32 << 10;
/// What a file takes at once where there is no room left in memory, in bytes: little enough for all
/// files that a turn may have open.
const PIECE_BYTES_MIN: u64 = 4 << 10;
/// What a piece counts for beside its bytes.
const PIECE_OVERHEAD_BYTES: usize = 64;

/// Bytes that may be used, of one's own and of what is shared with others.
#[derive(Debug)]
struct Allowance {
    used: AtomicU64,
    most: u64,
    shared: Option<Arc<Allowance>>,
}

impl Allowance {
    fn new(most: u64, shared: Option<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self { used: AtomicU64::new(0), most, shared })
    }

    fn take(&self, bytes: u64) -> bool {
        let more = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.most);
        if self.used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).is_err() {
            return false;
        }
        let has_room = self.shared.as_ref().is_none_or(|shared| shared.take(bytes));
        if !has_room {
            self.used.fetch_sub(bytes, Ordering::SeqCst);
        }
        has_room
    }

    /// How many there are to be taken.
    fn left(&self) -> u64 {
        let own = self.most.saturating_sub(self.used.load(Ordering::SeqCst));
        self.shared.as_ref().map_or(own, |shared| own.min(shared.left()))
    }

    fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::SeqCst);
        if let Some(shared) = &self.shared {
            shared.give_back(bytes);
        }
    }
}

/// Bytes that were taken; dropping it gives them back.
#[derive(Debug)]
struct Taken {
    of: Arc<Allowance>,
    bytes: u64,
}

impl Taken {
    fn none(of: &Arc<Allowance>) -> Self {
        Self { of: of.clone(), bytes: 0 }
    }

    /// Makes it so many bytes, if there is room for more.
    fn become_bytes(&mut self, bytes: u64) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        if more > 0 && !self.of.take(more) {
            return false;
        }
        self.of.give_back(self.bytes.saturating_sub(bytes));
        self.bytes = bytes;
        true
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.of.give_back(self.bytes);
    }
}

/// Where what the guests of a host write is gathered, and how much that may be.
#[derive(Debug)]
pub(in crate::engine) struct HostGathering {
    folder: Option<PathBuf>,
    all: Arc<Allowance>,
    held: Arc<Allowance>,
}

impl HostGathering {
    /// Temporary files are made in `folder`, or where the system makes its own.
    pub(in crate::engine) fn new(limits: &Limits, folder: Option<PathBuf>) -> Arc<Self> {
        Arc::new(Self {
            folder,
            all: Allowance::new(limits.host_gathered_bytes_max, None),
            held: Allowance::new(limits.host_gathered_held_bytes_max, None),
        })
    }
}

/// How much one turn may gather.
#[derive(Clone, Copy, Debug)]
pub(super) struct GatheringBounds {
    all: u64,
    held: u64,
}

impl GatheringBounds {
    pub(super) fn of(limits: &Limits) -> Self {
        Self { all: limits.turn_gathered_bytes_max, held: limits.turn_gathered_held_bytes_max }
    }
}

/// The same of one turn.
#[derive(Debug)]
pub(super) struct Gathering {
    host: Arc<HostGathering>,
    all: Arc<Allowance>,
    held: Arc<Allowance>,
}

impl Gathering {
    pub(super) fn new(bounds: GatheringBounds, host: Arc<HostGathering>) -> Self {
        let all = Allowance::new(bounds.all, Some(host.all.clone()));
        let held = Allowance::new(bounds.held, Some(host.held.clone()));
        Self { host, all, held }
    }
}

/// Bytes one after the other, on their way to the temporary file.
#[derive(Debug)]
struct Piece {
    offset: u64,
    bytes: Vec<u8>,
}

impl Piece {
    fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

#[derive(Debug)]
enum Place {
    Memory(Vec<u8>),
    File(Spilled),
    /// A call that moved it was broken off: what is there is not known.
    Lost,
    /// It became what the store has.
    Stored,
}

/// A file that is written to at any place.
#[derive(Debug)]
struct Spilled {
    file: Arc<File>,
    /// What it becomes; none if it is an unlinked file of the host's, whose bytes are copied.
    draft: Option<Draft>,
}

/// Where what is gathered is to be stored, if it is as it was then.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) space: Space,
    pub(super) path: String,
    pub(super) when: Precondition,
}

/// The content of one file.
#[derive(Debug)]
pub(super) struct Gathered {
    gathering: Arc<Gathering>,
    target: Option<Target>,
    place: Place,
    size: u64,
    all: Taken,
    held: Taken,
    /// Later ones are newer.
    pending: Vec<Piece>,
    pending_bytes: usize,
    pending_held: Taken,
}

impl Gathered {
    /// No bytes, for a target; none if they are to be stored nowhere.
    pub(super) fn new(gathering: &Arc<Gathering>, target: Option<Target>) -> Self {
        Self {
            target,
            place: Place::Memory(Vec::new()),
            size: 0,
            all: Taken::none(&gathering.all),
            held: Taken::none(&gathering.held),
            pending: Vec::new(),
            pending_bytes: 0,
            pending_held: Taken::none(&gathering.held),
            gathering: gathering.clone(),
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// From now on it is to be stored there.
    pub(super) fn aim(&mut self, target: Option<Target>) {
        self.target = target;
    }

    /// Whether its bytes are what the store has, and no longer here.
    pub(super) fn is_stored(&self) -> bool {
        matches!(self.place, Place::Stored)
    }

    /// Stores it by making its file the store's, where it was gathered in one that becomes it
    /// under this condition; none where its bytes have to be copied. When that fails they are here
    /// as before, unless the copy of them fails as well.
    pub(super) async fn become_stored(
        &mut self,
        path: &str,
        when: &Precondition,
    ) -> Answer<Option<Result<space::File, space::Error>>> {
        self.settle().await?;
        let is_due = |draft: &Draft| draft.is_of(path, when);
        if !matches!(&self.place, Place::File(Spilled { draft: Some(draft), .. }) if is_due(draft))
        {
            return Ok(None);
        }
        // A call that is dropped leaves it lost: nothing writes to a file that may be the store's.
        let place = std::mem::replace(&mut self.place, Place::Lost);
        let Place::File(Spilled { file, draft: Some(draft) }) = place else { return Ok(None) };
        let (whole, size) = (file.clone(), self.size);
        if let Err(failure) = blocking(move || whole.set_len(size)).await {
            self.place = Place::File(Spilled { file, draft: Some(draft) });
            return Err(failure);
        }
        let finished = draft.finish().await;
        self.place = match &finished {
            Ok(_) => Place::Stored,
            // It may be the store's all the same, which nothing may write to.
            Err(_) => {
                let folder = self.gathering.host.folder.clone();
                let file = blocking(move || copied(&file, folder)).await?;
                Place::File(Spilled { file, draft: None })
            }
        };
        Ok(Some(finished))
    }

    /// How many bytes it takes at once; none if it has to be [settled](Self::settle) first.
    pub(super) fn room(&self) -> usize {
        let left = self.gathering.held.left().max(PIECE_BYTES_MIN);
        let room = usize::try_from(left).unwrap_or(usize::MAX).min(GATHERED_PIECE_BYTES);
        let is_counted = self.pending_held.bytes == self.pending_bytes as u64;
        if is_counted && self.pending_bytes < GATHERED_PIECE_BYTES { room } else { 0 }
    }

    /// Takes bytes at an offset; what is between it and the end becomes zeros. Never waits.
    pub(super) fn write(&mut self, offset: u64, bytes: Bytes) -> Answer<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let end = offset.checked_add(bytes.len() as u64).ok_or(ErrorCode::FileTooLarge)?;
        let size = self.size.max(end);
        self.reserve(size)?;
        self.size = size;
        match self.memory_for(size) {
            Some((memory, start)) if start == offset => memory.extend_from_slice(&bytes),
            Some((memory, _)) => {
                // Both fit into what is held in memory.
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let stop = start.saturating_add(bytes.len());
                memory.resize(memory.len().max(stop), 0);
                memory[start..stop].copy_from_slice(&bytes);
            }
            None => self.put_off(offset, bytes),
        }
        Ok(())
    }

    fn reserve(&mut self, size: u64) -> Answer<()> {
        // No file of the host's may be longer.
        if size > i64::MAX as u64 {
            return Err(ErrorCode::FileTooLarge.into());
        }
        if !self.all.become_bytes(size) {
            return Err(ErrorCode::InsufficientSpace.into());
        }
        Ok(())
    }

    /// What is held in memory, and how much that is, if so many bytes may be held there.
    fn memory_for(&mut self, size: u64) -> Option<(&mut Vec<u8>, u64)> {
        let Place::Memory(memory) = &mut self.place else { return None };
        let fits = size <= GATHERED_HELD_BYTES_MAX && self.pending.is_empty();
        if !fits || !self.held.become_bytes(size) {
            return None;
        }
        let held = memory.len() as u64;
        Some((memory, held))
    }

    fn put_off(&mut self, offset: u64, bytes: Bytes) {
        self.pending_bytes += bytes.len() + PIECE_OVERHEAD_BYTES;
        // Where there is no room for it, it has to be settled before more is taken.
        self.pending_held.become_bytes(self.pending_bytes as u64);
        if bytes.len() < WHOLE_BYTES_MIN
            && let Some(last) = self.pending.last_mut()
            && last.end() == offset
            && last.bytes.len() < GATHERED_PIECE_BYTES
        {
            last.bytes.extend_from_slice(&bytes);
            return;
        }
        self.pending.push(Piece { offset, bytes: bytes.into() });
    }

    /// Sees to it that everything is in its place.
    pub(super) async fn settle(&mut self) -> Answer<()> {
        if self.pending.is_empty() {
            return match self.place {
                Place::Lost | Place::Stored => Err(ErrorCode::Io.into()),
                Place::Memory(_) | Place::File(_) => Ok(()),
            };
        }
        let draft = self.draft().await;
        let pending = std::mem::take(&mut self.pending);
        // A call that is dropped, or fails, leaves it lost.
        let place = std::mem::replace(&mut self.place, Place::Lost);
        let folder = self.gathering.host.folder.clone();
        let spilled = blocking(move || {
            let spilled = in_file(place, draft, folder)?;
            let file = &spilled.file;
            pending.iter().try_for_each(|piece| file.write_all_at(&piece.bytes, piece.offset))?;
            Ok(spilled)
        });
        let spilled = spilled.await;
        self.pending_bytes = 0;
        self.pending_held.become_bytes(0);
        self.held.become_bytes(0);
        self.place = Place::File(spilled?);
        Ok(())
    }

    /// What is to become the file, for what is still in memory.
    async fn draft(&mut self) -> Option<Draft> {
        let (Place::Memory(_), Some(target)) = (&self.place, &self.target) else { return None };
        let draft = target.space.draft(&target.path, target.when.clone()).await;
        // Without one its bytes are gathered elsewhere, and told of when they are stored.
        draft.unwrap_or_else(|error| {
            tracing::debug!(%error, "a file is gathered beside its store");
            None
        })
    }

    /// Up to `length` bytes from an offset; fewer only at the end.
    pub(super) async fn read(&mut self, offset: u64, length: usize) -> Answer<Bytes> {
        self.settle().await?;
        let left = self.size.saturating_sub(offset);
        let length = length.min(usize::try_from(left).unwrap_or(usize::MAX));
        if length == 0 {
            return Ok(Bytes::new());
        }
        match &self.place {
            Place::Memory(memory) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(memory.len());
                let end = start.saturating_add(length).min(memory.len());
                Ok(Bytes::copy_from_slice(&memory[start..end]))
            }
            Place::File(Spilled { file, .. }) => {
                let file = file.clone();
                blocking(move || read_at(&file, offset, length)).await
            }
            Place::Lost | Place::Stored => Err(ErrorCode::Io.into()),
        }
    }

    /// Cuts it off, or fills it up with zeros.
    pub(super) async fn resize(&mut self, size: u64) -> Answer<()> {
        self.settle().await?;
        self.reserve(size)?;
        if let Some((memory, _)) = self.memory_for(size) {
            // It fits into what is held in memory.
            memory.resize(usize::try_from(size).unwrap_or(memory.len()), 0);
            memory.shrink_to(memory.len().saturating_mul(2));
            self.size = size;
            return Ok(());
        }
        let draft = self.draft().await;
        let place = std::mem::replace(&mut self.place, Place::Lost);
        let folder = self.gathering.host.folder.clone();
        let spilled = blocking(move || {
            let spilled = in_file(place, draft, folder)?;
            spilled.file.set_len(size)?;
            Ok(spilled)
        });
        self.place = Place::File(spilled.await?);
        self.held.become_bytes(0);
        self.size = size;
        Ok(())
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Answer<T> {
    let done = spawn_blocking(work).await;
    Ok(done.unwrap_or_else(|panic| Err(io::Error::other(panic)))?)
}

/// The file that it is in from now on: the draft's, if there is one.
fn in_file(place: Place, draft: Option<Draft>, folder: Option<PathBuf>) -> io::Result<Spilled> {
    match place {
        Place::File(spilled) => Ok(spilled),
        Place::Memory(memory) => {
            let file = match &draft {
                Some(draft) => draft.file().clone(),
                None => Arc::new(temporary(folder)?),
            };
            file.write_all_at(&memory, 0)?;
            Ok(Spilled { file, draft })
        }
        Place::Lost | Place::Stored => Err(io::Error::other("what was written is lost")),
    }
}

/// A temporary file; nobody finds it by a name, and it goes with whoever holds it.
fn temporary(folder: Option<PathBuf>) -> io::Result<File> {
    match folder {
        Some(folder) => tempfile::tempfile_in(folder),
        None => tempfile::tempfile(),
    }
}

/// A temporary file with the bytes of another one.
fn copied(mut file: &File, folder: Option<PathBuf>) -> io::Result<Arc<File>> {
    let mut copy = temporary(folder)?;
    file.rewind()?;
    io::copy(&mut file, &mut copy)?;
    Ok(Arc::new(copy))
}

fn read_at(file: &File, offset: u64, length: usize) -> io::Result<Bytes> {
    let mut buffer = Buffer::with_room(length);
    buffer.room().resize(length, 0);
    let mut filled = 0;
    while filled < length {
        match file.read_at(&mut buffer.room()[filled..], offset + filled as u64)? {
            // Beyond what was written is nothing but zeros.
            0 => break,
            read => filled += read,
        }
    }
    buffer.room()[filled..].fill(0);
    Ok(buffer.freeze())
}

#[cfg(test)]
mod tests;
