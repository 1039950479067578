//! Files of keys and secrets: reading them, and making those of a data directory.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::failure::Failure;

/// No key file is larger.
const KEY_FILE_BYTES_MAX: u64 = 1 << 20;

/// Makes the file of a data directory that has none, for its owner alone. It is there whole or not
/// at all: others may make it at the same time, and then one of both is kept.
pub(super) fn make(file: &Path, text: &str) -> Result<(), Failure> {
    try_make(file, text)
        .map_err(|error| Failure::because(format!("{} cannot be made", file.display()), &error))
}

fn try_make(file: &Path, text: &str) -> io::Result<()> {
    if file.try_exists()? {
        return Ok(());
    }
    let draft = file.with_extension(format!("{:08x}", rand::random::<u32>()));
    let mut made = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&draft)?;
    let linked = made
        .write_all(text.as_bytes())
        .and_then(|()| made.sync_all())
        .and_then(|()| std::fs::hard_link(&draft, file));
    #[expect(clippy::disallowed_methods, reason = "the draft of this very call, by its full path")]
    std::fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// The bytes of a file.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let read = || {
        let mut bytes = Vec::new();
        let opened = OpenOptions::new().read(true).open(file)?;
        opened.take(KEY_FILE_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|error: io::Error| {
        Failure::because(format!("{} cannot be read", file.display()), &error)
    })
}
