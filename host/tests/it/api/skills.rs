//! Skills over HTTP.

use axum::body::Body;
use axum::http::{Method, StatusCode};
use bailiwick::api::authority::Authority;
use bailiwick::limits::{SKILL_FILE_BYTES_MAX, SKILL_FILES_MAX};
use bailiwick::scope::WorkspaceId;
use bytes::Bytes;
use serde_json::{Value, json};

use super::{Answer, Door, Who, request};
use crate::faulty::{Fault, POISON, Plan};

const BOUNDARY: &str = "x-boundary-x";
pub(super) const PAGE: &str = "---\nname: pdf\ndescription: Fills in forms.\n---\n\n# Forms\n";

type Files<'a> = &'a [(&'a str, &'a [u8])];

/// A body as a browser or curl makes it of files.
pub(crate) fn multipart(files: Files<'_>) -> Vec<u8> {
    let mut body = Vec::new();
    for (path, bytes) in files {
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{path}\"; filename=\"x\"\r\nContent-Type: application/octet-stream\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    body
}

pub(crate) fn content_type() -> String {
    format!("multipart/form-data; boundary={BOUNDARY}")
}

impl Door {
    fn author(&self) -> Who {
        self.who("author", &[Authority::SkillsWrite])
    }

    async fn send_version(&self, who: &Who, path: &str, body: impl Into<Body>) -> Answer {
        let request = request(who, Method::PUT, path).header("content-type", content_type());
        self.send(request.body(body.into()).unwrap()).await
    }

    pub(super) async fn publish(&self, files: Files<'_>) -> Answer {
        let path = self.in_workspace("/skills/pdf/versions");
        self.send_version(&self.author(), &path, multipart(files)).await
    }

    async fn put_json(&self, who: &Who, path: &str, body: &Value) -> Answer {
        let request = request(who, Method::PUT, path).header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_string())).unwrap()).await
    }

    async fn blobs(&self) -> usize {
        use bailiwick::scope::Deletion;
        use bailiwick::store::{Depth, ObjectStore as _};
        let mut count = 0;
        for prefix in Deletion::Workspace(self.workspace).prefixes() {
            let listing = self.world.store.list(&prefix, Depth::All, None, 1_000).await;
            count += listing.unwrap().objects.len();
        }
        count
    }
}

/// What is published is listed, shown and read, byte for byte; the same files are no new version.
#[tokio::test]
async fn a_skill_is_published_listed_and_read() {
    let door = Door::new().await;
    let binary = [0_u8, 13, 10, 45, 45, 255];
    let files: Files<'_> =
        &[("SKILL.md", PAGE.as_bytes()), ("scripts/a b%.bin", &binary), ("empty", b"")];
    let made = door.publish(files).await;
    assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
    let version = made.json();
    assert_eq!((&version["version"], &version["files"]), (&json!(1), &json!(3)), "{version}");
    assert_eq!(version["description"], "Fills in forms.");
    let again = door.publish(files).await;
    assert_eq!((again.status, again.json()), (StatusCode::OK, version.clone()));
    let changed = door.publish(&[("SKILL.md", PAGE.as_bytes()), ("a", b"new")]).await;
    assert_eq!((changed.status, &changed.json()["version"]), (StatusCode::CREATED, &json!(2)));

    let reader = door.who("reader", &[Authority::SkillsRead]);
    let get = async |below: &str| door.get(&reader, &door.in_workspace(below)).await;
    let listed = get("/skills?limit=1").await.json();
    assert_eq!((&listed["items"][0]["version"], &listed["next"]), (&json!(2), &json!("pdf")));
    let versions = get("/skills/pdf/versions?limit=1").await.json();
    assert_eq!((&versions["items"][0]["version"], &versions["next"]), (&json!(2), &json!(2)));
    let first = get("/skills/pdf/versions?before=2").await.json();
    assert_eq!((&first["items"], &first["next"]), (&json!([version]), &Value::Null));
    let shown = get("/skills/pdf/versions/1").await.json();
    assert_eq!(shown["contents"][2]["path"], "scripts/a b%.bin", "{shown}");
    let read = get("/skills/pdf/versions/1/files/scripts/a%20b%25.bin").await;
    assert_eq!(read.body, binary.as_slice());
    assert_eq!(read.field("x-content-type-options"), "nosniff");
    assert_eq!(get("/skills/pdf/versions/1/files/empty").await.body, "");
    let part =
        request(&reader, Method::GET, &door.in_workspace("/skills/pdf/versions/1/files/SKILL.md"));
    let part = door.send(part.header("range", "bytes=4-12").body(Body::empty()).unwrap()).await;
    assert_eq!((part.status, &part.body[..]), (StatusCode::PARTIAL_CONTENT, &b"name: pdf"[..]));
    for nothing in [
        "/skills/pdf/versions/3",
        "/skills/csv/versions",
        "/skills/csv/versions/1",
        "/skills/pdf/versions/1/files/a",
        "/skills/pdf/versions/2/files/empty",
    ] {
        assert_eq!(get(nothing).await.status, StatusCode::NOT_FOUND, "{nothing}");
    }
    for wrong in [
        "/skills/PDF/versions",
        "/skills/pdf/versions/01",
        "/skills/pdf/versions/+1",
        "/skills/pdf/versions/latest",
        "/skills/pdf/versions/1/files/../SKILL.md",
        "/skills/pdf/versions/1/files//SKILL.md",
        "/skills?of=mine",
        "/skills?limit=0",
    ] {
        assert_eq!(get(wrong).await.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
    let gone = door.ask(&door.author(), Method::DELETE, &door.in_workspace("/skills/pdf")).await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    assert_eq!(get("/skills").await.json()["items"], json!([]));
    assert_eq!(get("/skills/pdf/versions/1").await.status, StatusCode::NOT_FOUND);
}

/// What is no skill is refused with the reason, and makes no version.
#[tokio::test]
async fn what_is_no_skill_is_refused() {
    let door = Door::new().await;
    let page = PAGE.as_bytes();
    let (large, fits) = (vec![0; SKILL_FILE_BYTES_MAX + 1], vec![0; SKILL_FILE_BYTES_MAX]);
    let cases: [(Files<'_>, StatusCode, &str); 14] = [
        (&[], StatusCode::UNPROCESSABLE_ENTITY, "SKILL.md"),
        (&[("readme.md", page)], StatusCode::UNPROCESSABLE_ENTITY, "SKILL.md"),
        (&[("skill.md", page)], StatusCode::UNPROCESSABLE_ENTITY, "SKILL.md"),
        (&[("docs/SKILL.md", page)], StatusCode::UNPROCESSABLE_ENTITY, "SKILL.md"),
        (&[("SKILL.md", b"# Forms")], StatusCode::UNPROCESSABLE_ENTITY, "`name`"),
        (
            &[("SKILL.md", b"---\nname: csv\ndescription: x\n---\n")],
            StatusCode::UNPROCESSABLE_ENTITY,
            "called `csv`",
        ),
        (
            &[("SKILL.md", page), ("a", b"1"), ("a", b"1")],
            StatusCode::UNPROCESSABLE_ENTITY,
            "twice",
        ),
        (&[("SKILL.md", page), ("../a", b"1")], StatusCode::BAD_REQUEST, ".."),
        (&[("SKILL.md", page), ("/a", b"1")], StatusCode::BAD_REQUEST, "/"),
        (&[("SKILL.md", page), ("a\\b", b"1")], StatusCode::BAD_REQUEST, "segments"),
        (&[("SKILL.md", page), ("a//b", b"1")], StatusCode::BAD_REQUEST, "empty"),
        (&[("SKILL.md", page), ("a/", b"1")], StatusCode::BAD_REQUEST, "/"),
        (&[("SKILL.md", page), (".bailiwick-x", b"1")], StatusCode::BAD_REQUEST, "bailiwick"),
        (&[("SKILL.md", page), ("a", &large)], StatusCode::PAYLOAD_TOO_LARGE, "larger than"),
    ];
    for (files, status, told) in cases {
        let paths: Vec<_> = files.iter().map(|(path, _)| path).collect();
        let refused = door.publish(files).await;
        assert_eq!(refused.status, status, "{paths:?}: {refused:?}");
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(told), "{paths:?}: {detail}");
    }
    let names: Vec<_> = (0..SKILL_FILES_MAX).map(|number| format!("f{number}")).collect();
    let mut files: Vec<(&str, &[u8])> = vec![("SKILL.md", page)];
    files.extend(names.iter().map(|name| (name.as_str(), b"x".as_slice())));
    assert_eq!(door.publish(&files).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    let reader = door.who("reader", &[Authority::SkillsRead]);
    let listed = door.get(&reader, &door.in_workspace("/skills")).await.json();
    assert_eq!(listed["items"], json!([]), "nothing was published");
    // As many as may be, and as large.
    files.pop();
    files[1].1 = &fits;
    let made = door.publish(&files).await;
    assert_eq!(
        (made.status, &made.json()["files"]),
        (StatusCode::CREATED, &json!(SKILL_FILES_MAX))
    );
}

/// A body that is cut, or is no such body, makes no version, however it comes; nor does one that
/// would be held in memory without end.
#[tokio::test]
async fn a_cut_body_makes_no_version() {
    let door = Door::new().await;
    let whole = multipart(&[("SKILL.md", PAGE.as_bytes()), ("a", b"text")]);
    let path = door.in_workspace("/skills/pdf/versions");
    let author = door.author();
    for length in 0..whole.len() - 3 {
        let cut = door.send_version(&author, &path, whole[..length].to_vec()).await;
        assert_eq!(cut.status, StatusCode::BAD_REQUEST, "{length}: {cut:?}");
    }
    let broken = futures::stream::iter([
        Ok(Bytes::copy_from_slice(&whole[..whole.len() / 2])),
        Err(std::io::Error::other("cut")),
    ]);
    let broken = door.send_version(&author, &path, Body::from_stream(broken)).await;
    assert_eq!((broken.status, &broken.json()["code"]), (StatusCode::BAD_REQUEST, &json!("cut")));
    let plain = request(&author, Method::PUT, &path).body(Body::from(whole.clone())).unwrap();
    assert_eq!(door.send(plain).await.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);

    // A head, and what comes before the first part, without an end.
    let endless = |start: String| {
        let start = futures::stream::iter([Ok::<_, std::io::Error>(Bytes::from(start))]);
        let rest = std::iter::repeat_with(|| Ok(Bytes::from_static(&[b'x'; 16 << 10])));
        let bounded = futures::stream::iter(
            rest.take(1_000)
                .chain(std::iter::repeat_with(|| panic!("the body was read on and on"))),
        );
        Body::from_stream(futures::StreamExt::chain(start, bounded))
    };
    for start in [format!("--{BOUNDARY}\r\nContent-Disposition: "), String::new()] {
        let refused = door.send_version(&author, &path, endless(start)).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{refused:?}");
    }
    let long = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n");
    let refused = door.send_version(&author, &path, endless(long)).await;
    assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE, "{refused:?}");

    // Whole, in pieces of a byte each.
    let pieces = whole.iter().map(|byte| Ok::<_, std::io::Error>(Bytes::from(vec![*byte])));
    let pieces: Vec<_> = pieces.collect();
    let pieces = Body::from_stream(futures::stream::iter(pieces));
    let made = door.send_version(&author, &path, pieces).await;
    assert_eq!((made.status, &made.json()["version"]), (StatusCode::CREATED, &json!(1)));
}

/// Skills of a workspace are its own: others see and change nothing of them, and who may only see
/// them changes nothing.
#[tokio::test]
async fn skills_are_seen_and_changed_with_their_authorities() {
    let door = Door::new().await;
    door.publish(&[("SKILL.md", PAGE.as_bytes())]).await;
    let path = door.in_workspace("/skills/pdf/versions");
    let body = multipart(&[("SKILL.md", PAGE.as_bytes()), ("b", b"2")]);
    let reader = door.who("reader", &[Authority::SkillsRead, Authority::Admin]);
    let foreign = WorkspaceId(super::nobodys());
    for who in [
        reader,
        Who { workspace: Some(foreign), ..door.author() },
        Who { workspace: None, ..door.author() },
        Who { agents: Some(vec![door.agent]), ..door.author() },
    ] {
        let refused = door.send_version(&who, &path, body.clone()).await;
        assert_eq!(refused.status, StatusCode::NOT_FOUND, "{who:?}");
    }
    assert_eq!(door.blobs().await, 1, "nothing was stored");
}

/// An agent is given skills of its own workspace and of the platform's, in the order in which they
/// are bound.
#[tokio::test]
async fn an_agent_is_given_skills() {
    let door = Door::new().await;
    door.publish(&[("SKILL.md", PAGE.as_bytes())]).await;
    let platform = door.catalog.make_workspace(&"platform".parse().unwrap()).await.unwrap().id();
    let publisher = Who { workspace: Some(platform), ..door.author() };
    let theirs = format!("/v1/workspaces/{platform}/skills/pdf/versions");
    let body = multipart(&[("SKILL.md", PAGE.as_bytes()), ("theirs", b"x")]);
    assert_eq!(door.send_version(&publisher, &theirs, body).await.status, StatusCode::CREATED);

    let admin = door.who("root", &[Authority::Admin, Authority::SkillsRead]);
    let (given, one) = (door.in_agent("/skills"), door.in_agent("/skills/pdf"));
    let platforms = json!({ "of": "platform" });
    let early = door.put_json(&admin, &one, &platforms).await;
    assert_eq!((early.status, &early.json()["code"]), (StatusCode::NOT_FOUND, &json!("skill")));
    let root = Who { workspace: None, ..door.who("root", &[Authority::Admin]) };
    let nowhere = json!({ "workspace": super::nobodys() });
    let refused = door.put_json(&root, "/v1/platform-workspace", &nowhere).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{refused:?}");
    let nothing = door.put_json(&root, "/v1/platform-workspace", &json!({})).await;
    assert_eq!(nothing.status, StatusCode::BAD_REQUEST, "what is left out is not taken for nobody");
    let chosen = json!({ "workspace": platform.0 });
    let set = door.put_json(&root, "/v1/platform-workspace", &chosen).await;
    assert_eq!(set.status, StatusCode::NO_CONTENT);
    let shown = door.get(&root, "/v1/platform-workspace").await.json();
    assert_eq!(shown["workspace"], json!(platform.0));
    let listed = door.get(&admin, &door.in_workspace("/skills?of=platform")).await.json();
    assert_eq!(listed["items"][0]["files"], 2, "{listed}");

    assert_eq!(door.put_json(&admin, &one, &platforms).await.status, StatusCode::NO_CONTENT);
    let own = json!({ "version": 1 });
    assert_eq!(door.put_json(&admin, &one, &own).await.status, StatusCode::NO_CONTENT);
    let listed = door.get(&admin, &given).await.json();
    let expected = json!([
        { "slug": "pdf", "of": "platform", "version": null, "sent": 1 },
        { "slug": "pdf", "of": "workspace", "version": 1, "sent": null },
    ]);
    assert_eq!(listed["items"], expected);
    for wrong in [json!({ "version": 2 }), json!({ "version": 0 })] {
        assert_eq!(door.put_json(&admin, &one, &wrong).await.status, StatusCode::NOT_FOUND);
    }
    for wrong in [json!({ "version": -1 }), json!({ "of": "all" }), json!({ "slug": "x" })] {
        assert_eq!(door.put_json(&admin, &one, &wrong).await.status, StatusCode::BAD_REQUEST);
    }
    let take = async |query: &str| door.ask(&admin, Method::DELETE, &format!("{one}{query}")).await;
    assert_eq!(take("?of=platform").await.status, StatusCode::NO_CONTENT);
    assert_eq!(take("?of=platform").await.status, StatusCode::NOT_FOUND);
    let listed = door.get(&admin, &given).await.json();
    assert_eq!(listed["items"][0]["sent"], 1, "{listed}");
    // Who may change skills does not thereby say who is given them.
    let author = door.put_json(&door.author(), &one, &own).await;
    assert_eq!(author.status, StatusCode::NOT_FOUND);
}

/// Whatever fails below, no answer about a skill says what, and nothing is published by halves.
#[tokio::test]
async fn no_answer_about_a_skill_holds_what_failed_below() {
    let door = Door::new().await;
    door.publish(&[("SKILL.md", PAGE.as_bytes())]).await;
    let reader = door.who("reader", &[Authority::SkillsRead]);
    for (fault, text) in [(Fault::Before, b"1"), (Fault::After, b"2")] {
        door.world.store.plan(Plan::Every(fault));
        let published = door.publish(&[("SKILL.md", PAGE.as_bytes()), ("a", text)]).await;
        assert_eq!(published.status, StatusCode::SERVICE_UNAVAILABLE, "{published:?}");
        let path = door.in_workspace("/skills/pdf/versions/1/files/SKILL.md");
        let read = door.get(&reader, &path).await;
        // What a file is, is known before the store is asked; then it breaks off.
        assert_eq!(read.body, "");
        for answer in [published, read] {
            let (all, id) = (answer.all(), door.workspace.to_string());
            for word in POISON.into_iter().chain([id.as_str()]) {
                assert!(!all.contains(word), "{word}: {all}");
            }
        }
        door.world.store.plan(Plan::None);
        let listed = door.get(&reader, &door.in_workspace("/skills")).await.json();
        assert_eq!(listed["items"][0]["version"], 1, "{listed}");
    }
}
