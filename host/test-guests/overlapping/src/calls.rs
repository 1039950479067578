//! Calls, and what becomes of them.

use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use bailiwick_guest::tasks::bindings::wit_stream;
use bailiwick_guest::tasks::{files, join};
use bailiwick_guest::{Error, Failure};

const FILE: &str = "session/a-file.txt";

type Call<T> = Pin<Box<dyn Future<Output = Result<T, Error>>>>;

/// Begins calls and does not wait for them.
async fn begin<T>(calls: &mut [Call<T>]) {
    poll_fn(|context| {
        for call in calls.iter_mut() {
            // Answered or not: nobody asks.
            let _ = call.as_mut().poll(context);
        }
        Poll::Ready(())
    })
    .await;
}

fn writes(number: u64) -> Vec<Call<bailiwick_guest::File>> {
    let path = |index| format!("session/left/{index}.txt");
    let call = |index| async move { files::write(&path(index), "left").await };
    (0..number).map(|index| Box::pin(call(index)) as Call<_>).collect()
}

pub(crate) async fn awaited(number: u64) -> Result<String, Failure> {
    files::write(FILE, "a file").await?;
    let stats = (0..number).map(|_| files::stat(FILE));
    let answers = join(usize::try_from(number)?, stats).await;
    let refused: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    let told = refused.first().map_or("none", |error| error.reason.as_str());
    Ok(format!("{} answered, {} refused: {told}", answers.len() - refused.len(), refused.len()))
}

pub(crate) async fn left(number: u64) -> Result<String, Failure> {
    let mut calls = writes(number);
    begin(&mut calls).await;
    std::mem::forget(calls);
    Ok(format!("left {number} calls"))
}

pub(crate) async fn left_and_spin(number: u64) -> Result<String, Failure> {
    let mut calls = writes(number);
    begin(&mut calls).await;
    loop {
        std::hint::spin_loop();
    }
}

pub(crate) async fn left_and_wait(number: u64) -> Result<String, Failure> {
    let mut calls = writes(number);
    begin(&mut calls).await;
    pending().await
}

pub(crate) async fn given_up(number: u64) -> Result<String, Failure> {
    for _ in 0..number {
        let mut call = writes(1);
        begin(&mut call).await;
    }
    Ok(format!("gave up {number} calls"))
}

pub(crate) async fn large_writes(number: u64) -> Result<String, Failure> {
    let paths: Vec<_> = (0..number).map(|index| format!("session/large/{index}.bin")).collect();
    let writes = paths.iter().map(|path| files::write(path, vec![7; 16 << 20]));
    let answers = join(usize::try_from(number)?, writes).await;
    let refused: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    let told = refused.first().map_or("none", |error| error.reason.as_str());
    Ok(format!("{} written, {} refused: {told}", answers.len() - refused.len(), refused.len()))
}

pub(crate) async fn large_reads_and_spin(number: u64) -> Result<String, Failure> {
    files::write(FILE, vec![7; 4 << 20]).await?;
    let read = || async { files::read(FILE, 0, 4 << 20).await };
    let mut calls: Vec<_> = (0..number).map(|_| Box::pin(read()) as Call<_>).collect();
    begin(&mut calls).await;
    loop {
        std::hint::spin_loop();
    }
}

pub(crate) async fn verbs() -> Result<String, Failure> {
    let write = files::write("session/verbs/a.txt", "a text");
    let other = files::write("session/verbs/b.txt", "another");
    for written in join(2, [Box::pin(write) as Call<_>, Box::pin(other)]).await {
        written?;
    }
    let copied = files::copy("session/verbs/a.txt", "session/verbs/c.txt").await?;
    let moved = files::rename("session/verbs/b.txt", "session/verbs/d.txt").await?;
    files::delete("session/verbs/a.txt").await?;
    let missing = files::stat("session/verbs/a.txt").await.err().map(|error| error.reason);
    let text = files::read_to_string("session/verbs/c.txt").await?;
    let names: Vec<_> =
        files::list("session/verbs").await?.into_iter().map(|file| file.path).collect();
    Ok(format!("{} {} {missing:?} {text} {names:?}", copied.path, moved.path))
}

pub(crate) async fn panic() -> Result<String, Failure> {
    let mut calls = writes(20);
    begin(&mut calls).await;
    panic!("a panic with calls under way");
}

pub(crate) async fn deadlock() -> Result<String, Failure> {
    let (_writer, mut reader) = wit_stream::new::<u8>();
    let read = reader.next().await;
    Ok(format!("{read:?} from nobody"))
}
