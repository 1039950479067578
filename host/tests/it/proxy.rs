//! A proxy before a server. One that loses answers forwards a request, waits for the answer, and
//! then closes the connection instead of passing the answer on; another one changes what is sent.

use std::io::{Error, ErrorKind, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Ends with whoever holds it.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) port: u16,
    counts: Arc<Counts>,
    acceptor: tokio::task::JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Counts {
    requests: AtomicU64,
    dropped: AtomicU64,
    /// First lines of the requests that nobody took yet.
    lines: Mutex<Vec<String>>,
}

/// Which answers are lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Losses {
    /// So many of a hundred.
    pub(crate) percent: u64,
    /// The same seed loses the same answers, counted by requests.
    pub(crate) seed: u64,
}

impl Losses {
    /// A proxy that only looks on.
    pub(crate) const NONE: Self = Self { percent: 0, seed: 0 };

    fn hits(self, request: u64) -> bool {
        // SplitMix64.
        let mut hash = (self.seed ^ request).wrapping_add(0x9E37_79B9_7F4A_7C15);
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (hash ^ (hash >> 31)) % 100 < self.percent
    }
}

/// What a proxy does to what passes.
#[derive(Clone, Copy, Debug)]
enum Harm {
    Loses(Losses),
    /// The last byte of each body that is sent, and is no XML, is another one.
    ChangesBodies,
}

impl Proxy {
    pub(crate) async fn before(server: u16, losses: Losses) -> Self {
        Self::doing(server, Harm::Loses(losses)).await
    }

    /// One that changes the bytes that are sent.
    pub(crate) async fn changing_bodies_before(server: u16) -> Self {
        Self::doing(server, Harm::ChangesBodies).await
    }

    async fn doing(server: u16, harm: Harm) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let counts = Arc::new(Counts::default());
        let shared = Arc::clone(&counts);
        let acceptor = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let counts = Arc::clone(&shared);
                // A connection that ends in an error is what this is for.
                tokio::spawn(async move { _ = serve(client, server, harm, &counts).await });
            }
        });
        Self { port, counts, acceptor }
    }

    /// Requests forwarded, and answers lost of them.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (read(&self.counts.requests), read(&self.counts.dropped))
    }

    /// The first lines of all requests since this was last asked.
    pub(crate) fn take_lines(&self) -> Vec<String> {
        std::mem::take(&mut *self.counts.lines.lock().unwrap())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

async fn serve(client: TcpStream, server: u16, harm: Harm, counts: &Counts) -> Result<()> {
    client.set_nodelay(true)?;
    let mut client = BufReader::new(client);
    loop {
        let mut request = Message::read(&mut client, Side::Client).await?;
        if matches!(harm, Harm::ChangesBodies)
            && !request.body.starts_with(b"<")
            && let Some(last) = request.body.last_mut()
        {
            *last ^= 1;
        }
        let method_is_head = request.head.starts_with(b"HEAD ");
        let number = counts.requests.fetch_add(1, Ordering::Relaxed);
        let line = request.head.split(|byte| *byte == b'\r').next().unwrap_or_default();
        counts.lines.lock().unwrap().push(String::from_utf8_lossy(line).into_owned());
        // A connection for each request: what the server keeps open is no matter here.
        let mut upstream = TcpStream::connect(("127.0.0.1", server)).await?;
        upstream.set_nodelay(true)?;
        upstream.write_all(&request.head).await?;
        upstream.write_all(&request.body).await?;
        let side = if method_is_head { Side::ServerOfHead } else { Side::Server };
        let answer = Message::read(&mut BufReader::new(upstream), side).await?;
        if matches!(harm, Harm::Loses(losses) if losses.hits(number)) {
            counts.dropped.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        client.get_mut().write_all(&answer.head).await?;
        client.get_mut().write_all(&answer.body).await?;
        if answer.closes {
            return Ok(());
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
    ServerOfHead,
}

/// A request or an answer, as it came.
struct Message {
    head: Vec<u8>,
    body: Vec<u8>,
    closes: bool,
}

impl Message {
    async fn read<R: AsyncReadExt + Unpin>(from: &mut R, side: Side) -> Result<Self> {
        loop {
            let head = read_head(from).await?;
            let text = String::from_utf8_lossy(&head).to_ascii_lowercase();
            if text.starts_with("http/1.1 100 ") {
                continue;
            }
            let field =
                |name: &str| text.lines().find_map(|line| line.strip_prefix(name).map(str::trim));
            let empty = side == Side::ServerOfHead
                || ["http/1.1 204 ", "http/1.1 304 "].iter().any(|status| text.starts_with(status));
            let closes = field("connection:") == Some("close");
            let body = match (field("content-length:"), field("transfer-encoding:")) {
                _ if empty => Vec::new(),
                (Some(length), _) => {
                    let length = length.parse().map_err(|_| malformed())?;
                    let mut body = vec![0; length];
                    from.read_exact(&mut body).await?;
                    body
                }
                (None, Some("chunked")) => read_chunks(from).await?,
                (None, None) if side == Side::Client => Vec::new(),
                _ => {
                    let mut body = Vec::new();
                    from.read_to_end(&mut body).await?;
                    return Ok(Self { head, body, closes: true });
                }
            };
            return Ok(Self { head, body, closes });
        }
    }
}

async fn read_head<R: AsyncReadExt + Unpin>(from: &mut R) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(from.read_u8().await?);
    }
    Ok(head)
}

/// The chunks as they came, their lengths among them.
async fn read_chunks<R: AsyncReadExt + Unpin>(from: &mut R) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let start = body.len();
        while !body[start..].ends_with(b"\r\n") {
            body.push(from.read_u8().await?);
        }
        let line = String::from_utf8_lossy(&body[start..]).into_owned();
        let digits = line.split(';').next().unwrap_or_default().trim();
        let length = usize::from_str_radix(digits, 16).map_err(|_| malformed())?;
        let at = body.len();
        body.resize(at + length + 2, 0);
        from.read_exact(&mut body[at..]).await?;
        if length == 0 {
            return Ok(body);
        }
    }
}

fn malformed() -> Error {
    Error::new(ErrorKind::InvalidData, "not HTTP as these servers speak it")
}
