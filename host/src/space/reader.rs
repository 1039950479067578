//! A file being read, pinned to the revision it was opened at.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::ahead::{Block, Found, SharedWindow};
use super::blobs::kept_size;
use super::files::{check_read_length, skill_object};
use super::{Error, ErrorCode, File, Space};
use crate::buffer::Buffer;
use crate::limits::READ_FIRST_BYTES;
use crate::scope::{Need, ObjectKey};
use crate::store::{Effect, Object, Revision, StoreError};

/// A file being read. Dropping it frees its place, and ends what is being read ahead for it.
#[derive(Debug)]
pub struct Reader {
    space: Space,
    source: Arc<Source>,
    file: File,
    offset: u64,
    run: Run,
    /// How long the last read took.
    waited: Duration,
    window: SharedWindow,
    _place: OwnedSemaphorePermit,
}

/// What is read, as the store knows it.
#[derive(Debug)]
struct Source {
    path: String,
    key: ObjectKey,
    /// None for a skill's content: it is named by its hash, and has no other revision.
    pin: Option<Revision>,
    /// Of a skill's file that may be kept whole.
    kept_size: Option<u64>,
}

/// Whether reads follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Run {
    /// The next one is the first at its place.
    Fresh,
    /// The next one goes on where the last one ended.
    On,
}

impl Space {
    /// Opens a file for reading. The answer to a small file's opening has all its bytes.
    ///
    /// # Errors
    /// `not-found`; `too-large` over the turn's bound of open readers.
    pub async fn open_reader(&self, path: &str) -> Result<Reader, Error> {
        let place = self.0.readers.clone().try_acquire_owned().map_err(|_| {
            let bound = self.limits().turn_readers_max;
            Error::too_large(
                "readers",
                format!("at most {bound} readers are open at once: close one"),
            )
        })?;
        let (_, resolved) = self.resolve(path, Need::Read)?;
        let kept_size = kept_size(&resolved);
        let (key, path) = (resolved.key, path.to_owned());
        let window = self.0.windows.open();
        let (object, pin) = match &resolved.skill_file {
            Some(file) => (skill_object(file), None),
            None => {
                let object = self.first_look(&path, &key, &window).await?;
                let pin = object.revision.clone();
                (object, Some(pin))
            }
        };
        let file = File::new(&path, object);
        let source = Arc::new(Source { path, key, pin, kept_size });
        let (space, run, waited) = (self.clone(), Run::Fresh, Duration::ZERO);
        Ok(Reader { space, source, file, offset: 0, run, waited, window, _place: place })
    }

    /// What is there, and its first bytes into the window if there is room for them.
    async fn first_look(
        &self,
        path: &str,
        key: &ObjectKey,
        window: &SharedWindow,
    ) -> Result<Object, Error> {
        let Some(mut room) = self.0.spare.bytes(READ_FIRST_BYTES as usize) else {
            return self.operate(path, Effect::None, self.store().head(key)).await;
        };
        let get = self.store().get(key, 0..u64::from(READ_FIRST_BYTES), None);
        let (object, bytes) = self.operate(path, Effect::None, get).await?;
        if !bytes.is_empty() {
            room.shrink(bytes.len());
            let range = 0..bytes.len() as u64;
            window.lock().put_first(Block::landed(range, bytes, room));
            self.watch_windows();
        }
        Ok(object)
    }

    /// Exactly the bytes of a range that was seen to exist.
    async fn fetch(&self, source: &Source, range: Range<u64>) -> Result<Bytes, Error> {
        let get = self.store().get(&source.key, range.clone(), source.pin.as_ref());
        let bound = Duration::from_millis(self.limits().operation_ms_max);
        let (_, bytes) = self.timed(bound, &source.path, Effect::None, get).await?;
        if bytes.len() as u64 != range.end - range.start {
            let odd = anyhow::anyhow!("{} bytes came of {range:?}", bytes.len());
            return Err(Error::from_store(StoreError::unchanged(odd), &source.path));
        }
        Ok(bytes)
    }
}

impl Reader {
    /// The file, as it was opened.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Up to `length` bytes, at most [`crate::limits::READ_BYTES_MAX`]; fewer only at the end,
    /// none at or past it. After a read that goes on where the last one ended, more is read
    /// ahead.
    ///
    /// # Errors
    /// `conflict` if the file was replaced or deleted since it was opened, and its bytes are not
    /// at hand. After any error the same read can be tried again.
    pub async fn read(&mut self, length: u32) -> Result<Bytes, Error> {
        check_read_length(length)?;
        self.space.check_alive()?;
        let end = self.offset.saturating_add(u64::from(length)).min(self.file.size);
        if self.offset >= end {
            return Ok(Bytes::new());
        }
        let range = self.offset..end;
        let _in_use = self.window.in_use();
        if self.run == Run::On && self.source.kept_size.is_none() {
            self.read_ahead(&range);
        }
        let began = Instant::now();
        let read = self.gather(range).await;
        let bytes = read.inspect_err(|_| self.start_anew())?;
        self.waited = began.elapsed();
        self.offset = end;
        self.run = Run::On;
        Ok(bytes)
    }

    /// Goes on from `offset`, which may be past the end.
    pub fn seek(&mut self, offset: u64) {
        if offset == self.offset {
            return;
        }
        self.offset = offset;
        self.run = Run::Fresh;
        self.window.lock().seek(offset);
    }

    fn start_anew(&mut self) {
        self.run = Run::Fresh;
        self.window.lock().clear();
    }

    fn read_ahead(&self, range: &Range<u64>) {
        let (size, waited) = (self.file.size, self.waited);
        self.window.lock().go_on(range, size, waited, |range| self.begin(range));
        self.space.watch_windows();
    }

    /// Begins to fetch a block, if there is room for it.
    fn begin(&self, range: Range<u64>) -> Option<Block> {
        let spare = &self.space.0.spare;
        let operation = spare.operation()?;
        let room = spare.bytes(usize::try_from(range.end - range.start).ok()?)?;
        let (space, source, wanted) = (self.space.clone(), self.source.clone(), range.clone());
        let task = tokio::spawn(async move {
            let fetched = space.fetch(&source, wanted).await;
            drop(operation);
            Ok((fetched?, room))
        });
        Some(Block::flying(range, task))
    }

    /// The bytes of a range, from the window and from the store.
    async fn gather(&self, range: Range<u64>) -> Result<Bytes, Error> {
        let first = self.next(range.clone()).await?;
        let mut at = range.start + first.len() as u64;
        if at == range.end {
            return Ok(first);
        }
        let whole = usize::try_from(range.end - range.start).unwrap_or(first.len());
        let mut buffer = Buffer::with_room(whole);
        buffer.room().extend_from_slice(&first);
        while at < range.end {
            let next = self.next(at..range.end).await?;
            at += next.len() as u64;
            buffer.room().extend_from_slice(&next);
        }
        Ok(buffer.freeze())
    }

    /// The next bytes of a range: some, at least.
    async fn next(&self, range: Range<u64>) -> Result<Bytes, Error> {
        let found = self.window.lock().find(range.start);
        let read = match found {
            Found::Block(block) => self.take(block, &range).await,
            Found::Gap(until) => self.ask(range.start..range.end.min(until)).await,
        };
        read.map_err(|error| match error.code {
            ErrorCode::NotFound => Error::conflict(&self.source.path),
            _ => error,
        })
    }

    /// What a block has of a range; the rest of it goes back.
    async fn take(&self, block: Block, range: &Range<u64>) -> Result<Bytes, Error> {
        let held = block.range.clone();
        let failed = |error| Error::from_store(StoreError::unchanged(error), &self.source.path);
        let (mut bytes, room) = block.land().await.map_err(failed)??;
        let before = usize::try_from(range.start - held.start).unwrap_or(bytes.len());
        let mut taken = bytes.split_off(before.min(bytes.len()));
        let wanted = usize::try_from(range.end - range.start).unwrap_or(taken.len());
        if wanted < taken.len() {
            let rest = taken.split_off(wanted);
            self.window.lock().put_first(Block::landed(range.end..held.end, rest, room));
        }
        Ok(taken)
    }

    async fn ask(&self, range: Range<u64>) -> Result<Bytes, Error> {
        if let Some(size) = self.source.kept_size {
            let whole = self.space.blob(&self.source.path, &self.source.key, size).await?;
            let within = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(whole.len());
            return Ok(whole.slice(within(range.start)..within(range.end)));
        }
        let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let _room = self.space.hold(length).await?;
        let _operation = self.space.operation().await?;
        self.space.fetch(&self.source, range).await
    }
}
