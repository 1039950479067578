//! Whole files and folders.

use std::fs::{self, FileType, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};

use crate::{Done, Step, word};

pub(crate) fn perform(verb: &str, step: &Step<'_>) -> Done {
    let (path, other) = (step.text(1), step.text(2));
    let done = match verb {
        "write" => fs::write(path, other).map(|()| Value::Null),
        "read" => fs::read_to_string(path).map(Value::from),
        "append" => append(path, other),
        "create-new" => {
            OpenOptions::new().write(true).create_new(true).open(path).map(|_| Value::Null)
        }
        "mkdir" => fs::create_dir(path).map(|()| Value::Null),
        "mkdirs" => fs::create_dir_all(path).map(|()| Value::Null),
        "rmdir" => fs::remove_dir(path).map(|()| Value::Null),
        "rmtree" => fs::remove_dir_all(path).map(|()| Value::Null),
        "rm" => fs::remove_file(path).map(|()| Value::Null),
        "rename" => fs::rename(path, other).map(|()| Value::Null),
        "copy" => fs::copy(path, other).map(Value::from),
        "ls" => ls(path),
        "latest" => latest(path),
        "stat" => fs::metadata(path).map(|metadata| told(&metadata)),
        "lstat" => fs::symlink_metadata(path).map(|metadata| told(&metadata)),
        "readlink" => fs::read_link(path).map(|link| link.to_string_lossy().into()),
        "link" => fs::hard_link(path, other).map(|()| Value::Null),
        "truncate" => truncate(path, step.number(2)),
        "modified" => modified(path),
        "current" => std::env::current_dir().map(|path| path.to_string_lossy().into()),
        _ => return Err(format!("no step `{verb}`")),
    };
    done.map_err(word)
}

fn append(path: &str, text: &str) -> io::Result<Value> {
    OpenOptions::new().append(true).create(true).open(path)?.write_all(text.as_bytes())?;
    Ok(Value::Null)
}

fn truncate(path: &str, size: u64) -> io::Result<Value> {
    OpenOptions::new().write(true).open(path)?.set_len(size)?;
    Ok(Value::Null)
}

fn modified(path: &str) -> io::Result<Value> {
    let since = fs::metadata(path)?.modified()?.duration_since(UNIX_EPOCH);
    let since = since.map_err(io::Error::other)?;
    Ok(u64::try_from(since.as_millis()).unwrap_or(u64::MAX).into())
}

/// In the order in which they come.
fn ls(path: &str) -> io::Result<Value> {
    let entries = fs::read_dir(path)?.map(|entry| {
        let entry = entry?;
        Ok(json!([entry.file_name().to_string_lossy(), kind(entry.file_type()?)]))
    });
    entries.collect()
}

/// The files in and below a folder, the latest edited first, as programs list them that follow no
/// links.
fn latest(path: &str) -> io::Result<Value> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::from(path)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if entry.file_type()?.is_file() {
                files.push((entry.metadata()?.modified()?, entry.path()));
            }
        }
    }
    files.sort_by(|one, other| other.cmp(one));
    Ok(files.iter().map(|(_, path)| path.to_string_lossy()).collect())
}

fn told(metadata: &Metadata) -> Value {
    json!({ "kind": kind(metadata.file_type()), "size": metadata.len() })
}

fn kind(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_symlink() => "link",
        kind if kind.is_dir() => "folder",
        kind if kind.is_file() => "file",
        _ => "other",
    }
}
