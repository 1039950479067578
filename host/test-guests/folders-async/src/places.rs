//! Whole files and folders, by paths that start with `/`.

use serde_json::{Value, json};

use crate::Step;
use crate::bindings::wasi::filesystem::preopens;
use crate::bindings::wasi::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorType, ErrorCode, OpenFlags, PathFlags,
};
use crate::bindings::wit_stream;

const FOLLOW: PathFlags = PathFlags::SYMLINK_FOLLOW;

pub(crate) async fn perform(verb: &str, step: &Step<'_>) -> Result<Value, ErrorCode> {
    let (folder, path) = place(step.text(1))?;
    match verb {
        "write" => {
            let open = OpenFlags::CREATE | OpenFlags::TRUNCATE;
            let file = folder.open_at(FOLLOW, path, open, DescriptorFlags::WRITE).await?;
            write_at(&file, step.text(2).as_bytes().to_vec(), 0).await?;
            Ok(Value::Null)
        }
        "read" => {
            let file = open_to_read(&folder, path).await?;
            let text = String::from_utf8_lossy(&read_from(&file, 0).await?).into_owned();
            Ok(text.into())
        }
        "ls" => {
            let folder = open_to_read(&folder, if path.is_empty() { ".".to_owned() } else { path });
            ls(&folder.await?).await
        }
        "mkdir" => folder.create_directory_at(path).await.map(|()| Value::Null),
        "rmdir" => folder.remove_directory_at(path).await.map(|()| Value::Null),
        "rm" => folder.unlink_file_at(path).await.map(|()| Value::Null),
        "rename" => {
            let (other, to) = place(step.text(2))?;
            folder.rename_at(path, &other, to).await.map(|()| Value::Null)
        }
        "stat" => {
            let stat = folder.stat_at(FOLLOW, path).await?;
            Ok(json!({ "kind": kind(&stat.type_), "size": stat.size }))
        }
        "truncate" => {
            let open = OpenFlags::empty();
            let file = folder.open_at(FOLLOW, path, open, DescriptorFlags::WRITE).await?;
            file.set_size(step.number(2)).await.map(|()| Value::Null)
        }
        _ => Err(ErrorCode::Other(Some(format!("no step `{verb}`")))),
    }
}

/// The folder that a path starts with, and the rest.
pub(crate) fn place(path: &str) -> Result<(Descriptor, String), ErrorCode> {
    let mut all = preopens::get_directories().into_iter();
    let (root, rest) = path[1..].split_once('/').unwrap_or((&path[1..], ""));
    let found = all.find(|(_, name)| name[1..] == *root);
    let (folder, _) = found.ok_or(ErrorCode::NoEntry)?;
    Ok((folder, rest.to_owned()))
}

async fn open_to_read(folder: &Descriptor, path: String) -> Result<Descriptor, ErrorCode> {
    folder.open_at(FOLLOW, path, OpenFlags::empty(), DescriptorFlags::READ).await
}

/// All bytes from an offset on.
pub(crate) async fn read_from(file: &Descriptor, offset: u64) -> Result<Vec<u8>, ErrorCode> {
    let (data, told) = file.read_via_stream(offset);
    let bytes = data.collect().await;
    told.await?;
    Ok(bytes)
}

/// How many bytes were written: all of them.
pub(crate) async fn write_at(
    file: &Descriptor,
    bytes: Vec<u8>,
    offset: u64,
) -> Result<u64, ErrorCode> {
    let length = bytes.len() as u64;
    let (mut data, given) = wit_stream::new();
    let told = file.write_via_stream(given, offset);
    data.write_all(bytes).await;
    drop(data);
    told.await?;
    Ok(length)
}

pub(crate) async fn append(file: &Descriptor, bytes: Vec<u8>) -> Result<(), ErrorCode> {
    let (mut data, given) = wit_stream::new();
    let told = file.append_via_stream(given);
    data.write_all(bytes).await;
    drop(data);
    told.await
}

/// In the order in which they come.
pub(crate) async fn ls(folder: &Descriptor) -> Result<Value, ErrorCode> {
    let (names, told) = folder.read_directory();
    let names = names.collect().await;
    told.await?;
    Ok(names.into_iter().map(|entry| json!([entry.name, kind(&entry.type_)])).collect())
}

fn kind(kind: &DescriptorType) -> &'static str {
    match kind {
        DescriptorType::Directory => "folder",
        DescriptorType::RegularFile => "file",
        DescriptorType::SymbolicLink => "link",
        _ => "other",
    }
}
