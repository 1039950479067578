//! Random operations, over names of two letters, look the same as on the model.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bailiwick::clock::SystemClock;
use bailiwick::scope::{KeyPrefix, ObjectKey};
use bailiwick::store::{
    Depth, Effect, ListToken, MemoryStore, Object, ObjectStore, Precondition, Revision, StoreError,
};
use bytes::Bytes;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use super::{Ability, Place, Subject, content};

/// What a caller may do. Keys are `/`-joined rests; revisions are picked out of those seen.
#[derive(Clone, Debug)]
enum Operation {
    Head(String),
    Get(String, Range<u64>, Pick),
    Put(String, usize, When),
    Upload(String, usize, When, End),
    Delete(String, When),
    DeleteMany(Vec<String>),
    Copy(String, Pick, String, When),
    List(String, Deep, usize),
}

#[derive(Clone, Copy, Debug)]
enum Deep {
    Children,
    All,
}

#[derive(Clone, Copy, Debug)]
enum When {
    Always,
    IfAbsent,
    IfRevision(Pick),
}

/// Which of the revisions that a key has had; `None` where none is asked for.
type Pick = Option<usize>;

#[derive(Clone, Copy, Debug)]
enum End {
    Complete,
    Abort,
    Drop,
}

fn key(letters: &'static str) -> impl Strategy<Value = String> {
    proptest::string::string_regex(&format!("[{letters}]{{1,2}}(/[{letters}]{{1,2}}){{0,2}}"))
        .unwrap()
}

fn pick() -> impl Strategy<Value = Pick> {
    prop_oneof![2 => Just(None), 3 => Just(Some(0)), 2 => (0_usize..5).prop_map(Some)]
}

fn when() -> impl Strategy<Value = When> {
    prop_oneof![
        4 => Just(When::Always),
        2 => Just(When::IfAbsent),
        3 => pick().prop_map(When::IfRevision),
    ]
}

fn size() -> impl Strategy<Value = usize> {
    prop_oneof![0_usize..10, Just(5000)]
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![3 => Just(End::Complete), 1 => Just(End::Abort), 1 => Just(End::Drop)]
}

fn range() -> impl Strategy<Value = Range<u64>> {
    prop_oneof![Just(0..u64::MAX), (0_u64..12, 0_u64..12).prop_map(|(start, end)| start..end)]
}

fn deep() -> impl Strategy<Value = Deep> {
    prop_oneof![Just(Deep::Children), Just(Deep::All)]
}

fn folder(letters: &'static str) -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), key(letters)]
}

fn operation(letters: &'static str) -> impl Strategy<Value = Operation> {
    let key = || key(letters);
    prop_oneof![
        1 => key().prop_map(Operation::Head),
        2 => (key(), range(), pick()).prop_map(|(k, r, p)| Operation::Get(k, r, p)),
        6 => (key(), size(), when()).prop_map(|(k, s, w)| Operation::Put(k, s, w)),
        2 => (key(), size(), when(), end()).prop_map(|(k, s, w, e)| Operation::Upload(k, s, w, e)),
        4 => (key(), when()).prop_map(|(k, w)| Operation::Delete(k, w)),
        1 => proptest::collection::vec(key(), 0..4).prop_map(Operation::DeleteMany),
        2 => (key(), pick(), key(), when()).prop_map(|(s, p, t, w)| Operation::Copy(s, p, t, w)),
        3 => (folder(letters), deep(), 1_usize..5).prop_map(|(f, d, l)| Operation::List(f, d, l)),
    ]
}

/// Whatever is done in whatever order, the store answers as the model does.
pub(crate) async fn random_operations_look_as_on_the_model(subject: &Subject) {
    let seed = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(rand::random::<u64>);
    println!("model test: PROPTEST_RNG_SEED={seed} runs the same sequences again");
    let config = Config {
        cases: subject.model_runs,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..Config::default()
    };
    let sequences = prop_oneof![Just("ab"), Just("a%"), Just("a-")]
        .prop_flat_map(|letters| proptest::collection::vec(operation(letters), 1..40));
    let handle = tokio::runtime::Handle::current();
    let outcome = tokio::task::block_in_place(|| {
        TestRunner::new(config)
            .run(&sequences, |operations| handle.block_on(run(subject, operations)))
    });
    if let Err(failure) = outcome {
        panic!("PROPTEST_RNG_SEED={seed}: {failure}");
    }
}

/// A revision that a key has had: on the model, in the store, and its bytes.
type Past = (Revision, Revision, Bytes);

struct Pair<'a> {
    subject: &'a Subject,
    model: MemoryStore,
    place: Place,
    past: BTreeMap<ObjectKey, Vec<Past>>,
    /// So that no two writes have the same bytes, whose revisions a store may find equal.
    writes: u64,
}

async fn run(subject: &Subject, operations: Vec<Operation>) -> Result<(), TestCaseError> {
    let mut pair = Pair {
        subject,
        model: MemoryStore::new(Arc::new(SystemClock)),
        place: Place::new(),
        past: BTreeMap::new(),
        writes: 0,
    };
    for operation in operations {
        pair.apply(operation).await?;
    }
    pair.list("", Depth::All, 3).await?;
    let keys: Vec<_> = pair.past.keys().cloned().collect();
    subject.store.delete_many(&keys).await.unwrap();
    Ok(())
}

impl Pair<'_> {
    async fn apply(&mut self, operation: Operation) -> Result<(), TestCaseError> {
        match operation {
            Operation::Head(rest) => {
                let key = self.place.key(&rest);
                let (model, store) = (self.model.head(&key).await, self.store().head(&key).await);
                self.same(&key, &model, &store).await
            }
            Operation::Get(rest, range, pick) => self.get(&rest, range, pick).await,
            Operation::Put(rest, size, when) => self.put(&rest, size, when).await,
            Operation::Upload(rest, size, when, end) => self.upload(&rest, size, when, end).await,
            Operation::Delete(rest, when) => self.delete(&rest, when).await,
            Operation::DeleteMany(rests) => {
                let keys: Vec<_> = rests.iter().map(|rest| self.place.key(rest)).collect();
                self.model.delete_many(&keys).await.unwrap();
                self.store().delete_many(&keys).await.unwrap();
                Ok(())
            }
            Operation::Copy(source, pick, target, when) => {
                self.copy(&source, pick, &target, when).await
            }
            Operation::List(rest, Deep::All, limit) => self.list(&rest, Depth::All, limit).await,
            Operation::List(rest, Deep::Children, limit) => {
                self.list(&rest, Depth::Children, limit).await
            }
        }
    }

    fn store(&self) -> &dyn ObjectStore {
        &*self.subject.store
    }

    async fn get(
        &mut self,
        rest: &str,
        range: Range<u64>,
        pick: Pick,
    ) -> Result<(), TestCaseError> {
        let key = self.place.key(rest);
        let pinned = self.pick(&key, pick).await;
        let (model, store) = (pinned.as_ref().map(|p| &p.0), pinned.as_ref().map(|p| &p.1));
        let expected = self.model.get(&key, range.clone(), model).await;
        let answer = self.store().get(&key, range, store).await;
        if let (Ok((_, expected)), Ok((_, answer))) = (&expected, &answer) {
            prop_assert_eq!(expected, answer);
        }
        self.same(&key, &expected.map(|got| got.0), &answer.map(|got| got.0)).await
    }

    async fn put(&mut self, rest: &str, size: usize, when: When) -> Result<(), TestCaseError> {
        let key = self.place.key(rest);
        let bytes = self.bytes(size);
        let (model, store) = self.when(&key, when).await;
        let answer = self.store().put(&key, bytes.clone(), &store).await;
        if self.refused(ability(&when, PUT), &answer) {
            return Ok(());
        }
        let expected = self.model.put(&key, bytes, &model).await;
        self.same(&key, &expected, &answer).await
    }

    async fn upload(
        &mut self,
        rest: &str,
        size: usize,
        when: When,
        end: End,
    ) -> Result<(), TestCaseError> {
        let key = self.place.key(rest);
        let bytes = self.bytes(size);
        let (model, store) = self.when(&key, when).await;
        let begun = self.store().upload(&key, store).await;
        if self.refused(ability(&when, COMPLETE), &begun) {
            return Ok(());
        }
        let mut upload = begun.unwrap();
        upload.write(bytes.slice(..size / 2)).await.unwrap();
        upload.write(bytes.slice(size / 2..)).await.unwrap();
        match end {
            End::Complete => {}
            End::Abort => {
                return upload.abort().await.map_err(|e| TestCaseError::fail(e.to_string()));
            }
            End::Drop => return Ok(()),
        }
        let answer = upload.complete().await;
        if self.refused(ability(&when, COMPLETE), &answer) {
            return Ok(());
        }
        let expected = self.model.put(&key, bytes, &model).await;
        self.same(&key, &expected, &answer).await
    }

    async fn delete(&mut self, rest: &str, when: When) -> Result<(), TestCaseError> {
        let key = self.place.key(rest);
        let (model, store) = self.when(&key, when).await;
        let answer = self.store().delete(&key, &store).await;
        let needs = matches!(when, When::IfRevision(_)).then_some(Ability::DeleteIfRevision);
        if self.refused(needs, &answer) {
            return Ok(());
        }
        let expected = self.model.delete(&key, &model).await;
        let nothing_there = self.model.head(&key).await.is_err();
        if nothing_there && answer.is_ok() && self.subject.lacks(Ability::WhoDeleted) {
            return Ok(());
        }
        prop_assert_eq!(kind(&expected), kind(&answer), "{:?}", (expected, answer));
        Ok(())
    }

    async fn copy(
        &mut self,
        source: &str,
        pick: Pick,
        target: &str,
        when: When,
    ) -> Result<(), TestCaseError> {
        let (source, target) = (self.place.key(source), self.place.key(target));
        let pinned = self.pick(&source, pick).await;
        let (model, store) = self.when(&target, when).await;
        let answer =
            self.store().copy(&source, pinned.as_ref().map(|p| &p.1), &target, &store).await;
        if self.refused(ability(&when, COPY), &answer)
            || self.refused(pinned.is_some().then_some(Ability::CopyPinned), &answer)
        {
            return Ok(());
        }
        let expected =
            self.model.copy(&source, pinned.as_ref().map(|p| &p.0), &target, &model).await;
        if let (Err(StoreError::PreconditionFailed | StoreError::NotFound), Err(answer)) =
            (&expected, &answer)
            && self.model.head(&source).await.is_err()
        {
            // Both are wrong with it: which is told first is the server's choice.
            let told = matches!(answer, StoreError::PreconditionFailed | StoreError::NotFound);
            prop_assert!(told || self.may_be_open(&target, answer).await, "{answer:?}");
            return Ok(());
        }
        self.same(&target, &expected, &answer).await
    }

    async fn list(&mut self, rest: &str, depth: Depth, limit: usize) -> Result<(), TestCaseError> {
        let prefix = self.place.folder(rest);
        let (objects, folders) = pages(&self.model, &prefix, depth, limit).await;
        let (mut listed, mut listed_folders) = pages(self.store(), &prefix, depth, limit).await;
        if self.subject.lacks(Ability::ByteOrder) {
            listed.sort();
            listed_folders.sort();
        }
        prop_assert_eq!(objects, listed, "under {:?}, {:?}", rest, depth);
        prop_assert_eq!(folders, listed_folders, "under {:?}, {:?}", rest, depth);
        Ok(())
    }

    /// Whether the answers agree; remembers the revisions of a success.
    async fn same(
        &mut self,
        key: &ObjectKey,
        model: &Result<Object, StoreError>,
        store: &Result<Object, StoreError>,
    ) -> Result<(), TestCaseError> {
        if let Err(error) = store
            && self.may_be_open(key, error).await
        {
            return Ok(());
        }
        prop_assert_eq!(kind(model), kind(store), "{:?}", (key, model, store));
        if let (Ok(model), Ok(store)) = (model, store) {
            prop_assert_eq!(model.size, store.size);
            let (_, bytes) = self.model.get(key, 0..u64::MAX, None).await.unwrap();
            let past = self.past.entry(key.clone()).or_default();
            if !past.iter().any(|seen| seen.0 == model.revision) {
                past.push((model.revision.clone(), store.revision.clone(), bytes));
            }
        }
        Ok(())
    }

    /// Whether it may stay open what became of a change: nothing is there, and somebody else may
    /// have deleted what it made.
    async fn may_be_open(&self, key: &ObjectKey, error: &StoreError) -> bool {
        matches!(error, StoreError::Unavailable { effect: Effect::Unknown, .. })
            && self.model.head(key).await.is_err()
            && self.subject.lacks(Ability::WhoDeleted)
    }

    /// The pick-th newest revision of a key. One whose bytes are back is exchanged for the one
    /// that is there: a store may find them equal.
    async fn pick(&self, key: &ObjectKey, pick: Pick) -> Option<(Revision, Revision)> {
        let past = self.past.get(key)?;
        let picked = past.iter().rev().nth(pick? % past.len())?;
        let current = self.model.get(key, 0..u64::MAX, None).await.ok();
        let picked = match current {
            Some((object, bytes)) if bytes == picked.2 => {
                past.iter().find(|seen| seen.0 == object.revision).unwrap_or(picked)
            }
            _ => picked,
        };
        Some((picked.0.clone(), picked.1.clone()))
    }

    async fn when(&self, key: &ObjectKey, when: When) -> (Precondition, Precondition) {
        let never = || (Revision("none".into()), Revision("none".into()));
        match when {
            When::Always => (Precondition::Always, Precondition::Always),
            When::IfAbsent => (Precondition::IfAbsent, Precondition::IfAbsent),
            When::IfRevision(pick) => {
                let (model, store) = self.pick(key, pick).await.unwrap_or_else(never);
                (Precondition::IfRevision(model), Precondition::IfRevision(store))
            }
        }
    }

    fn bytes(&mut self, size: usize) -> Bytes {
        self.writes += 1;
        let mut bytes = self.writes.to_le_bytes().to_vec();
        bytes.extend_from_slice(&content(self.writes, size));
        // Small ones are cut as they are: two of them may well be equal.
        bytes.truncate(size);
        bytes.into()
    }

    /// Whether the store refused what it declares to lack; the model then does not do it either.
    fn refused<T>(&self, ability: Option<Ability>, answer: &Result<T, StoreError>) -> bool {
        let refusal =
            matches!(answer, Err(StoreError::Unsupported(_) | StoreError::Unrepresentable(_)));
        let beside_folder = [PUT.0, COMPLETE.0, COPY.0];
        refusal
            && ability.is_some_and(|ability| {
                self.subject.lacks(ability)
                    || beside_folder.contains(&ability)
                        && self.subject.lacks(Ability::IfAbsentBesideFolder)
            })
    }
}

const PUT: (Ability, Ability) = (Ability::PutIfAbsent, Ability::PutIfRevision);
const COMPLETE: (Ability, Ability) = (Ability::CompleteIfAbsent, Ability::CompleteIfRevision);
const COPY: (Ability, Ability) = (Ability::CopyIfAbsent, Ability::CopyIfRevision);

fn ability(when: &When, (if_absent, if_revision): (Ability, Ability)) -> Option<Ability> {
    match when {
        When::Always => None,
        When::IfAbsent => Some(if_absent),
        When::IfRevision(_) => Some(if_revision),
    }
}

fn kind<T>(answer: &Result<T, StoreError>) -> &'static str {
    match answer {
        Ok(_) => "done",
        Err(StoreError::NotFound) => "not found",
        Err(StoreError::PreconditionFailed) => "precondition failed",
        Err(_) => "failed",
    }
}

async fn pages(
    store: &dyn ObjectStore,
    prefix: &KeyPrefix,
    depth: Depth,
    limit: usize,
) -> (Vec<(String, u64)>, Vec<String>) {
    let (mut objects, mut folders) = (Vec::new(), Vec::new());
    let mut after: Option<ListToken> = None;
    loop {
        let page = store.list(prefix, depth, after.as_ref(), limit).await.unwrap();
        assert!(page.objects.len() + page.folders.len() <= limit);
        let listed =
            page.objects.iter().map(|(key, object)| (key.as_str().to_owned(), object.size));
        objects.extend(listed);
        folders.extend(page.folders.iter().map(|folder| folder.as_str().to_owned()));
        after = page.next;
        if after.is_none() {
            return (objects, folders);
        }
    }
}
