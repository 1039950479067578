//! Files that stay open, by name.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};

use serde_json::Value;

use crate::{Done, Step, word};

#[derive(Default)]
pub(crate) struct Handles(BTreeMap<String, File>);

impl Handles {
    pub(crate) fn perform(&mut self, verb: &str, step: &Step<'_>) -> Done {
        let name = step.text(1);
        if verb == "open" {
            let file = open(step.text(2), step.text(3)).map_err(word)?;
            self.0.insert(name.to_owned(), file);
            return Ok(Value::Null);
        }
        if verb == "close" {
            self.0.remove(name);
            return Ok(Value::Null);
        }
        let file = self.0.get_mut(name).ok_or("no such handle")?;
        let done = match verb {
            "write" => file.write_all(step.text(2).as_bytes()).map(|()| Value::Null),
            "flush" => file.flush().map(|()| Value::Null),
            "read" => read(file),
            "seek" => file.seek(SeekFrom::Start(step.number(2))).map(Value::from),
            "end" => file.seek(SeekFrom::End(0)).map(Value::from),
            "sync" => file.sync_all().map(|()| Value::Null),
            "truncate" => file.set_len(step.number(2)).map(|()| Value::Null),
            "size" => file.metadata().map(|metadata| metadata.len().into()),
            _ => return Err(format!("no step `h-{verb}`")),
        };
        done.map_err(word)
    }
}

/// `how` has a letter for each of read, write, append, create, truncate and new.
fn open(path: &str, how: &str) -> io::Result<File> {
    let has = |letter: char| how.contains(letter);
    OpenOptions::new()
        .read(has('r'))
        .write(has('w'))
        .append(has('a'))
        .create(has('c'))
        .truncate(has('t'))
        .create_new(has('n'))
        .open(path)
}

fn read(file: &mut File) -> io::Result<Value> {
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text.into())
}
