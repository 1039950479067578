use super::{DISPLACED, DiskName, NAME_BYTES_MAX, Read, read};

/// A name is on disk as it is, and escaped only where some filesystem refuses it.
#[test]
fn names_stay_readable() {
    let table = [
        ("report..final.md", "report..final.md"),
        ("a b+c#d[...slug]", "a b+c#d[...slug]"),
        ("日本語 😀", "日本語 😀"),
        ("a%", "a%25"),
        ("%2F", "%252F"),
        ("a:b?", "a%3Ab%3F"),
        ("ends.", "ends%2E"),
        ("ends ", "ends%20"),
        ("...", "..%2E"),
        ("CON", "%43ON"),
        ("com1.txt", "%63om1.txt"),
        ("console", "console"),
        (".bailiwick-layout", ".bailiwick-layout"),
    ];
    for (segment, name) in table {
        assert_eq!(DiskName::of(segment).plain(), name);
        assert_eq!(read(name), Some(Read::Segment(segment.to_owned())));
    }
}

/// A name too long for a filesystem, once escaped and marked, is stored under its hash.
#[test]
fn a_long_name_is_stored_under_its_hash() {
    for segment in ["x".repeat(255), "%".repeat(85), "é".repeat(127) + "x"] {
        let name = DiskName::of(&segment);
        assert!(name.plain().starts_with("%long-"), "{name:?}");
        let (beside, held) = name.beside().unwrap();
        assert_eq!(held, segment);
        assert_eq!(read(name.plain()), Some(Read::Beside(beside.clone())));
        assert_eq!(read(&beside), None, "the file beside it stands for nothing");
    }
    assert_eq!(DiskName::of(&"x".repeat(254)).beside(), None);
}

/// What this store did not name is not its own.
#[test]
fn foreign_names_are_not_read() {
    for name in ["a%", "%", "%4", "%zz", "%41", "a?", "ends.", "CON", "%2f", "%long-12", "%FF"] {
        assert_eq!(read(name), None, "{name}");
    }
}

proptest::proptest! {
    /// Every segment has a name of its own, none of them ends in the mark of a displaced file,
    /// and all are short enough for one.
    #[test]
    fn every_segment_comes_back(segment in "[^/\\x00]{1,80}|[%a.: ]{1,6}") {
        let name = DiskName::of(&segment);
        proptest::prop_assert!(name.plain().len() <= NAME_BYTES_MAX);
        proptest::prop_assert!(!name.plain().ends_with(DISPLACED));
        match read(name.plain()) {
            Some(Read::Segment(read)) => proptest::prop_assert_eq!(read, segment),
            Some(Read::Beside(_)) => proptest::prop_assert_eq!(name.beside().unwrap().1, segment),
            None => proptest::prop_assert!(false, "not read: {}", name.plain()),
        }
    }
}
