use std::time::{Duration, Instant};

use bailiwick::space::{Error, ErrorCode, Matches, Search, Space};
use bailiwick::store::Precondition;

use super::{World, put};

async fn page(space: &Space, search: Search<'_>) -> Result<Matches, Error> {
    space.search(search).await
}

async fn all(space: &Space, mut search: Search<'_>) -> Vec<(String, u32)> {
    let (mut found, mut after) = (Vec::new(), None::<String>);
    for _ in 0..10_000 {
        search.after = None;
        let matches = page(space, Search { after: after.as_deref(), ..search }).await.unwrap();
        assert!(matches.found.len() <= search.limit as usize);
        found.extend(matches.found.into_iter().map(|found| (found.path, found.line)));
        match matches.next {
            Some(next) => after = Some(next),
            None => return found,
        }
    }
    panic!("the search does not end")
}

fn search<'a>(folder: &'a str, pattern: &'a str) -> Search<'a> {
    Search { folder, glob: None, pattern, after: None, limit: 1000 }
}

/// Each match is found once, whatever the page: in many files, and many in one file.
#[tokio::test]
async fn every_match_is_found_once() {
    let space = World::new().space();
    let mut expected = Vec::new();
    for file in 0..600 {
        let path = format!("session/{file:03}.txt");
        let lines = if file == 300 { 500 } else { 1 };
        let text: String = (0..lines).map(|line| format!("no\nhit {line}\n")).collect();
        put(&space, &path, &text).await;
        expected.extend((0..lines).map(|line| (path.clone(), 2 * line as u32 + 2)));
    }
    for limit in [1000, 7] {
        assert_eq!(all(&space, Search { limit, ..search("session", "^hit") }).await, expected);
    }
}

/// A long file is read a bounded number of bytes a call, and lines keep their numbers.
#[tokio::test]
async fn a_long_file_is_searched_over_several_calls() {
    let space = World::new().space();
    let line = format!("{}\n", "x".repeat(1023));
    let mut writer = space.open_writer("session/long", Precondition::Always).await.unwrap();
    for _ in 0..10 {
        writer.write(line.repeat(4 << 10).into()).await.unwrap();
    }
    writer.write("needle".into()).await.unwrap();
    writer.finish().await.unwrap();
    let first = page(&space, search("session", "needle")).await.unwrap();
    assert!(first.found.is_empty() && first.next.is_some(), "a page may be empty and not last");
    assert_eq!(
        all(&space, search("session", "needle")).await,
        [("session/long".to_owned(), 40_961)]
    );
}

/// A glob narrows as in `.gitignore`; binary files are passed over.
#[tokio::test]
async fn a_glob_narrows_by_path() {
    let space = World::new().space();
    for path in ["session/a.md", "session/b.txt", "session/docs/c.md", "session/docs/deep/d.md"] {
        put(&space, path, "hit").await;
    }
    space
        .write("session/e.md", vec![0, b'h', b'i', b't'].into(), Precondition::Always)
        .await
        .unwrap();
    for (glob, files) in [
        ("*.md", vec!["session/a.md", "session/docs/c.md", "session/docs/deep/d.md"]),
        ("/*.md", vec!["session/a.md"]),
        ("docs/", vec!["session/docs/c.md", "session/docs/deep/d.md"]),
        ("docs/**/*.md", vec!["session/docs/c.md", "session/docs/deep/d.md"]),
        ("*.{txt,rst}", vec!["session/b.txt"]),
        ("nothing", vec![]),
    ] {
        let found = all(&space, Search { glob: Some(glob), ..search("session/", "hit") }).await;
        let found: Vec<_> = found.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(found, files, "{glob}");
    }
}

/// A hostile pattern is refused in words, at once.
#[tokio::test]
async fn a_hostile_pattern_is_refused() {
    let space = World::new().space();
    put(&space, "session/a", &"a".repeat(1 << 16)).await;
    let long = "a".repeat(1 << 20);
    let nested = "(".repeat(2000) + &")".repeat(2000);
    for (pattern, code) in [
        ("(", ErrorCode::Invalid),
        ("(?<n>a)\\k<n>", ErrorCode::Invalid),
        (nested.as_str(), ErrorCode::Invalid),
        ("((a{1000}){1000}){1000}", ErrorCode::TooLarge),
        (long.as_str(), ErrorCode::TooLarge),
    ] {
        let error = page(&space, search("session", pattern)).await.unwrap_err();
        assert_eq!(error.code, code, "{pattern:.20}: {error}");
        assert!(error.message.len() <= 1024);
    }
    assert!(all(&space, search("session", "(a*)*$")).await.len() == 1, "linear time");
    let bad_glob = Search { glob: Some("a{b"), ..search("session", "a") };
    assert_eq!(page(&space, bad_glob).await.unwrap_err().code, ErrorCode::Invalid);
}

/// A search's cursor belongs to its search.
#[tokio::test]
async fn a_cursor_of_another_search_is_refused() {
    let space = World::new().space();
    put(&space, "session/a", "x\nx\n").await;
    let first = page(&space, Search { limit: 1, ..search("session", "x") }).await.unwrap();
    let after = first.next.as_deref();
    assert!(after.is_some());
    page(&space, Search { after, ..search("session", "x") }).await.unwrap();
    for other in [
        search("session", "y"),
        Search { glob: Some("*"), ..search("session", "x") },
        search("", "x"),
    ] {
        page(&space, Search { after, ..other }).await.unwrap_err();
    }
}

/// The slowest pattern on the longest lines keeps no thread from others, and each call ends soon.
#[tokio::test]
async fn a_slow_pattern_stops_nobody_and_ends_soon() {
    let space = World::new().space();
    let line: String = letters().take(1 << 20).collect();
    put(&space, "session/line", &line).await;
    let matches = alone_for_moments(async move {
        page(&space, search("session", "(?-u)[ab]*a[ab]{3000}c")).await.unwrap()
    });
    let matches = matches.await;
    assert!(matches.found.is_empty() && matches.next.is_some(), "it ends before its megabyte");
}

/// A slow glob on the longest paths does not either.
#[tokio::test]
async fn a_slow_glob_stops_nobody() {
    let space = World::new().space();
    let mut letters = letters();
    for _ in 0..250 {
        let mut segment = || (&mut letters).take(250).collect::<String>();
        put(&space, &format!("session/{}/{}/{}", segment(), segment(), segment()), "hit").await;
    }
    let glob = format!("*a{}*a{}*", "{a,b,aa}".repeat(230), "{b,ab,bb}".repeat(220));
    let slow = Search { glob: Some(&glob), ..search("session", "hit") };
    let matches = alone_for_moments(async { page(&space, slow).await.unwrap() }).await;
    assert!(matches.next.is_none(), "all paths were looked at");
}

/// `a` and `b` without order.
fn letters() -> impl Iterator<Item = char> {
    let mut seed = 1_u64;
    std::iter::repeat_with(move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if seed >> 33 & 1 == 0 { 'a' } else { 'b' }
    })
}

/// Runs a call, and fails if it keeps its thread for long.
async fn alone_for_moments<T>(call: impl Future<Output = T>) -> T {
    let mut call = std::pin::pin!(call);
    std::future::poll_fn(|context| {
        let started = Instant::now();
        let polled = call.as_mut().poll(context);
        assert!(started.elapsed() < Duration::from_millis(500), "{:?}", started.elapsed());
        polled
    })
    .await
}

/// A long line is shown once, whichever of its parts match.
#[tokio::test]
async fn a_long_line_is_found_once() {
    let space = World::new().space();
    let long = "x hit ".repeat(50_000);
    put(&space, "session/a", &format!("{long}\nhit\n{long}\nhit")).await;
    for limit in [1000, 1] {
        let found = all(&space, Search { limit, ..search("session", "hit") }).await;
        assert_eq!(found, [1, 2, 3, 4].map(|line| ("session/a".to_owned(), line)));
    }
}
