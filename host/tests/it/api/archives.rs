use std::collections::BTreeMap;
use std::io::{Cursor, Read as _};

use axum::body::Body;
use axum::http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;
use zip::ZipArchive;

use super::{Door, request};
use crate::faulty::{Fault, Plan};
use crate::space::World;

fn unzip(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).unwrap();
    let mut files = BTreeMap::new();
    for at in 0..archive.len() {
        let mut file = archive.by_index(at).unwrap();
        let name = file.name().unwrap().into_owned();
        assert!(file.enclosed_name().is_some(), "{name}");
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        assert!(files.insert(name.clone(), bytes).is_none(), "{name}");
    }
    files
}

/// An archive holds each file of the folder once, whatever its name.
#[tokio::test]
async fn an_archive_holds_every_file_of_the_folder() {
    let door = Door::new().await;
    let ann = door.ann();
    let large: &'static str = String::leak("0123456789abcde\n".repeat(50_000));
    for (path, text) in [
        ("session/x/a", "file"),
        ("session/x/a/b", "below"),
        ("session/x/naïve%20文.txt", "name"),
        ("session/x/empty", ""),
        ("session/x/large", large),
        ("session/y", "beside"),
        ("agent/z", "agent"),
    ] {
        let put = door.put(&ann, &door.in_session(&format!("/files/{path}")), text).await;
        assert_eq!(put.status, StatusCode::CREATED, "{path}");
    }
    let got = door.get(&ann, &door.in_session("/archive?folder=session/x")).await;
    assert_eq!((got.status, got.field("content-type")), (StatusCode::OK, "application/zip"));
    assert_eq!(got.field("content-disposition"), "attachment; filename=\"x.zip\"");
    let files = unzip(&got.body);
    let expected = [
        ("a (file)", "file"),
        ("a/b", "below"),
        ("naïve 文.txt", "name"),
        ("empty", ""),
        ("large", large),
    ];
    let expected = expected.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
    assert_eq!(files, BTreeMap::from(expected));
    assert!(got.body.len() < large.len() / 10, "text is compressed");
    let all = unzip(&door.get(&ann, &door.in_session("/archive")).await.body);
    assert!(all.contains_key("session/y") && all.contains_key("agent/z"), "{:?}", all.keys());
    let none = door.get(&ann, &door.in_session("/archive?folder=session/none")).await;
    assert_eq!(unzip(&none.body), BTreeMap::new());
}

/// A file that fails on the way breaks the archive, wherever that is.
#[tokio::test]
async fn a_failure_on_the_way_breaks_the_archive() {
    let door = Door::new().await;
    let ann = door.ann();
    for name in ["a", "b", "c"] {
        door.put(&ann, &door.in_session(&format!("/files/session/{name}")), "text").await;
    }
    let path = door.in_session("/archive?folder=session");
    door.world.store.plan(Plan::None);
    assert_eq!(unzip(&door.get(&ann, &path).await.body).len(), 3);
    let calls = door.world.store.calls();
    for nth in 0..calls {
        door.world.store.plan(Plan::Nth(nth, Fault::Before));
        let request = request(&ann, Method::GET, &path).body(Body::empty()).unwrap();
        let response = door.router.clone().oneshot(request).await.unwrap();
        let is_refused = response.status() == StatusCode::SERVICE_UNAVAILABLE;
        let body = response.into_body().collect().await;
        assert!(is_refused || body.is_err(), "call {nth} of {calls}");
    }
}

/// So do a file that changes while it is read, and one that is deleted before it is.
#[tokio::test]
async fn a_file_deleted_meanwhile_breaks_the_archive() {
    let door = Door::over(World::new()).await;
    let ann = door.ann();
    for name in ["a", "b"] {
        door.put(&ann, &door.in_session(&format!("/files/session/{name}")), "text").await;
    }
    let (router, delete) = (door.router.clone(), door.in_session("/files/session/b"));
    let delete = request(&ann, Method::DELETE, &delete).body(Body::empty()).unwrap();
    // The first call lists, the second opens `a`.
    door.world.store.meanwhile(1, async move {
        assert_eq!(router.oneshot(delete).await.unwrap().status(), StatusCode::NO_CONTENT);
    });
    let path = door.in_session("/archive?folder=session");
    let request = request(&ann, Method::GET, &path).body(Body::empty()).unwrap();
    let response = door.router.clone().oneshot(request).await.unwrap();
    assert!(response.into_body().collect().await.is_err());
}
