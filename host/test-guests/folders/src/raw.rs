//! Calls of `wasi:filesystem` as they are: what no library would do.

use serde_json::{Value, json};
use wasip2::clocks::wall_clock::Datetime;
use wasip2::filesystem::preopens;
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags,
};

use crate::{Done, Step};

pub(crate) fn perform(verb: &str, step: &Step<'_>) -> Done {
    if verb == "folders" {
        return Ok(preopens::get_directories().into_iter().map(|(_, name)| name).collect());
    }
    let (folder, path) = (folder(step.text(1))?, step.text(2));
    let done = match verb {
        "open" => open(&folder, step).map(|_| Value::Null),
        "open-all-flags" => return Ok(open_by_all_flags(&folder, path)),
        "mkdir" => folder.create_directory_at(path).map(|()| Value::Null),
        "rmdir" => folder.remove_directory_at(path).map(|()| Value::Null),
        "unlink" => folder.unlink_file_at(path).map(|()| Value::Null),
        "stat" => folder
            .stat_at(follow(step), path)
            .map(|stat| json!([format!("{:?}", stat.type_), stat.size, stat.link_count])),
        "hash" => folder
            .metadata_hash_at(follow(step), path)
            .map(|hash| json!([hash.lower.to_string(), hash.upper.to_string()])),
        "touch" => {
            let (at, now) = (NewTimestamp::NoChange, NewTimestamp::Now);
            folder.set_times_at(follow(step), path, at, now).map(|()| Value::Null)
        }
        "touch-at" => {
            let at = Datetime { seconds: step.number(3), nanoseconds: 0 };
            let (no, at) = (NewTimestamp::NoChange, NewTimestamp::Timestamp(at));
            folder.set_times_at(PathFlags::empty(), path, no, at).map(|()| Value::Null)
        }
        "symlink" => folder.symlink_at(step.text(3), path).map(|()| Value::Null),
        "readlink" => folder.readlink_at(path).map(Value::from),
        "rename" => {
            let other = self::folder(step.text(3))?;
            folder.rename_at(path, &other, step.text(4)).map(|()| Value::Null)
        }
        "link" => {
            let other = self::folder(step.text(3))?;
            folder.link_at(follow(step), path, &other, step.text(4)).map(|()| Value::Null)
        }
        "write" => write(&folder, step),
        "same" => same(&folder, path, step.text(3)),
        _ => return Err(format!("no step `raw-{verb}`")),
    };
    done.map_err(|code| code.name().to_owned())
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
fn open(folder: &Descriptor, step: &Step<'_>) -> Result<Descriptor, ErrorCode> {
    let bits = |at: usize| u8::try_from(step.number(at)).unwrap_or(u8::MAX);
    let path = PathFlags::from_bits_truncate(bits(3));
    let (open, flags) =
        (OpenFlags::from_bits_truncate(bits(4)), DescriptorFlags::from_bits_truncate(bits(5)));
    folder.open_at(path, step.text(2), open, flags)
}

/// What comes of each combination of flags: a code, or whether anything could be changed by it.
fn open_by_all_flags(folder: &Descriptor, path: &str) -> Value {
    let mut came = Vec::new();
    for open in 0..16 {
        for flags in 0..64 {
            let opened = folder.open_at(
                PathFlags::SYMLINK_FOLLOW,
                path,
                OpenFlags::from_bits_truncate(open),
                DescriptorFlags::from_bits_truncate(flags),
            );
            let told = match opened {
                Err(code) => code.name().to_owned(),
                Ok(file) => {
                    let written = file.write(b"changed", 0).is_ok();
                    let resized = file.set_size(1).is_ok();
                    let appended = file.append_via_stream().is_ok();
                    let streamed = file.write_via_stream(0).is_ok();
                    let touched = file.set_times(NewTimestamp::Now, NewTimestamp::Now).is_ok();
                    let _ = file.sync();
                    let changed = written || resized || appended || streamed;
                    let told = if changed {
                        "changed"
                    } else if touched {
                        "touched"
                    } else {
                        "opened"
                    };
                    told.to_owned()
                }
            };
            came.push(json!([open, flags, told]));
        }
    }
    came.into()
}

fn write(folder: &Descriptor, step: &Step<'_>) -> Result<Value, ErrorCode> {
    let (create, write) = (OpenFlags::CREATE, DescriptorFlags::WRITE);
    let file = folder.open_at(PathFlags::empty(), step.text(2), create, write)?;
    file.write(step.text(3).as_bytes(), step.number(4)).map(Value::from)
}

fn same(folder: &Descriptor, one: &str, two: &str) -> Result<Value, ErrorCode> {
    let open = |path: &str| {
        folder.open_at(PathFlags::empty(), path, OpenFlags::empty(), DescriptorFlags::READ)
    };
    Ok(open(one)?.is_same_object(&open(two)?).into())
}
