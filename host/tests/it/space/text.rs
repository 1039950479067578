use bailiwick::limits::TEXT_SLICE_BYTES_MAX;
use bailiwick::space::{ErrorCode, Position, Space};
use proptest::prelude::*;

use super::{World, put};

async fn whole(space: &Space, path: &str, lines: u32) -> String {
    let (mut text, mut start) = (String::new(), Position::Line(1));
    loop {
        let slice = space.read_text(path, start, lines).await.unwrap();
        assert!(slice.text.len() <= TEXT_SLICE_BYTES_MAX);
        text.push_str(&slice.text);
        match slice.next {
            Some(next) => start = Position::Offset(next),
            None => return text,
        }
    }
}

/// Lines are counted from 1; past the end there are none.
#[tokio::test]
async fn lines_begin_where_they_are_asked_for() {
    let space = World::new().space();
    put(&space, "session/a", "one\ntwo\n\nfour").await;
    for (line, text) in
        [(1, "one\n"), (2, "two\n"), (3, "\n"), (4, "four"), (5, ""), (u32::MAX, "")]
    {
        let slice = space.read_text("session/a", Position::Line(line), 1).await.unwrap();
        assert_eq!(slice.text, text, "line {line}");
        assert_eq!(slice.next.is_none(), line >= 4, "line {line}");
    }
    for (start, lines) in [(Position::Line(0), 1), (Position::Line(1), 0)] {
        let error = space.read_text("session/a", start, lines).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Invalid);
    }
    let end = space.read_text("session/a", Position::Offset(u64::MAX), u32::MAX).await.unwrap();
    assert_eq!((end.text.as_str(), end.next), ("", None));
}

/// A line over the bound is cut between characters, and the rest is found where `next` says.
#[tokio::test]
async fn a_long_line_is_cut_between_characters() {
    let space = World::new().space();
    let text = format!("x{}\nend", "🦀".repeat(TEXT_SLICE_BYTES_MAX / 2));
    put(&space, "session/a", &text).await;
    assert_eq!(whole(&space, "session/a", 7).await, text);
    let inside = space.read_text("session/a", Position::Offset(2), 1).await.unwrap_err();
    assert_eq!((inside.code, inside.reason), (ErrorCode::Invalid, "offset"));
}

/// What is not UTF-8 text has none, and the answer says why.
#[tokio::test]
async fn binary_files_have_no_text() {
    let space = World::new().space();
    for (path, bytes) in
        [("session/a", &b"\xff\xfe"[..]), ("session/b", b"a\0b"), ("session/c.pdf", b"%PDF\x80")]
    {
        space
            .write(path, bytes.to_vec().into(), bailiwick::store::Precondition::Always)
            .await
            .unwrap();
        let error = space.read_text(path, Position::Line(1), 9).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::NoText);
        assert_eq!(error.message.contains("document"), path.ends_with("pdf"), "{error}");
    }
    let error = space.read_text("session/missing.pdf", Position::Line(1), 9).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Slices, however many lines each, are the text and nothing else.
    #[test]
    fn slices_make_the_text(text in "([aé🦀]{0,3}\n){0,20}[aé]{0,3}", lines in 1u32..5) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let space = World::new().space();
            put(&space, "session/a", &text).await;
            assert_eq!(whole(&space, "session/a", lines).await, text);
            for (index, line) in text.split_inclusive('\n').enumerate() {
                let start = Position::Line(index as u32 + 1);
                assert_eq!(space.read_text("session/a", start, 1).await.unwrap().text, line);
            }
        });
    }
}
