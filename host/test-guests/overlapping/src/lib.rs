//! Has several calls under way at once, some of them as no guest should. The input is
//! `NAME [NUMBER]`, a case of `run`.

mod calls;
mod streams;

use bailiwick_guest::{Failure, Request, agent};

agent!(async run);

async fn run(request: Request) -> Result<String, Failure> {
    let mut words = request.input.split_whitespace();
    let name = words.next().unwrap_or_default();
    let number = words.next().unwrap_or("0").parse()?;
    match name {
        // NUMBER calls at once, all of them awaited.
        "awaited" => calls::awaited(number).await,
        // NUMBER calls that nobody awaits; then the turn returns.
        "left" => calls::left(number).await,
        // The same, but the turn never returns.
        "left-and-spin" => calls::left_and_spin(number).await,
        "left-and-wait" => calls::left_and_wait(number).await,
        // NUMBER calls that are begun and given up, one after the other, without a pause.
        "given-up" => calls::given_up(number).await,
        // Writes of 16 MiB, NUMBER at once.
        "large-writes" => calls::large_writes(number).await,
        "large-reads-and-spin" => calls::large_reads_and_spin(number).await,
        // Each verb once, beside the others.
        "verbs" => calls::verbs().await,
        "panic" => calls::panic().await,
        // Waits for what nobody will do.
        "deadlock" => calls::deadlock().await,
        // Opens NUMBER streams, and reads none.
        "unread" => streams::unread(number).await,
        // Reads a file of NUMBER bytes a byte at a time.
        "bytewise" => streams::bytewise(number).await,
        // Copies NUMBER bytes from stream to stream, and checks them.
        "copy" => streams::copy(number).await,
        // Hands a stream that it reads on as one that it writes.
        "piped" => streams::piped(number).await,
        // Writes without end.
        "endless" => streams::endless().await,
        // Gives a stream up after NUMBER bytes.
        "dropped" => streams::dropped(number).await,
        // Says another size than the stream had.
        "wrong-size" => streams::wrong_size(number).await,
        // Leaves a stream open when the turn returns.
        "unfinished" => streams::unfinished(number).await,
        "denied" => streams::denied().await,
        // Gives up reads of a stream before they are answered.
        "given-up-reads" => streams::given_up_reads(number).await,
        "changed" => streams::changed().await,
        _ => Err(format!("`{name}` is not known.").into()),
    }
}
