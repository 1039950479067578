//! S3 servers, started once for all tests of this binary, and gone when it is.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use aws_sdk_s3::config::{Credentials, Region, SharedCredentialsProvider};
use bailiwick::clock::SystemClock;
use bailiwick::store::s3::{Addressing, S3Config, S3Store};
use uuid::Uuid;

/// A server with one bucket; each test has a prefix of its own in it.
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) port: u16,
    /// Its standard input: when this process ends, however it does, it is closed, and whoever
    /// reads it ends the server.
    _watched: Child,
}

const BUCKET: &str = "bailiwick-tests";
const ACCESS_KEY: &str = "tests";
const SECRET_KEY: &str = "tests-secret";

/// SeaweedFS, or `None`, loudly, where it is not installed.
pub(crate) fn seaweed() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(|| start("SeaweedFS", "weed", seaweed_arguments, "/healthz")).as_ref()
}

/// moto, or `None`, loudly, where it is not installed.
pub(crate) fn moto() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(|| start("moto", "python", moto_arguments, "/moto-api/")).as_ref()
}

impl Server {
    /// A prefix of its own, by way of `port`: the server's, or that of a proxy.
    pub(crate) fn config(&self, port: u16) -> S3Config {
        let prefix = Uuid::new_v4().simple().to_string();
        S3Config { prefix, endpoint: Some(endpoint(port)), ..config() }
    }

    pub(crate) async fn store(&self) -> S3Store {
        open(&self.config(self.port)).await
    }

    /// A client that knows nothing of the store.
    pub(crate) fn client(&self, port: u16) -> aws_sdk_s3::Client {
        let config = aws_sdk_s3::config::Builder::new()
            .behavior_version_latest()
            .region(Region::from_static("us-east-1"))
            .credentials_provider(credentials())
            .endpoint_url(endpoint(port))
            .force_path_style(true);
        aws_sdk_s3::Client::from_conf(config.build())
    }

    /// Another bucket.
    pub(crate) async fn another_bucket(&self) -> String {
        let name = format!("another-{}", Uuid::new_v4().simple());
        let client = self.client(self.port);
        client.create_bucket().bucket(&name).send().await.expect("a bucket can be made");
        name
    }

    /// Another bucket, which keeps versions.
    pub(crate) async fn versioned_bucket(&self) -> String {
        let name = self.another_bucket().await;
        let client = self.client(self.port);
        let status = aws_sdk_s3::types::BucketVersioningStatus::Enabled;
        let kept = aws_sdk_s3::types::VersioningConfiguration::builder().status(status).build();
        let keep = client.put_bucket_versioning().bucket(&name).versioning_configuration(kept);
        keep.send().await.expect("a bucket can keep versions");
        name
    }

    pub(crate) fn bucket(&self) -> &'static str {
        BUCKET
    }
}

pub(crate) async fn open(config: &S3Config) -> S3Store {
    S3Store::open(config, Arc::new(SystemClock)).await.expect("the test server's bucket opens")
}

/// Of the tests' bucket, without an endpoint.
pub(crate) fn config() -> S3Config {
    S3Config {
        region: Some("us-east-1".to_owned()),
        addressing: Addressing::Path,
        credentials: Some(SharedCredentialsProvider::new(credentials())),
        ..S3Config::new(BUCKET)
    }
}

pub(crate) fn credentials() -> Credentials {
    Credentials::new(ACCESS_KEY, SECRET_KEY, None, None, "tests")
}

fn endpoint(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

fn start(
    name: &'static str,
    program: &str,
    arguments: fn(u16, &str) -> Vec<String>,
    ready: &str,
) -> Option<Server> {
    let program = tools().join("venv/bin").join(program);
    if !program.exists() {
        assert!(std::env::var_os("CI").is_none(), "{name} is not installed: {program:?}");
        eprintln!("SKIPPED: {name} is not installed ({program:?}): run `cargo xtask test`");
        return None;
    }
    for _ in 0..3 {
        let port = free_port();
        let folder = tempfile::Builder::new().prefix("bailiwick-server-").tempdir().unwrap().keep();
        let folder = folder.to_str().unwrap().to_owned();
        let mut watched = Command::new("sh")
            .args(["-c", WATCH, "sh", &folder])
            .arg(&program)
            .args(arguments(port, &folder))
            .env("AWS_ACCESS_KEY_ID", ACCESS_KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
            .stdin(Stdio::piped())
            .spawn()
            .expect("sh is there");
        if answers(port, ready) {
            let server = Server { name, port, _watched: watched };
            make_bucket(&server);
            return Some(server);
        }
        drop(watched.stdin.take());
        watched.wait().expect("the watcher ends");
    }
    panic!("{name} does not start")
}

/// Runs a server until standard input closes, and leaves nothing of it behind.
const WATCH: &str = r#"
folder=$1; shift
cd "$folder" && "$@" </dev/null >"$folder/log" 2>&1 &
server=$!
cat >/dev/null
kill -9 $server
wait $server 2>/dev/null
rm -rf "$folder"
"#;

/// Where `cargo xtask test` installs them.
fn tools() -> PathBuf {
    if let Some(tools) = std::env::var_os("BAILIWICK_TOOLS") {
        return tools.into();
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    cache.unwrap_or_else(home).join("bailiwick/tools")
}

fn seaweed_arguments(port: u16, folder: &str) -> Vec<String> {
    let off = "-master.telemetry=false -webdav=false -admin.ui=false -s3.port.iceberg=0 \
         -s3.port.lance=0 -ip=127.0.0.1 -ip.bind=127.0.0.1";
    let ports = "master.port master.port.grpc volume.port volume.port.grpc filer.port \
         filer.port.grpc admin.port admin.port.grpc s3.port.grpc";
    let mut arguments = vec!["mini".to_owned(), format!("-dir={folder}")];
    arguments.push(format!("-s3.port={port}"));
    arguments.extend(off.split_whitespace().map(str::to_owned));
    arguments.extend(ports.split_whitespace().map(|name| format!("-{name}={}", free_port())));
    arguments
}

/// One request at a time: left to itself, it looks first and acts later.
const MOTO: &str = "
import sys, threading
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple
moto = DomainDispatcherApplication(create_backend_app)
one_at_a_time = threading.Lock()
def app(environ, start_response):
    with one_at_a_time:
        return list(moto(environ, start_response))
run_simple('127.0.0.1', int(sys.argv[1]), app, threaded=True)
";

fn moto_arguments(port: u16, _: &str) -> Vec<String> {
    vec!["-c".to_owned(), MOTO.to_owned(), port.to_string()]
}

/// Never the same twice within this process.
pub(crate) fn free_port() -> u16 {
    static HELD: std::sync::Mutex<Vec<u16>> = std::sync::Mutex::new(Vec::new());
    loop {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut held = HELD.lock().unwrap();
        if !held.contains(&port) {
            held.push(port);
            return port;
        }
    }
}

fn answers(port: u16, path: &str) -> bool {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(30) {
        if answered(port, path).is_ok_and(|answer| answer.contains(" 200 OK")) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

fn answered(port: u16, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// On a thread of its own: the test that comes first may be within a runtime.
fn make_bucket(server: &Server) {
    let client = server.client(server.port);
    let made = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let made = runtime.block_on(client.create_bucket().bucket(BUCKET).send());
        made.expect("a bucket can be made");
    });
    made.join().unwrap();
}
