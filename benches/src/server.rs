//! S3 servers of this run: one that answers at once, and a real one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use aws_sdk_s3::config::SharedCredentialsProvider;
use bailiwick::clock::SystemClock;
use bailiwick::store::s3::{Addressing, S3Config, S3Store};
use tempfile::TempDir;

use crate::clients;
use crate::setting::Setting;

pub(crate) const BUCKET: &str = "bench";
const START_WAIT: Duration = Duration::from_secs(60);

/// A server of our own; it ends when this is dropped, or when this process does.
pub(crate) struct Server {
    pub(crate) port: u16,
    child: Child,
    _folder: Option<TempDir>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // Whoever watches its standard input ends it.
        drop(self.child.stdin.take());
        _ = self.child.wait();
    }
}

/// Ends a server when standard input does, however this process ends.
const WATCH: &str = r#"
"$@" </dev/null >/dev/null 2>&1 &
server=$!
cat >/dev/null
kill -9 $server
wait $server 2>/dev/null
"#;

impl Server {
    /// The one that answers at once.
    pub(crate) fn stub() -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("stub")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no standard output")?).read_line(&mut line)?;
        let port = line.trim().parse().context("the stub did not say its port")?;
        Ok(Self { port, child, _folder: None })
    }

    /// SeaweedFS, its data on the disk that is measured.
    pub(crate) async fn seaweed(setting: &Setting) -> Result<Self> {
        let folder = setting.folder()?;
        let port = free_port()?;
        let child = Command::new("sh")
            .args(["-c", WATCH, "sh"])
            .arg(setting.tools.join("venv/bin/weed"))
            .args(seaweed_arguments(port, folder.path())?)
            .current_dir(folder.path())
            .env("AWS_ACCESS_KEY_ID", clients::ACCESS_KEY)
            .env("AWS_SECRET_ACCESS_KEY", clients::SECRET_KEY)
            .stdin(Stdio::piped())
            .spawn()?;
        let server = Self { port, child, _folder: Some(folder) };
        server.wait_until_ready()?;
        clients::tuned(&server.endpoint()).create_bucket().bucket(BUCKET).send().await?;
        Ok(server)
    }

    fn wait_until_ready(&self) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < START_WAIT {
            if ready(self.port).is_ok_and(|answer| answer.contains(" 200 OK")) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("SeaweedFS does not start")
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Our store on it.
    pub(crate) async fn store(&self) -> Result<Arc<S3Store>> {
        let config = S3Config {
            endpoint: Some(self.endpoint()),
            region: Some("us-east-1".to_owned()),
            addressing: Addressing::Path,
            credentials: Some(SharedCredentialsProvider::new(clients::credentials())),
            ..S3Config::new(BUCKET)
        };
        Ok(Arc::new(S3Store::open(&config, Arc::new(SystemClock)).await?))
    }
}

fn seaweed_arguments(port: u16, folder: &Path) -> Result<Vec<String>> {
    const OFF: &str = "-master.telemetry=false -webdav=false -admin.ui=false -s3.port.iceberg=0 \
         -s3.port.lance=0 -ip=127.0.0.1 -ip.bind=127.0.0.1";
    const PORTS: &str = "master.port master.port.grpc volume.port volume.port.grpc filer.port \
         filer.port.grpc admin.port admin.port.grpc s3.port.grpc";
    let mut arguments = vec!["mini".to_owned(), format!("-dir={}", folder.display())];
    arguments.push(format!("-s3.port={port}"));
    arguments.extend(OFF.split_whitespace().map(str::to_owned));
    for name in PORTS.split_whitespace() {
        arguments.push(format!("-{name}={}", free_port()?));
    }
    Ok(arguments)
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn ready(port: u16) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(stream, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
