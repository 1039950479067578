use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick::catalog::{Catalog, CatalogLocation, CatalogOptions};
use bailiwick::clock::{Clock, SystemClock};
use tempfile::TempDir;

/// Longest that any command of a test may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A person's machine: an empty home, and nothing in the environment.
pub(super) struct Machine {
    home: TempDir,
}

/// What a command came to.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
}

impl Machine {
    pub(super) fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap() }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(super) fn data_dir(&self) -> PathBuf {
        self.path(".local/share/bailiwick")
    }

    /// The catalog of the data directory's own store, beside whatever command runs.
    pub(super) async fn catalog(&self) -> Catalog {
        self.catalog_by(Arc::new(SystemClock)).await
    }

    /// As [`Self::catalog`], at the time of this clock.
    pub(super) async fn catalog_by(&self, clock: Arc<dyn Clock>) -> Catalog {
        let location = CatalogLocation::File(self.data_dir().join("catalog.sqlite"));
        let options = CatalogOptions { location: &location, store: "files", lease_ms: 1, clock };
        Catalog::open(options).await.unwrap()
    }

    /// A local file of the person.
    pub(super) fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bailiwick"));
        self.environment(&mut command);
        command.args(arguments);
        command
    }

    pub(super) fn environment(&self, command: &mut Command) {
        command.env_clear().env("HOME", self.home.path()).env("PATH", "/usr/sbin:/usr/bin:/bin");
        command.current_dir(self.home.path()).stdin(Stdio::null());
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Done {
        finish(self.start(arguments))
    }

    pub(super) fn start(&self, arguments: &[&str]) -> Child {
        piped(&mut self.command(arguments))
    }

    /// Runs a command that must succeed, and gives what it printed.
    pub(super) fn ok(&self, arguments: &[&str]) -> String {
        let done = self.run(arguments);
        assert_eq!(done.code, Some(0), "{arguments:?}: {done:?}");
        done.out
    }

    /// Runs a command that must be refused, and gives the sentence.
    pub(super) fn refused(&self, arguments: &[&str]) -> String {
        let done = self.run(arguments);
        assert_eq!(done.code, Some(1), "{arguments:?}: {done:?}");
        assert_eq!(done.out, "", "a refusal prints no answer");
        done.err
    }
}

pub(super) fn piped(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for the end of a process. However it ended, it did not panic.
pub(super) fn finish(child: Child) -> Done {
    let id = child.id();
    let (sender, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    let output = ended.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        signal(id, rustix::process::Signal::KILL);
        panic!("a command did not end within {PATIENCE:?}")
    });
    let Output { status, stdout, stderr } = output.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (out, err) = (text(stdout), text(stderr));
    // A guest's own panic is a log line, with its level before it.
    assert!(!err.lines().any(|line| line.starts_with("thread '")), "{err}");
    Done { code: status.code(), out, err }
}

pub(super) fn signal(id: u32, signal: rustix::process::Signal) {
    let id = rustix::process::Pid::from_raw(id.cast_signed()).unwrap();
    rustix::process::kill_process(id, signal).unwrap();
}

/// Waits until something is so.
pub(super) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited for {what} in vain");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Says loudly that a test did not run; where everything must be there, that is a failure.
pub(super) fn skip(test: &str, missing: &str) {
    assert!(std::env::var_os("CI").is_none(), "{test} needs {missing}");
    eprintln!("SKIPPED: {test}: {missing}");
}

/// The component of a guest of this repository, if the guests were built.
pub(super) fn guest(name: &str) -> Option<String> {
    let built = std::env::var_os("BAILIWICK_GUESTS").map(PathBuf::from);
    // The binary stands at `<target>/debug/bailiwick`.
    let target = Path::new(env!("CARGO_BIN_EXE_bailiwick")).parent().and_then(Path::parent);
    let folder = built.or_else(|| Some(target?.join("guests")))?;
    let file = folder.join(format!("{name}.wasm"));
    file.is_file().then(|| file.to_str().unwrap().to_owned())
}

/// The component of a guest, or the end of the test.
macro_rules! guest_or_skip {
    ($name:literal, $test:literal) => {
        match super::harness::guest($name) {
            Some(guest) => guest,
            None => {
                super::harness::skip($test, "the guests: run `cargo xtask guests` first");
                return;
            }
        }
    };
}
pub(super) use guest_or_skip;
