//! Calls one verb so many times, so many at once: `VERB PATH TIMES IN_FLIGHT [FILES]`. Of several
//! files, the name of each is the path and a number, and they are taken in turn.

use bailiwick_guest::bindings::bailiwick::agent::session;
use bailiwick_guest::tasks::bindings::bailiwick::storage::async_files as host;
use bailiwick_guest::tasks::join;
use bailiwick_guest::{Error, Failure, Precondition, Request, agent};

const FILE_BYTES: u32 = 4096;

agent!(async run);

async fn run(request: Request) -> Result<String, Failure> {
    let words: Vec<_> = request.input.split_whitespace().collect();
    let [verb, path, times, in_flight, rest @ ..] = &words[..] else {
        return Err("The input is `VERB PATH TIMES IN_FLIGHT [FILES]`.".into());
    };
    let (times, in_flight) = (times.parse::<usize>()?, in_flight.parse::<usize>()?);
    let files: usize = rest.first().map_or(Ok(1), |files| files.parse())?;
    let path = |at: usize| match files {
        1 => (*path).to_owned(),
        files => format!("{path}{}", at % files),
    };
    if in_flight == 1 {
        for at in 0..times {
            call(verb, path(at)).await?;
        }
        return Ok(String::new());
    }
    for answer in join(in_flight, (0..times).map(|at| call(verb, path(at)))).await {
        answer?;
    }
    Ok(String::new())
}

async fn call(verb: &str, path: String) -> Result<(), Failure> {
    let answer = match verb {
        "nothing" => {
            session::current_status();
            Ok(())
        }
        "stat" => host::stat(path).await.map(drop),
        "read" => host::read(path, 0, FILE_BYTES).await.map(drop),
        "write" => {
            let bytes = vec![b'x'; FILE_BYTES as usize];
            host::write(path, bytes, Precondition::Always).await.map(drop)
        }
        _ => return Err(format!("`{verb}` is no verb.").into()),
    };
    Ok(answer.map_err(Error::from)?)
}
