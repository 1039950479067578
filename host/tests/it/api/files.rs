use axum::body::Body;
use axum::http::{Method, StatusCode};
use bailiwick::limits;
use bytes::Bytes;
use serde_json::json;

use super::{Answer, Door, Who, request};
use crate::faulty::{Fault, POISON, Plan};

async fn with(
    door: &Door,
    who: &Who,
    method: Method,
    path: &str,
    fields: &[(&str, &str)],
) -> Answer {
    let mut request = request(who, method, path);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    door.send(request.body(Body::from("new")).unwrap()).await
}

/// A file goes in, is seen the same by every verb, and comes out.
#[tokio::test]
async fn a_file_goes_in_and_comes_out_over_http() {
    let door = Door::new().await;
    let ann = door.ann();
    let path = door.in_session("/files/session/notes%20%231.txt");
    let put = door.put(&ann, &path, "0123456789").await;
    assert_eq!(put.status, StatusCode::CREATED, "{put:?}");
    let file = put.json();
    assert_eq!(file["path"], "session/notes #1.txt");
    assert_eq!((&file["size"], &file["media_type"]), (&json!(10), &json!("text/plain")));
    let tag = format!("\"{}\"", file["revision"].as_str().unwrap());
    assert_eq!(put.field("etag"), tag);

    let got = door.get(&ann, &path).await;
    assert_eq!((got.status, &got.body[..]), (StatusCode::OK, b"0123456789".as_slice()));
    assert_eq!(got.field("etag"), tag);
    assert_eq!(got.field("content-type"), "text/plain; charset=utf-8");
    assert_eq!(got.field("content-disposition"), "inline; filename=\"notes #1.txt\"");
    assert_eq!(got.field("x-content-type-options"), "nosniff");
    let looked = door.ask(&ann, Method::HEAD, &path).await;
    assert_eq!((looked.status, looked.field("content-length")), (StatusCode::OK, "10"));
    for name in
        ["etag", "content-type", "last-modified", "accept-ranges", "content-security-policy"]
    {
        assert_eq!(looked.field(name), got.field(name), "{name}");
    }
    let list = door.get(&ann, &door.in_session("/files?folder=session")).await.json();
    assert_eq!(list["files"], json!([file]));

    let again = door.put(&ann, &path, "again").await;
    assert_eq!(again.status, StatusCode::OK);
    assert_ne!(again.field("etag"), tag);
    assert_eq!(door.ask(&ann, Method::DELETE, &path).await.status, StatusCode::NO_CONTENT);
    assert_eq!(door.get(&ann, &path).await.status, StatusCode::NOT_FOUND);
    assert_eq!(door.ask(&ann, Method::DELETE, &path).await.status, StatusCode::NOT_FOUND);
}

/// One range is answered with just that; one beyond the end is told how long the file is.
#[tokio::test]
async fn a_range_is_answered_with_what_there_is_of_it() {
    let door = Door::new().await;
    let ann = door.ann();
    let path = door.in_session("/files/session/a");
    let put = door.put(&ann, &path, "0123456789").await;
    for (range, status, shown, body) in [
        ("bytes=2-4", StatusCode::PARTIAL_CONTENT, "bytes 2-4/10", "234"),
        ("bytes=-2", StatusCode::PARTIAL_CONTENT, "bytes 8-9/10", "89"),
        ("bytes=8-99", StatusCode::PARTIAL_CONTENT, "bytes 8-9/10", "89"),
        ("bytes=1-2,4-5", StatusCode::OK, "", "0123456789"),
        ("bytes=5-2", StatusCode::OK, "", "0123456789"),
    ] {
        let got = with(&door, &ann, Method::GET, &path, &[("range", range)]).await;
        assert_eq!((got.status, got.field("content-range")), (status, shown), "{range}");
        assert_eq!(got.body, body, "{range}");
        assert_eq!(got.field("content-length"), body.len().to_string());
    }
    let beyond = with(&door, &ann, Method::GET, &path, &[("range", "bytes=10-")]).await;
    assert_eq!(beyond.status, StatusCode::RANGE_NOT_SATISFIABLE);
    assert_eq!(beyond.field("content-range"), "bytes */10");
    for (tag, status) in [(put.field("etag"), 206), ("\"other\"", 200)] {
        let fields = [("range", "bytes=0-1"), ("if-range", tag)];
        let got = with(&door, &ann, Method::GET, &path, &fields).await;
        assert_eq!(got.status.as_u16(), status, "{tag}");
    }
}

/// What a request is conditional on holds when it takes effect, or nothing changes.
#[tokio::test]
async fn conditions_hold_or_nothing_changes() {
    let door = Door::new().await;
    let ann = door.ann();
    let path = door.in_session("/files/session/a");
    let absent = [("if-none-match", "*")];
    let put = async |fields: &[(&str, &str)]| with(&door, &ann, Method::PUT, &path, fields).await;
    let old = put(&absent).await;
    assert_eq!(old.status, StatusCode::CREATED);
    assert_eq!(put(&absent).await.status, StatusCode::PRECONDITION_FAILED);
    let tag = old.field("etag").to_owned();
    assert_eq!(put(&[("if-match", "\"other\"")]).await.status, StatusCode::PRECONDITION_FAILED);
    assert_eq!(put(&[("if-match", "r")]).await.status, StatusCode::BAD_REQUEST);
    let several = format!("\"other\", {tag}");
    let newer = put(&[("if-match", &several)]).await;
    assert_eq!(newer.status, StatusCode::OK);
    assert_eq!(put(&[("if-match", &tag)]).await.status, StatusCode::PRECONDITION_FAILED);

    let tag = newer.field("etag").to_owned();
    let get = async |fields: &[(&str, &str)]| with(&door, &ann, Method::GET, &path, fields).await;
    let known = get(&[("if-none-match", &tag)]).await;
    assert_eq!((known.status, known.body.len()), (StatusCode::NOT_MODIFIED, 0));
    assert_eq!(known.field("etag"), tag);
    assert_eq!(get(&[("if-match", "\"other\"")]).await.status, StatusCode::PRECONDITION_FAILED);
    let delete =
        async |fields: &[(&str, &str)]| with(&door, &ann, Method::DELETE, &path, fields).await;
    assert_eq!(delete(&[("if-match", "\"other\"")]).await.status, StatusCode::PRECONDITION_FAILED);
    assert_eq!(delete(&[("if-match", &tag)]).await.status, StatusCode::NO_CONTENT);
}

/// A copy to a longer-lived scope is a promotion, with both rights; conditions are the target's.
#[tokio::test]
async fn copies_and_moves_need_both_rights() {
    let door = Door::new().await;
    let ann = door.ann();
    door.put(&ann, &door.in_session("/files/session/a"), "text").await;
    let way = |to: &str| json!({ "from": "session/a", "to": to });
    let copy = door.in_session("/copy");
    let copied = door.post(&ann, &copy, &way("agent/a")).await;
    assert_eq!((copied.status, &copied.json()["path"]), (StatusCode::CREATED, &json!("agent/a")));
    // The settings say that agents only read what the workspace shares.
    assert_eq!(door.post(&ann, &copy, &way("workspace/a")).await.status, StatusCode::NOT_FOUND);
    door.open_workspace().await;
    assert_eq!(door.post(&ann, &copy, &way("workspace/a")).await.status, StatusCode::CREATED);
    let reader = door.who("ann", &[]);
    assert_eq!(door.post(&reader, &copy, &way("agent/b")).await.status, StatusCode::NOT_FOUND);
    let back = json!({ "from": "agent/a", "to": "session/b" });
    assert_eq!(door.post(&reader, &copy, &back).await.status, StatusCode::NOT_FOUND);

    let moved = door.post(&ann, &door.in_session("/move"), &way("session/c")).await;
    assert_eq!(moved.status, StatusCode::CREATED, "{moved:?}");
    assert_eq!(
        door.get(&ann, &door.in_session("/files/session/a")).await.status,
        StatusCode::NOT_FOUND
    );
    let got = door.get(&ann, &door.in_agent("/files/agent/a")).await;
    assert_eq!(got.body, "text");
    let got = door.get(&ann, &door.in_workspace("/files/workspace/a")).await;
    assert_eq!(got.body, "text");
    for bad in [
        json!({}),
        json!({ "from": "session/c" }),
        json!([]),
        json!({ "from": "a", "to": "b", "x": 1 }),
    ] {
        assert_eq!(door.post(&ann, &copy, &bad).await.status, StatusCode::BAD_REQUEST, "{bad}");
    }
    let onto_itself = json!({ "from": "session/c", "to": "session/c" });
    assert_eq!(door.post(&ann, &copy, &onto_itself).await.status, StatusCode::BAD_REQUEST);
}

/// Pages show each file once, over all scopes or one, and say where the caller may write.
#[tokio::test]
async fn a_listing_goes_on_by_its_cursor_and_says_where_to_write() {
    let door = Door::new().await;
    let ann = door.ann();
    for path in ["session/a", "session/b/c", "agent/d", "session/e"] {
        door.put(&ann, &door.in_session(&format!("/files/{path}")), "x").await;
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = door
            .get(&ann, &door.in_session(&format!("/files?depth=all&limit=1{cursor}")))
            .await
            .json();
        seen.extend(
            page["files"]
                .as_array()
                .unwrap()
                .iter()
                .map(|file| file["path"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(seen, ["agent/d", "session/a", "session/b/c", "session/e"]);
    let folder = door.get(&ann, &door.in_session("/files?folder=session/")).await.json();
    assert_eq!(folder["folders"], json!(["session/b/"]));
    let scopes = |writable: &[bool]| -> serde_json::Value {
        let names = ["session", "agent", "workspace"].iter().zip(writable);
        names.map(|(name, writable)| json!({ "scope": name, "writable": writable })).collect()
    };
    assert_eq!(folder["scopes"], scopes(&[true, true, false]));
    door.open_workspace().await;
    let root = door.get(&ann, &door.in_session("/files")).await.json();
    assert_eq!(
        (&root["scopes"], &root["folders"]),
        (&scopes(&[true, true, true]), &json!(["agent/", "session/", "workspace/"]))
    );
    for bad in [
        "?limit=0",
        "?limit=1001",
        "?limit=x",
        "?cursor=abc",
        "?depth=deep",
        "?fold=x",
        "?folder=a&folder=b",
        "?folder=session/../agent",
    ] {
        let refused = door.get(&ann, &door.in_session(&format!("/files{bad}"))).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{bad}");
    }
}

/// A path has one spelling, decoded once; what breaks a rule is refused and never repaired.
#[tokio::test]
async fn hostile_paths_are_refused() {
    let door = Door::new().await;
    let ann = door.ann();
    door.put(&ann, &door.in_session("/files/session/a"), "secret").await;
    for path in [
        "/files/session/%2e%2e/agent/x",
        "/files/session/../session/a",
        "/files/session/./a",
        "/files/session/%2E/a",
        "/files/session//a",
        "/files//session/a",
        "/files/session/a/",
        "/files/session/a%00",
        "/files/session/%0a",
        "/files/session/x%2fa",
        "/files/session/x%2Fa",
        "/files/session/x%5ca",
        "/files/session/%ff",
        "/files/session",
        "/files/%2e%2e",
        "/files/skill",
        "/files/nowhere/a",
        "/files/session/.bailiwick-x",
    ] {
        for method in [Method::GET, Method::PUT, Method::DELETE, Method::HEAD] {
            let answer = door.ask(&ann, method.clone(), &door.in_session(path)).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{method} {path}: {answer:?}");
        }
    }
    // What was encoded twice is the name that it says after one decoding.
    let twice = door.put(&ann, &door.in_session("/files/session/%252e%252e"), "x").await;
    assert_eq!(twice.json()["path"], "session/%2e%2e");
    let long = "x".repeat(256);
    let refused = door.put(&ann, &door.in_session(&format!("/files/session/{long}")), "x").await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
}

/// What would run in a browser is sent as bytes to save.
#[tokio::test]
async fn a_page_that_somebody_wrote_is_not_shown() {
    let door = Door::new().await;
    let ann = door.ann();
    for name in ["a.html", "a.svg", "a.xhtml", "a.xml", "a.js", "a.htm", "a.HTML", "a.css"] {
        let path = door.in_session(&format!("/files/session/{name}"));
        door.put(&ann, &path, "<script>alert(1)</script>").await;
        let got = door.get(&ann, &path).await;
        assert_eq!(got.field("content-type"), "application/octet-stream", "{name}");
        assert!(got.field("content-disposition").starts_with("attachment"), "{name}");
        assert!(got.field("content-security-policy").contains("sandbox"), "{name}");
        assert_eq!(got.field("x-content-type-options"), "nosniff", "{name}");
    }
}

/// A file whose name does not say what it is is taken for what its first bytes say, where that is
/// only looked at; a name goes before bytes, and what runs in a browser stays bytes. It costs no
/// request of the store's more.
#[tokio::test]
async fn first_bytes_say_what_a_name_does_not() {
    let door = Door::new().await;
    let ann = door.ann();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR and more".as_slice();
    let page = b"<!DOCTYPE html><script>alert(1)</script>".as_slice();
    let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>".as_slice();
    let (unknown, saved) = ("application/octet-stream", "attachment");
    let mut calls = Vec::new();
    for (name, bytes, media_type, kind) in [
        ("picture.png", png, "image/png", "inline"),
        ("picture", png, "image/png", "inline"),
        ("picture.html", png, unknown, saved),
        ("page", page, unknown, saved),
        ("page.png", page, "image/png", "inline"),
        ("drawing", svg, unknown, saved),
        ("empty", b"", unknown, saved),
    ] {
        let path = door.in_session(&format!("/files/session/{name}"));
        door.put(&ann, &path, bytes).await;
        let before = door.world.store.calls();
        let got = door.get(&ann, &path).await;
        calls.push(door.world.store.calls() - before);
        assert_eq!((got.field("content-type"), &got.body[..]), (media_type, bytes), "{name}");
        assert!(got.field("content-disposition").starts_with(kind), "{name}");
        assert_eq!(got.field("x-content-type-options"), "nosniff", "{name}");
        let looked = door.ask(&ann, Method::HEAD, &path).await;
        assert_eq!(looked.field("content-type"), media_type, "{name}");
    }
    assert!(calls.iter().all(|count| *count == calls[0]), "{calls:?}");
    let long = [png, [b'x'; 200_000].as_slice()].concat();
    for name in ["long.png", "long"] {
        door.put(&ann, &door.in_session(&format!("/files/session/{name}")), long.clone()).await;
    }
    let after = limits::SNIFF_BYTES as usize;
    for part in [3..6, 0..long.len(), after - 2..after + 2, after..after + 9, 150_000..200_001] {
        let asked = format!("bytes={}-{}", part.start, part.end - 1);
        let mut calls = Vec::new();
        for name in ["long.png", "long"] {
            let path = door.in_session(&format!("/files/session/{name}"));
            let before = door.world.store.calls();
            let got = with(&door, &ann, Method::GET, &path, &[("range", &asked)]).await;
            calls.push(door.world.store.calls() - before);
            assert_eq!(got.field("content-type"), "image/png");
            assert_eq!(got.status, StatusCode::PARTIAL_CONTENT);
            assert!(got.body == long[part.clone()], "{asked} of {name}");
        }
        assert!(calls[1] <= calls[0], "{asked}: {calls:?}");
    }
}

/// A part of a file, or a coding of it, is not taken for the file.
#[tokio::test]
async fn what_is_not_the_whole_file_is_refused() {
    let door = Door::new().await;
    let ann = door.ann();
    let path = door.in_session("/files/session/a");
    let part = with(&door, &ann, Method::PUT, &path, &[("content-range", "bytes 0-2/9")]).await;
    assert_eq!(part.status, StatusCode::BAD_REQUEST);
    let coded = with(&door, &ann, Method::PUT, &path, &[("content-encoding", "gzip")]).await;
    assert_eq!(coded.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let dated = [("if-unmodified-since", "Sun, 06 Nov 1994 08:49:37 GMT")];
    assert_eq!(with(&door, &ann, Method::PUT, &path, &dated).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(door.get(&ann, &path).await.status, StatusCode::NOT_FOUND);
}

/// A result that fits comes back; a larger one is kept, by the bound of the settings.
#[tokio::test]
async fn a_large_result_is_spilled_over_http() {
    let door = Door::new().await;
    let ann = door.who("ann", &[]);
    let spill = door.in_session("/spill?name=report.txt");
    let small =
        door.send(request(&ann, Method::POST, &spill).body(Body::from("short")).unwrap()).await;
    assert_eq!(small.json(), json!({ "text": "short", "path": null, "size": 5 }));
    let lines = "a line of text\n".repeat(5_000);
    let large = door
        .send(request(&ann, Method::POST, &spill).body(Body::from(lines.clone())).unwrap())
        .await
        .json();
    let path = large["path"].as_str().unwrap();
    assert!(path.starts_with("session/spill/report-"), "{path}");
    assert_eq!(door.get(&ann, &door.in_session(&format!("/files/{path}"))).await.body, lines);
    door.put_settings(&json!({ "spill_bytes": { "cap": 3 } })).await;
    let spilled = door
        .send(request(&ann, Method::POST, &spill).body(Body::from("short")).unwrap())
        .await
        .json();
    assert!(spilled["path"].is_string(), "{spilled}");
    let nested = door.in_session("/spill?name=a/b");
    let nested =
        door.send(request(&ann, Method::POST, &nested).body(Body::from("x")).unwrap()).await;
    assert_eq!(nested.status, StatusCode::BAD_REQUEST);
    let huge = Body::from(Bytes::from(vec![0; (16 << 20) + 1]));
    let huge = door.send(request(&ann, Method::POST, &spill).body(huge).unwrap()).await;
    assert_eq!(huge.status, StatusCode::PAYLOAD_TOO_LARGE);
}

/// Whatever fails below, an answer says nothing of it.
#[tokio::test]
async fn no_answer_over_http_holds_what_failed_below() {
    let door = Door::new().await;
    let ann = door.ann();
    let path = door.in_session("/files/session/a");
    door.put(&ann, &path, "x").await;
    for fault in [Fault::Before, Fault::After] {
        door.world.store.plan(Plan::Every(fault));
        let answers = [
            door.get(&ann, &path).await,
            door.put(&ann, &path, "y").await,
            door.ask(&ann, Method::DELETE, &path).await,
            door.get(&ann, &door.in_session("/files?folder=session")).await,
            door.get(&ann, &door.in_session("/archive")).await,
            door.post(
                &ann,
                &door.in_session("/copy"),
                &json!({ "from": "session/a", "to": "session/b" }),
            )
            .await,
        ];
        for answer in answers {
            assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{answer:?}");
            assert_eq!(answer.field("content-type"), "application/problem+json");
            assert_eq!(answer.field("retry-after"), "1");
            let all = answer.all();
            let ids = [door.workspace.to_string(), door.agent.to_string()];
            for word in POISON.into_iter().chain(ids.iter().map(String::as_str)) {
                assert!(!all.contains(word), "{word}: {all}");
            }
        }
        door.world.store.plan(Plan::None);
    }
}

/// What is written into a thing that is deleted meanwhile is taken back, and not acknowledged.
#[tokio::test]
async fn what_is_put_into_a_thing_deleted_meanwhile_is_taken_back() {
    let door = Door::new().await;
    let ann = door.ann();
    let (catalog, session) = (door.catalog.clone(), door.session);
    // The first call looks, the second begins the upload.
    door.world.store.meanwhile(1, async move { catalog.remove_session(session).await.unwrap() });
    let put = door.put(&ann, &door.in_session("/files/session/a"), "x").await;
    assert_eq!(put.status, StatusCode::NOT_FOUND);
    let coordinates = bailiwick::scope::Coordinates {
        workspace: door.workspace,
        agent: door.agent,
        session: Some(session),
    };
    let table =
        bailiwick::scope::MountTable::new(coordinates, Default::default(), Default::default());
    let space = door.world.storage.space(table);
    assert!(space.stat("session/a").await.is_err(), "nothing is left of it");
}
