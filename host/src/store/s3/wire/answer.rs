//! What a server answered. Whatever it says is bounded here before it is used.

use std::time::Duration;

use aws_sdk_s3::primitives::{ByteStream, DateTime, DateTimeFormat};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use bytes::{Bytes, BytesMut};

use crate::buffer::Buffer;
use crate::store::s3::errors::{Failure, FailureKind};

/// Longest text of a refusal that is read, in bytes; the rest is left.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// An answer whose head has come.
#[derive(Debug)]
pub(in super::super) struct Answer {
    response: HttpResponse,
    idle: Duration,
}

impl Answer {
    pub(super) fn new(response: HttpResponse, idle: Duration) -> Self {
        Self { response, idle }
    }

    pub(super) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub(super) fn is_success(&self) -> bool {
        self.response.status().is_success()
    }

    pub(in super::super) fn field(&self, name: &'static str) -> Option<&str> {
        self.response.headers().get(name)
    }

    /// The length that it says its body has.
    pub(in super::super) fn length(&self) -> Option<u64> {
        self.field("content-length")?.parse().ok()
    }

    /// A time among its fields, in milliseconds since the Unix epoch.
    pub(in super::super) fn time_ms(&self, name: &'static str) -> Option<u64> {
        let time = DateTime::from_str(self.field(name)?, DateTimeFormat::HttpDate).ok()?;
        u64::try_from(time.secs()).ok()?.checked_mul(1000)
    }

    /// When the server answered, by its own clock.
    pub(in super::super) fn date_ms(&self) -> Option<u64> {
        self.time_ms("date")
    }

    /// Its body, which has `length` bytes and no other number. Each byte is copied once, from
    /// the connection's buffer into this one.
    pub(in super::super) async fn bytes(self, length: u64) -> Result<Bytes, Failure> {
        let short = || Failure::lost("S3 sent another number of bytes than it said");
        let length = usize::try_from(length).map_err(|_| short())?;
        let mut chunks = self.chunks();
        let mut buffer = Buffer::with_room(length);
        let bytes = buffer.room();
        while let Some(chunk) = chunks.next().await? {
            if bytes.len() + chunk.len() > length {
                return Err(short());
            }
            bytes.extend_from_slice(&chunk);
        }
        if bytes.len() == length { Ok(buffer.freeze()) } else { Err(short()) }
    }

    /// The start of its body.
    pub(super) async fn text(self) -> Result<BytesMut, Failure> {
        let mut chunks = self.chunks();
        let mut text = BytesMut::new();
        while let Some(chunk) = chunks.next().await? {
            let room = TEXT_BYTES_MAX - text.len();
            text.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
            if chunk.len() >= room {
                break;
            }
        }
        Ok(text)
    }

    fn chunks(self) -> Chunks {
        Chunks { body: ByteStream::new(self.response.into_body()), idle: self.idle }
    }
}

/// A body as it comes.
struct Chunks {
    body: ByteStream,
    idle: Duration,
}

impl Chunks {
    /// Standing still for too long is a failure.
    async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        match tokio::time::timeout(self.idle, self.body.next()).await {
            Ok(Some(Ok(chunk))) => Ok(Some(chunk)),
            Ok(Some(Err(error))) => Err(Failure::new(FailureKind::Lost, error)),
            Ok(None) => Ok(None),
            Err(_) => Err(Failure::lost("the transfer stood still")),
        }
    }
}
