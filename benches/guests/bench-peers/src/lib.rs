//! The verbs of the benchmark through `wasi:filesystem` and `wasi:keyvalue`:
//! `VERB NAME TIMES [BYTES [FILES]]`. Of several files, the name of each is the name and a
//! number, and they are taken in turn. Files are in the first folder that the host opened.

#[expect(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    unused_qualifications,
    clippy::allow_attributes,
    clippy::unwrap_used,
    reason = "generated"
)]
#[rustfmt::skip]
pub mod bindings;

use bindings::wasi::filesystem::preopens;
use bindings::wasi::filesystem::types::{
    Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags,
};
use bindings::wasi::keyvalue::store;

struct Peers;

impl bindings::Guest for Peers {
    fn run(input: String) -> Result<String, String> {
        perform(&input).map(|()| String::new())
    }
}

#[cfg(target_arch = "wasm32")]
#[expect(
    unsafe_code,
    unreachable_pub,
    clippy::allow_attributes,
    reason = "generated: the export is a symbol by name"
)]
mod export {
    use super::{Peers, bindings};
    bindings::export!(Peers with_types_in bindings);
}

#[cfg(not(target_arch = "wasm32"))]
const _: fn(String) -> Result<String, String> = <Peers as bindings::Guest>::run;

struct Job {
    names: Vec<String>,
    times: usize,
    bytes: usize,
}

fn perform(input: &str) -> Result<(), String> {
    let words: Vec<_> = input.split(' ').collect();
    let [verb, name, times, rest @ ..] = &words[..] else {
        return Err("The input is `VERB NAME TIMES [BYTES [FILES]]`.".to_owned());
    };
    let number = |word: &str| word.parse::<usize>().map_err(|error| error.to_string());
    let optional = |at: usize, default| match rest.get(at) {
        Some(word) if !word.is_empty() => number(word),
        _ => Ok(default),
    };
    let names = match optional(1, 1)? {
        1 => vec![(*name).to_owned()],
        files => (0..files).map(|file| format!("{name}{file}")).collect(),
    };
    let job = Job { names, times: number(times)?, bytes: optional(0, 4096)? };
    match *verb {
        "get" | "set" => key_value(verb, &job).map_err(|error| format!("{error:?}")),
        _ => files(verb, &job).map_err(|error| format!("{error:?}")),
    }
}

impl Job {
    fn each<E>(&self, mut verb: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        (0..self.times).try_for_each(|at| verb(&self.names[at % self.names.len()]))
    }
}

fn key_value(verb: &str, job: &Job) -> Result<(), store::Error> {
    let bucket = store::open("")?;
    let value = vec![b'x'; job.bytes];
    bucket.set(&job.names[0], &value)?;
    match verb {
        "get" => job.each(|name| bucket.get(name).map(drop)),
        _ => job.each(|name| bucket.set(name, &value)),
    }
}

fn files(verb: &str, job: &Job) -> Result<(), ErrorCode> {
    let folder = preopens::get_directories().into_iter().next().ok_or(ErrorCode::NoEntry)?.0;
    match verb {
        "stat" => job.each(|name| folder.stat_at(PathFlags::empty(), name).map(drop)),
        "read" => job.each(|name| read(&folder, name, job.bytes as u64)),
        "write" => {
            let bytes = vec![b'x'; job.bytes];
            job.each(|name| write(&folder, name, &bytes))
        }
        "list" => job.each(|name| list(&folder, name)),
        _ => Err(ErrorCode::Unsupported),
    }
}

fn open(
    folder: &Descriptor,
    name: &str,
    open: OpenFlags,
    flags: DescriptorFlags,
) -> Result<Descriptor, ErrorCode> {
    folder.open_at(PathFlags::empty(), name, open, flags)
}

fn read(folder: &Descriptor, name: &str, bytes: u64) -> Result<(), ErrorCode> {
    let file = open(folder, name, OpenFlags::empty(), DescriptorFlags::READ)?;
    file.read(bytes, 0).map(drop)
}

/// Durably, as a database would: a new file, synced, renamed into place, and the folder synced.
fn write(folder: &Descriptor, name: &str, bytes: &[u8]) -> Result<(), ErrorCode> {
    const NEW: &str = "being-written";
    let file = open(folder, NEW, OpenFlags::CREATE | OpenFlags::TRUNCATE, DescriptorFlags::WRITE)?;
    file.write(bytes, 0)?;
    file.sync()?;
    folder.rename_at(NEW, folder, name)?;
    folder.sync()
}

/// Names, and what is to be known of each.
fn list(folder: &Descriptor, name: &str) -> Result<(), ErrorCode> {
    let listed = open(folder, name, OpenFlags::DIRECTORY, DescriptorFlags::READ)?;
    let entries = listed.read_directory()?;
    while let Some(entry) = entries.read_directory_entry()? {
        listed.stat_at(PathFlags::empty(), &entry.name)?;
    }
    Ok(())
}
