//! Compiled components on disk.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bailiwick::engine::EngineOptions;

use super::{Host, limits, wat};

/// A process that starts: an engine of its own over the same folder.
async fn run_once(cache: &Path) {
    let options = EngineOptions { cache_dir: Some(cache.to_owned()), ..EngineOptions::default() };
    let host = Host::with(limits(), options);
    let guest = host.load(&wat::echo()).await;
    let report = host.run(&guest, "still here").await;
    assert_eq!(report.end, bailiwick::engine::End::Reply("still here".to_owned()));
}

fn files(cache: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(cache) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
}

fn compiled(cache: &Path) -> PathBuf {
    files(cache, "cwasm").pop().expect("a compiled component")
}

fn inode(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(path).unwrap())
}

/// What was compiled once is not compiled again, and nobody else can write where it is.
#[tokio::test]
async fn a_second_start_compiles_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("a/cache");
    run_once(&cache).await;
    let first = inode(&compiled(&cache));
    run_once(&cache).await;
    assert_eq!(inode(&compiled(&cache)), first);
    assert_eq!(std::fs::metadata(&cache).unwrap().permissions().mode() & 0o777, 0o700);
}

/// A file that is not what was written is compiled again, and never run.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the damage is done behind the host's back")]
async fn a_damaged_file_is_compiled_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    run_once(&cache).await;
    let whole = std::fs::read(compiled(&cache)).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 0xff;
    let foreign = wasmtime::Engine::default().precompile_component(&wat::echo()).unwrap();
    for damaged in [&whole[..0], &whole[..whole.len() / 2], &changed, &foreign, b"\x7fELF"] {
        std::fs::write(compiled(&cache), damaged).unwrap();
        run_once(&cache).await;
        assert!(std::fs::read(compiled(&cache)).unwrap() == whole, "it was not made again");
    }
    for sum in files(&cache, "sha256") {
        std::fs::remove_file(sum).unwrap();
    }
    run_once(&cache).await;
    assert_eq!(files(&cache, "sha256").len(), 1);
}

/// A folder that others can write to is not used; turns run without it.
#[tokio::test]
async fn a_folder_that_others_can_write_to_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    std::fs::create_dir(&cache).unwrap();
    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o777)).unwrap();
    run_once(&cache).await;
    assert!(files(&cache, "cwasm").is_empty());
}

/// A file that others can write to is not used either.
#[tokio::test]
async fn a_file_that_others_can_write_to_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    run_once(&cache).await;
    let first = inode(&compiled(&cache));
    let open = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(compiled(&cache), open).unwrap();
    run_once(&cache).await;
    assert_ne!(inode(&compiled(&cache)), first);
}

/// Where no folder can be made, turns run without it.
#[tokio::test]
async fn a_folder_that_cannot_be_made_costs_time_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::File::create_new(&file).unwrap();
    run_once(&file.join("cache")).await;
}
