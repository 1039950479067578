//! Calls and streams that are under way together, some of them as no program should have them.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use futures::future::join_all;
use serde_json::{Value, json};

use crate::bindings::wasi::cli::{stdin, stdout};
use crate::bindings::wasi::clocks::monotonic_clock;
use crate::bindings::wasi::filesystem::types::{
    Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags,
};
use crate::bindings::wit_stream;
use crate::places::{append, ls, place, read_from, write_at};
use crate::{Step, word};

type Call<'a> = Pin<Box<dyn Future<Output = Result<(), ErrorCode>> + 'a>>;

pub(crate) async fn perform(verb: &str, step: &Step<'_>) -> Result<Value, ErrorCode> {
    let (folder, path) = place(step.text(1))?;
    let path = if path.is_empty() { ".".to_owned() } else { path };
    let number = step.number(2);
    match verb {
        // NUMBER looks at once, all of them awaited.
        "stats" => {
            let stats = (0..number).map(|_| folder.stat_at(PathFlags::empty(), path.clone()));
            Ok(counted(join_all(stats).await))
        }
        // NUMBER files, each written and read back beside the others.
        "files" => files(&folder, &path, number).await,
        // NUMBER opens that make files, begun and given up.
        "opens-given-up" => {
            for index in 0..number {
                let mut calls = [made(&folder, format!("{path}{index}"))];
                begin(&mut calls).await;
            }
            Ok(number.into())
        }
        // NUMBER opens that make files, left under way.
        "opens-left" => {
            let mut calls: Vec<_> =
                (0..number).map(|index| made(&folder, format!("{path}{index}"))).collect();
            begin(&mut calls).await;
            std::mem::forget(calls);
            // They still have it.
            std::mem::forget(folder);
            Ok(number.into())
        }
        // NUMBER waits of an hour, left under way.
        "waits" => {
            let wait = || async {
                monotonic_clock::wait_for(3_600_000_000_000).await;
                Ok(())
            };
            let mut calls: Vec<_> = (0..number).map(|_| Box::pin(wait()) as Call<'_>).collect();
            begin(&mut calls).await;
            std::mem::forget(calls);
            Ok(number.into())
        }
        // NUMBER streams of one file, none of them read.
        "unread" => {
            let file = open(&folder, path, OpenFlags::empty(), DescriptorFlags::READ).await?;
            let streams: Vec<_> = (0..number).map(|_| file.read_via_stream(0)).collect();
            Ok(streams.len().into())
        }
        // NUMBER streams of one file, each begun to be read, all at once.
        "read" => {
            let file = open(&folder, path, OpenFlags::empty(), DescriptorFlags::READ).await?;
            let read = join_all((0..number).map(|_| read_from(&file, 0))).await;
            Ok(counted(read.into_iter().map(|read| read.map(|_| ())).collect()))
        }
        // Reads that are given up NUMBER times, and then one that is not.
        "reads-given-up" => given_up(&folder, path, number).await,
        // NUMBER streams that append to one file at once, a line each.
        "appends" => {
            let flags = DescriptorFlags::READ | DescriptorFlags::WRITE;
            let file = open(&folder, path, OpenFlags::CREATE, flags).await?;
            let lines = (0..number).map(|index| append(&file, format!("{index:04}\n").into()));
            let done = counted(join_all(lines).await);
            let text = read_from(&file, 0).await?;
            let mut lines: Vec<_> = text.split(|byte| *byte == b'\n').collect();
            lines.sort_unstable();
            lines.dedup();
            Ok(json!([done, text.len(), lines.len()]))
        }
        // Writes to a stream, lets go of the descriptor, and then of the stream.
        "let-go" => let_go(&folder, path).await,
        // Writes to a stream, and leaves it and its descriptor open.
        "left-writing" => {
            let file = open(&folder, path, OpenFlags::CREATE, DescriptorFlags::WRITE).await?;
            let (mut data, given) = wit_stream::new();
            let told = file.write_via_stream(given, 0);
            data.write_all(b"left".to_vec()).await;
            std::mem::forget((file, data, told));
            Ok(Value::Null)
        }
        // Moves a file NUMBER times while a stream writes to it.
        "moved" => moved(&folder, path, number).await,
        // Hands the bytes of a file on as they are read.
        "piped" => {
            let file = open(&folder, path.clone(), OpenFlags::empty(), DescriptorFlags::READ);
            let (data, read) = file.await?.read_via_stream(0);
            let to = format!("{path}.copy");
            let copy = open(&folder, to, OpenFlags::CREATE, DescriptorFlags::WRITE).await?;
            copy.write_via_stream(data, 0).await?;
            read.await?;
            Ok(copy.stat().await?.size.into())
        }
        // NUMBER streams that the host hands to itself, of which the program keeps nothing.
        "pipes" => {
            let flags = DescriptorFlags::READ | DescriptorFlags::WRITE;
            let file = open(&folder, path, OpenFlags::CREATE, flags).await?;
            for _ in 0..number {
                let (data, read) = file.read_via_stream(0);
                drop((read, file.write_via_stream(data, 0)));
            }
            Ok(number.into())
        }
        // The same, from standard input to standard output.
        "echoes" => {
            for _ in 0..number {
                let (data, read) = stdin::read_via_stream();
                drop((read, stdout::write_via_stream(data)));
            }
            Ok(number.into())
        }
        // Lists a folder NUMBER times at once.
        "ls" => {
            let folder = open(&folder, path, OpenFlags::DIRECTORY, DescriptorFlags::READ).await?;
            let listed = join_all((0..number).map(|_| ls(&folder))).await;
            let mut lengths = Vec::new();
            for names in listed {
                lengths.push(names?.as_array().map_or(0, Vec::len));
            }
            lengths.dedup();
            Ok(json!(lengths))
        }
        _ => Err(ErrorCode::Other(Some(format!("no step `many-{verb}`")))),
    }
}

async fn open(
    folder: &Descriptor,
    path: String,
    open: OpenFlags,
    flags: DescriptorFlags,
) -> Result<Descriptor, ErrorCode> {
    folder.open_at(PathFlags::SYMLINK_FOLLOW, path, open, flags).await
}

fn made(folder: &Descriptor, path: String) -> Call<'_> {
    Box::pin(async move {
        open(folder, path, OpenFlags::CREATE, DescriptorFlags::WRITE).await.map(|_| ())
    })
}

/// Begins calls and does not wait for them.
async fn begin(calls: &mut [Call<'_>]) {
    poll_fn(|context| {
        for call in calls.iter_mut() {
            // Answered or not: nobody asks.
            let _ = call.as_mut().poll(context);
        }
        Poll::Ready(())
    })
    .await;
}

/// How many were answered and how many refused, and the word of the first refusal.
fn counted<T>(answers: Vec<Result<T, ErrorCode>>) -> Value {
    let number = answers.len();
    let mut refused = answers.into_iter().filter_map(Result::err);
    let first = refused.next().map(word);
    let refused = refused.count() + usize::from(first.is_some());
    json!([number - refused, refused, first])
}

async fn files(folder: &Descriptor, path: &str, number: u64) -> Result<Value, ErrorCode> {
    let text = |index: u64| format!("file {index}\n").repeat(usize::try_from(index).unwrap_or(0));
    let write = |index: u64| async move {
        let (create, both) = (OpenFlags::CREATE, DescriptorFlags::READ | DescriptorFlags::WRITE);
        let file = open(folder, format!("{path}{index}"), create, both).await?;
        write_at(&file, text(index).into_bytes(), 0).await?;
        let read = read_from(&file, 0).await?;
        file.sync().await?;
        if read == text(index).into_bytes() { Ok(()) } else { Err(ErrorCode::Io) }
    };
    Ok(counted(join_all((0..number).map(write)).await))
}

async fn given_up(folder: &Descriptor, path: String, number: u64) -> Result<Value, ErrorCode> {
    let file = open(folder, path, OpenFlags::empty(), DescriptorFlags::READ).await?;
    let (mut data, told) = file.read_via_stream(0);
    let mut bytes = Vec::new();
    for _ in 0..number {
        let mut read = Box::pin(data.read(Vec::with_capacity(10_000)));
        // Polled once, and given up: what came until then is its reader's.
        let read = poll_fn(|context| match read.as_mut().poll(context) {
            Poll::Ready((_, came)) => Poll::Ready(came),
            Poll::Pending => Poll::Ready(read.as_mut().cancel().1),
        });
        bytes.extend(read.await);
    }
    bytes.extend(data.collect().await);
    told.await?;
    Ok(json!([bytes.len(), bytes == read_from(&file, 0).await?]))
}

async fn let_go(folder: &Descriptor, path: String) -> Result<Value, ErrorCode> {
    let file = open(folder, path.clone(), OpenFlags::CREATE, DescriptorFlags::WRITE).await?;
    let (mut data, given) = wit_stream::new();
    let told = file.write_via_stream(given, 0);
    data.write_all(b"first, ".to_vec()).await;
    drop(file);
    data.write_all(b"and last".to_vec()).await;
    drop(data);
    told.await?;
    folder.stat_at(PathFlags::empty(), path).await.map(|stat| stat.size.into())
}

async fn moved(folder: &Descriptor, path: String, number: u64) -> Result<Value, ErrorCode> {
    let file = open(folder, path.clone(), OpenFlags::CREATE, DescriptorFlags::WRITE).await?;
    let mut at = path.clone();
    for index in 0..number {
        let to = format!("{path}.{index}");
        let line = append(&file, format!("{index:04}\n").into());
        let moved = folder.rename_at(at, folder, to.clone());
        let (line, moved) = futures::join!(line, moved);
        line?;
        moved?;
        at = to;
    }
    file.sync().await?;
    Ok(file.stat().await?.size.into())
}
