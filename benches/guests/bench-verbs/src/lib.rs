//! Calls one verb so many times: `VERB PATH TIMES [BYTES [FILES]]`. Of several files, the name
//! of each is the path and a number, and they are taken in turn.

use bailiwick_guest::bindings::bailiwick::agent::session;
use bailiwick_guest::bindings::bailiwick::storage::{files as host, text};
use bailiwick_guest::{Error, ErrorCode, Failure, Precondition, Request, agent};

/// What a reader or a writer is given per call.
const BLOCK_BYTES: usize = 1 << 20;

agent!(run);

struct Job {
    paths: Vec<String>,
    times: usize,
    bytes: usize,
}

fn run(request: Request) -> Result<String, Failure> {
    let words: Vec<_> = request.input.split(' ').collect();
    let [verb, path, times, rest @ ..] = &words[..] else {
        return Err("The input is `VERB PATH TIMES [BYTES [FILES]]`.".into());
    };
    let number = |at: usize, default| match rest.get(at) {
        Some(word) if !word.is_empty() => word.parse::<usize>(),
        _ => Ok(default),
    };
    let paths = match number(1, 1)? {
        1 => vec![(*path).to_owned()],
        files => (0..files).map(|file| format!("{path}{file}")).collect(),
    };
    let job = Job { paths, times: times.parse()?, bytes: number(0, 4096)? };
    perform(verb, &job)
}

fn perform(verb: &str, job: &Job) -> Result<String, Failure> {
    match verb {
        "nothing" => (0..job.times).for_each(|_| {
            session::current_status();
        }),
        "stat" => job.each(|path| host::stat(path).map(drop))?,
        "read" => {
            let length = u32::try_from(job.bytes)?;
            job.each(|path| host::read(path, 0, length).map(drop))?;
        }
        "write" => {
            let bytes = vec![b'x'; job.bytes];
            job.each(|path| host::write(path, &bytes, &Precondition::Always).map(drop))?;
        }
        // One file read and one written, as most turns do.
        "both" => job.each(|path| {
            let chunk = host::read(path, 0, 4096)?;
            host::write(&format!("{path}-out"), &chunk.bytes, &Precondition::Always).map(drop)
        })?,
        "list" => {
            job.each(|path| host::list_files(path, host::Depth::All, None, 1000).map(drop))?
        }
        "search" => return search(job),
        "stream-read" => job.each(read_all)?,
        "stream-write" => job.each(|path| write_until_there_is_room(path, job.bytes))?,
        _ => return Err(format!("`{verb}` is no verb.").into()),
    }
    Ok(String::new())
}

type Answer<T> = Result<T, bailiwick_guest::bindings::bailiwick::storage::types::Error>;

impl Job {
    fn each(&self, mut verb: impl FnMut(&str) -> Answer<()>) -> Result<(), Error> {
        for at in 0..self.times {
            verb(&self.paths[at % self.paths.len()])?;
        }
        Ok(())
    }
}

/// All matches of a search, the pattern being what is after `#` in the path.
fn search(job: &Job) -> Result<String, Failure> {
    let (folder, pattern) = job.paths[0].split_once('#').ok_or("no pattern")?;
    let mut found = 0;
    for _ in 0..job.times {
        let mut after = None;
        loop {
            let page = text::search(folder, None, pattern, after.as_deref(), 1000);
            let page = page.map_err(Error::from)?;
            found += page.found.len();
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    Ok(found.to_string())
}

fn read_all(path: &str) -> Answer<()> {
    let reader = host::open_reader(path)?;
    while !reader.read(BLOCK_BYTES as u32)?.is_empty() {}
    Ok(())
}

/// Begins anew when the host is short of room for longer than it lets a call wait.
fn write_until_there_is_room(path: &str, bytes: usize) -> Answer<()> {
    loop {
        match write_all(path, bytes) {
            Err(error) if error.code == ErrorCode::Busy => {}
            answer => return answer,
        }
    }
}

fn write_all(path: &str, bytes: usize) -> Answer<()> {
    let block = vec![b'x'; BLOCK_BYTES];
    let writer = host::open_writer(path, &Precondition::Always)?;
    let mut left = bytes;
    while left > 0 {
        let length = left.min(BLOCK_BYTES);
        writer.write(&block[..length])?;
        left -= length;
    }
    writer.finish().map(drop)
}
