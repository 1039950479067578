//! Every legal name is held as it is.

use std::collections::BTreeSet;

use bailiwick::store::{Depth, Precondition, StoreError};
use bytes::Bytes;

use super::{Ability, Place, Subject, read_whole};

/// Names that something between here and a disk may want to understand.
fn awkward() -> Vec<String> {
    let plain = [
        " leading and trailing ",
        "  ",
        "100%",
        "a%",
        "a%2Fb",
        "%2F",
        "%2e%2e",
        "%25",
        "%",
        "%%",
        "%hash",
        "a%/b%/c%",
        "plus+plus",
        "hash#hash",
        "question?mark=1&b=2",
        "[...slug]",
        "report..final.md",
        "...",
        "..a",
        "a..",
        ".hidden",
        "ends in a dot.",
        "ends in a space ",
        "CON",
        "aux.txt",
        "com1/LPT1.md",
        "a:b",
        "C:",
        "a*b|c<d>e\"f",
        "'quoted' \"twice\" `thrice`",
        "$HOME ~ !x; rm -rf",
        "-rf",
        "--",
        "@",
        "&amp;",
        "<xml/>",
        "日本語/ファイル.md",
        "العربية",
        "😀/👩‍👩‍👧‍👦.png",
        "\u{202e}txt.exe",
        "\u{200b}",
        "\u{feff}bom",
        "\u{fffd}",
        "\u{fffe}",
        "\u{10ffff}",
        "bailiwick-layout",
        "x.bailiwick-tmp",
        "sessions/agents/workspaces",
        "_SUCCESS",
        "null",
    ];
    let long = [
        "x".repeat(255),
        "%".repeat(255),
        "é".repeat(127),
        "😀".repeat(63),
        format!("{}.", "y".repeat(254)),
        format!("{}/{}/{}", "d".repeat(255), "e".repeat(255), "f".repeat(255)),
        format!("{}/g", "%".repeat(254)),
        "h/".repeat(383) + "hh",
    ];
    plain.map(str::to_owned).into_iter().chain(long).collect()
}

/// Each legal name, all beside one another, holds its own bytes under every verb.
pub(crate) async fn every_legal_name_is_held(subject: &Subject) {
    let place = Place::new();
    let mut names = awkward();
    if subject.lacks(Ability::NamesBeyondXml) {
        let put =
            subject.store.put(&place.key("\u{fffe}"), "x".into(), &Precondition::Always).await;
        assert!(subject.offered(Ability::NamesBeyondXml, put).is_none());
        names.retain(|name| !name.contains('\u{fffe}'));
    }
    for name in &names {
        let put = subject
            .store
            .put(&place.key(name), Bytes::from(name.clone()), &Precondition::IfAbsent)
            .await;
        match subject.offered(Ability::PutIfAbsent, put) {
            Some(put) => drop(put.unwrap_or_else(|error| panic!("{name:?}: {error:?}"))),
            None => drop(subject.put(&place.key(name), name.clone()).await),
        }
    }
    for name in &names {
        assert_eq!(read_whole(&*subject.store, &place.key(name)).await, name, "{name:?}");
    }
    let (objects, _) = subject.list_all(&place.folder(""), Depth::All, 7).await;
    subject.assert_listed(place.rests(&objects), names.clone());

    let (objects, folders) = subject.list_all(&place.folder(""), Depth::Children, 5).await;
    let files = names.iter().filter(|name| !name.contains('/')).cloned().collect();
    subject.assert_listed(place.rests(&objects), files);
    let parents: BTreeSet<_> =
        names.iter().filter_map(|name| Some(format!("{}/", name.split_once('/')?.0))).collect();
    subject.assert_listed(place.folder_rests(&folders), parents.into_iter().collect());

    copy_and_delete(subject, &place, &names).await;
}

async fn copy_and_delete(subject: &Subject, place: &Place, names: &[String]) {
    let other = Place::new();
    for name in names {
        let (source, target) = (place.key(name), other.key(name));
        subject.store.copy(&source, None, &target, &Precondition::Always).await.unwrap();
        subject.store.delete(&source, &Precondition::Always).await.unwrap();
        assert_eq!(read_whole(&*subject.store, &target).await, name, "{name:?}");
    }
    let (objects, folders) = subject.list_all(&place.folder(""), Depth::Children, 10).await;
    assert!(objects.is_empty() && folders.is_empty(), "{objects:?} {folders:?}");
    let keys: Vec<_> = names.iter().map(|name| other.key(name)).collect();
    subject.store.delete_many(&keys).await.unwrap();
    let (objects, _) = subject.list_all(&other.folder(""), Depth::All, 10).await;
    assert!(objects.is_empty(), "{objects:?}");
}

/// Names that differ in case or normalization alone are two files, or the second is refused;
/// never does one answer for the other.
pub(crate) async fn twins_are_two_or_refused(subject: &Subject) {
    let twins = [
        (Ability::CaseTwins, "Readme.md", "README.md"),
        (Ability::CaseTwins, "Folder/file", "folder/file"),
        (Ability::NormalizationTwins, "caf\u{e9}", "cafe\u{301}"),
        (Ability::NormalizationTwins, "\u{212b}/x", "\u{c5}/x"),
    ];
    for (ability, first, second) in twins {
        let place = Place::new();
        subject.put(&place.key(first), first).await;
        let absent = subject.store.head(&place.key(second)).await;
        assert!(matches!(absent, Err(StoreError::NotFound)), "{second}: {absent:?}");
        let put = subject.store.put(&place.key(second), second.into(), &Precondition::Always).await;
        let mut names = vec![first.to_owned()];
        if let Some(put) = subject.offered(ability, put) {
            put.unwrap();
            assert_eq!(read_whole(&*subject.store, &place.key(second)).await, second);
            names.push(second.to_owned());
        }
        assert_eq!(read_whole(&*subject.store, &place.key(first)).await, first);
        let (objects, _) = subject.list_all(&place.folder(""), Depth::All, 10).await;
        subject.assert_listed(place.rests(&objects), names);
    }
}

/// The longest legal path, 768 bytes below its scope, is held.
pub(crate) async fn the_longest_key_is_held(subject: &Subject) {
    let place = Place::new();
    let longest = format!("{}/{}/{}", "a".repeat(255), "b".repeat(255), "c".repeat(255));
    let longest = format!("{longest}/");
    assert_eq!(longest.len(), 768);
    let longest = longest.replacen("aaa/", "aa/", 1) + "d";
    let key = place.key(&longest);
    subject.put(&key, "held").await;
    assert_eq!(read_whole(&*subject.store, &key).await, "held");
    let (objects, _) = subject.list_all(&place.folder(""), Depth::All, 1).await;
    assert_eq!(place.rests(&objects), [longest]);
    subject.store.delete(&key, &Precondition::Always).await.unwrap();
}

/// Files and the folders of their names come and go in any order, and none takes another along.
pub(crate) async fn files_and_folders_of_one_name_come_in_any_order(subject: &Subject) {
    let names = ["a", "a/b", "a/b/c", "a%", "a%/b"];
    let mut orders = vec![names.to_vec()];
    for turn in 1..names.len() {
        let mut order = names.to_vec();
        order.rotate_left(turn);
        orders.push(order.clone());
        order.reverse();
        orders.push(order);
    }
    for order in orders {
        let place = Place::new();
        for name in &order {
            subject.put(&place.key(name), *name).await;
        }
        let mut left: Vec<_> = order.iter().map(|name| (*name).to_owned()).collect();
        while let Some(gone) = left.pop() {
            for name in left.iter().chain([&gone]) {
                assert_eq!(read_whole(&*subject.store, &place.key(name)).await, name);
            }
            subject.store.delete(&place.key(&gone), &Precondition::Always).await.unwrap();
            let (objects, _) = subject.list_all(&place.folder(""), Depth::All, 2).await;
            subject.assert_listed(place.rests(&objects), left.clone());
        }
    }
}
