//! Calls one verb of the SDK, on `session/a` and for what is small: the input is its name.

use std::io::{Read, Write};

use bailiwick_guest::text::Position;
use bailiwick_guest::{Error, Failure, Reader, Request, Writer, agent, files, spill, text};

const PATH: &str = "session/a";
const OTHER: &str = "session/b";

agent!(run);

fn run(request: Request) -> Result<String, Failure> {
    match request.input.as_str() {
        "reader" => drop(Reader::open(PATH)?.read_to_end(&mut Vec::new())?),
        "writer" => {
            let mut writer = Writer::create(OTHER)?;
            writer.write_all(b"written")?;
            writer.finish()?;
        }
        verb => call(verb)?,
    }
    Ok(String::new())
}

fn call(verb: &str) -> Result<(), Error> {
    match verb {
        "write" => files::write_all(PATH, "one\ntwo\n").map(drop),
        "read" => files::read_to_string(PATH).map(drop),
        "stat" => files::stat(PATH).map(drop),
        "exists" => files::exists("session/nothing").map(drop),
        "copy" => files::copy(PATH, OTHER).map(drop),
        "rename" => files::rename(OTHER, "session/c").map(drop),
        "delete" => files::delete("session/c"),
        "list" => files::list("session").try_for_each(|file| file.map(drop)),
        "read-text" => text::read(PATH, Position::Line(1), 1).map(drop),
        "replace" => text::replace(PATH, "two", "three").map(drop),
        "append" => text::append(PATH, "four\n").map(drop),
        "search" => text::search("session", "o").try_for_each(|found| found.map(drop)),
        "spill" => spill("rows.csv", vec![b'x'; 40_000]).map(drop),
        _ => Ok(()),
    }
}
