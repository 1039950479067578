//! Changes that are sent until their outcome is known.

use bytes::Bytes;
use tokio::time::timeout_at;

use super::S3Store;
use super::conditions::{Condition, Verb};
use super::errors::{Failure, FailureKind};
use super::lineage::{Lineage, WriteId};
use super::requests::E_TAG_BYTES_MAX;
use super::retry::Attempts;
use super::settle::{Change, Intent, Outcome, Seen, superseded};
use crate::scope::ObjectKey;
use crate::store::{Object, Precondition, Revision, StoreError};

/// One write, the same however often it is sent.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) id: WriteId,
    /// What the object's metadata is to say.
    pub(super) lineage: Lineage,
    intent: Intent,
}

/// Most objects that one request deletes.
/// <https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html>
pub(super) const DELETIONS_MAX: usize = 1000;

/// How often a server may say that something is there where nothing is, until that is taken for
/// its last word: somebody else may have made and deleted it.
const UNFOUNDED_MAX: u32 = 3;
const FOLDER_OF_ITS_NAME: &str = "this storage cannot write a file only if there is none where \
     there is a folder of that name";

/// How a change that was made became known.
enum Known<T> {
    /// The server answered.
    Answered(T),
    /// It was found.
    Found(Option<Seen>),
}

impl S3Store {
    /// A write that has not been sent.
    pub(super) fn new_write(&self, key: &ObjectKey, when: &Precondition) -> Write {
        let id = WriteId::random();
        let known = match when {
            Precondition::Always => None,
            Precondition::IfAbsent => Some(Lineage::from_nothing(id)),
            Precondition::IfRevision(revision) => {
                self.lineages.of(key, revision).map(|lineage| lineage.followed_by(id))
            }
        };
        let lineage = known.unwrap_or_else(|| Lineage::unconditional(id));
        Write { id, lineage, intent: self.intent(Change::Write(id), key, when) }
    }

    fn intent(&self, change: Change, key: &ObjectKey, when: &Precondition) -> Intent {
        let latest = self.lineages.newest(key);
        let base = match when {
            Precondition::Always | Precondition::IfAbsent => latest,
            Precondition::IfRevision(revision) => self.lineages.write_of(key, revision),
        };
        Intent { change, when: when.clone(), base, latest }
    }

    pub(super) async fn put_object(
        &self,
        key: &ObjectKey,
        bytes: Bytes,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        let (write, size) = (self.new_write(key, when), bytes.len() as u64);
        let send = |when| self.requests.put(key, bytes.clone(), when, &write.lineage);
        self.write(Verb::Put, (key, size), when, &write, send).await
    }

    /// Sends a write until it is known to have been made, or not to be.
    pub(super) async fn write<F>(
        &self,
        verb: Verb,
        (key, size): (&ObjectKey, u64),
        when: &Precondition,
        write: &Write,
        send: impl Fn(Precondition) -> F + Send + Sync,
    ) -> Result<Object, StoreError>
    where
        F: Future<Output = Result<Object, Failure>> + Send,
    {
        match self.change(verb, key, when, write.intent.clone(), send).await? {
            Known::Answered(object) => {
                self.lineages.saw(key, &object.revision, &write.lineage);
                self.objects.saw(key, &object);
                Ok(object)
            }
            Known::Found(Some(seen)) if seen.lineage.newest() == Some(write.id) => Ok(seen.object),
            Known::Found(seen) => {
                let modified_ms = seen.map_or(0, |seen| seen.object.modified_ms);
                Ok(Object { revision: superseded(write.id), size, modified_ms })
            }
        }
    }

    pub(super) async fn delete_object(
        &self,
        key: &ObjectKey,
        when: &Precondition,
    ) -> Result<(), StoreError> {
        let intent = self.intent(Change::Delete, key, when);
        self.objects.forget(key);
        let send = |when| self.requests.delete(key, when);
        self.change(Verb::Delete, key, when, intent, send).await.map(drop)
    }

    /// Deletes what is there of `keys`, a thousand at a time.
    pub(super) async fn delete_all(&self, keys: &[ObjectKey]) -> Result<(), StoreError> {
        self.objects.forget_all(keys);
        let (plain, odd): (Vec<&_>, Vec<&_>) = keys.iter().partition(|key| fits_xml(key.as_str()));
        for keys in plain.chunks(DELETIONS_MAX) {
            let deleted = self.repeat(|| self.requests.delete_many(keys)).await;
            deleted.map_err(|failure| StoreError::ambiguous(failure.source))?;
        }
        for key in odd {
            self.delete_object(key, &Precondition::Always).await?;
        }
        Ok(())
    }

    async fn change<T: Send, F>(
        &self,
        verb: Verb,
        key: &ObjectKey,
        when: &Precondition,
        mut intent: Intent,
        send: impl Fn(Precondition) -> F + Send + Sync,
    ) -> Result<Known<T>, StoreError>
    where
        F: Future<Output = Result<T, Failure>> + Send,
    {
        if let Precondition::IfRevision(revision) = when
            && !is_e_tag(revision)
        {
            return Err(StoreError::PreconditionFailed);
        }
        if let Some(condition) = verb.condition(when) {
            self.require(condition).await?;
        }
        if verb != Verb::Delete && !fits_xml(key.as_str()) {
            self.require_of_name(Condition::NamesBeyondXml).await?;
        }
        let mut attempts = Attempts::new(&self.tuning);
        // What the next attempt asks for: an unconditional change whose answer was lost goes on
        // as one that is conditional on what was found, so that it is not made twice.
        let mut asked = when.clone();
        let mut in_doubt = false;
        let mut unfounded = 0;
        loop {
            let failure = match timeout_at(attempts.deadline(), Box::pin(send(asked.clone()))).await
            {
                Ok(Ok(done)) => {
                    self.budget.refund();
                    return Ok(Known::Answered(done));
                }
                Ok(Err(failure)) => failure,
                Err(_) => Failure::lost("the change took too long"),
            };
            match failure.kind {
                FailureKind::Unreached | FailureKind::Again => {
                    if !attempts.next(&self.budget).await {
                        return Err(given_up(failure, in_doubt));
                    }
                    continue;
                }
                FailureKind::Lost => in_doubt = true,
                // Is anything there at all?
                FailureKind::Condition if asked == Precondition::IfAbsent => {}
                FailureKind::Condition
                | FailureKind::SourceChanged
                | FailureKind::NotFound
                | FailureKind::NoUpload
                    if in_doubt => {}
                _ => return Err(given_up(failure, in_doubt)),
            }
            let is_there =
                failure.kind == FailureKind::Condition && asked == Precondition::IfAbsent;
            let seen = match self.look(key).await {
                Ok(Some(_)) | Err(_) if is_there && !in_doubt => {
                    return Err(StoreError::PreconditionFailed);
                }
                Ok(seen) => seen,
                Err(unseen) => return Err(given_up(failure.after(unseen), in_doubt)),
            };
            if is_there && seen.is_none() {
                unfounded += 1;
                if unfounded == UNFOUNDED_MAX {
                    return Err(StoreError::Unrepresentable(FOLDER_OF_ITS_NAME));
                }
                asked = when.clone();
                match attempts.next(&self.budget).await {
                    true => continue,
                    false if in_doubt => return Err(given_up(failure, in_doubt)),
                    false => return Err(StoreError::PreconditionFailed),
                }
            }
            match intent.judge(seen.as_ref(), attempts.elapsed()) {
                Outcome::Applied => return Ok(Known::Found(seen)),
                Outcome::Unknown => return Err(given_up(failure, in_doubt)),
                Outcome::NotApplied if failure.kind == FailureKind::SourceChanged => {
                    return Err(StoreError::PreconditionFailed);
                }
                Outcome::NotApplied => {}
            }
            if *when != Precondition::Always {
                if !when.holds(seen.as_ref().map(|seen| &seen.object.revision)) {
                    return Err(StoreError::PreconditionFailed);
                }
            } else if let Some(narrowed) = self.narrowed(verb, seen.as_ref()).await? {
                intent.base = seen.and_then(|seen| seen.lineage.newest());
                intent.latest = intent.base;
                intent.when = narrowed.clone();
                asked = narrowed;
            }
            if !attempts.next(&self.budget).await {
                return Err(given_up(failure, in_doubt));
            }
        }
    }

    /// The condition that nothing has changed since, where the server keeps it.
    async fn narrowed(
        &self,
        verb: Verb,
        seen: Option<&Seen>,
    ) -> Result<Option<Precondition>, StoreError> {
        let unchanged = match seen {
            Some(seen) => Precondition::IfRevision(seen.object.revision.clone()),
            None => Precondition::IfAbsent,
        };
        let Some(condition) = verb.condition(&unchanged) else { return Ok(None) };
        let kept = self.keeps(condition).await.map_err(|error| match error {
            StoreError::Unavailable { source, .. } => StoreError::ambiguous(source),
            other => other,
        })?;
        Ok(kept.then_some(unchanged))
    }

    /// What is there now.
    pub(super) async fn look(&self, key: &ObjectKey) -> Result<Option<Seen>, Failure> {
        match self.repeat(|| self.requests.head(key)).await {
            Ok(seen) => {
                self.lineages.saw(key, &seen.object.revision, &seen.lineage);
                self.objects.saw(key, &seen.object);
                Ok(Some(seen))
            }
            Err(failure) if failure.kind == FailureKind::NotFound => {
                self.objects.forget(key);
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Sends a request that may be made twice until it is answered.
    pub(super) async fn repeat<T, F>(
        &self,
        send: impl Fn() -> F + Send + Sync,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>> + Send,
    {
        let mut attempts = Attempts::new(&self.tuning);
        loop {
            let failure = match timeout_at(attempts.deadline(), Box::pin(send())).await {
                Ok(Ok(answer)) => {
                    self.budget.refund();
                    return Ok(answer);
                }
                Ok(Err(failure)) => failure,
                Err(_) => Failure::lost("the request took too long"),
            };
            if !failure.passes() || !attempts.next(&self.budget).await {
                return Err(failure);
            }
        }
    }

    /// Refuses a name that the server would not show again.
    async fn require_of_name(&self, condition: Condition) -> Result<(), StoreError> {
        match self.keeps(condition).await? {
            true => Ok(()),
            false => Err(StoreError::Unrepresentable(condition.refusal())),
        }
    }

    /// Refuses a verb whose condition the server would not keep.
    pub(super) async fn require(&self, condition: Condition) -> Result<(), StoreError> {
        match self.keeps(condition).await? {
            true => Ok(()),
            false => Err(StoreError::Unsupported(condition.refusal())),
        }
    }
}

/// Whether a revision can be one of this storage. It is a caller's word, and becomes part of a
/// header: a quote would let it name a second one.
fn is_e_tag(revision: &Revision) -> bool {
    let Revision(e_tag) = revision;
    (1..=E_TAG_BYTES_MAX).contains(&e_tag.len())
        && e_tag.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"')
}

/// Whether a key can be named in a document. Two characters are legal in a key and not in XML.
pub(super) fn fits_xml(key: &str) -> bool {
    // Nearly every name is of ASCII alone, and told to be many bytes at once.
    key.is_ascii() || !key.contains(['\u{fffe}', '\u{ffff}'])
}

/// What is said of a change that did not succeed: once an answer was lost, no later one proves
/// that nothing was done.
fn given_up(failure: Failure, in_doubt: bool) -> StoreError {
    if in_doubt { StoreError::ambiguous(failure.source) } else { failure.into_error() }
}
