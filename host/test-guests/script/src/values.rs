//! What the host answers, as JSON.

use bailiwick_guest::bindings::bailiwick::storage::{files, spill, text};
use bailiwick_guest::{Access, Error, File, Mount};
use serde_json::{Value, json};

/// Longer bytes are shown by their checksum alone.
const SHOWN_BYTES_MAX: usize = 64 << 10;

pub(crate) fn error(error: &Error) -> Value {
    let Error { code, reason, message, suggestions } = error;
    json!({
        "code": code.name(), "reason": reason, "message": message, "suggestions": suggestions,
    })
}

pub(crate) fn mount(mount: Mount) -> Value {
    let access = match mount.access {
        Access::ReadOnly => "read-only",
        Access::ReadWrite => "read-write",
    };
    json!({ "name": mount.name, "access": access })
}

pub(crate) fn file(file: File) -> Value {
    let File { path, size, revision, modified_ms, media_type } = file;
    json!({
        "path": path, "size": size, "revision": revision,
        "modified_ms": modified_ms, "media_type": media_type,
    })
}

pub(crate) fn page(page: files::Page) -> Value {
    let files: Vec<_> = page.files.into_iter().map(file).collect();
    json!({ "files": files, "folders": page.folders, "next": page.next })
}

pub(crate) fn chunk(chunk: files::Chunk) -> Value {
    let mut value = bytes(&chunk.bytes);
    value["size"] = json!(chunk.size);
    value["revision"] = json!(chunk.revision);
    value
}

/// `length` and `fnv` (FNV-1a, 64 bits), and `text` or `hex` where they are few.
pub(crate) fn bytes(bytes: &[u8]) -> Value {
    let fnv = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut value = json!({ "length": bytes.len(), "fnv": format!("{fnv:016x}") });
    match std::str::from_utf8(bytes) {
        _ if bytes.len() > SHOWN_BYTES_MAX => {}
        Ok(text) => value["text"] = json!(text),
        Err(_) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            value["hex"] = json!(hex);
        }
    }
    value
}

pub(crate) fn slice(slice: text::Slice) -> Value {
    json!({ "text": slice.text, "next": slice.next, "revision": slice.revision })
}

pub(crate) fn matches(matches: text::Matches) -> Value {
    let found = matches
        .found
        .into_iter()
        .map(|found| json!({ "path": found.path, "line": found.line, "text": found.text }));
    json!({ "found": found.collect::<Vec<_>>(), "next": matches.next })
}

pub(crate) fn spilled(spilled: spill::Spilled) -> Value {
    json!({ "text": spilled.text, "path": spilled.path, "size": spilled.size })
}
