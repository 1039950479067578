//! The public suite of WASI 0.1 (<https://github.com/WebAssembly/wasi-testsuite>), its programs run
//! through their adapter over each kind of store. It is not to be had from a package registry, so
//! that only `cargo xtask wasi-testsuite CHECKOUT` runs it.

#![expect(clippy::disallowed_methods, reason = "the suite is this test's data")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bailiwick::engine::{Cancel, End, Level, Observer, Request};
use bailiwick::scope::{Coordinates, Grant, SessionId};
use bailiwick::store::Precondition;
use serde_json::Value;
use uuid::Uuid;
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
};
use wit_component::ComponentEncoder;

use super::Ground;

const LINKS: &str = "an object store has no links";

/// What fails, and why. A test that passes must not stand here.
const FAILING: &[(&str, &str)] = &[
    ("rust/nofollow_errors", LINKS),
    ("rust/path_exists", LINKS),
    ("rust/path_link", LINKS),
    ("rust/path_symlink_trailing_slashes", LINKS),
    ("rust/readlink", LINKS),
    ("rust/symlink_create", LINKS),
    ("rust/symlink_filestat", LINKS),
    ("c/sock_shutdown-invalid_fd", "its descriptor 3 is a folder here, since every turn has some"),
];

/// What a program says on its standard error.
#[derive(Default)]
struct Said(Mutex<Vec<String>>);

impl Observer for Said {
    fn said(&self, _: &str) {}

    fn logged(&self, _: Level, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }
}

/// A program of the suite, and what its description says of it.
struct Case {
    name: String,
    component: Vec<u8>,
    description: Value,
    /// What it finds in its folder.
    root: Option<PathBuf>,
}

impl Case {
    fn read(language: &str, path: &Path) -> Self {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let description = fs::read(path.with_extension("json")).ok();
        let description = description.map(|json| serde_json::from_slice(&json).unwrap());
        let description: Value = description.unwrap_or_default();
        let root = description["root"].as_str().map(|root| path.with_file_name(root));
        let module = fs::read(path).unwrap();
        let encoder = ComponentEncoder::default().module(&module).unwrap();
        let adapter = WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER;
        let component = encoder
            .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, adapter)
            .and_then(|encoder| encoder.validate(true).encode())
            .unwrap();
        Self { name: format!("{language}/{stem}"), component, description, root }
    }

    /// Whether it came to what its description says.
    async fn passes(&self, ground: &mut Ground) -> Result<(), String> {
        let session = Some(SessionId(Uuid::new_v4()));
        ground.world.coordinates = Coordinates { session, ..ground.world.coordinates };
        if let Some(root) = &self.root {
            lay_out(ground, root, "session").await;
        }
        let guest = ground.engine.load(&self.component).await.map_err(|error| error.to_string())?;
        let arguments = self.description["args"].as_array().cloned().unwrap_or_default();
        let arguments = arguments.iter().map(|word| word.as_str().unwrap().to_owned()).collect();
        let request = Request { attempt: 1, arguments, ..Request::default() };
        let said = Arc::new(Said::default());
        let (space, cancel) = (ground.space(), Cancel::new());
        let report = ground.engine.run(&guest, space, request, said.clone(), cancel).await;
        match report.end {
            End::Reply(reply) => match self.description["stdout"].as_str() {
                Some(wanted) if wanted != reply => Err(format!("it printed {reply:?}")),
                _ if report.unstored.is_empty() => Ok(()),
                _ => Err(format!("{:?}", report.unstored)),
            },
            end => Err(format!("{:?}: {:?}", end, said.0.lock().unwrap())),
        }
    }
}

async fn lay_out(ground: &Ground, folder: &Path, place: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let place = format!("{place}/{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            Box::pin(lay_out(ground, &path, &place)).await;
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        ground.space().write(&place, bytes.into(), Precondition::Always).await.unwrap();
    }
}

fn cases(suite: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for language in ["rust", "c"] {
        let folder = suite.join("tests").join(language).join("testsuite/wasm32-wasip1");
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
        let paths = entries.map(|entry| entry.unwrap().path());
        let programs = paths.filter(|path| path.extension().is_some_and(|end| end == "wasm"));
        cases.extend(programs.map(|path| Case::read(language, &path)));
    }
    cases.sort_by(|one, two| one.name.cmp(&two.name));
    cases
}

/// Every program of the suite passes over every store, but for those that are known to fail; and
/// those do.
#[ignore = "run by `cargo xtask wasi-testsuite CHECKOUT`"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_public_suite_passes() {
    let suite = std::env::var_os("BAILIWICK_WASI_TESTSUITE").expect("where the suite is");
    let cases = cases(Path::new(&suite));
    let mut wrong = Vec::new();
    for mut ground in Ground::each().await {
        // The programs expect an empty folder.
        ground.grant = Grant { agent: None, ..ground.grant };
        let mut passed = 0;
        for case in &cases {
            let came = case.passes(&mut ground).await;
            let known = FAILING.iter().find(|(name, _)| *name == case.name);
            match (&came, known) {
                (Ok(()), None) => passed += 1,
                (Err(why), Some((_, reason))) => {
                    println!("{} {}: fails, as {reason}: {why}", ground.name, case.name);
                }
                (Ok(()), Some(_)) => wrong.push(format!("{} {} passes", ground.name, case.name)),
                (Err(why), None) => wrong.push(format!("{} {}: {why}", ground.name, case.name)),
            }
        }
        println!("{}: {passed} of {} pass", ground.name, cases.len());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
