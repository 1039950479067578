//! Calls of `wasi:filesystem` as they are: what no library would do.

use serde_json::{Value, json};

use crate::bindings::wasi::clocks::system_clock::Instant;
use crate::bindings::wasi::filesystem::preopens;
use crate::bindings::wasi::filesystem::types::{
    Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags,
};
use crate::places::{append, write_at};
use crate::{Done, Step, word};

pub(crate) async fn perform(verb: &str, step: &Step<'_>) -> Done {
    if verb == "folders" {
        return Ok(preopens::get_directories().into_iter().map(|(_, name)| name).collect());
    }
    let (folder, path) = (folder(step.text(1))?, step.text(2).to_owned());
    let done = match verb {
        "open" => open(&folder, step).await.map(|_| Value::Null),
        "open-all-flags" => return Ok(open_by_all_flags(&folder, &path).await),
        "flags" => flags(&folder, step).await,
        "mkdir" => folder.create_directory_at(path).await.map(|()| Value::Null),
        "rmdir" => folder.remove_directory_at(path).await.map(|()| Value::Null),
        "unlink" => folder.unlink_file_at(path).await.map(|()| Value::Null),
        "stat" => folder
            .stat_at(follow(step), path)
            .await
            .map(|stat| json!([format!("{:?}", stat.type_), stat.size, stat.link_count])),
        "hash" => folder
            .metadata_hash_at(follow(step), path)
            .await
            .map(|hash| json!([hash.lower.to_string(), hash.upper.to_string()])),
        "touch" => {
            let (at, now) = (NewTimestamp::NoChange, NewTimestamp::Now);
            folder.set_times_at(follow(step), path, at, now).await.map(|()| Value::Null)
        }
        "touch-at" => touch_at(&folder, path, step).await,
        "symlink" => folder.symlink_at(step.text(3).to_owned(), path).await.map(|()| Value::Null),
        "readlink" => folder.readlink_at(path).await.map(Value::from),
        "rename" => {
            let (other, to) = (self::folder(step.text(3))?, step.text(4).to_owned());
            folder.rename_at(path, &other, to).await.map(|()| Value::Null)
        }
        "link" => {
            let (other, to) = (self::folder(step.text(3))?, step.text(4).to_owned());
            folder.link_at(follow(step), path, &other, to).await.map(|()| Value::Null)
        }
        "write" => write(&folder, step).await,
        "same" => same(&folder, path, step.text(3)).await,
        _ => return Err(format!("no step `raw-{verb}`")),
    };
    done.map_err(word)
}

fn folder(name: &str) -> Result<Descriptor, String> {
    let mut all = preopens::get_directories().into_iter();
    let found = all.find(|(_, found)| found == name);
    found.map(|(folder, _)| folder).ok_or_else(|| format!("no folder `{name}`"))
}

fn follow(step: &Step<'_>) -> PathFlags {
    if step.text(3) == "nofollow" { PathFlags::empty() } else { PathFlags::SYMLINK_FOLLOW }
}

/// The flags are numbers: of the path, of the opening, of the descriptor.
async fn open(folder: &Descriptor, step: &Step<'_>) -> Result<Descriptor, ErrorCode> {
    let bits = |at: usize| u8::try_from(step.number(at)).unwrap_or(u8::MAX);
    let path = PathFlags::from_bits_truncate(bits(3));
    let (open, flags) =
        (OpenFlags::from_bits_truncate(bits(4)), DescriptorFlags::from_bits_truncate(bits(5)));
    folder.open_at(path, step.text(2).to_owned(), open, flags).await
}

/// What a descriptor says that it was opened for.
async fn flags(folder: &Descriptor, step: &Step<'_>) -> Result<Value, ErrorCode> {
    let opened = open(folder, step).await?;
    Ok(opened.get_flags().await?.bits().into())
}

/// What comes of each combination of flags: a code, or whether anything could be changed by it.
async fn open_by_all_flags(folder: &Descriptor, path: &str) -> Value {
    let mut came = Vec::new();
    for open in 0..16 {
        for flags in 0..64 {
            let opened = folder.open_at(
                PathFlags::SYMLINK_FOLLOW,
                path.to_owned(),
                OpenFlags::from_bits_truncate(open),
                DescriptorFlags::from_bits_truncate(flags),
            );
            let told = match opened.await {
                Err(code) => word(code),
                Ok(file) => changed(&file).await.to_owned(),
            };
            came.push(json!([open, flags, told]));
        }
    }
    came.into()
}

async fn changed(file: &Descriptor) -> &'static str {
    let written = write_at(file, b"changed".to_vec(), 0).await.is_ok();
    let resized = file.set_size(1).await.is_ok();
    let appended = append(file, b"appended".to_vec()).await.is_ok();
    let touched = file.set_times(NewTimestamp::Now, NewTimestamp::Now).await.is_ok();
    let _ = file.sync().await;
    if written || resized || appended {
        return "changed";
    }
    if touched { "touched" } else { "opened" }
}

async fn touch_at(folder: &Descriptor, path: String, step: &Step<'_>) -> Result<Value, ErrorCode> {
    let seconds = step.0.get(3).and_then(Value::as_i64).unwrap_or_default();
    let at = NewTimestamp::Timestamp(Instant { seconds, nanoseconds: 0 });
    folder.set_times_at(PathFlags::empty(), path, NewTimestamp::NoChange, at).await?;
    Ok(Value::Null)
}

async fn write(folder: &Descriptor, step: &Step<'_>) -> Result<Value, ErrorCode> {
    let (create, write) = (OpenFlags::CREATE, DescriptorFlags::WRITE);
    let path = step.text(2).to_owned();
    let file = folder.open_at(PathFlags::empty(), path, create, write).await?;
    write_at(&file, step.text(3).as_bytes().to_vec(), step.number(4)).await.map(Value::from)
}

async fn same(folder: &Descriptor, one: String, two: &str) -> Result<Value, ErrorCode> {
    let open = |path: String| {
        folder.open_at(PathFlags::empty(), path, OpenFlags::empty(), DescriptorFlags::READ)
    };
    let (one, two) = (open(one).await?, open(two.to_owned()).await?);
    Ok(one.is_same_object(&two).await.into())
}
