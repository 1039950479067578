//! The folders of a turn, as its calls share them: those that only look overlap, and what changes
//! them is done one after the other. What is in an open file is that file's own to guard.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard, oneshot};

use super::Folders;
use super::descriptor::Descriptor;
use super::error::Answer;
use super::file::OpenFile;
use super::path::Link;
use crate::engine::tasks::Calls;

/// The folders of one turn; clones are the same ones.
#[derive(Clone)]
pub(super) struct Shared(Arc<Inner>);

struct Inner {
    link: Link,
    folders: RwLock<Folders>,
    let_go: Mutex<Vec<LetGo>>,
}

/// A handle of a file that nobody has any more, and that is still to be closed.
struct LetGo {
    file: Arc<OpenFile>,
    /// Who waits for what comes of it.
    outcome: Option<oneshot::Sender<Answer<()>>>,
}

impl Shared {
    pub(super) fn new(folders: Folders, link: Link) -> Self {
        let (folders, let_go) = (RwLock::new(folders), Mutex::default());
        Self(Arc::new(Inner { link, folders, let_go }))
    }

    pub(super) fn link(&self) -> Link {
        self.0.link
    }

    /// For what changes nothing.
    pub(super) async fn look(&self) -> RwLockReadGuard<'_, Folders> {
        self.0.folders.read().await
    }

    /// For what changes something, once everything that was let go is closed.
    pub(super) async fn change(&self) -> RwLockWriteGuard<'_, Folders> {
        let mut folders = self.0.folders.write().await;
        let let_go = std::mem::take(&mut *self.let_go_so_far());
        for LetGo { file, outcome } in let_go {
            let closed = folders.close(&file).await;
            if let Some(outcome) = outcome {
                // Nobody has to wait.
                let _ = outcome.send(closed);
            }
        }
        folders
    }

    /// For the end of the turn, when nothing else is under way: what was let go is open no longer.
    pub(super) async fn ending(&self) -> RwLockWriteGuard<'_, Folders> {
        let folders = self.0.folders.write().await;
        for LetGo { file, .. } in std::mem::take(&mut *self.let_go_so_far()) {
            file.close();
        }
        folders
    }

    /// Notes that a handle is gone which nobody ever had: the next change closes it, or the end of
    /// the turn. Nothing can be begun where it is given up.
    fn give_up(&self, file: Arc<OpenFile>) {
        self.let_go_so_far().push(LetGo { file, outcome: None });
    }

    /// Notes that a handle is gone, where nothing can be waited for, and sees to it that it is closed.
    pub(super) fn let_go(
        &self,
        file: Arc<OpenFile>,
        outcome: Option<oneshot::Sender<Answer<()>>>,
        calls: &Calls,
    ) {
        let mut let_go = self.let_go_so_far();
        let is_seen_to = let_go.iter().any(|one| one.outcome.is_some());
        let_go.push(LetGo { file, outcome });
        drop(let_go);
        if !is_seen_to {
            let folders = self.clone();
            calls.tidy(async move { drop(folders.change().await) });
        }
    }

    fn let_go_so_far(&self) -> MutexGuard<'_, Vec<LetGo>> {
        self.0.let_go.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file is being written: times that were set for it are over.
    pub(super) async fn written(&self, file: &OpenFile) {
        if self.look().await.times.is_empty() {
            return;
        }
        let path = file.lock().await.path.clone();
        if let Some(path) = path {
            self.change().await.times.remove(&path);
        }
    }
}

/// What was opened, until the guest has it. If it never does, it is given up.
pub(super) struct Opened {
    descriptor: Option<Descriptor>,
    folders: Shared,
}

impl Opened {
    pub(super) fn new(descriptor: Descriptor, folders: Shared) -> Self {
        Self { descriptor: Some(descriptor), folders }
    }

    /// It is the guest's to close.
    pub(super) fn taken(mut self) -> Option<Descriptor> {
        self.descriptor.take()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if let Some(Descriptor::File(handle)) = self.descriptor.take() {
            self.folders.give_up(handle.file);
        }
    }
}
