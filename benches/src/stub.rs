//! A server that speaks as much S3 as the benchmark needs and answers at once, so that what is
//! measured is the client. A process of its own, so that its processor time is not counted.
//!
//! It checks no signature, and keeps the bytes of small objects alone: of large ones it knows the
//! size, and answers zeros.

use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail};
use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The largest object whose bytes are kept.
const KEPT_BYTES_MAX: usize = 64 << 10;
/// Bytes of a header that is not taken for one any more.
const HEAD_BYTES_MAX: usize = 64 << 10;
const DATE: &str = "Thu, 01 Jan 2026 00:00:00 GMT";
static ZEROS: [u8; 1 << 20] = [0; 1 << 20];

/// Says its port on standard output and serves until standard input ends.
pub(crate) async fn serve() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    std::thread::spawn(|| {
        _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let objects = Arc::new(Objects::default());
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let objects = objects.clone();
        tokio::spawn(async move {
            if let Err(error) = converse(stream, &objects).await {
                eprintln!("stub: {error:#}");
            }
        });
    }
}

#[derive(Default)]
struct Objects(Mutex<State>);

#[derive(Default)]
struct State {
    objects: HashMap<String, Object>,
    /// Bytes of each upload in parts.
    uploads: HashMap<u64, u64>,
    changes: u64,
}

#[derive(Clone)]
struct Object {
    size: u64,
    /// `None` for zeros.
    bytes: Option<Bytes>,
    tag: u64,
    metadata: Vec<String>,
}

struct Request {
    method: String,
    path: String,
    query: String,
    length: usize,
    range: Option<Range<u64>>,
    if_match: Option<String>,
    metadata: Vec<String>,
    waits: bool,
    decoded_length: Option<usize>,
}

struct Answer {
    head: String,
    body: Body,
}

enum Body {
    Bytes(Bytes),
    Zeros(u64),
}

async fn converse(mut stream: TcpStream, objects: &Objects) -> Result<()> {
    let mut buffer = BytesMut::with_capacity(HEAD_BYTES_MAX);
    loop {
        let Some(request) = read_head(&mut stream, &mut buffer).await? else { return Ok(()) };
        if request.waits {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        let body = read_body(&mut stream, &mut buffer, request.length).await?;
        let answer = objects.answer(&request, body);
        send(&mut stream, answer).await?;
    }
}

async fn read_head(stream: &mut TcpStream, buffer: &mut BytesMut) -> Result<Option<Request>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = buffer.split_to(end + 4);
            return Ok(Some(parse(std::str::from_utf8(&head)?)?));
        }
        if buffer.len() > HEAD_BYTES_MAX {
            bail!("a request without end");
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

fn parse(head: &str) -> Result<Request> {
    let mut lines = head.lines();
    let mut words = lines.next().context("no request line")?.split(' ');
    let (method, target) = words.next().zip(words.next()).context("no request line")?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        length: 0,
        range: None,
        if_match: None,
        metadata: Vec::new(),
        waits: false,
        decoded_length: None,
    };
    for line in lines {
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => request.length = value.parse()?,
            "x-amz-decoded-content-length" => request.decoded_length = Some(value.parse()?),
            "expect" => request.waits = true,
            "if-match" => request.if_match = Some(value.to_owned()),
            "range" => request.range = parse_range(value),
            name if name.starts_with("x-amz-meta-") => {
                request.metadata.push(format!("{name}: {value}\r\n"));
            }
            _ => {}
        }
    }
    Ok(request)
}

/// `bytes=FIRST-LAST`, the only form that is asked for here.
fn parse_range(text: &str) -> Option<Range<u64>> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    Some(first.parse().ok()?..last.parse::<u64>().map_or(u64::MAX, |last| last + 1))
}

/// The body if it is small enough to be kept.
async fn read_body(
    stream: &mut TcpStream,
    buffer: &mut BytesMut,
    length: usize,
) -> Result<Option<Bytes>> {
    if length <= KEPT_BYTES_MAX {
        while buffer.len() < length {
            if stream.read_buf(buffer).await? == 0 {
                bail!("half a body");
            }
        }
        return Ok(Some(buffer.split_to(length).freeze()));
    }
    let mut left = length;
    let held = left.min(buffer.len());
    buffer.advance(held);
    left -= held;
    let mut block = vec![0; 256 << 10];
    while left > 0 {
        let most = left.min(block.len());
        match stream.read(&mut block[..most]).await? {
            0 => bail!("half a body"),
            read => left -= read,
        }
    }
    Ok(None)
}

impl Objects {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &Request, body: Option<Bytes>) -> Answer {
        let query = |name: &str| {
            request.query.split('&').find_map(|pair| {
                let (known, value) = pair.split_once('=').unwrap_or((pair, ""));
                (known == name).then(|| value.to_owned())
            })
        };
        let upload = query("uploadId").and_then(|id| id.parse::<u64>().ok());
        match (request.method.as_str(), upload) {
            ("GET" | "HEAD", None) if query("list-type").is_none() => self.get(request),
            ("PUT", Some(id)) => self.part(id, request),
            ("PUT", None) => self.put(request, body),
            ("POST", Some(id)) => self.complete(id, request),
            ("POST", None) if query("uploads").is_some() => self.begin(),
            ("POST", None) if query("delete").is_some() => plain("200 OK", "<DeleteResult/>"),
            ("DELETE", _) => plain("204 No Content", ""),
            _ => plain("501 Not Implemented", ""),
        }
    }

    fn get(&self, request: &Request) -> Answer {
        let Some(object) = self.state().objects.get(&request.path).cloned() else {
            return plain("404 Not Found", "<Error><Code>NoSuchKey</Code></Error>");
        };
        if request.if_match.as_ref().is_some_and(|tag| *tag != object.quoted_tag()) {
            return plain(
                "412 Precondition Failed",
                "<Error><Code>PreconditionFailed</Code></Error>",
            );
        }
        let range = request.range.clone().unwrap_or(0..object.size);
        let range = range.start..range.end.min(object.size);
        if range.is_empty() && object.size > 0 {
            return plain("416 Range Not Satisfiable", "<Error><Code>InvalidRange</Code></Error>");
        }
        let length = range.end - range.start;
        let status = if request.range.is_some() { "206 Partial Content" } else { "200 OK" };
        let mut head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nETag: {}\r\nDate: {DATE}\r\n\
             Last-Modified: {DATE}\r\nContent-Type: binary/octet-stream\r\n",
            object.quoted_tag()
        );
        if request.range.is_some() {
            let (start, last, size) = (range.start, range.end.saturating_sub(1), object.size);
            head.push_str(&format!("Content-Range: bytes {start}-{last}/{size}\r\n"));
        }
        head.extend(object.metadata.iter().map(String::as_str));
        head.push_str("\r\n");
        let body = match (request.method.as_str(), object.bytes) {
            ("HEAD", _) => Body::Zeros(0),
            // An object of kept bytes is small.
            (_, Some(bytes)) => Body::Bytes(bytes.slice(range.start as usize..range.end as usize)),
            (_, None) => Body::Zeros(length),
        };
        Answer { head, body }
    }

    fn put(&self, request: &Request, body: Option<Bytes>) -> Answer {
        let size = request.decoded_length.unwrap_or(request.length) as u64;
        let bytes = body.filter(|_| request.decoded_length.is_none());
        self.keep(request.path.clone(), size, bytes, request.metadata.clone())
    }

    fn keep(&self, path: String, size: u64, bytes: Option<Bytes>, metadata: Vec<String>) -> Answer {
        let mut state = self.state();
        state.changes += 1;
        let object = Object { size, bytes, tag: state.changes, metadata };
        let tag = object.quoted_tag();
        state.objects.insert(path, object);
        tagged(&tag, "")
    }

    fn begin(&self) -> Answer {
        let mut state = self.state();
        state.changes += 1;
        let id = state.changes;
        state.uploads.insert(id, 0);
        let body = format!(
            "<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
        );
        plain("200 OK", &body)
    }

    fn part(&self, id: u64, request: &Request) -> Answer {
        let size = request.decoded_length.unwrap_or(request.length) as u64;
        let mut state = self.state();
        match state.uploads.get_mut(&id) {
            Some(sum) => *sum += size,
            None => return plain("404 Not Found", "<Error><Code>NoSuchUpload</Code></Error>"),
        }
        tagged("\"part\"", "")
    }

    fn complete(&self, id: u64, request: &Request) -> Answer {
        let Some(size) = self.state().uploads.remove(&id) else {
            return plain("404 Not Found", "<Error><Code>NoSuchUpload</Code></Error>");
        };
        self.keep(request.path.clone(), size, None, Vec::new());
        let tag = self.state().objects.get(&request.path).map(Object::quoted_tag);
        let tag = tag.unwrap_or_default();
        let body = format!(
            "<CompleteMultipartUploadResult><ETag>{tag}</ETag></CompleteMultipartUploadResult>"
        );
        tagged(&tag, &body)
    }
}

impl Object {
    fn quoted_tag(&self) -> String {
        format!("\"{:032x}\"", self.tag)
    }
}

fn plain(status: &str, body: &str) -> Answer {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nDate: {DATE}\r\n\
         Content-Type: application/xml\r\n\r\n"
    );
    Answer { head, body: Body::Bytes(Bytes::from(body.to_owned())) }
}

fn tagged(tag: &str, body: &str) -> Answer {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nETag: {tag}\r\nDate: {DATE}\r\n\
         Content-Type: application/xml\r\n\r\n"
    );
    Answer { head, body: Body::Bytes(Bytes::from(body.to_owned())) }
}

async fn send(stream: &mut TcpStream, answer: Answer) -> Result<()> {
    match answer.body {
        Body::Bytes(bytes) => {
            let mut all = BytesMut::from(answer.head.as_bytes());
            all.extend_from_slice(&bytes);
            stream.write_all(&all).await?;
        }
        Body::Zeros(mut left) => {
            stream.write_all(answer.head.as_bytes()).await?;
            while left > 0 {
                let most = usize::try_from(left)?.min(ZEROS.len());
                stream.write_all(&ZEROS[..most]).await?;
                left -= most as u64;
            }
        }
    }
    Ok(())
}
