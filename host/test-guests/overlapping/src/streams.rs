//! Streams, and what becomes of them.

use std::future::poll_fn;
use std::task::Poll;

use bailiwick_guest::tasks::bindings::bailiwick::storage::async_files as host;
use bailiwick_guest::tasks::bindings::{wit_future, wit_stream};
use bailiwick_guest::tasks::{Reading, Writing, files};
use bailiwick_guest::{Error, Failure, Precondition};

const SOURCE: &str = "session/source.bin";
const TARGET: &str = "session/target.bin";
const BLOCK_BYTES: usize = 100_000;

/// Bytes that no block repeats.
fn block(number: u64) -> Vec<u8> {
    let byte = |index: usize| (number as usize * 31 + index * 7 + index / 251) as u8;
    (0..BLOCK_BYTES).map(byte).collect()
}

/// Writes so many bytes to a stream, and leaves it open.
async fn begun(path: &str, bytes: u64) -> Result<Writing, Error> {
    let mut writing = Writing::create(path);
    let blocks = bytes / BLOCK_BYTES as u64;
    for number in 0..blocks {
        writing.write(block(number)).await?;
    }
    let rest = bytes as usize % BLOCK_BYTES;
    writing.write(&block(blocks)[..rest]).await?;
    Ok(writing)
}

pub(crate) async fn unread(number: u64) -> Result<String, Failure> {
    begun(SOURCE, 1 << 20).await?.finish().await?;
    let mut open = Vec::new();
    for _ in 0..number {
        match Reading::open(SOURCE).await {
            Ok(reading) => open.push(reading),
            Err(error) => return Ok(format!("{} open, then {}", open.len(), error.reason)),
        }
    }
    Ok(format!("{} open", open.len()))
}

pub(crate) async fn bytewise(number: u64) -> Result<String, Failure> {
    begun(SOURCE, number).await?.finish().await?;
    let mut reading = Reading::open(SOURCE).await?;
    let mut read = 0;
    while let [byte] = reading.chunk(1).await?[..] {
        if byte != block(read / BLOCK_BYTES as u64)[read as usize % BLOCK_BYTES] {
            return Err(format!("another byte than was written at {read}").into());
        }
        read += 1;
    }
    Ok(format!("{read} bytes, one by one"))
}

pub(crate) async fn copy(number: u64) -> Result<String, Failure> {
    begun(SOURCE, number).await?.finish().await?;
    let mut reading = Reading::open(SOURCE).await?;
    let mut writing = Writing::create(TARGET);
    loop {
        let chunk = reading.chunk(70_000).await?;
        if chunk.is_empty() {
            break;
        }
        writing.write(chunk).await?;
    }
    let file = writing.finish().await?;
    let expected: Vec<u8> = (0..=number / BLOCK_BYTES as u64).flat_map(block).collect();
    let same = files::read_all(TARGET).await? == expected[..usize::try_from(number)?];
    Ok(format!("{} bytes, the same: {same}", file.size))
}

pub(crate) async fn piped(number: u64) -> Result<String, Failure> {
    begun(SOURCE, number).await?.finish().await?;
    let reading = host::read_stream(SOURCE.to_owned(), 0).await.map_err(Error::from)?;
    let host::Reading { file, data, outcome } = reading;
    let (size, size_given) = wit_future::new(|| None);
    let always = Precondition::Always;
    let call = host::write_stream(TARGET.to_owned(), always, data, size_given);
    let mut call = std::pin::pin!(call);
    let mut said = std::pin::pin!(size.write(Some(file.size)));
    let mut is_said = false;
    let written = poll_fn(|context| {
        is_said = is_said || said.as_mut().poll(context).is_ready();
        call.as_mut().poll(context)
    });
    let written = written.await.map_err(Error::from)?;
    outcome.await.map_err(Error::from)?;
    let same = files::read_all(TARGET).await? == files::read_all(SOURCE).await?;
    Ok(format!("{} bytes, the same: {same}", written.size))
}

pub(crate) async fn endless() -> Result<String, Failure> {
    begun(TARGET, u64::MAX).await?;
    Ok("an end".to_owned())
}

pub(crate) async fn dropped(number: u64) -> Result<String, Failure> {
    drop(begun(TARGET, number).await?);
    let found = files::stat(TARGET).await.err().map(|error| error.reason);
    Ok(format!("{found:?}"))
}

pub(crate) async fn wrong_size(number: u64) -> Result<String, Failure> {
    let mut told = Vec::new();
    for said in [Some(number + 1), Some(0), None] {
        let (mut data, data_given) = wit_stream::new();
        let (size, size_given) = wit_future::new(|| None);
        let always = Precondition::Always;
        let call = host::write_stream(TARGET.to_owned(), always, data_given, size_given);
        let write = async {
            data.write_all(vec![7; usize::try_from(number).unwrap_or(0)]).await;
            drop(data);
            let _ = size.write(said).await;
        };
        let (mut call, mut write) = (std::pin::pin!(call), std::pin::pin!(write));
        let mut is_written = false;
        let answer = poll_fn(|context| {
            is_written = is_written || write.as_mut().poll(context).is_ready();
            call.as_mut().poll(context)
        });
        told.push(answer.await.map_err(Error::from).err().map(|error| error.reason));
    }
    let found = files::stat(TARGET).await.err().map(|error| error.reason);
    Ok(format!("{told:?} {found:?}"))
}

pub(crate) async fn unfinished(number: u64) -> Result<String, Failure> {
    std::mem::forget(begun(TARGET, number).await?);
    Ok(format!("left a stream of {number} bytes"))
}

pub(crate) async fn denied() -> Result<String, Failure> {
    let mut writing = Writing::create("workspace/not-ours.bin");
    let mut told = None;
    for number in 0..100 {
        if let Err(error) = writing.write(block(number)).await {
            told = Some(error.reason);
            break;
        }
    }
    let finished = writing.finish().await.err().map(|error| error.reason);
    let opened = Reading::open("skill/none/a.txt").await.err().map(|error| error.reason);
    Ok(format!("{told:?} {finished:?} {opened:?}"))
}

pub(crate) async fn given_up_reads(number: u64) -> Result<String, Failure> {
    begun(SOURCE, 1 << 20).await?.finish().await?;
    let mut reading = Reading::open(SOURCE).await?;
    let mut bytes = Vec::new();
    for _ in 0..number {
        let mut chunk = Box::pin(reading.chunk(10_000));
        // Polled once, and dropped.
        let read = poll_fn(|context| match chunk.as_mut().poll(context) {
            Poll::Ready(read) => Poll::Ready(Some(read)),
            Poll::Pending => Poll::Ready(None),
        });
        if let Some(read) = read.await {
            bytes.append(&mut read?);
        }
    }
    bytes.append(&mut reading.rest().await?);
    let expected: Vec<u8> = (0..=10).flat_map(block).take(1 << 20).collect();
    Ok(format!("{} bytes, the same: {}", bytes.len(), bytes == expected))
}

pub(crate) async fn changed() -> Result<String, Failure> {
    begun(SOURCE, 1 << 20).await?.finish().await?;
    let mut reading = Reading::open(SOURCE).await?;
    reading.chunk(1000).await?;
    files::write(SOURCE, "something else").await?;
    let told = reading.rest().await.err().map(|error| error.code.name());
    Ok(format!("{told:?}"))
}
