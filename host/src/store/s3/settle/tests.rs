use std::time::Duration;

use super::Outcome::{Applied, NotApplied, Unknown};
use super::{Change, Intent, Lineage, Outcome, Seen, WriteId};
use crate::store::{Object, Precondition, Revision};

const NOW_MS: u64 = 1_000_000_000;

fn seen(lineage: Lineage, age_ms: u64) -> Seen {
    let revision = Revision("there".to_owned());
    let object = Object { revision, size: 1, modified_ms: NOW_MS - age_ms };
    Seen { object, lineage, server_ms: Some(NOW_MS) }
}

fn judged(intent: &Intent, lineage: Lineage, age_ms: u64) -> Outcome {
    intent.judge(Some(&seen(lineage, age_ms)), Duration::from_millis(500))
}

fn ids() -> [WriteId; 3] {
    std::array::from_fn(|_| WriteId::random())
}

/// A write is found although others have built upon it since.
#[test]
fn a_write_is_found_below_later_ones() {
    let [mine, later, latest] = ids();
    let when = Precondition::IfRevision(Revision("gone".to_owned()));
    let intent = Intent { change: Change::Write(mine), when, base: None, latest: None };
    let lineage = Lineage::unconditional(mine).followed_by(later).followed_by(latest);
    assert_eq!(judged(&intent, lineage, 0), Applied);
}

/// A write that is missing between what its writer knew and what is there was not made.
#[test]
fn a_write_that_is_missing_was_not_made() {
    let [mine, base, other] = ids();
    let when = Precondition::IfRevision(Revision("gone".to_owned()));
    let intent = Intent { change: Change::Write(mine), when, base: Some(base), latest: None };
    assert_eq!(judged(&intent, Lineage::unconditional(base).followed_by(other), 0), NotApplied);
    let absent = Intent { when: Precondition::IfAbsent, base: None, ..intent };
    assert_eq!(judged(&absent, Lineage::from_nothing(other), 0), NotApplied);
}

/// A write onto what was not there any more was not made, if what had been seen last is there.
#[test]
fn what_is_there_as_before_was_not_replaced() {
    let [mine, latest, other] = ids();
    let when = Precondition::IfRevision(Revision("gone".to_owned()));
    let change = Change::Write(mine);
    let intent = Intent { change, when, base: None, latest: Some(latest) };
    let lineage = Lineage::unconditional(latest);
    assert_eq!(judged(&intent, lineage.clone(), 0), NotApplied);
    assert_eq!(judged(&intent, lineage.followed_by(other), 0), NotApplied);
    assert_eq!(judged(&intent, Lineage::unconditional(other), 0), Unknown);
}

/// Of the writes that found nothing there, the one that led to what is there stays known,
/// however many came after.
#[test]
fn the_first_write_is_known_behind_any_number() {
    let [mine, other, _] = ids();
    let when = Precondition::IfAbsent;
    let intent = Intent { change: Change::Write(mine), when, base: None, latest: None };
    for (first, outcome) in [(mine, Applied), (other, NotApplied)] {
        let first = Lineage::from_nothing(first);
        let long = (0..300).fold(first, |lineage, _| lineage.followed_by(WriteId::random()));
        assert_eq!(judged(&intent, long, 0), outcome);
    }
}

/// Where somebody wrote regardless of what was there, in the same moments, nothing is certain.
#[test]
fn a_write_that_may_have_been_overwritten_is_unknown() {
    let [mine, base, other] = ids();
    for when in [Precondition::Always, Precondition::IfAbsent] {
        let intent = Intent { change: Change::Write(mine), when, base: Some(base), latest: None };
        assert_eq!(judged(&intent, Lineage::unconditional(other), 0), Unknown);
    }
}

/// What had been there for longer than the write has been on its way did not replace it.
#[test]
fn an_old_object_did_not_replace_a_new_write() {
    let [mine, _, other] = ids();
    let intent = Intent {
        change: Change::Write(mine),
        when: Precondition::Always,
        base: None,
        latest: None,
    };
    assert_eq!(judged(&intent, Lineage::unconditional(other), 60_000), NotApplied);
    assert_eq!(judged(&intent, Lineage::default(), 3_400), Unknown);
}

/// The time of an object that was uploaded in parts proves nothing.
#[test]
fn an_upload_in_parts_is_not_dated_by_its_time() {
    let [mine, ..] = ids();
    let intent = Intent {
        change: Change::Write(mine),
        when: Precondition::Always,
        base: None,
        latest: None,
    };
    let mut there = seen(Lineage::default(), 60_000);
    there.object.revision = Revision("there-2".to_owned());
    assert_eq!(intent.judge(Some(&there), Duration::ZERO), Unknown);
}

/// An object that vanished may have been the write's own.
#[test]
fn a_vanished_object_leaves_a_conditional_write_unknown() {
    let [mine, base, _] = ids();
    let when = Precondition::IfRevision(Revision("gone".to_owned()));
    let intent = Intent { change: Change::Write(mine), when, base: Some(base), latest: None };
    assert_eq!(intent.judge(None, Duration::ZERO), Unknown);
}

/// A deletion is done when nothing is there, or something that was made where nothing was.
#[test]
fn a_deletion_is_known_by_what_follows_it() {
    let [base, other, _] = ids();
    let intent = Intent {
        change: Change::Delete,
        when: Precondition::Always,
        base: Some(base),
        latest: None,
    };
    assert_eq!(intent.judge(None, Duration::ZERO), Applied);
    assert_eq!(judged(&intent, Lineage::from_nothing(other), 0), Applied);
    assert_eq!(judged(&intent, Lineage::unconditional(base).followed_by(other), 0), NotApplied);
    assert_eq!(judged(&intent, Lineage::unconditional(other), 0), Unknown);
    assert_eq!(judged(&intent, Lineage::unconditional(other), 60_000), NotApplied);
}
