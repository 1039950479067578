//! Tries out what a server keeps to: one after the other, and among racers.

use std::time::{Duration, Instant};

use anyhow::anyhow;
use bytes::Bytes;
use futures::future::join_all;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::time::timeout;
use uuid::Uuid;

mod remains;
mod shots;

use shots::Shot;

use super::S3Store;
use super::conditions::{Condition, Support, Verb};
use super::errors::{Failure, FailureKind};
use super::lineage::{Lineage, WriteId};
use super::requests::{Entries, ListRequest, PartSource};
use crate::scope::{KeyPrefix, ObjectKey};
use crate::store::{Depth, Object, Precondition, Revision};

/// How many ask for the same thing at once, of which one may get it.
const RACERS: u32 = 8;
/// How often they do: a server that looks first and acts later gets away with it now and then.
const ROUNDS: u32 = 4;
/// The same for uploads in parts: where a server must join them first, racers that were checked
/// too early are rarer.
const ROUNDS_IN_PARTS: u32 = 16;
const ALWAYS: Precondition = Precondition::Always;
/// How long the others are waited for at least, once one was answered.
const PATIENCE_MIN: Duration = Duration::from_millis(250);
const ILLEGAL_NAMES: &str = "the names of the probe are not legal";
/// How often a deletion races against a write.
const DELETION_RACES: u32 = 4;

/// One trial; its objects are gone when it is over.
pub(super) struct Probe<'a> {
    store: &'a S3Store,
}

/// What a server made of one conditional request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Done,
    Held,
    NotImplemented,
}

impl<'a> Probe<'a> {
    pub(super) fn new(store: &'a S3Store) -> Self {
        Self { store }
    }

    pub(super) async fn run(&self, condition: Condition) -> Result<Support, Failure> {
        let (key, source) = (fresh_key(), fresh_key());
        let keys = [&source, &key];
        let support = match condition {
            Condition::PutIfAbsent => self.if_absent(Verb::Put, keys).await,
            Condition::PutIfRevision => self.if_revision(Verb::Put, keys).await,
            Condition::CompleteIfAbsent => self.if_absent(Verb::Complete, keys).await,
            // Whoever loses the one among racers is not trusted with the other.
            Condition::CompleteIfRevision => match self.if_revision(Verb::Complete, keys).await {
                Ok(Support::Kept) => self.if_absent(Verb::Complete, [&source, &fresh_key()]).await,
                other => other,
            },
            Condition::CopyIfAbsent => self.if_absent(Verb::Copy, keys).await,
            Condition::CopyIfRevision => self.if_revision(Verb::Copy, keys).await,
            Condition::CopySource => self.copy_source(keys).await,
            Condition::PartCopySource => self.part_copy_source(keys).await,
            Condition::DeleteIfRevision => self.delete_if_revision(keys).await,
            Condition::WriteIds => self.write_ids(keys).await,
            Condition::ListingOrder => self.listing_order().await,
            Condition::FoldersVanish => self.folders_vanish().await,
            Condition::NamesBeyondXml => self.names_beyond_xml().await,
            Condition::UploadsListed => self.uploads_listed(&key).await,
            Condition::VersionsListed => self.versions_listed(&key).await,
        };
        self.clean(&[key, source]).await;
        support
    }

    async fn if_absent(&self, verb: Verb, keys: [&ObjectKey; 2]) -> Result<Support, Failure> {
        let [source, key] = keys;
        self.put(source, "source").await?;
        self.put(key, "there").await?;
        let when = Precondition::IfAbsent;
        let mut support = self.refused(verb, keys, &when).await?;
        for _ in 0..rounds(verb) {
            if support != Support::Kept {
                break;
            }
            let race = || async { self.raced(verb, [source, &fresh_key()], &when).await };
            support = self.store.repeat(race).await?;
        }
        Ok(support)
    }

    async fn if_revision(&self, verb: Verb, keys: [&ObjectKey; 2]) -> Result<Support, Failure> {
        let [source, key] = keys;
        self.put(source, "source").await?;
        let when = Precondition::IfRevision(Revision("none".to_owned()));
        let mut support = self.refused(verb, keys, &when).await?;
        if support == Support::Kept {
            self.put(key, "there").await?;
            support = self.refused(verb, keys, &when).await?;
        }
        for _ in 0..rounds(verb) {
            if support != Support::Kept {
                break;
            }
            let race = || async {
                let key = fresh_key();
                let when = Precondition::IfRevision(self.put(&key, "there").await?.revision);
                self.raced(verb, [source, &key], &when).await
            };
            support = self.store.repeat(race).await?;
        }
        Ok(support)
    }

    /// Whether one racer wins, for an object that only they know of.
    async fn raced(
        &self,
        verb: Verb,
        keys: [&ObjectKey; 2],
        when: &Precondition,
    ) -> Result<Support, Failure> {
        let prepared = join_all((0..RACERS).map(|racer| self.prepare(verb, keys, racer)));
        let shots = prepared.await.into_iter().collect::<Result<Vec<_>, _>>()?;
        let answers = self.answers(verb, shots, keys, when).await;
        self.clean(&[keys[1].clone()]).await;
        let count = |answer| answers.iter().filter(|racer| **racer == answer).count();
        let (won, held) = (count(Answer::Done), count(Answer::Held));
        if count(Answer::NotImplemented) > 0 {
            return Ok(Support::Refused);
        }
        // Who was not heard may have been the one that won.
        if won > 1 || held == RACERS as usize {
            return Ok(Support::Ignored);
        }
        match answers.is_empty() {
            true => Err(Failure::lost("no racer of a trial was answered")),
            false => Ok(Support::Kept),
        }
    }

    /// What racers were told. Some servers let those who ask for the same object wait for one
    /// another, a second each: nobody waits for them.
    async fn answers(
        &self,
        verb: Verb,
        shots: Vec<Shot>,
        keys: [&ObjectKey; 2],
        when: &Precondition,
    ) -> Vec<Answer> {
        let started = Instant::now();
        let mut racing: FuturesUnordered<_> =
            shots.into_iter().map(|shot| self.fire(shot, keys, when)).collect();
        let first = racing.next().await;
        // An upload in parts has to be waited for: it is given up if it was not completed.
        let patience = (verb != Verb::Complete).then(|| PATIENCE_MIN.max(8 * started.elapsed()));
        let mut heard: Vec<_> = first.into_iter().collect();
        let all = async {
            while let Some(sent) = racing.next().await {
                heard.push(sent);
            }
        };
        match patience {
            Some(patience) => _ = timeout(patience, all).await,
            None => all.await,
        }
        heard.into_iter().filter_map(|sent| answer_of(sent).ok()).collect()
    }

    /// Whether a request is refused whose condition does not hold.
    async fn refused(
        &self,
        verb: Verb,
        keys: [&ObjectKey; 2],
        when: &Precondition,
    ) -> Result<Support, Failure> {
        self.holds_back(|| self.send(verb, keys, when)).await
    }

    async fn send(
        &self,
        verb: Verb,
        keys: [&ObjectKey; 2],
        when: &Precondition,
    ) -> Result<(), Failure> {
        self.fire(self.prepare(verb, keys, RACERS).await?, keys, when).await
    }

    async fn copy_source(&self, [source, key]: [&ObjectKey; 2]) -> Result<Support, Failure> {
        let there = self.put(source, "source").await?;
        let other = Object { revision: Revision("none".to_owned()), ..there };
        let (requests, lineage) = (&self.store.requests, lineage());
        let send =
            || async { requests.copy((source, &other), key, ALWAYS, &lineage).await.map(drop) };
        self.holds_back(send).await
    }

    async fn part_copy_source(&self, [source, key]: [&ObjectKey; 2]) -> Result<Support, Failure> {
        self.put(source, "source").await?;
        let (store, requests, lineage) = (self.store, &self.store.requests, lineage());
        let id = store.repeat(|| requests.begin_upload(key, &lineage, PartSource::Copied)).await?;
        let (upload, other) = ((key, &id), Revision("none".to_owned()));
        let send =
            || async { requests.copied_part(upload, 1, (source, &other), 0..6).await.map(drop) };
        let support = self.holds_back(send).await;
        _ = store.repeat(|| requests.abort(upload)).await;
        support
    }

    async fn holds_back<F>(&self, send: impl Fn() -> F + Send + Sync) -> Result<Support, Failure>
    where
        F: Future<Output = Result<(), Failure>> + Send,
    {
        let answered = || async { answer_of(send().await) };
        Ok(match self.store.repeat(answered).await? {
            Answer::Done => Support::Ignored,
            Answer::Held => Support::Kept,
            Answer::NotImplemented => Support::Refused,
        })
    }

    /// A deletion of one revision is refused for another, and never goes together with a write
    /// onto that revision.
    async fn delete_if_revision(&self, keys: [&ObjectKey; 2]) -> Result<Support, Failure> {
        for _ in 0..DELETION_RACES {
            self.put(keys[1], "there").await?;
            let other = Precondition::IfRevision(Revision("none".to_owned()));
            match self.refused(Verb::Delete, keys, &other).await? {
                Support::Kept => {}
                other => return Ok(other),
            }
            let seen = self.store.repeat(|| self.store.requests.head(keys[1])).await?;
            let when = Precondition::IfRevision(seen.object.revision);
            let (deleted, written) = tokio::join!(
                self.send(Verb::Delete, keys, &when),
                self.send(Verb::Put, keys, &when)
            );
            if deleted.is_ok() && written.is_ok() {
                return Ok(Support::Ignored);
            }
        }
        Ok(Support::Kept)
    }

    /// Metadata survives each way in which an object is made.
    async fn write_ids(&self, [source, key]: [&ObjectKey; 2]) -> Result<Support, Failure> {
        let (store, requests) = (self.store, &self.store.requests);
        let (put, copied, uploaded) = (lineage(), lineage(), lineage());
        let put_once = || requests.put(source, Bytes::from_static(b"x"), ALWAYS, &put);
        let there = store.repeat(put_once).await?;
        if !self.carries(source, &put).await? {
            return Ok(Support::Ignored);
        }
        let copy = || requests.copy((source, &there), key, ALWAYS, &copied);
        store.repeat(copy).await?;
        if !self.carries(key, &copied).await? {
            return Ok(Support::Ignored);
        }
        let upload = self.prepare_upload(key, Bytes::from_static(b"y"), uploaded.clone()).await?;
        match self.fire(upload, [source, key], &ALWAYS).await {
            Err(failure) if !failure.passes() => return Err(failure),
            Ok(()) | Err(_) => {}
        }
        let kept = self.carries(key, &uploaded).await?;
        Ok(if kept { Support::Kept } else { Support::Ignored })
    }

    async fn carries(&self, key: &ObjectKey, lineage: &Lineage) -> Result<bool, Failure> {
        let seen = self.store.repeat(|| self.store.requests.head(key)).await?;
        Ok(seen.lineage == *lineage)
    }

    async fn listing_order(&self) -> Result<Support, Failure> {
        let Some((folder, names)) = listed_names(["a", "a b", "a-b", "a/b"]) else {
            return Err(Failure::new(FailureKind::Refused, anyhow!(ILLEGAL_NAMES)));
        };
        for name in &names {
            self.put(name, "listed").await?;
        }
        let listed = self.store.repeat(|| self.list_once(&folder, Depth::All)).await;
        self.clean(&names).await;
        let listed = listed?.objects;
        let ordered =
            listed.len() == names.len() && listed.is_sorted_by_key(|(key, _)| key.clone());
        Ok(if ordered { Support::Kept } else { Support::Ignored })
    }

    /// Looked at right after the deletion, and only where nothing had to be sent twice: some
    /// servers remove their folders a while later, and may be caught at it.
    async fn folders_vanish(&self) -> Result<Support, Failure> {
        let mut support = Support::Kept;
        for _ in 0..ROUNDS {
            if support != Support::Kept {
                break;
            }
            support = self.store.repeat(|| self.folder_vanishes()).await?;
        }
        Ok(support)
    }

    async fn folder_vanishes(&self) -> Result<Support, Failure> {
        let Some((folder, names)) = listed_names(["a", "a b", "a-b", "a/b"]) else {
            return Err(Failure::new(FailureKind::Refused, anyhow!(ILLEGAL_NAMES)));
        };
        for name in &names {
            self.put(name, "listed").await?;
        }
        let deleted = self.store.requests.delete_many(&names).await;
        let listed = self.list_once(&folder, Depth::Children).await;
        if deleted.is_err() {
            self.clean(&names).await;
        }
        deleted?;
        Ok(if listed?.folders.is_empty() { Support::Kept } else { Support::Ignored })
    }

    /// Listed one by one: the server's token may hold the name.
    async fn names_beyond_xml(&self) -> Result<Support, Failure> {
        let Some((folder, names)) = listed_names(["\u{fffe}", "\u{fffe}b"]) else {
            return Err(Failure::new(FailureKind::Refused, anyhow!(ILLEGAL_NAMES)));
        };
        for name in &names {
            self.put(name, "listed").await?;
        }
        let mut listed = Vec::new();
        let mut after: Option<String> = None;
        for _ in 0..=names.len() {
            let (under, after_now) = (folder.as_str(), after.as_deref());
            let depth = Depth::All;
            let page = ListRequest { prefix: &folder, under, depth, after: after_now, limit: 1 };
            let entries = self.store.repeat(|| self.store.requests.list(page)).await?;
            listed.extend(entries.objects.into_iter().map(|(key, _)| key));
            after = entries.next;
            if after.is_none() {
                break;
            }
        }
        for name in &names {
            self.store.repeat(|| self.store.requests.delete(name, ALWAYS)).await?;
        }
        Ok(if listed == names { Support::Kept } else { Support::Ignored })
    }

    async fn list_once(&self, folder: &KeyPrefix, depth: Depth) -> Result<Entries, Failure> {
        let (under, limit) = (folder.as_str(), 1000);
        let page = ListRequest { prefix: folder, under, depth, after: None, limit };
        self.store.requests.list(page).await
    }

    async fn put(&self, key: &ObjectKey, text: &'static str) -> Result<Object, Failure> {
        let (requests, lineage) = (&self.store.requests, lineage());
        let bytes = Bytes::from_static(text.as_bytes());
        self.store.repeat(|| requests.put(key, bytes.clone(), ALWAYS, &lineage)).await
    }

    /// What is left behind does no harm: it stands where nobody looks.
    async fn clean(&self, keys: &[ObjectKey]) {
        let send = || self.store.requests.delete_many(keys);
        if let Err(failure) = self.store.repeat(send).await {
            tracing::debug!(error = format!("{:#}", failure.source), "a probe was left behind");
        }
    }
}

fn rounds(verb: Verb) -> u32 {
    match verb {
        Verb::Complete => ROUNDS_IN_PARTS,
        Verb::Put | Verb::Copy | Verb::Delete => ROUNDS,
    }
}

fn fresh_key() -> ObjectKey {
    ObjectKey::probe(Uuid::new_v4())
}

fn lineage() -> Lineage {
    Lineage::unconditional(WriteId::random())
}

/// A folder of its own, and names in it that servers order differently.
fn listed_names<const N: usize>(names: [&str; N]) -> Option<(KeyPrefix, Vec<ObjectKey>)> {
    let folder = KeyPrefix::probes().folder(&format!("{}/", fresh_key().as_str()))?;
    let names = names.map(|name| format!("{}{name}", folder.as_str()));
    let keys = names.iter().map(|name| folder.key(name)).collect::<Option<_>>()?;
    Some((folder, keys))
}

/// What an answer says about a condition; any other failure is passed on.
fn answer_of(sent: Result<(), Failure>) -> Result<Answer, Failure> {
    match sent {
        Ok(()) => Ok(Answer::Done),
        Err(failure) => match failure.kind {
            FailureKind::Condition => Ok(Answer::Held),
            FailureKind::NotImplemented => Ok(Answer::NotImplemented),
            _ => Err(failure),
        },
    }
}
