//! Servers that answer what no server should: each ends in an error, soon, and in little memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick::clock::{Clock, SystemClock};
use bailiwick::store::s3::{S3Config, S3Store};
use bailiwick::store::{ObjectStore, Precondition, StoreError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::conformance::Place;
use crate::servers;

/// What is sent again and again after a beginning, if anything.
#[derive(Clone, Copy, Debug)]
pub(super) struct Script {
    pub(super) beginning: &'static str,
    pub(super) on_and_on: &'static str,
}

const MARKER: Script = Script {
    beginning: "HTTP/1.1 206 Partial Content\r\netag: \"e\"\r\ncontent-range: bytes 0-1/2\r\n\
         content-length: 2\r\n\r\n1\n",
    on_and_on: "",
};

/// Answers requests for the layout as it should, and all others by a script.
pub(super) async fn serve(script: impl Fn(&str) -> Script + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            // A connection that ends in an error is one whose client has had enough.
            tokio::spawn(answer(client, script.clone()));
        }
    });
    port
}

async fn answer(mut client: TcpStream, script: impl Fn(&str) -> Script) -> std::io::Result<()> {
    loop {
        let head = read_request(&mut client).await?;
        let is_marker = head.lines().next().is_some_and(|line| line.contains(".bailiwick-layout"));
        let script = if is_marker { MARKER } else { script(&head) };
        client.write_all(script.beginning.as_bytes()).await?;
        if !is_marker && script.on_and_on.is_empty() {
            return Ok(());
        }
        while !script.on_and_on.is_empty() {
            client.write_all(script.on_and_on.as_bytes()).await?;
        }
    }
}

async fn read_request(client: &mut TcpStream) -> std::io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    client.read_exact(&mut body).await?;
    Ok(head)
}

pub(super) async fn open(port: u16, clock: Arc<dyn Clock>) -> S3Store {
    let mut config =
        S3Config { endpoint: Some(format!("http://127.0.0.1:{port}")), ..servers::config() };
    config.tuning.attempts_max = 2;
    config.tuning.request_ms_max = 2_000;
    config.tuning.idle_ms_max = 1_000;
    S3Store::open(&config, clock).await.expect("the layout is served as it should be")
}

/// The scripts, and what a read of ten bytes makes of each.
const SCRIPTS: &[(&str, &str, &str)] = &[
    (
        "endless head",
        "HTTP/1.1 206 Partial Content\r\n",
        "x-filler: 0123456789012345678901234567\r\n",
    ),
    (
        "one endless field",
        "HTTP/1.1 206 Partial Content\r\nx-filler: ",
        "0123456789012345678901234567",
    ),
    (
        "endless body",
        "HTTP/1.1 206 Partial Content\r\netag: \"e\"\r\ncontent-range: bytes 0-9/10\r\n\
             transfer-encoding: chunked\r\n\r\n",
        "10\r\n0123456789abcdef\r\n",
    ),
    ("endless refusal", "HTTP/1.1 400 Bad Request\r\n\r\n<Error><Code>Odd</Code>", "<x>&amp;</x>"),
    ("endless code", "HTTP/1.1 503 Unavailable\r\n\r\n<Error><Code>", "SlowDown"),
    (
        "a body that ends early",
        "HTTP/1.1 206 Partial Content\r\netag: \"e\"\r\ncontent-range: bytes 0-9/10\r\n\
             content-length: 10\r\n\r\n01234",
        "",
    ),
    (
        "a length that is another one",
        "HTTP/1.1 206 Partial Content\r\netag: \"e\"\r\ncontent-range: bytes 0-9/10\r\n\
             content-length: 5\r\n\r\n01234",
        "",
    ),
    (
        "a length beyond all numbers",
        "HTTP/1.1 200 OK\r\netag: \"e\"\r\ncontent-length: 99999999999999999999999\r\n\r\n",
        "",
    ),
    (
        "another range",
        "HTTP/1.1 206 Partial Content\r\netag: \"e\"\r\ncontent-range: bytes 10-19/20\r\n\
             content-length: 10\r\n\r\n0123456789",
        "",
    ),
    ("no revision", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n0123456789", ""),
    ("an answer to nothing", "HTTP/1.1 100 Continue\r\n\r\n", ""),
    ("no HTTP", "220 mail.example.com ESMTP\r\n", ""),
    ("nothing", "", ""),
];

/// Whatever it answers, a read and a write end in an error that says that storage failed, and
/// soon.
#[tokio::test]
async fn a_hostile_server_is_given_up() {
    for (name, beginning, on_and_on) in SCRIPTS {
        let port = serve(move |_| Script { beginning, on_and_on }).await;
        let store = open(port, Arc::new(SystemClock)).await;
        let key = Place::new().key("file");
        let started = Instant::now();
        let read = store.get(&key, 0..10, None).await;
        assert!(matches!(read, Err(StoreError::Unavailable { .. })), "{name}: {read:?}");
        // The others have heads that make sense, and no more is read of such answers.
        if !beginning.contains("etag") {
            let looked = store.head(&key).await;
            assert!(matches!(looked, Err(StoreError::Unavailable { .. })), "{name}: {looked:?}");
            let written = store.put(&key, "0123456789".into(), &Precondition::Always).await;
            assert!(matches!(written, Err(StoreError::Unavailable { .. })), "{name}: {written:?}");
        }
        assert!(started.elapsed() < Duration::from_secs(15), "{name}: {:?}", started.elapsed());
    }
}

/// A refusal is read as far as it says why, however long it goes on.
#[tokio::test]
async fn an_endless_refusal_is_understood() {
    let script = Script {
        beginning: "HTTP/1.1 404 Not Found\r\n\r\n<Error><Code>NoSuchKey</Code>",
        on_and_on: "<Message>There is no such key</Message>",
    };
    let store = open(serve(move |_| script).await, Arc::new(SystemClock)).await;
    let read = store.get(&Place::new().key("file"), 0..10, None).await;
    assert!(matches!(read, Err(StoreError::NotFound)), "{read:?}");
}

#[derive(Debug)]
struct Noon;

impl Clock for Noon {
    /// 2026-11-29T12:00:00Z.
    fn now_ms(&self) -> u64 {
        1_795_953_600_000
    }
}

/// A server whose clock is another one is signed for by that, once it has said so: also where its
/// refusal has no words, as that of a HEAD.
#[tokio::test]
async fn a_server_of_another_time_is_signed_for_by_its_own() {
    let script = |head: &str| match head.contains("x-amz-date: 20261129T1530") {
        true => Script {
            beginning: "HTTP/1.1 200 OK\r\ndate: Sun, 29 Nov 2026 15:30:02 GMT\r\netag: \"e\"\r\n\
                 content-length: 5\r\n\r\n",
            on_and_on: "",
        },
        false => Script {
            beginning: "HTTP/1.1 403 Forbidden\r\ndate: Sun, 29 Nov 2026 15:30:01 GMT\r\n\
                 content-length: 0\r\n\r\n",
            on_and_on: "",
        },
    };
    let store = open(serve(script).await, Arc::new(Noon)).await;
    assert_eq!(store.head(&Place::new().key("file")).await.unwrap().size, 5);
}
