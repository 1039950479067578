//! The door over real connections: what breaks off, dawdles, or is no HTTP.

use std::net::SocketAddr;
use std::time::Duration;

use axum::http::StatusCode;
use bailiwick::api::{ServeOptions, Served};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Door, token};
use crate::faulty::Plan;

/// A door that listens, until it is told to stop.
struct Listening {
    door: Door,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Served>,
}

impl Listening {
    async fn new(options: ServeOptions) -> Self {
        let door = Door::new().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let api = door.api.clone();
        let served = tokio::spawn(async move {
            api.serve(listener, options, async move { drop(stopped.await) }).await
        });
        Self { door, address, stop, served }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// The head of a request of `ann`.
    fn head(&self, method: &str, path: &str, fields: &str) -> String {
        let token = token(&self.door.ann());
        format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n{fields}\r\n"
        )
    }

    async fn stop(self) -> Served {
        self.stop.send(()).unwrap();
        self.served.await.unwrap()
    }
}

/// All that comes until the connection ends.
async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut answer));
    // A connection that was reset has said what it had to.
    drop(read.await.expect("an end"));
    String::from_utf8_lossy(&answer).into_owned()
}

/// What is at a path, once nothing is under way.
async fn what_is_there(listening: &Listening, path: &str) -> (StatusCode, String) {
    for _ in 0..500 {
        if listening.door.world.store.under_way() == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let answer = listening.door.get(&listening.door.ann(), path).await;
    (answer.status, String::from_utf8_lossy(&answer.body).into_owned())
}

/// An upload cut in the middle leaves what was there before, however its length was told.
#[tokio::test]
async fn an_upload_cut_in_the_middle_changes_nothing() {
    let listening = Listening::new(ServeOptions::default()).await;
    let path = listening.door.in_session("/files/session/a");
    for (fields, body) in [
        ("content-length: 1000\r\n", "half of it"),
        ("transfer-encoding: chunked\r\n", "a\r\n0123456789\r\n"),
        ("transfer-encoding: chunked\r\n", "ffff\r\n012"),
    ] {
        listening.door.put(&listening.door.ann(), &path, "before").await;
        let mut stream = listening.connect().await;
        let head = listening.head("PUT", &path, fields);
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        stream.shutdown().await.unwrap();
        let answer = rest(&mut stream).await;
        assert!(!answer.contains(" 200 ") && !answer.contains(" 201 "), "{answer}");
        let there = what_is_there(&listening, &path).await;
        assert_eq!(there, (StatusCode::OK, "before".to_owned()), "{fields}{body}");
    }
    assert_eq!(listening.stop().await, Served::Whole);
}

/// A body that stops coming is given up.
#[tokio::test]
async fn a_request_that_dawdles_is_given_up() {
    let options = ServeOptions { idle_ms: 200, ..ServeOptions::default() };
    let listening = Listening::new(options).await;
    let path = listening.door.in_session("/files/session/a");
    let mut heads = listening.connect().await;
    heads.write_all(b"GET /healthz HTTP/1.1\r\nhost:").await.unwrap();
    assert!(!rest(&mut heads).await.contains(" 200 "));
    let mut idle = listening.connect().await;
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    assert!(rest(&mut idle).await.contains("200 OK"), "answered, and closed when nothing came");
    let mut body = listening.connect().await;
    let head = listening.head("PUT", &path, "content-length: 10\r\n");
    body.write_all(format!("{head}01234").as_bytes()).await.unwrap();
    let answer = rest(&mut body).await;
    assert!(answer.contains(" 408 "), "{answer}");
    assert_eq!(what_is_there(&listening, &path).await.0, StatusCode::NOT_FOUND);
}

/// A reader that takes nothing is let go.
#[tokio::test]
async fn a_reader_that_takes_nothing_is_let_go() {
    let options = ServeOptions { idle_ms: 300, ..ServeOptions::default() };
    let listening = Listening::new(options).await;
    let ann = listening.door.ann();
    let path = listening.door.in_session("/files/session/large");
    // More than any socket's buffers hold.
    let large: &'static str = String::leak("x".repeat(64 << 20));
    assert_eq!(listening.door.put(&ann, &path, large).await.status, StatusCode::CREATED);
    let mut stream = listening.connect().await;
    stream.write_all(listening.head("GET", &path, "").as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let mut taken = 0;
    let mut buffer = vec![0; 1 << 20];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        taken += count;
    }
    assert!(taken < large.len(), "it was broken off, after {taken} bytes");
    assert_eq!(listening.stop().await, Served::Whole);
}

/// What could be read as two requests is one or none.
#[tokio::test]
async fn a_request_cannot_be_smuggled() {
    let listening = Listening::new(ServeOptions::default()).await;
    let path = listening.door.in_session("/files/session/a");
    let hidden = listening.head(
        "PUT",
        &listening.door.in_session("/files/session/hidden"),
        "content-length: 1\r\n",
    );
    for fields in [
        "content-length: 4\r\ntransfer-encoding: chunked\r\nconnection: close\r\n".to_owned(),
        "content-length: 4\r\ncontent-length: 9\r\nconnection: close\r\n".to_owned(),
        "content-length: 4\r\ncontent-length : 900\r\nconnection: close\r\n".to_owned(),
        "transfer-encoding: chunked, identity\r\nconnection: close\r\n".to_owned(),
        "content-length: +4\r\nconnection: close\r\n".to_owned(),
        format!("x: {}\r\nconnection: close\r\n", "x".repeat(256 << 10)),
        format!("{}connection: close\r\n", "x: y\r\n".repeat(200)),
    ] {
        let mut stream = listening.connect().await;
        let request = format!("{}0\r\n\r\n{hidden}x", listening.head("PUT", &path, &fields));
        // Who is refused early may find the connection closed.
        let _ = stream.write_all(request.as_bytes()).await;
        let answer = rest(&mut stream).await;
        assert!(answer.matches("HTTP/1.1 ").count() <= 1, "{fields}: {answer}");
    }
    let there =
        what_is_there(&listening, &listening.door.in_session("/files/session/hidden")).await;
    assert_eq!(there.0, StatusCode::NOT_FOUND);
}

/// Whoever may not send a body is told so before sending it.
#[tokio::test]
async fn a_body_is_asked_for_only_of_who_may_send_it() {
    let listening = Listening::new(ServeOptions::default()).await;
    let expect = "content-length: 5\r\nexpect: 100-continue\r\nconnection: close\r\n";
    let refused = listening.head("PUT", &listening.door.in_session("/files/workspace/a"), expect);
    let mut stream = listening.connect().await;
    stream.write_all(refused.as_bytes()).await.unwrap();
    let answer = rest(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 404") && !answer.contains("100 Continue"), "{answer}");
    let mut stream = listening.connect().await;
    let allowed = listening.head("PUT", &listening.door.in_session("/files/session/a"), expect);
    stream.write_all(allowed.as_bytes()).await.unwrap();
    let mut begun = [0; 25];
    stream.read_exact(&mut begun).await.unwrap();
    assert_eq!(&begun, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"hello").await.unwrap();
    assert!(rest(&mut stream).await.starts_with("HTTP/1.1 201"));
}

/// A server that is told to stop answers what was asked, and nothing else.
#[tokio::test]
async fn what_is_under_way_is_finished_before_the_end() {
    let listening = Listening::new(ServeOptions::default()).await;
    listening.door.world.store.slow_down(Duration::from_millis(300));
    let path = listening.door.in_session("/files/session/a");
    let mut stream = listening.connect().await;
    let put = listening.head("PUT", &path, "content-length: 5\r\n");
    stream.write_all(format!("{put}hello").as_bytes()).await.unwrap();
    while listening.door.world.store.under_way() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let address = listening.address;
    let (served, answer) = tokio::join!(listening.stop(), rest(&mut stream));
    assert_eq!(served, Served::Whole);
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

/// Whoever follows what happens is let go at once, and comes back elsewhere.
#[tokio::test]
async fn a_reader_of_events_does_not_hold_up_the_end() {
    let listening = Listening::new(ServeOptions::default()).await;
    let mut stream = listening.connect().await;
    let get = listening.head("GET", &listening.door.in_session("/events"), "");
    stream.write_all(get.as_bytes()).await.unwrap();
    let mut head = [0; 15];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    let stopped = tokio::time::timeout(Duration::from_secs(10), listening.stop()).await;
    assert_eq!(stopped.unwrap(), Served::Whole);
}

/// It ends in its time, whoever holds on to a connection, and says how many did.
#[tokio::test]
async fn the_end_waits_for_nobody_for_ever() {
    let options = ServeOptions { shutdown_ms: 200, ..ServeOptions::default() };
    let listening = Listening::new(options).await;
    listening.door.world.store.plan(Plan::Every(crate::faulty::Fault::Hang));
    let mut stream = listening.connect().await;
    let get = listening.head("GET", &listening.door.in_session("/files/session/a"), "");
    stream.write_all(get.as_bytes()).await.unwrap();
    while listening.door.world.store.under_way() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(listening.stop().await, Served::BrokenOff(1));
}

/// More connections than there may be wait, and are answered when others end.
#[tokio::test]
async fn connections_over_the_bound_wait() {
    let options = ServeOptions { connections_max: 1, ..ServeOptions::default() };
    let listening = Listening::new(options).await;
    let first = listening.connect().await;
    let mut second = listening.connect().await;
    let request = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    second.write_all(request).await.unwrap();
    let mut answer = [0; 1];
    let waited = tokio::time::timeout(Duration::from_millis(200), second.read(&mut answer)).await;
    assert!(waited.is_err(), "it is not answered yet");
    drop(first);
    assert!(rest(&mut second).await.starts_with("HTTP/1.1 200"));
}
