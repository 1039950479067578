//! Compiled components on disk, so that a process that starts compiles nothing again.
//!
//! Compiled code is trusted like the host's own, so the folder must be: it is used only if it
//! belongs to this user and nobody else can write there. A file is used only if it is the one
//! that was written, by its length and SHA-256; anything else is compiled again.

use std::hash::{Hash, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, MetadataExt, OpenOptions, OpenOptionsExt};
use sha2::{Digest, Sha256};
use uuid::Uuid;
use wasmtime::component::Component;

use crate::limits::COMPILED_BYTES_MAX;

const TEMPORARY: &str = ".new-";
/// Bits of a mode that let others write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Which component, compiled by which compiler with which settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CacheKey([u8; 32]);

impl CacheKey {
    pub(super) fn of(engine: &wasmtime::Engine, component: &[u8]) -> Self {
        let mut hasher = Sha256Hasher(Sha256::new());
        engine.precompile_compatibility_hash().hash(&mut hasher);
        // A hash of its own: what the engine fed is of no fixed length.
        let settings = hasher.0.finalize();
        Self(Sha256::new().chain_update(settings).chain_update(component).finalize().into())
    }

    fn file_name(self, extension: &str) -> String {
        format!("{}.{extension}", hex(&self.0))
    }
}

struct Sha256Hasher(Sha256);

impl Hasher for Sha256Hasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest = self.0.clone().finalize();
        u64::from_le_bytes(std::array::from_fn(|index| digest[index]))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A folder of compiled components.
#[derive(Debug)]
pub(super) struct DiskCache {
    path: PathBuf,
    dir: Dir,
}

impl DiskCache {
    /// Opens the folder, making it if need be.
    ///
    /// # Errors
    /// If it is not this user's alone to write.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        Dir::create_ambient_dir_all(path.parent().unwrap_or(path), ambient_authority())
            .with_context(|| format!("cannot make {}", path.display()))?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = Dir::open_ambient_dir(parent.unwrap_or(Path::new(".")), ambient_authority())?;
        let name = path.file_name().context("the cache needs a folder of its own")?;
        parent.create_dir_with(name, &builder)?;
        let dir = parent.open_dir(name)?;
        let metadata = dir.dir_metadata()?;
        ensure!(is_ours(&metadata), "it belongs to another user, or others can write there");
        Ok(Self { path: path.to_owned(), dir })
    }

    /// The component as it was compiled earlier, if it is there and whole.
    pub(super) fn fetch(&self, engine: &wasmtime::Engine, key: CacheKey) -> Option<Component> {
        let name = key.file_name("cwasm");
        match self.is_whole(key, &name) {
            Ok(true) => {}
            Ok(false) => {
                tracing::warn!(file = name, "a compiled component is damaged; compiling it again");
                return None;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(%error, file = name, "a compiled component is unreadable; compiling it again");
                return None;
            }
        }
        match map(engine, &self.path.join(&name)) {
            Ok(component) => Some(component),
            Err(error) => {
                let error = format!("{error:#}");
                tracing::warn!(
                    error,
                    file = name,
                    "a compiled component does not load; compiling it again"
                );
                None
            }
        }
    }

    fn is_whole(&self, key: CacheKey, name: &str) -> io::Result<bool> {
        let promised = self.dir.read_to_string(key.file_name("sha256"))?;
        let mut file = self.dir.open(name)?;
        if !is_ours(&file.metadata()?) {
            return Ok(false);
        }
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 256 << 10];
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                return Ok(promised == hex(&hasher.finalize()));
            }
            hasher.update(&buffer[..read]);
        }
    }

    /// Keeps a compiled component; the oldest go if there is too much.
    pub(super) fn keep(&self, key: CacheKey, compiled: &[u8]) -> io::Result<()> {
        self.make_room(compiled.len() as u64)?;
        // The sum comes last: without it the code does not count.
        self.write(&key.file_name("cwasm"), compiled)?;
        self.write(&key.file_name("sha256"), hex(&Sha256::digest(compiled)).as_bytes())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let temporary = format!("{TEMPORARY}{}", Uuid::new_v4());
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let written = self
            .dir
            .open_with(&temporary, &options)
            .and_then(|mut file| {
                io::Write::write_all(&mut file, bytes)?;
                file.sync_all()
            })
            .and_then(|()| self.dir.rename(&temporary, &self.dir, name));
        if written.is_err() {
            // Whatever it was, it is in nobody's way: the next `make_room` takes it.
            let _ = self.dir.remove_file(&temporary);
        }
        written
    }

    /// Removes the oldest files until there is room. A process that has one mapped keeps it.
    fn make_room(&self, bytes: u64) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in self.dir.entries()? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            files.push((metadata.modified()?, metadata.len(), entry.file_name()));
        }
        let mut held: u64 = files.iter().map(|(_, length, _)| length).sum();
        files.sort();
        for (_, length, name) in files {
            if held.saturating_add(bytes) <= COMPILED_BYTES_MAX {
                break;
            }
            self.dir.remove_file(name)?;
            held -= length;
        }
        Ok(())
    }
}

fn is_ours(metadata: &cap_std::fs::Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
        && metadata.mode() & WRITABLE_BY_OTHERS == 0
}

#[expect(
    unsafe_code,
    reason = "the file is this host's own: its folder is this user's alone, and its SHA-256 is the one written beside it"
)]
fn map(engine: &wasmtime::Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: as the reason says; wasmtime checks its own version and settings besides.
    unsafe { Component::deserialize_file(engine, path) }
}
