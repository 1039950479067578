//! Times that a program sets. A store keeps none: they hold until the turn ends, or the file is
//! written.

use super::Folders;
use super::bindings::wasi::filesystem::types::{Datetime, NewTimestamp};
use super::descriptor::Descriptor;
use super::error::{Answer, ErrorCode};
use super::look::{Found, time_of};
use super::path::{Place, is_root};
use crate::limits::FOLDER_NOTES_MAX;

/// What a program set; the file's own where it set nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub(super) accessed: Option<Datetime>,
    pub(super) modified: Option<Datetime>,
}

impl Folders {
    /// Sets the times of what a program holds.
    pub(super) async fn set_times_of(
        &mut self,
        descriptor: &Descriptor,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> Answer<()> {
        match descriptor {
            Descriptor::File(handle) => {
                let path = handle.file.lock().await.path.clone();
                // One that was removed has no times that anybody could ask for by its name.
                let Some(path) = path else { return Ok(()) };
                self.space.check_writable(&path)?;
                self.set_times(&path, accessed, modified)
            }
            Descriptor::Folder(folder) => {
                let path = folder.path.clone();
                let place = Place { path, is_folder: true, is_link: false };
                self.set_times_at(&place, accessed, modified).await
            }
        }
    }

    /// Sets the times of what is at a place.
    pub(super) async fn set_times_at(
        &mut self,
        place: &Place,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> Answer<()> {
        if place.is_link || is_root(&place.path) {
            return Err(ErrorCode::NotPermitted.into());
        }
        self.space.check_writable(&place.path)?;
        match self.find(place).await? {
            Found::Missing => Err(ErrorCode::NoEntry.into()),
            Found::Open(_) | Found::Stored(_) if place.is_folder => {
                Err(ErrorCode::NotDirectory.into())
            }
            Found::Folder | Found::Open(_) | Found::Stored(_) => {
                self.set_times(&place.path, accessed, modified)
            }
        }
    }

    /// Sets the times of what is known to be at a path, and may be changed.
    fn set_times(
        &mut self,
        path: &str,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> Answer<()> {
        if self.times.len() >= FOLDER_NOTES_MAX && !self.times.contains_key(path) {
            return Err(ErrorCode::InsufficientSpace.into());
        }
        let now = time_of(self.space.now_ms());
        let [accessed, modified] = [accessed, modified].map(|time| match time {
            NewTimestamp::NoChange => Ok(None),
            NewTimestamp::Now => Ok(Some(now)),
            NewTimestamp::Timestamp(time) => whole(time).map(Some),
        });
        let (accessed, modified) = (accessed?, modified?);
        let times = self.times.entry(path.to_owned()).or_default();
        times.accessed = accessed.or(times.accessed);
        times.modified = modified.or(times.modified);
        Ok(())
    }
}

fn whole(time: Datetime) -> Answer<Datetime> {
    const NANOSECONDS: u32 = 1_000_000_000;
    let more = u64::from(time.nanoseconds / NANOSECONDS);
    let seconds = time.seconds.checked_add(more).ok_or(ErrorCode::Overflow)?;
    Ok(Datetime { seconds, nanoseconds: time.nanoseconds % NANOSECONDS })
}
