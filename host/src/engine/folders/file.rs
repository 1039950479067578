//! A file that a program has open. All its handles of one turn share it, so that each sees at once
//! what another one wrote.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use super::error::{Answer, ErrorCode};
use super::gathered::{Gathered, Gathering, Target};
use crate::limits::FOLDER_READ_BYTES_MAX;
use crate::space::{self, ErrorCode as Refused, Reader, Space};
use crate::store::Precondition;

/// A file that is open, or that is not stored yet.
#[derive(Debug)]
pub(super) struct OpenFile {
    /// Tells it from all other files for as long as it is open.
    pub(super) identity: u128,
    handles: AtomicUsize,
    state: tokio::sync::Mutex<State>,
}

/// What is known of it.
#[derive(Debug)]
pub(super) struct State {
    space: Space,
    gathering: Arc<Gathering>,
    /// Where it is; none once it was removed.
    pub(super) path: Option<String>,
    /// What the store has there.
    pub(super) stored: Option<space::File>,
    content: Content,
    /// Whether it is other than what the store has.
    pub(super) changed: Changed,
    pub(super) modified_ms: u64,
}

/// Whether there is something to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changed {
    No,
    Yes,
}

#[derive(Debug)]
enum Content {
    /// What the store has, and who reads it.
    Stored(Option<Box<Reader>>),
    Gathered(Box<Gathered>),
}

impl OpenFile {
    /// One that is stored, as it was found.
    pub(super) fn stored(
        space: &Space,
        gathering: &Arc<Gathering>,
        found: space::File,
        reader: Option<Reader>,
    ) -> Answer<Arc<Self>> {
        let content = Content::Stored(reader.map(Box::new));
        let (path, modified_ms) = (found.path.clone(), found.modified_ms);
        Self::new(space, gathering, path, Some(found), content, Changed::No, modified_ms)
    }

    /// An empty one that is not there yet.
    pub(super) fn created(
        space: &Space,
        gathering: &Arc<Gathering>,
        path: &str,
    ) -> Answer<Arc<Self>> {
        let (path, when) = (path.to_owned(), Precondition::IfAbsent);
        let target = Target { space: space.clone(), path: path.clone(), when };
        let content = Content::Gathered(Box::new(Gathered::new(gathering, Some(target))));
        let now_ms = space.now_ms();
        Self::new(space, gathering, path, None, content, Changed::Yes, now_ms)
    }

    fn new(
        space: &Space,
        gathering: &Arc<Gathering>,
        path: String,
        stored: Option<space::File>,
        content: Content,
        changed: Changed,
        modified_ms: u64,
    ) -> Answer<Arc<Self>> {
        let identity = space.identity(&path)?;
        let (space, gathering) = (space.clone(), gathering.clone());
        let path = Some(path);
        let state = State { space, gathering, path, stored, content, changed, modified_ms };
        Ok(Arc::new(Self {
            identity,
            handles: AtomicUsize::new(0),
            state: tokio::sync::Mutex::new(state),
        }))
    }

    pub(super) async fn lock(&self) -> tokio::sync::MutexGuard<'_, State> {
        self.state.lock().await
    }

    /// As [`Self::lock`], for what cannot wait.
    pub(super) fn lock_now(&self) -> Answer<tokio::sync::MutexGuard<'_, State>> {
        self.state.try_lock().map_err(|_| ErrorCode::Busy.into())
    }

    /// One more handle.
    pub(super) fn open(&self) {
        self.handles.fetch_add(1, Ordering::SeqCst);
    }

    /// One handle less. Whether that was the last one.
    pub(super) fn close(&self) -> bool {
        self.handles.fetch_sub(1, Ordering::SeqCst) == 1
    }

    pub(super) fn is_open(&self) -> bool {
        self.handles.load(Ordering::SeqCst) > 0
    }
}

impl State {
    pub(super) fn size(&self) -> u64 {
        match (&self.content, &self.stored) {
            (Content::Gathered(gathered), _) => gathered.size(),
            (Content::Stored(_), Some(stored)) => stored.size,
            (Content::Stored(_), None) => 0,
        }
    }

    /// Up to `length` bytes from an offset; fewer only at the end, or over the bound of one read.
    pub(super) async fn read(&mut self, offset: u64, length: u64) -> Answer<Bytes> {
        let length = u32::try_from(length).unwrap_or(u32::MAX).min(FOLDER_READ_BYTES_MAX);
        let left = self.size().saturating_sub(offset);
        let length = length.min(u32::try_from(left).unwrap_or(u32::MAX));
        if length == 0 {
            return Ok(Bytes::new());
        }
        match &mut self.content {
            Content::Gathered(gathered) => gathered.read(offset, length as usize).await,
            Content::Stored(reader) => {
                let Some(stored) = &self.stored else { return Ok(Bytes::new()) };
                read_stored(&self.space, stored, reader, offset, length).await
            }
        }
    }

    /// Makes its content one that can be changed: what the store has of its first bytes.
    pub(super) async fn gather(&mut self, bytes: u64) -> Answer<&mut Gathered> {
        if let Content::Stored(_) = self.content {
            let gathered = self.copied(bytes).await?;
            self.content = Content::Gathered(Box::new(gathered));
        }
        match &mut self.content {
            Content::Gathered(gathered) => Ok(gathered),
            Content::Stored(_) => Err(ErrorCode::Io.into()),
        }
    }

    async fn copied(&mut self, bytes: u64) -> Answer<Gathered> {
        let mut gathered = Gathered::new(&self.gathering, self.target());
        let end = bytes.min(self.size());
        while gathered.size() < end {
            let at = gathered.size();
            let piece = self.read(at, end - at).await?;
            if piece.is_empty() {
                return Err(ErrorCode::Io.into());
            }
            gathered.write(at, piece)?;
            if gathered.room() == 0 {
                gathered.settle().await?;
            }
        }
        Ok(gathered)
    }

    /// Writes at an offset. How many bytes were taken: all of them.
    pub(super) async fn write(&mut self, offset: u64, bytes: Bytes) -> Answer<u64> {
        self.prepare_to_write().await?;
        let written = self.write_now(Some(offset), bytes)?;
        self.prepare_to_write().await?;
        Ok(written)
    }

    /// Sees to it that [`Self::write_now`] can be called.
    pub(super) async fn prepare_to_write(&mut self) -> Answer<()> {
        let gathered = self.gather(u64::MAX).await?;
        if gathered.room() == 0 {
            gathered.settle().await?;
        }
        Ok(())
    }

    /// How many bytes [`Self::write_now`] takes.
    pub(super) fn room(&self) -> usize {
        match &self.content {
            Content::Gathered(gathered) => gathered.room(),
            Content::Stored(_) => 0,
        }
    }

    /// As [`Self::write`], without waiting.
    pub(super) fn write_now(&mut self, offset: Option<u64>, bytes: Bytes) -> Answer<u64> {
        let Content::Gathered(gathered) = &mut self.content else {
            return Err(ErrorCode::Io.into());
        };
        let (at, length) = (offset.unwrap_or(gathered.size()), bytes.len() as u64);
        gathered.write(at, bytes)?;
        self.touch();
        Ok(length)
    }

    pub(super) async fn resize(&mut self, size: u64) -> Answer<()> {
        let gathered = self.gather(size).await?;
        gathered.resize(size).await?;
        self.touch();
        Ok(())
    }

    fn touch(&mut self) {
        self.changed = Changed::Yes;
        self.modified_ms = self.space.now_ms();
    }

    /// What is to be stored.
    pub(super) fn gathered(&mut self) -> Option<&mut Gathered> {
        match &mut self.content {
            Content::Gathered(gathered) => Some(gathered),
            Content::Stored(_) => None,
        }
    }

    /// The condition under which it is stored: that it is there as it was when it was opened.
    pub(super) fn condition(&self) -> Precondition {
        match &self.stored {
            Some(stored) => Precondition::IfRevision(stored.revision.clone()),
            None => Precondition::IfAbsent,
        }
    }

    fn target(&self) -> Option<Target> {
        let path = self.path.clone()?;
        Some(Target { space: self.space.clone(), path, when: self.condition() })
    }

    /// It is what the store has now, by this name and revision.
    pub(super) fn now_stored(&mut self, file: space::File) {
        self.modified_ms = file.modified_ms;
        self.path = Some(file.path.clone());
        self.stored = Some(file);
        self.changed = Changed::No;
        let target = self.target();
        match &mut self.content {
            Content::Stored(reader) => *reader = None,
            Content::Gathered(gathered) if gathered.is_stored() => {
                self.content = Content::Stored(None);
            }
            Content::Gathered(gathered) => gathered.aim(target),
        }
    }

    /// It is in the store no longer, and stays for those who have it open.
    pub(super) async fn remove(&mut self) -> Answer<()> {
        self.gather(u64::MAX).await?.aim(None);
        self.path = None;
        self.stored = None;
        self.changed = Changed::No;
        Ok(())
    }
}

async fn read_stored(
    space: &Space,
    stored: &space::File,
    reader: &mut Option<Box<Reader>>,
    offset: u64,
    length: u32,
) -> Answer<Bytes> {
    if reader.is_none() {
        *reader = open_reader(space, stored).await?;
    }
    let Some(reader) = reader else {
        return Ok(space.read_revision(&stored.path, offset, length, &stored.revision).await?);
    };
    reader.seek(offset);
    Ok(reader.read(length).await?)
}

/// A reader of what was found; none if too many are open.
async fn open_reader(space: &Space, stored: &space::File) -> Answer<Option<Box<Reader>>> {
    match space.open_reader(&stored.path).await {
        Ok(reader) if reader.file().revision == stored.revision => Ok(Some(Box::new(reader))),
        Ok(_) => Err(ErrorCode::Io.into()),
        Err(error) if error.code == Refused::TooLarge => Ok(None),
        Err(error) if error.code == Refused::NotFound => Err(ErrorCode::Io.into()),
        Err(error) => Err(error.into()),
    }
}
