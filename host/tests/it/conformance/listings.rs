//! Listings: each file once, in byte order, page by page.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bailiwick::store::{Depth, Precondition};

use super::{Ability, Place, Subject, many};

/// Names whose order or spelling trips a store up, at one page's edge or the next.
const AWKWARD: [&str; 34] = [
    "a",
    "a b",
    "a!",
    "a%",
    "a%/b",
    "a%2Fb",
    "a-b",
    "a.b",
    "a/b",
    "a/b c",
    "a/b/c",
    "a/b-c",
    "a0",
    "a~",
    "A",
    "[...slug]",
    "report..final.md",
    "x#y",
    "x+y",
    "x=y&z",
    "x?y",
    "z/1",
    "z/10",
    "z/2",
    "z/z/z/z",
    "z-",
    "~",
    "\u{e9}",
    "\u{fffd}",
    "\u{1f600}",
    "\u{1f600}/\u{1f600}",
    "\u{10ffff}",
    "日本語/ファイル",
    "日本語",
];

fn awkward(subject: &Subject) -> Vec<String> {
    let names = AWKWARD.map(str::to_owned).to_vec();
    match subject.lacks(Ability::CaseTwins) {
        true => names.into_iter().filter(|name| name != "A").collect(),
        false => names,
    }
}

/// Whatever the page size, a listing shows each file once, in byte order of its whole key.
pub(crate) async fn every_page_size_shows_each_file_once_in_byte_order(subject: &Subject) {
    let place = Place::new();
    let names = awkward(subject);
    many(subject, &place, &names).await;
    for limit in [1, 2, 3, 7, 33, 34, 35, 1000] {
        let (objects, folders) = subject.list_all(&place.folder(""), Depth::All, limit).await;
        subject.assert_listed(place.rests(&objects), names.clone());
        assert!(folders.is_empty(), "{folders:?}");
    }
    let (objects, _) = subject.list_all(&place.folder("nothing"), Depth::All, 7).await;
    assert!(objects.is_empty());
}

/// Listings past 1,000 and 2,500 files lose none at the edges of pages.
pub(crate) async fn more_than_two_pages_of_a_thousand(subject: &Subject) {
    let place = Place::new();
    // The 999th, 1,000th and 1,001st, and the same a thousand later, are siblings of a folder.
    let mut names: Vec<String> = (0..2_600).map(|n| format!("n{n:04}")).collect();
    for edge in [998, 999, 1000, 1998, 1999, 2000, 2499] {
        names.extend(["", " b", "-b", "/b", "/b/c", "%"].map(|end| format!("n{edge:04}{end}")));
    }
    let names: Vec<String> = names.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    many(subject, &place, &names).await;
    for limit in [1000, 999, 157] {
        let (objects, _) = subject.list_all(&place.folder(""), Depth::All, limit).await;
        subject.assert_listed(place.rests(&objects), names.clone());
    }
    let (objects, folders) = subject.list_all(&place.folder(""), Depth::Children, 1000).await;
    let children = names.iter().filter(|name| !name.contains('/')).cloned().collect();
    subject.assert_listed(place.rests(&objects), children);
    assert_eq!(folders.len(), 7);
    let keys: Vec<_> = names.iter().map(|name| place.key(name)).collect();
    subject.store.delete_many(&keys).await.unwrap();
}

/// `a` may stand beside `a/b`, `a-b` and `a b`; each is listed, and read, as itself.
pub(crate) async fn a_file_and_the_folder_of_its_name_are_two(subject: &Subject) {
    let place = Place::new();
    let names = ["a", "a/b", "a-b", "a b", "a/b/c", "a%", "a%/b"].map(str::to_owned);
    many(subject, &place, &names).await;
    let (objects, _) = subject.list_all(&place.folder(""), Depth::All, 2).await;
    subject.assert_listed(place.rests(&objects), names.to_vec());
    for name in &names {
        let (_, bytes) = subject.store.get(&place.key(name), 0..99, None).await.unwrap();
        assert_eq!(bytes, name.as_bytes());
    }
    let (objects, folders) = subject.list_all(&place.folder(""), Depth::Children, 2).await;
    subject.assert_listed(
        place.rests(&objects),
        ["a", "a b", "a%", "a-b"].map(str::to_owned).to_vec(),
    );
    subject.assert_listed(place.folder_rests(&folders), ["a/", "a%/"].map(str::to_owned).to_vec());
    let (objects, _) = subject.list_all(&place.folder("a"), Depth::All, 2).await;
    subject.assert_listed(place.rests(&objects), ["a/b", "a/b/c"].map(str::to_owned).to_vec());
}

/// A listing of children shows the folders there once, however much they hold.
pub(crate) async fn children_show_each_folder_once(subject: &Subject) {
    let place = Place::new();
    let mut names: Vec<String> = (0..25).map(|n| format!("big/{n:02}")).collect();
    names.extend(["one/x/y/z", "file", "big.txt", "bi", "zed"].map(str::to_owned));
    many(subject, &place, &names).await;
    for limit in [1, 2, 3, 7, 1000] {
        let (objects, folders) = subject.list_all(&place.folder(""), Depth::Children, limit).await;
        let files = ["bi", "big.txt", "file", "zed"].map(str::to_owned).to_vec();
        subject.assert_listed(place.rests(&objects), files);
        let expected = ["big/", "one/"].map(str::to_owned).to_vec();
        subject.assert_listed(place.folder_rests(&folders), expected);
    }
    let (objects, folders) = subject.list_all(&place.folder("one"), Depth::Children, 7).await;
    assert!(objects.is_empty());
    assert_eq!(place.folder_rests(&folders), ["one/x/"]);
}

/// A token goes on behind where it stands, even when the file or folder there is gone.
pub(crate) async fn a_token_survives_deletion_of_where_it_stands(subject: &Subject) {
    for depth in [Depth::All, Depth::Children] {
        let place = Place::new();
        let names: Vec<String> = (0..9).map(|n| format!("d{n}/file")).collect();
        let flat: Vec<String> = (0..9).map(|n| format!("f{n}")).collect();
        many(subject, &place, &names).await;
        many(subject, &place, &flat).await;
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page =
                subject.store.list(&place.folder(""), depth, after.as_ref(), 2).await.unwrap();
            for (key, _) in &page.objects {
                subject.store.delete(key, &Precondition::Always).await.unwrap();
            }
            for folder in &page.folders {
                let file = place.key(&format!("{}file", place.rest(folder.as_str())));
                subject.store.delete(&file, &Precondition::Always).await.unwrap();
            }
            let mut shown = place.rests(&page.objects);
            shown.extend(place.folder_rests(&page.folders));
            shown.sort();
            seen.extend(shown);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let expected: Vec<String> = match depth {
            Depth::All => names.into_iter().chain(flat).collect(),
            Depth::Children => (0..9).map(|n| format!("d{n}/")).chain(flat).collect(),
        };
        subject.assert_listed(seen, expected);
        let (objects, folders) = subject.list_all(&place.folder(""), depth, 1000).await;
        assert!(objects.is_empty() && folders.is_empty(), "{objects:?} {folders:?}");
    }
}

/// `foo` never matches `foobar`, and one place never shows another's files.
pub(crate) async fn a_prefix_never_matches_its_neighbour(subject: &Subject) {
    let (place, other) = (Place::new(), Place::new());
    many(subject, &place, &["foo/1", "foobar/2", "foo", "foo.md"].map(str::to_owned)).await;
    many(subject, &other, &["foo/3"].map(str::to_owned)).await;
    let (objects, _) = subject.list_all(&place.folder("foo"), Depth::All, 10).await;
    assert_eq!(place.rests(&objects), ["foo/1"]);
    let (objects, folders) = subject.list_all(&place.folder("fo"), Depth::Children, 10).await;
    assert!(objects.is_empty() && folders.is_empty());
    let (objects, _) = subject.list_all(&other.folder(""), Depth::All, 10).await;
    assert_eq!(other.rests(&objects), ["foo/3"]);
}

/// Sizes, times and revisions in a listing are the ones that `head` answers.
pub(crate) async fn a_listing_says_what_head_says(subject: &Subject) {
    let place = Place::new();
    many(subject, &place, &["a", "a/b", "longer name"].map(str::to_owned)).await;
    let (objects, _) = subject.list_all(&place.folder(""), Depth::All, 10).await;
    assert_eq!(objects.len(), 3);
    for (key, listed) in objects {
        let head = subject.store.head(&key).await.unwrap();
        assert_eq!((&listed.revision, listed.size), (&head.revision, head.size), "{key:?}");
        // Servers answer times to the second here and to the millisecond there.
        assert_eq!(listed.modified_ms / 1000, head.modified_ms / 1000, "{key:?}");
    }
}

/// Files written and deleted between two pages hide none of the others.
pub(crate) async fn what_is_written_between_pages_hides_no_other(subject: &Subject) {
    let place = Place::new();
    let stay: Vec<String> = (0..20).map(|n| format!("s{n:02}/file")).collect();
    many(subject, &place, &stay).await;
    let (mut seen, mut after, mut page_number) = (Vec::new(), None, 0);
    loop {
        let page =
            subject.store.list(&place.folder(""), Depth::All, after.as_ref(), 3).await.unwrap();
        seen.extend(place.rests(&page.objects));
        let inserted = [format!("r{page_number}"), format!("s{page_number:02}"), "t".to_owned()];
        many(subject, &place, &inserted).await;
        subject.store.delete(&place.key("t"), &Precondition::Always).await.unwrap();
        page_number += 1;
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let once: BTreeSet<_> = seen.iter().collect();
    assert_eq!(once.len(), seen.len(), "a file twice: {seen:?}");
    for name in &stay {
        assert!(once.contains(name), "{name} was hidden");
    }
}

/// However often a file is replaced while a listing is made, and whatever comes and goes below
/// its name, it is there, and so it is listed: once.
pub(crate) async fn a_file_that_is_being_replaced_is_listed(subject: &Subject) {
    let place = Place::new();
    let names: Vec<String> = (0..60).map(|n| format!("n{n:02}")).collect();
    many(subject, &place, &names).await;
    let stop = Arc::new(AtomicBool::new(false));
    let churns: Vec<_> = ["n05", "n31", "n58"]
        .map(|name| {
            let (store, stop) = (Arc::clone(&subject.store), Arc::clone(&stop));
            let (file, below) = (place.key(name), place.key(&format!("{name}/below")));
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    store.put(&file, "again".into(), &Precondition::Always).await.unwrap();
                    store.put(&below, "below".into(), &Precondition::Always).await.unwrap();
                    store.delete(&below, &Precondition::Always).await.unwrap();
                }
            })
        })
        .into();
    for _ in 0..100 {
        let (objects, _) = subject.list_all(&place.folder(""), Depth::All, 7).await;
        let mut listed = place.rests(&objects);
        listed.retain(|rest| !rest.ends_with("/below"));
        subject.assert_listed(listed, names.clone());
    }
    stop.store(true, Ordering::Relaxed);
    for churn in churns {
        churn.await.unwrap();
    }
}
