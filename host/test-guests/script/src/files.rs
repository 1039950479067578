//! `files`, without its handles.

use bailiwick_guest::bindings::bailiwick::storage::files as host;
use bailiwick_guest::{Error, Failure, files};
use serde_json::{Value, json};

use crate::arguments::Step;
use crate::values;

pub(crate) fn perform(verb: &str, step: &Step) -> Result<Option<Result<Value, Error>>, Failure> {
    let answer = match verb {
        "mounts" => Ok(host::mounts().into_iter().map(values::mount).collect()),
        "read" => read(step)?.map(values::chunk),
        "write" => {
            host::write(step.text("path")?, &step.bytes()?, &step.condition()?).map(values::file)
        }
        "delete" => host::delete(step.text("path")?, &step.condition()?).map(|()| json!({})),
        "stat" => host::stat(step.text("path")?).map(values::file),
        "list" => list(step)?.map(values::page),
        "copy" => host::copy(step.text("source")?, step.text("target")?, &step.condition()?)
            .map(values::file),
        "move" => host::move_(step.text("source")?, step.text("target")?, &step.condition()?)
            .map(values::file),
        // Of the SDK: whole files, of any size.
        "read-all" => {
            let read = files::read_all(step.text("path")?);
            return Ok(Some(read.map(|bytes| values::bytes(&bytes))));
        }
        "write-all" => {
            let written = files::write_all(step.text("path")?, step.bytes()?);
            return Ok(Some(written.map(values::file)));
        }
        _ => return Ok(None),
    };
    Ok(Some(answer.map_err(Error::from)))
}

type Host<T> = Result<T, bailiwick_guest::bindings::bailiwick::storage::types::Error>;

fn read(step: &Step) -> Result<Host<host::Chunk>, Failure> {
    let offset = step.long("offset").unwrap_or_default();
    Ok(host::read(step.text("path")?, offset, step.short("length", 4 << 20)?))
}

fn list(step: &Step) -> Result<Host<host::Page>, Failure> {
    let depth = match step.optional("depth") {
        Some("children") => host::Depth::Children,
        None | Some("all") => host::Depth::All,
        Some(other) => return Err(format!("`{other}` is no depth").into()),
    };
    let limit = step.short("limit", 1000)?;
    Ok(host::list_files(step.text("folder")?, depth, step.optional("after"), limit))
}
