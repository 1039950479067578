//! Files that stay open, by name.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Step;
use crate::bindings::wasi::filesystem::types::{
    Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags,
};
use crate::places::{append, place, read_from, write_at};

struct Handle {
    file: Descriptor,
    at: u64,
    appends: bool,
}

#[derive(Default)]
pub(crate) struct Handles(BTreeMap<String, Handle>);

impl Handles {
    pub(crate) async fn perform(
        &mut self,
        verb: &str,
        step: &Step<'_>,
    ) -> Result<Value, ErrorCode> {
        let name = step.text(1);
        if verb == "open" {
            let handle = open(step.text(2), step.text(3)).await?;
            self.0.insert(name.to_owned(), handle);
            return Ok(Value::Null);
        }
        if verb == "close" {
            self.0.remove(name);
            return Ok(Value::Null);
        }
        let handle = self.0.get_mut(name).ok_or(ErrorCode::BadDescriptor)?;
        match verb {
            "write" => handle.write(step.text(2)).await,
            "flush" => Ok(Value::Null),
            "read" => handle.read().await,
            "seek" => {
                handle.at = step.number(2);
                Ok(handle.at.into())
            }
            "sync" => handle.file.sync().await.map(|()| Value::Null),
            "truncate" => handle.file.set_size(step.number(2)).await.map(|()| Value::Null),
            "size" => handle.file.stat().await.map(|stat| stat.size.into()),
            _ => Err(ErrorCode::Other(Some(format!("no step `h-{verb}`")))),
        }
    }
}

impl Handle {
    async fn write(&mut self, text: &str) -> Result<Value, ErrorCode> {
        let bytes = text.as_bytes().to_vec();
        if self.appends {
            append(&self.file, bytes).await?;
        } else {
            self.at += write_at(&self.file, bytes, self.at).await?;
        }
        Ok(Value::Null)
    }

    async fn read(&mut self) -> Result<Value, ErrorCode> {
        let bytes = read_from(&self.file, self.at).await?;
        self.at += bytes.len() as u64;
        Ok(String::from_utf8_lossy(&bytes).into())
    }
}

/// `how` has a letter for each of read, write, append, create, truncate and new.
async fn open(path: &str, how: &str) -> Result<Handle, ErrorCode> {
    let has = |letter: char| how.contains(letter);
    let (mut open, mut flags) = (OpenFlags::empty(), DescriptorFlags::empty());
    flags.set(DescriptorFlags::READ, has('r'));
    flags.set(DescriptorFlags::WRITE, has('w') || has('a'));
    open.set(OpenFlags::CREATE, has('c') || has('n'));
    open.set(OpenFlags::EXCLUSIVE, has('n'));
    open.set(OpenFlags::TRUNCATE, has('t'));
    let (folder, path) = place(path)?;
    let file = folder.open_at(PathFlags::SYMLINK_FOLLOW, path, open, flags).await?;
    Ok(Handle { file, at: 0, appends: has('a') })
}
