//! The public suite of WASI 0.1 and 0.3 (<https://github.com/WebAssembly/wasi-testsuite>), its
//! programs run over each kind of store, those of 0.1 through their adapter. It is not to be had from a package registry, so
//! that only `cargo xtask wasi-testsuite CHECKOUT` runs it.

#![expect(clippy::disallowed_methods, reason = "the suite is this test's data")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bailiwick::engine::{Cancel, End, Level, Observer, Request};
use bailiwick::scope::{Coordinates, Grant, SessionId, WorkspaceId};
use bailiwick::store::Precondition;
use serde_json::Value;
use uuid::Uuid;
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
};
use wit_component::ComponentEncoder;

use super::Ground;

const LINKS: &str = "an object store has no links";
const NO_NETWORK: &str = "nobody is granted a network";

/// What fails, and why; of several that start alike, all. A test that passes must not stand here.
const FAILING: &[(&str, &str)] = &[
    ("rust/nofollow_errors", LINKS),
    ("rust/path_exists", LINKS),
    ("rust/path_link", LINKS),
    ("rust/path_symlink_trailing_slashes", LINKS),
    ("rust/readlink", LINKS),
    ("rust/symlink_create", LINKS),
    ("rust/symlink_filestat", LINKS),
    ("c/sock_shutdown-invalid_fd", "its descriptor 3 is a folder here, since every turn has some"),
    ("0.3/filesystem-hard-links", LINKS),
    ("0.3/filesystem-is-same-object", LINKS),
    ("0.3/filesystem-metadata-hash", LINKS),
    ("0.3/filesystem-rename", LINKS),
    ("0.3/cli-env", "the environment names the folders, and nothing of who runs the program"),
    ("0.3/http-*", NO_NETWORK),
    ("0.3/sockets-*", NO_NETWORK),
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
    wanted: Wanted,
    /// What it finds in its folder.
    root: Option<PathBuf>,
    /// The folder that it finds that in: programs of 0.3 want to find one alone.
    place: &'static str,
}

/// What a program is started with, and what it has to come to.
#[derive(Default)]
struct Wanted {
    arguments: Vec<String>,
    input: String,
    output: Option<String>,
    code: u64,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}

impl Wanted {
    /// As a description of 0.1 says it.
    fn of(description: &Value) -> Self {
        let output = description["stdout"].as_str().map(str::to_owned);
        Self { arguments: texts(&description["args"]), output, ..Self::default() }
    }

    /// As one of 0.3 does: step by step.
    fn of_steps(description: &Value) -> Self {
        let mut wanted = Self::default();
        for step in description["operations"].as_array().into_iter().flatten() {
            match (step["type"].as_str(), step["id"].as_str()) {
                (Some("run"), _) => wanted.arguments = texts(&step["args"]),
                (Some("write"), Some("stdin")) => wanted.input += &text(&step["payload"]),
                (Some("read"), Some("stdout")) => {
                    *wanted.output.get_or_insert_default() += &text(&step["payload"]);
                }
                (Some("wait"), _) => wanted.code = step["exit_code"].as_u64().unwrap_or(0),
                _ => {}
            }
        }
        wanted
    }
}

fn described(path: &Path) -> (Value, Option<PathBuf>) {
    let description = fs::read(path.with_extension("json")).ok();
    let description = description.map(|json| serde_json::from_slice(&json).unwrap());
    let description: Value = description.unwrap_or_default();
    let root = description["root"].as_str().map(|root| path.with_file_name(root));
    (description, root)
}

impl Case {
    /// A component of 0.3, as it is.
    fn of_0_3(path: &Path) -> Self {
        let (description, root) = described(path);
        let name = format!("0.3/{}", path.file_stem().unwrap().to_str().unwrap());
        let (component, wanted) = (fs::read(path).unwrap(), Wanted::of_steps(&description));
        Self { name, component, wanted, root, place: "workspace" }
    }

    fn read(language: &str, path: &Path) -> Self {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let (description, root) = described(path);
        let module = fs::read(path).unwrap();
        let encoder = ComponentEncoder::default().module(&module).unwrap();
        let adapter = WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER;
        let component = encoder
            .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, adapter)
            .and_then(|encoder| encoder.validate(true).encode())
            .unwrap();
        let (name, wanted) = (format!("{language}/{stem}"), Wanted::of(&description));
        Self { name, component, wanted, root, place: "session" }
    }

    /// Whether it came to what its description says.
    async fn passes(&self, ground: &mut Ground) -> Result<(), String> {
        // Each finds a place of its own.
        let session = (self.place == "session").then(|| SessionId(Uuid::new_v4()));
        let workspace = WorkspaceId(Uuid::new_v4());
        ground.world.coordinates = Coordinates { session, workspace, ..ground.world.coordinates };
        if let Some(root) = &self.root {
            lay_out(ground, root, self.place).await;
        }
        let guest = ground.engine.load(&self.component).await.map_err(|error| error.to_string())?;
        let Wanted { arguments, input, output, code } = &self.wanted;
        let (input, arguments) = (input.clone(), arguments.clone());
        let request = Request { attempt: 1, input, arguments, ..Request::default() };
        let said = Arc::new(Said::default());
        let (space, cancel) = (ground.space(), Cancel::new());
        let report = ground.engine.run(&guest, space, request, said.clone(), cancel).await;
        match report.end {
            End::Reply(_) if *code != 0 => Err("it ended well".to_owned()),
            End::Reply(reply) => match output {
                Some(wanted) if *wanted != reply => Err(format!("it printed {reply:?}")),
                _ if report.unstored.is_empty() => Ok(()),
                _ => Err(format!("{:?}", report.unstored)),
            },
            End::GuestError(why) if *code != 0 && why.ends_with(&format!("exit code {code}")) => {
                Ok(())
            }
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
        cases.extend(programs(&folder).map(|path| Case::read(language, &path)));
    }
    let folder = suite.join("tests/rust/testsuite/wasm32-wasip3");
    cases.extend(programs(&folder).map(|path| Case::of_0_3(&path)));
    cases.sort_by(|one, two| one.name.cmp(&two.name));
    cases
}

fn programs(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "wasm"))
}

/// Why a program is known to fail, if it is.
fn known_reason(name: &str) -> Option<&'static str> {
    let is_meant = |pattern: &str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    };
    FAILING.iter().find(|(pattern, _)| is_meant(pattern)).map(|(_, reason)| *reason)
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
            match (&came, known_reason(&case.name)) {
                (Ok(()), None) => passed += 1,
                (Err(why), Some(reason)) => {
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
