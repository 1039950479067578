//! One large file through a writer and a reader, to S3 and back.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use aws_sdk_s3::Client;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{ChecksumAlgorithm, CompletedMultipartUpload, CompletedPart};
use bytes::Bytes;
use futures::future::try_join_all;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::aws::AmazonS3;
use object_store::path::Path as PeerPath;
use object_store::{ObjectStoreExt, WriteMultipart};

use super::{Found, Workload};
use crate::clients::{self, Http};
use crate::figure::{Figure, Kind, Unit};
use crate::machine::MemoryWatch;
use crate::ours::{Host, coordinates, like_a_key};
use crate::race::{Cost, Race, pair, timed};
use crate::server::{BUCKET, Server};
use crate::setting::Setting;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "large-s3",
    title: "One large file on S3",
    about: "A guest writes 1 GiB (128 MiB in a quick run) through a writer and reads it back \
            through a reader, 1 MiB per call. The best raw client that we can write puts parts of \
            8 MiB, eight in flight, as slices of one buffer, with CRC32 and an unsigned payload \
            through the SDK, and gets ranges of 8 MiB, eight in flight, by plain HTTP with a \
            presigned URL, and drops them, or copies them once, to where a guest's memory could be. The SDK's default does the same with its own settings; \
            its default read is one stream. `object_store` uses `WriteMultipart` and one stream. \
            The server answers at once and is a process of its own, on the same cores.",
    run: |setting| Box::pin(run(setting)),
};

const PART: usize = 8 << 20;
const IN_FLIGHT: usize = 8;
const PUT: &str = "write";
const GET: &str = "read";
/// Turns that write and read at once, and what each moves.
const CROWD: usize = 100;

const WRITE_CAUSE: &str = "two cores do all of it, the server's work too, so processor time is \
     what is raced for. The raw client sends slices of one buffer again and again; a guest's bytes \
     are copied out of its memory into buffers that take turns, and summed. Summing them as they \
     come, while they are in the cache, took 10 ms off each 100 MB (0.60 before); eight parts at \
     once from the start changed nothing.";
const WRITE_CAUSE_TOO: &str = "as above: the best raw client itself is 2.2 times as fast as the \
     SDK's defaults here, and 2.4 times as `object_store`.";
const READ_CAUSE: &str = "two cores do all of it, and the raw client drops what it reads, where a \
     guest's bytes are copied twice: out of the connection's buffer into a block, since a guest \
     reads a whole number of bytes in one piece, and into the guest's memory. A raw client that \
     copies once is shown below. Reading no further ahead of what is near than 8 MiB, in blocks \
     of 1 MiB, took 20 of 73 ms off each 100 MB (0.55 before); blocks of 2, 4 and 8 MiB were no \
     better.";

/// What becomes of bytes that were read.
#[derive(Clone, Copy)]
enum Taken {
    Dropped,
    /// Copied once, as they come to be in a guest's memory.
    CopiedOn,
}

/// Room that they are copied into, again and again.
const COPIED: usize = 1 << 20;

#[derive(Clone)]
struct Contest {
    host: Host,
    tuned: Client,
    plain: Client,
    peer: Arc<AmazonS3>,
    http: Http,
    bytes: usize,
}

async fn run(setting: &Setting) -> Result<Found> {
    let stub = Server::stub()?;
    let bytes = setting.choose(128 << 20, 1 << 30);
    let contest = Contest::new(setting, &stub, bytes).await?;
    // Before anybody else has run, so that what they leave behind is not counted as there already.
    let memory = memory(&contest).await?;
    contest.clone().raw_put(true).await?;
    let mut race = Race::default();
    race.enter("guest", PUT, || {
        contest.clone().ours(format!("stream-write session/large 1 {bytes}"))
    });
    race.enter("best raw", PUT, || contest.clone().raw_put(true));
    race.enter("SDK default", PUT, || contest.clone().raw_put(false));
    race.enter("object_store", PUT, || contest.clone().peer_put());
    race.enter("guest", GET, || contest.clone().ours("stream-read session/large 1".to_owned()));
    race.enter("best raw", GET, || contest.clone().raw_get(Taken::Dropped));
    race.enter("best raw, copied on", GET, || contest.clone().raw_get(Taken::CopiedOn));
    race.enter("SDK default", GET, || contest.clone().sdk_get());
    race.enter("object_store", GET, || contest.clone().peer_get());
    let raced = race.run(setting.choose(7, 11)).await?;
    let speed = |what, against| {
        raced.speed(pair(what, "guest", against), bytes as u64, Unit::BytesPerSecond)
    };
    let per_100_mb = 1e8 / bytes as f64;
    let mut figures = vec![
        speed(PUT, "best raw")?.at_least(0.9).because(WRITE_CAUSE),
        speed(PUT, "SDK default")?.at_least(2.0).because(WRITE_CAUSE_TOO),
        speed(PUT, "object_store")?.at_least(2.0).because(WRITE_CAUSE_TOO),
        raced.cpu_amount(PUT, "guest", per_100_mb)?.at_most(0.065),
        raced.cpu_amount(PUT, "best raw", per_100_mb)?,
        speed(GET, "best raw")?.at_least(0.9).because(READ_CAUSE),
        speed(GET, "best raw, copied on")?,
        speed(GET, "SDK default")?,
        speed(GET, "object_store")?,
        raced.cpu_amount(GET, "guest", per_100_mb)?,
        raced.cpu_amount(GET, "best raw", per_100_mb)?,
        raced.cpu_amount(GET, "best raw, copied on", per_100_mb)?,
    ];
    for figure in &mut figures {
        if figure.kind == Kind::Amount {
            figure.what.push_str(", CPU per 100 MB");
        }
    }
    figures.extend(memory);
    let notes = vec![format!(
        "{CROWD} at once write 16 MiB each and read it back; what is held for them is bounded by \
         `host_buffer_bytes_max` (256 MiB), and the rest of the memory is the guests' own."
    )];
    Ok(Found { figures, notes })
}

/// What a guest adds to resident memory while it writes and while it reads, and what a hundred
/// of them add together; once each.
async fn memory(contest: &Contest) -> Result<Vec<Figure>> {
    let crowd_watch = MemoryWatch::start();
    let mut figures = Vec::new();
    let write = format!("stream-write session/large 1 {}", contest.bytes);
    for (what, input) in [(PUT, write.as_str()), (GET, "stream-read session/large 1")] {
        let watch = MemoryWatch::start();
        contest.host.turn(input).await?;
        let added = [watch.added() as f64];
        let what = format!("{what}, memory added");
        let figure = Figure::new(&what, "guest", Kind::Amount, Unit::Bytes, &added);
        figures.push(figure.at_most(f64::from(64 << 20)));
    }
    let write = format!("stream-write session/crowd 1 {}", 16 << 20);
    for input in [write.as_str(), "stream-read session/crowd 1"] {
        crowd(&contest.host, input).await?;
    }
    let added = [crowd_watch.added() as f64];
    let what = format!("{CROWD} at once, memory added");
    figures.push(Figure::new(&what, "guests", Kind::Amount, Unit::Bytes, &added));
    Ok(figures)
}

async fn crowd(host: &Host, input: &str) -> Result<()> {
    let turns = (0..CROWD).map(|turn| {
        let (host, input) = (host.clone(), input.to_owned());
        tokio::spawn(async move { host.turn_of(coordinates(turn as u128), input).await })
    });
    for done in try_join_all(turns).await? {
        done?;
    }
    Ok(())
}

impl Contest {
    async fn new(setting: &Setting, server: &Server, bytes: usize) -> Result<Self> {
        Ok(Self {
            host: Host::new(setting, server.store().await?).await?,
            tuned: clients::tuned(&server.endpoint()),
            plain: clients::plain(&server.endpoint()),
            peer: Arc::new(clients::peer(&server.endpoint())?),
            http: Http::new(),
            bytes,
        })
    }

    async fn ours(self, input: String) -> Result<Cost> {
        Ok(timed(self.host.turn(input)).await?.1)
    }

    /// Parts in parallel: `unsigned` as fast as the SDK lets us, else as it comes.
    async fn raw_put(self, unsigned: bool) -> Result<Cost> {
        let client = if unsigned { self.tuned.clone() } else { self.plain.clone() };
        // Of one buffer, as a pool would hand them out: what a caller has is not measured.
        let part = Bytes::from(vec![b'x'; PART]);
        let whole = async {
            let key = like_a_key("large");
            let begin = client.create_multipart_upload().bucket(BUCKET).key(&key);
            let begin = begin.checksum_algorithm(ChecksumAlgorithm::Crc32).send().await?;
            let upload = begin.upload_id().context("no upload id")?.to_owned();
            let parts = (1..=self.bytes / PART).map(|number| {
                put_part(
                    client.clone(),
                    key.clone(),
                    upload.clone(),
                    number,
                    part.clone(),
                    unsigned,
                )
            });
            let parts: Vec<_> = stream::iter(parts).buffered(IN_FLIGHT).try_collect().await?;
            let parts = CompletedMultipartUpload::builder().set_parts(Some(parts)).build();
            let complete = client.complete_multipart_upload().bucket(BUCKET).key(&key);
            complete.upload_id(upload).multipart_upload(parts).send().await?;
            Ok(())
        };
        Ok(timed(whole).await?.1)
    }

    async fn raw_get(self, taken: Taken) -> Result<Cost> {
        let url = clients::presigned(&self.tuned, &like_a_key("large")).await?;
        let whole = async {
            let ranges = (0..self.bytes / PART).map(|part| {
                let (http, url, first) = (self.http.clone(), url.clone(), (part * PART) as u64);
                let room = match taken {
                    Taken::Dropped => 0,
                    Taken::CopiedOn => COPIED,
                };
                let last = first + PART as u64 - 1;
                tokio::spawn(async move { http.get(&url, first, last, room).await })
            });
            let lengths: Vec<_> = stream::iter(ranges).buffered(IN_FLIGHT).try_collect().await?;
            let length = lengths.into_iter().sum::<Result<u64>>()?;
            ensure!(length == self.bytes as u64, "{length} bytes came");
            Ok(())
        };
        Ok(timed(whole).await?.1)
    }

    async fn sdk_get(self) -> Result<Cost> {
        let whole = async {
            let get = self.plain.get_object().bucket(BUCKET).key(like_a_key("large"));
            let mut body = get.send().await?.body;
            let mut length = 0;
            while let Some(bytes) = body.try_next().await? {
                length += bytes.len();
            }
            ensure!(length == self.bytes, "{length} bytes came");
            Ok(())
        };
        Ok(timed(whole).await?.1)
    }

    async fn peer_put(self) -> Result<Cost> {
        let whole = async {
            let upload = self.peer.put_multipart(&PeerPath::from(like_a_key("large"))).await?;
            let mut upload = WriteMultipart::new(upload);
            let block = vec![b'x'; 1 << 20];
            for _ in 0..self.bytes / block.len() {
                upload.wait_for_capacity(IN_FLIGHT).await?;
                upload.write(&block);
            }
            upload.finish().await?;
            Ok(())
        };
        Ok(timed(whole).await?.1)
    }

    async fn peer_get(self) -> Result<Cost> {
        let whole = async {
            let get = self.peer.get(&PeerPath::from(like_a_key("large"))).await?;
            let mut body = get.into_stream();
            let mut length = 0;
            while let Some(bytes) = body.try_next().await? {
                length += bytes.len();
            }
            ensure!(length == self.bytes, "{length} bytes came");
            Ok(())
        };
        Ok(timed(whole).await?.1)
    }
}

async fn put_part(
    client: Client,
    key: String,
    upload: String,
    number: usize,
    bytes: Bytes,
    unsigned: bool,
) -> Result<CompletedPart> {
    let number = i32::try_from(number)?;
    let request = client.upload_part().bucket(BUCKET).key(key).upload_id(upload);
    let request = request.part_number(number).checksum_algorithm(ChecksumAlgorithm::Crc32);
    let request = request.body(ByteStream::from(bytes)).customize();
    let request = if unsigned { request.disable_payload_signing() } else { request };
    let sent = tokio::spawn(async move { request.send().await }).await??;
    let part = CompletedPart::builder().part_number(number);
    Ok(part.set_e_tag(sent.e_tag().map(str::to_owned)).build())
}
