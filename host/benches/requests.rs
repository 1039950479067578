//! What a request costs the client, in instructions: reads, writes and looks of 4 KiB over HTTP on
//! loopback, by this crate's store and by the SDK's client, against a server that answers at once.
//!
//! `cargo bench -p bailiwick --bench requests`, where valgrind is installed. The server is a
//! process of its own, so that nothing of it is counted; what each client does once is left out by
//! taking the difference of two runs. Valgrind knows no instructions for SHA-256, so it counts
//! hashing dearer than it is.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a bench that cannot go on says so by panicking"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use aws_sdk_s3::config::{Credentials, Region, SharedCredentialsProvider};
use bailiwick::clock::SystemClock;
use bailiwick::scope::{
    Access, AgentId, Coordinates, Grant, GuestPath, MountTable, Need, ObjectKey, SessionId,
    SkillTable, WorkspaceId,
};
use bailiwick::store::s3::{Addressing, S3Config, S3Store};
use bailiwick::store::{ObjectStore, Precondition};
use bytes::Bytes;
use uuid::Uuid;

const FILE_BYTES: usize = 4096;
const VERBS: [&str; 3] = ["get", "put", "head"];
/// Requests of the shorter run, and how many more the longer one sends.
const FEW: u64 = 50;
const MORE: u64 = 200;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["serve"] => serve(),
        [client @ ("store" | "sdk"), verb, port, count] => {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let port = port.parse().unwrap();
            runtime.block_on(send(client, verb, port, count.parse().unwrap()));
        }
        words if words.contains(&"--bench") => compare(),
        _ => println!("run by `cargo bench -p bailiwick --bench requests`"),
    }
}

fn compare() {
    let server = Server::start();
    println!("| instructions of a request | get | put | head |");
    println!("|---|---|---|---|");
    for client in ["store", "sdk"] {
        let costs = VERBS.map(|verb| {
            let count = |count| instructions(client, verb, server.port, count);
            format!("{} k", (count(FEW + MORE) - count(FEW)) / MORE / 1000)
        });
        println!("| {client} | {} |", costs.join(" | "));
    }
}

/// Of a whole run of this program.
fn instructions(client: &str, verb: &str, port: u16, count: u64) -> u64 {
    let own = std::env::current_exe().unwrap();
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(own)
        .args([client, verb, &port.to_string(), &count.to_string()])
        .output()
        .expect("valgrind is installed");
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{told}");
    let total = told.lines().find_map(|line| line.split_once("Collected : ")?.1.parse().ok());
    total.expect("callgrind says what it counted")
}

async fn send(client: &str, verb: &str, port: u16, count: u64) {
    let key = key();
    let bytes = Bytes::from(vec![b'x'; FILE_BYTES]);
    if client == "store" {
        let store = S3Store::open(&config(port), Arc::new(SystemClock)).await.unwrap();
        for _ in 0..count {
            match verb {
                "get" => drop(store.get(&key, 0..FILE_BYTES as u64, None).await.unwrap()),
                "put" => drop(store.put(&key, bytes.clone(), &Precondition::Always).await.unwrap()),
                _ => drop(store.head(&key).await.unwrap()),
            }
        }
        return;
    }
    let client = sdk(port);
    for _ in 0..count {
        let (bucket, name) = ("files", key.as_str());
        match verb {
            "get" => {
                let answer = client.get_object().bucket(bucket).key(name).send().await.unwrap();
                drop(answer.body.collect().await.unwrap().into_bytes());
            }
            "put" => {
                let put = client.put_object().bucket(bucket).key(name);
                put.body(bytes.clone().into()).send().await.unwrap();
            }
            _ => drop(client.head_object().bucket(bucket).key(name).send().await.unwrap()),
        }
    }
}

fn key() -> ObjectKey {
    let coordinates = Coordinates {
        workspace: WorkspaceId(Uuid::from_u128(1)),
        agent: AgentId(Uuid::from_u128(2)),
        session: Some(SessionId(Uuid::from_u128(3))),
    };
    let all = Some(Access::ReadWrite);
    let grant = Grant { agent: all, workspace: all };
    let mounts = MountTable::new(coordinates, grant, SkillTable::default());
    let path = GuestPath::parse("session/notes/2026/summary.md").unwrap();
    mounts.resolve(&path, Need::Write).unwrap().key
}

fn credentials() -> Credentials {
    Credentials::new("AKIDEXAMPLE", "secret", None, None, "bench")
}

fn config(port: u16) -> S3Config {
    S3Config {
        endpoint: Some(format!("http://127.0.0.1:{port}")),
        region: Some("us-east-1".to_owned()),
        addressing: Addressing::Path,
        credentials: Some(SharedCredentialsProvider::new(credentials())),
        ..S3Config::new("files")
    }
}

fn sdk(port: u16) -> aws_sdk_s3::Client {
    let config = aws_sdk_s3::config::Builder::new()
        .behavior_version_latest()
        .region(Region::from_static("us-east-1"))
        .credentials_provider(credentials())
        .endpoint_url(format!("http://127.0.0.1:{port}"))
        .force_path_style(true);
    aws_sdk_s3::Client::from_conf(config.build())
}

/// The server, in a process that ends with this one.
struct Server {
    port: u16,
    _process: Child,
}

impl Server {
    fn start() -> Self {
        let own = std::env::current_exe().unwrap();
        let (stdin, stdout) = (Stdio::piped(), Stdio::piped());
        let mut process =
            Command::new(own).arg("serve").stdin(stdin).stdout(stdout).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { port: line.trim().parse().unwrap(), _process: process }
    }
}

/// Answers whatever it is asked until its standard input ends.
fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            std::thread::spawn(move || _ = answer(client));
        }
    });
    _ = std::io::stdin().read_to_end(&mut Vec::new());
}

fn answer(mut client: TcpStream) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    let mut from = BufReader::new(client.try_clone()?);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if from.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |length| length.parse().unwrap());
        from.read_exact(&mut vec![0; length])?;
        client.write_all(&answer_to(&head))?;
    }
}

fn answer_to(head: &str) -> Vec<u8> {
    let is_marker = head.lines().next().is_some_and(|line| line.contains(".bailiwick-layout"));
    let body = if is_marker { b"1\n".to_vec() } else { vec![b'x'; FILE_BYTES] };
    let (length, is_put) = (body.len(), head.starts_with("PUT "));
    let (status, kept) = match head.contains("range: bytes=") {
        true => {
            ("206 Partial Content", format!("content-range: bytes 0-{}/{length}\r\n", length - 1))
        }
        false => ("200 OK", String::new()),
    };
    let length = if is_put { 0 } else { length };
    let mut answer = format!(
        "HTTP/1.1 {status}\r\nserver: bench\r\ndate: Sun, 29 Nov 2026 12:00:00 GMT\r\n\
         etag: \"0123456789abcdef0123456789abcdef\"\r\naccept-ranges: bytes\r\n\
         last-modified: Sun, 29 Nov 2026 11:00:00 GMT\r\ncontent-type: binary/octet-stream\r\n\
         x-amz-request-id: 0123456789ABCDEF\r\nx-amz-id-2: 0123456789abcdef0123456789abcdef\r\n\
         x-amz-meta-bailiwick-writes: AAAAAAAA\r\ncontent-length: {length}\r\n{kept}\r\n"
    )
    .into_bytes();
    if head.starts_with("GET ") {
        answer.extend(body);
    }
    answer
}
