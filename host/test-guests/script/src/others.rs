//! `text`, `spill`, `log` and `session`.

use bailiwick_guest::bindings::bailiwick::agent::{log, session};
use bailiwick_guest::bindings::bailiwick::storage::{spill, text};
use bailiwick_guest::{Error, Failure};
use serde_json::{Value, json};

use crate::arguments::Step;
use crate::{Done, values};

pub(crate) fn perform(verb: &str, step: &Step) -> Done {
    match verb {
        "text-read" => read(step),
        "replace" => replace(step),
        "append" => {
            let appended = text::append(step.text("path")?, step.text("text")?);
            Ok(appended.map(values::file).map_err(Error::from))
        }
        "search" => search(step),
        "spill" => {
            let spilled = spill::spill(step.text("name")?, &step.bytes()?);
            Ok(spilled.map(values::spilled).map_err(Error::from))
        }
        _ => Ok(Ok(conversation(verb, step)?)),
    }
}

fn read(step: &Step) -> Done {
    let start = match step.long("offset") {
        Some(offset) => text::Position::Offset(offset),
        None => text::Position::Line(step.short("line", 1)?),
    };
    let slice = text::read(step.text("path")?, start, step.short("lines", 1000)?);
    Ok(slice.map(values::slice).map_err(Error::from))
}

fn replace(step: &Step) -> Done {
    let occurrence =
        if step.flag("every") { text::Occurrence::Every } else { text::Occurrence::Only };
    let (path, old, new) = (step.text("path")?, step.text("old")?, step.text("new")?);
    let replaced = text::replace(path, old, new, occurrence, &step.condition()?);
    Ok(replaced.map(values::file).map_err(Error::from))
}

fn search(step: &Step) -> Done {
    let matches = text::search(
        step.text("folder")?,
        step.optional("glob"),
        step.text("pattern")?,
        step.optional("after"),
        step.short("limit", 1000)?,
    );
    Ok(matches.map(values::matches).map_err(Error::from))
}

fn conversation(verb: &str, step: &Step) -> Result<Value, Failure> {
    match verb {
        "log" => log::emit(level(step)?, step.text("message")?),
        "say" => session::say(step.text("part")?),
        "wake" => {
            let woken = session::wake(step.long("after_ms").unwrap_or(0), step.text("input")?);
            return Ok(json!({ "refused": woken.err() }));
        }
        "status" => {
            let status = session::current_status();
            let (cancelled, remaining_ms) = (status.cancelled, status.remaining_ms);
            return Ok(json!({ "cancelled": cancelled, "remaining_ms": remaining_ms }));
        }
        "echo" => return Ok(json!({ "value": step.optional("value") })),
        "fail" => return Err(step.text("message")?.into()),
        _ => return Err(format!("`{verb}` is no step").into()),
    }
    Ok(json!({}))
}

fn level(step: &Step) -> Result<log::Level, Failure> {
    match step.optional("level") {
        Some("debug") => Ok(log::Level::Debug),
        None | Some("info") => Ok(log::Level::Info),
        Some("warn") => Ok(log::Level::Warn),
        Some("error") => Ok(log::Level::Error),
        Some(other) => Err(format!("`{other}` is no level").into()),
    }
}
