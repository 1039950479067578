//! Awkward values in every argument. Each answer is a line, `NAME: CODE` or `NAME: ok …`.

use bailiwick_guest::bindings::bailiwick::storage::{files, spill, text};
use bailiwick_guest::{Error, Failure, Precondition};

const PATH: &str = "session/numbers.txt";
const OFFSETS: [u64; 6] = [0, 1, u32::MAX as u64, i64::MAX as u64, u64::MAX - 1, u64::MAX];
const COUNTS: [u32; 5] = [0, 1, 1001, i32::MAX as u32, u32::MAX];
/// Cursors that no host made.
const CURSORS: [&str; 6] =
    ["", "0", "session/numbers.txt", "../", "\0", "AAAAAAAAAAAAAAAAAAAAAAAA"];

#[derive(Default)]
struct Answers(Vec<String>);

impl Answers {
    fn add<T>(
        &mut self,
        name: impl Into<String>,
        answer: Result<T, impl Into<Error>>,
        shown: impl Fn(T) -> String,
    ) {
        let answer = answer.map_or_else(
            |error| error.into().code.name().to_owned(),
            |value| format!("ok {}", shown(value)),
        );
        self.0.push(format!("{}: {answer}", name.into()));
    }
}

pub(crate) fn numbers(_: u64) -> Result<String, Failure> {
    files::write(PATH, b"one\ntwo\nthree\n", &Precondition::Always).map_err(Error::from)?;
    let mut answers = Answers::default();
    for offset in OFFSETS {
        for length in COUNTS {
            let answer = files::read(PATH, offset, length);
            answers.add(format!("read {offset} {length}"), answer, |chunk| {
                chunk.bytes.len().to_string()
            });
        }
    }
    readers(&mut answers)?;
    texts(&mut answers);
    for limit in COUNTS {
        let answer = files::list_files("session", files::Depth::All, None, limit);
        answers.add(format!("list {limit}"), answer, |page| page.files.len().to_string());
    }
    Ok(answers.0.join("\n"))
}

fn readers(answers: &mut Answers) -> Result<(), Failure> {
    let reader = files::open_reader(PATH).map_err(Error::from)?;
    for offset in OFFSETS {
        reader.seek(offset);
        for length in COUNTS {
            let answer = reader.read(length);
            answers
                .add(format!("reader {offset} {length}"), answer, |bytes| bytes.len().to_string());
        }
    }
    reader.close();
    answers.add("reader closed", reader.read(1), |bytes| bytes.len().to_string());
    Ok(())
}

fn texts(answers: &mut Answers) {
    for count in COUNTS {
        for start in COUNTS {
            let answer = text::read(PATH, text::Position::Line(start), count);
            answers.add(format!("lines {start} {count}"), answer, |slice| {
                slice.text.len().to_string()
            });
        }
        for offset in OFFSETS {
            let answer = text::read(PATH, text::Position::Offset(offset), count);
            answers.add(format!("text {offset} {count}"), answer, |slice| {
                slice.text.len().to_string()
            });
        }
        let answer = text::search("session", None, "t.*", None, count);
        answers.add(format!("search {count}"), answer, |page| page.found.len().to_string());
    }
}

pub(crate) fn cursors(_: u64) -> Result<String, Failure> {
    let mut answers = Answers::default();
    for cursor in CURSORS {
        let listing = files::list_files("session", files::Depth::All, Some(cursor), 10);
        answers.add(format!("list {cursor:?}"), listing, |page| page.files.len().to_string());
        let search = text::search("session", None, ".", Some(cursor), 10);
        answers.add(format!("search {cursor:?}"), search, |page| page.found.len().to_string());
    }
    Ok(answers.0.join("\n"))
}

fn bytes(number: u64) -> Result<Vec<u8>, Failure> {
    Ok(vec![b'x'; usize::try_from(number)?])
}

fn one<T>(name: &str, answer: Result<T, impl Into<Error>>) -> Result<String, Failure> {
    let mut answers = Answers::default();
    answers.add(name, answer, |_| String::new());
    Ok(answers.0.concat())
}

pub(crate) fn path_bytes(number: u64) -> Result<String, Failure> {
    let path = format!("session/{}", String::from_utf8(bytes(number)?)?);
    one("path", files::stat(&path))
}

pub(crate) fn write_bytes(number: u64) -> Result<String, Failure> {
    one("write", files::write(PATH, &bytes(number)?, &Precondition::Always))
}

pub(crate) fn replace_bytes(number: u64) -> Result<String, Failure> {
    let long = String::from_utf8(bytes(number)?)?;
    files::write(PATH, b"one", &Precondition::Always).map_err(Error::from)?;
    one("replace", text::replace(PATH, &long, &long, text::Occurrence::Only, &Precondition::Always))
}

pub(crate) fn spill_bytes(number: u64) -> Result<String, Failure> {
    one("spill", spill::spill("long.txt", &bytes(number)?))
}
