use super::{Lineage, Lineages, WriteId};
use crate::scope::ObjectKey;
use crate::store::Revision;

fn id(number: u16) -> WriteId {
    let [high, low] = number.to_be_bytes();
    WriteId([0, 0, 0, 0, high, low])
}

fn grown(writes: u16) -> Lineage {
    let first = Lineage::from_nothing(id(0));
    (1..writes).fold(first, |lineage, number| lineage.followed_by(id(number)))
}

/// What stands in metadata is read back as it was written.
#[test]
fn a_lineage_survives_metadata() {
    let lineages = [grown(1), grown(3), grown(200), grown(201), Lineage::unconditional(id(7))];
    for lineage in lineages {
        assert_eq!(Lineage::parse(&lineage.to_string()), lineage);
    }
    assert!(grown(1000).to_string().len() < 1700);
}

/// Metadata that somebody else wrote says nothing, and breaks nothing.
#[test]
fn foreign_metadata_is_no_lineage() {
    let long = "01234567".repeat(201);
    let texts = ["", ".", "x", "0123456", "012345678", "0123 567", "0123456=", "..", "éééé", &long];
    let first =
        ["01234567.", ".01234567", "01234567.0123456", "01234567.01234567.", "01234567..01234567"];
    for text in texts.into_iter().chain(first) {
        assert_eq!(Lineage::parse(text), Lineage::default(), "{text:?}");
    }
}

/// A lineage that was cut short still names the write that found nothing there, and no longer
/// claims to name all that came after.
#[test]
fn a_lineage_that_was_cut_is_not_complete() {
    assert!(grown(200).is_complete());
    for writes in [202, 1000] {
        let cut = Lineage::parse(&grown(writes).to_string());
        assert!(!cut.is_complete());
        assert!(!cut.contains(id(1)));
        assert_eq!(cut.first(), Some(id(0)));
        assert!(cut.contains(id(0)));
    }
}

/// The lineage of an earlier revision is still known after later ones were seen, in any order.
#[test]
fn the_lineage_of_an_earlier_revision_is_known() {
    let (key, revision) = (ObjectKey::layout_marker(), |n: u16| Revision(n.to_string()));
    let lineages = Lineages::new();
    for write in [1, 3, 2] {
        lineages.saw(&key, &revision(write), &grown(write + 1));
    }
    assert_eq!(lineages.newest(&key), Some(id(3)));
    assert_eq!(lineages.of(&key, &revision(2)), Some(grown(3)));
    assert_eq!(lineages.of(&key, &revision(9)), None);
}
