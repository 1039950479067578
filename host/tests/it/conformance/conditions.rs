//! Conditions hold when a change takes effect, whoever else is at it.

use std::collections::HashSet;
use std::sync::Arc;

use bailiwick::store::{Object, ObjectStore, Precondition, Revision, StoreError};
use bytes::Bytes;
use tokio::task::JoinSet;

use super::{Ability, Place, Subject, read_whole};

/// Of fifty that create one object at once, one does, and its bytes stay.
pub(crate) async fn one_of_fifty_racers_creates(subject: &Subject) {
    let key = Place::new().key("raced");
    if subject.lacks(Ability::PutIfAbsent) {
        let put = subject.store.put(&key, "x".into(), &Precondition::IfAbsent).await;
        assert!(subject.offered(Ability::PutIfAbsent, put).is_none());
        return;
    }
    let mut racers = JoinSet::new();
    for racer in 0..50 {
        let (store, key) = (Arc::clone(&subject.store), key.clone());
        racers.spawn(async move {
            let bytes = Bytes::from(format!("racer {racer}"));
            (store.put(&key, bytes.clone(), &Precondition::IfAbsent).await, bytes)
        });
    }
    assert_one_won(subject, &key, racers).await;
}

/// Of fifty that replace one revision at once, one does, and its bytes stay.
pub(crate) async fn one_of_fifty_racers_replaces(subject: &Subject) {
    let key = Place::new().key("raced");
    let first = subject.put(&key, "first").await;
    let when = Precondition::IfRevision(first.revision);
    if subject.lacks(Ability::PutIfRevision) {
        let put = subject.store.put(&key, "x".into(), &when).await;
        assert!(subject.offered(Ability::PutIfRevision, put).is_none());
        return;
    }
    let mut racers = JoinSet::new();
    for racer in 0..50 {
        let (store, key, when) = (Arc::clone(&subject.store), key.clone(), when.clone());
        racers.spawn(async move {
            let bytes = Bytes::from(format!("racer {racer}"));
            (store.put(&key, bytes.clone(), &when).await, bytes)
        });
    }
    assert_one_won(subject, &key, racers).await;
}

async fn assert_one_won(
    subject: &Subject,
    key: &bailiwick::scope::ObjectKey,
    mut racers: JoinSet<(Result<Object, StoreError>, Bytes)>,
) {
    let mut winners = Vec::new();
    while let Some(racer) = racers.join_next().await {
        match racer.unwrap() {
            (Ok(object), bytes) => winners.push((object, bytes)),
            (Err(StoreError::PreconditionFailed), _) => {}
            (Err(error), _) => panic!("a racer failed: {error:?}"),
        }
    }
    assert_eq!(winners.len(), 1, "{winners:?}");
    assert_eq!(read_whole(&*subject.store, key).await, winners[0].1);
    assert_eq!(subject.store.head(key).await.unwrap().revision, winners[0].0.revision);
}

/// Counters that read, add and put back by revision lose no increment.
pub(crate) async fn increments_by_revision_lose_none(subject: &Subject) {
    const TASKS: u32 = 10;
    const EACH: u32 = 10;
    if subject.lacks(Ability::PutIfRevision) {
        return;
    }
    let key = Place::new().key("counter");
    subject.put(&key, "0").await;
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let (store, key) = (Arc::clone(&subject.store), key.clone());
        tasks.spawn(async move {
            for _ in 0..EACH {
                while !increment(&*store, &key).await {}
            }
        });
    }
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
    assert_eq!(read_whole(&*subject.store, &key).await, (TASKS * EACH).to_string());
}

async fn increment(store: &dyn ObjectStore, key: &bailiwick::scope::ObjectKey) -> bool {
    let (object, bytes) = store.get(key, 0..20, None).await.unwrap();
    let count: u32 = std::str::from_utf8(&bytes).unwrap().parse().unwrap();
    let next = Bytes::from((count + 1).to_string());
    match store.put(key, next, &Precondition::IfRevision(object.revision)).await {
        Ok(_) => true,
        Err(StoreError::PreconditionFailed) => false,
        Err(error) => panic!("{error:?}"),
    }
}

/// A condition that does not hold is told, and changes nothing; one that holds is obeyed.
pub(crate) async fn what_does_not_hold_changes_nothing(subject: &Subject) {
    let place = Place::new();
    let (there, absent) = (place.key("there"), place.key("absent"));
    let first = subject.put(&there, "first").await;
    let second = subject.put(&there, "second").await;
    let stale = Precondition::IfRevision(first.revision);
    let current = Precondition::IfRevision(second.revision.clone());

    let refused = [
        (Ability::PutIfAbsent, &there, Precondition::IfAbsent),
        (Ability::PutIfRevision, &there, stale.clone()),
        (Ability::PutIfRevision, &there, Precondition::IfRevision(Revision("nonsense".into()))),
    ];
    for (ability, key, when) in refused {
        let put = subject.store.put(key, "never".into(), &when).await;
        let Some(put) = subject.offered(ability, put) else { continue };
        assert!(matches!(put, Err(StoreError::PreconditionFailed)), "{when:?}: {put:?}");
    }
    let delete = subject.store.delete(&there, &stale).await;
    if let Some(delete) = subject.offered(Ability::DeleteIfRevision, delete) {
        assert!(matches!(delete, Err(StoreError::PreconditionFailed)), "{delete:?}");
    }
    let put = subject.store.put(&absent, "never".into(), &stale).await;
    if let Some(put) = subject.offered(Ability::PutIfRevision, put) {
        assert!(subject.refused_or_open(&put), "{put:?}");
    }
    let delete = subject.store.delete(&absent, &stale).await;
    if let Some(delete) = subject.offered(Ability::DeleteIfRevision, delete) {
        let is_refused = matches!(delete, Err(StoreError::PreconditionFailed));
        let is_told_as_done = delete.is_ok() && subject.lacks(Ability::WhoDeleted);
        assert!(is_refused || is_told_as_done, "{delete:?}");
    }
    let delete = subject.store.delete(&there, &Precondition::IfAbsent).await;
    assert!(matches!(delete, Err(StoreError::PreconditionFailed)), "{delete:?}");
    assert_eq!(subject.store.head(&there).await.unwrap().revision, second.revision);
    assert!(matches!(subject.store.head(&absent).await, Err(StoreError::NotFound)));

    let put = subject.store.put(&absent, "created".into(), &Precondition::IfAbsent).await;
    subject.offered(Ability::PutIfAbsent, put).map(Result::unwrap);
    let delete = subject.store.delete(&there, &current).await;
    if let Some(delete) = subject.offered(Ability::DeleteIfRevision, delete) {
        delete.unwrap();
        assert!(matches!(subject.store.head(&there).await, Err(StoreError::NotFound)));
    }
}

/// Changes of the same size in quick succession all have revisions of their own.
pub(crate) async fn every_change_of_bytes_changes_the_revision(subject: &Subject) {
    let place = Place::new();
    let (key, other) = (place.key("file"), place.key("other"));
    let mut revisions = HashSet::new();
    for change in 0..100 {
        let put = subject.put(&key, format!("{change:08}")).await;
        assert!(revisions.insert(put.revision.clone()), "{change}: {put:?}");
        if change % 10 == 0 {
            subject.store.delete(&key, &Precondition::Always).await.unwrap();
        }
        if change % 10 == 5 {
            subject.put(&other, format!("{:08}", change + 1_000)).await;
            let copied = subject.store.copy(&other, None, &key, &Precondition::Always).await;
            assert!(revisions.insert(copied.unwrap().revision), "a copy kept the revision");
        }
    }
}

/// When one deletes a revision and others replace it, exactly one of them has done so.
pub(crate) async fn one_of_deleting_and_replacing_wins(subject: &Subject) {
    if subject.lacks(Ability::DeleteIfRevision) || subject.lacks(Ability::PutIfRevision) {
        return;
    }
    let place = Place::new();
    for round in 0..10 {
        let key = place.key(&format!("round-{round}"));
        let first = subject.put(&key, "first").await;
        let mut racers = JoinSet::new();
        for racer in 0..6 {
            let (store, key) = (Arc::clone(&subject.store), key.clone());
            let when = Precondition::IfRevision(first.revision.clone());
            racers.spawn(async move {
                match racer {
                    0..3 => store.delete(&key, &when).await.map(|()| None),
                    _ => store.put(&key, "later".into(), &when).await.map(Some),
                }
            });
        }
        let answers = racers.join_all().await;
        let won: Vec<_> = answers.into_iter().filter_map(Result::ok).collect();
        let all_deleted = won.len() > 1 && won.iter().all(Option::is_none);
        let one_won = won.len() == 1 || (all_deleted && subject.lacks(Ability::WhoDeleted));
        assert!(one_won, "{won:?}");
        let head = subject.store.head(&key).await.ok();
        assert_eq!(head.map(|head| head.revision), won[0].clone().map(|put| put.revision));
    }
}
