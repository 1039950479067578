//! The machine, and what this process uses of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Processor time of all threads of this process since it began.
pub(crate) fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Bytes of this process that are in memory now; 0 where the kernel does not say.
pub(crate) fn resident_bytes() -> u64 {
    let text = read("/proc/self/statm");
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

/// Watches how far resident memory rises above where it stood at the start.
pub(crate) struct MemoryWatch {
    start: u64,
    peak: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl MemoryWatch {
    /// Begins to watch, from a thread of its own, every two milliseconds.
    pub(crate) fn start() -> Self {
        let start = resident_bytes();
        let (peak, over) = (Arc::new(AtomicU64::new(start)), Arc::new(AtomicBool::new(false)));
        let watch = Self { start, peak: peak.clone(), over: over.clone() };
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                peak.fetch_max(resident_bytes(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        watch
    }

    /// Bytes added at the highest point.
    pub(crate) fn added(self) -> u64 {
        self.peak.fetch_max(resident_bytes(), Ordering::Relaxed);
        self.peak.load(Ordering::Relaxed).saturating_sub(self.start)
    }
}

impl Drop for MemoryWatch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// What the figures were measured on and with: names and values, in the order to be shown.
pub(crate) fn description(scratch: &Path, tools: &Path) -> Vec<(String, String)> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let lines = [
        ("processor", format!("{}, {cores} cores", field("/proc/cpuinfo", "model name"))),
        ("memory", memory()),
        ("kernel", format!("Linux {}", read("/proc/sys/kernel/osrelease").trim())),
        ("filesystem", filesystem(scratch)),
        ("rustc", said(Command::new("rustc").arg("--version"))),
        ("crates", crates()),
        ("S3 server", seaweed(tools)),
    ];
    lines.map(|(name, value)| (name.to_owned(), value)).into()
}

/// `weed version` prints the largest size of a volume before its own version.
fn seaweed(tools: &Path) -> String {
    let line = said(Command::new(tools.join("venv/bin/weed")).arg("version"));
    format!("SeaweedFS {}", line.split(' ').nth(2).unwrap_or("unknown"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn field(path: &str, name: &str) -> String {
    let text = read(path);
    let found = text.lines().find_map(|line| line.strip_prefix(name)?.split_once(':'));
    found.map_or("unknown".to_owned(), |(_, value)| value.trim().to_owned())
}

fn memory() -> String {
    let text = field("/proc/meminfo", "MemTotal");
    let kib = text.split(' ').next().and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0);
    format!("{:.1} GiB", kib / f64::from(1 << 20))
}

/// The type of the filesystem that a folder is on.
fn filesystem(folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mounts = read("/proc/self/mounts");
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let around = mounts.filter(|(place, _)| folder.starts_with(place));
    let nearest = around.max_by_key(|(place, _)| place.len());
    nearest.map_or("unknown", |(_, kind)| kind).to_owned()
}

/// The crates that the figures depend on most, as they are locked.
fn crates() -> String {
    const NAMES: [&str; 5] = ["wasmtime", "aws-sdk-s3", "object_store", "cap-std", "hyper"];
    let lines: Vec<_> = include_str!("../../Cargo.lock").lines().collect();
    let mut versions = BTreeMap::new();
    for pair in lines.windows(2) {
        let name = pair[0].strip_prefix("name = \"").and_then(|name| name.strip_suffix('"'));
        let version = pair[1].strip_prefix("version = \"").and_then(|v| v.strip_suffix('"'));
        if let (Some(name), Some(version)) = (name, version) {
            versions.insert(name, version);
        }
    }
    let shown = NAMES.map(|name| format!("{name} {}", versions.get(name).unwrap_or(&"unknown")));
    shown.join(", ")
}

/// The first line that a program prints.
pub(crate) fn said(command: &mut Command) -> String {
    let output = command.output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().next().unwrap_or("unknown").trim().to_owned()
}
