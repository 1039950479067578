//! Files far larger than what the host may hold pass through it.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::harness::{Machine, guest, guest_or_skip, skip};

const MIB: u64 = 1 << 20;
/// More than an idle host holds, in bytes.
const ADDED_MAX: u64 = 64 * MIB;

/// 1 GiB where everything is tried; elsewhere enough to show that memory does not follow size.
fn size() -> u64 {
    if std::env::var_os("CI").is_some() { 1024 * MIB } else { 128 * MIB }
}

/// The most memory that a process held until now, in bytes; `None` once it has ended.
fn peak(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// Runs a process to its successful end; the most memory that it held.
fn watch(mut child: Child) -> u64 {
    let (mut most, id) = (0, child.id());
    loop {
        most = peak(id).unwrap_or(0).max(most);
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return most;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdout(Stdio::null())
}

/// What a guest, and then a person, may move through one store.
pub(in super::super) fn stays_flat(machine: &Machine, environment: &[(&str, String)]) {
    let names = ["--workspace", "w", "--agent", "a", "--session", "s"];
    let command = |words: &[&str]| {
        let mut command = machine.command(&[words, &names].concat());
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command
    };
    let stream = guest_or_skip!("stream", "memory");
    let hello = guest_or_skip!("hello", "memory");
    // Compiled beforehand: the compiler's memory is not the question.
    for component in [&stream, &hello] {
        let mut check = machine.command(&["check", component]);
        watch(quiet(&mut check).spawn().unwrap());
    }
    let idle = watch(quiet(&mut command(&["run", &hello, "--input", "x"])).spawn().unwrap());
    let size = size();
    let report = |what: &str, held: u64| {
        let added = held.saturating_sub(idle);
        eprintln!(
            "{what} of {} MiB: {} MiB above {} MiB idle",
            size / MIB,
            added / MIB,
            idle / MIB
        );
        assert!(added < ADDED_MAX, "{what} holds {} MiB more than an idle host", added / MIB);
    };
    for verb in ["write", "read"] {
        let input = format!("{verb} session/large {size}");
        let run = watch(quiet(&mut command(&["run", &stream, "--input", &input])).spawn().unwrap());
        report(&format!("a guest's {verb}"), run);
    }
    let mut put = quiet(&mut command(&["files", "put", "-", "session/put"]))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = put.stdin.take().unwrap();
    let fed = std::thread::spawn(move || {
        let block = vec![7; MIB as usize];
        (0..size / MIB).for_each(|_| input.write_all(&block).unwrap());
    });
    report("files put", watch(put));
    fed.join().unwrap();
    let mut cat = command(&["files", "cat", "session/put"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = cat.stdout.take().unwrap();
    let counted = std::thread::spawn(move || {
        let (mut block, mut count) = (vec![0; MIB as usize], 0);
        loop {
            match output.read(&mut block).unwrap() {
                0 => return count,
                read => count += read as u64,
            }
        }
    });
    report("files cat", watch(cat));
    assert_eq!(counted.join().unwrap(), size);
}

/// A guest's reader and writer, and a person's `put` and `cat`, hold a bounded part of a file.
#[test]
fn a_directory_takes_large_files_in_little_memory() {
    stays_flat(&Machine::new(), &[]);
}

/// A program of plain files copies a large one, and neither its own memory nor the host's follows the
/// size.
#[test]
fn a_program_copies_a_large_file_in_little_memory() {
    let Some(program) = guest("folders") else {
        return skip("a_program_copies_a_large_file_in_little_memory", "the programs");
    };
    let machine = Machine::new();
    let run = |steps: serde_json::Value| {
        let steps = steps.to_string();
        let words = ["run", &program, "--input", &steps, "--json", "-w", "w", "-a", "a", "-s", "s"];
        let mut child = machine.command(&words).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        let told = std::thread::spawn(move || {
            let mut told = String::new();
            output.read_to_string(&mut told).unwrap();
            serde_json::from_str::<serde_json::Value>(&told).unwrap()
        });
        let held = watch(child);
        (told.join().unwrap(), held)
    };
    let (size, nothing) = (size(), serde_json::json!([["ls", "/session"]]));
    let (_, _compiling) = run(nothing.clone());
    let (_, idle) = run(nothing);
    let (told, held) = run(serde_json::json!([
        ["fill", "/session/large", size],
        ["copy-large", "/session/large", "/agent/copy"],
        ["stat", "/agent/copy"],
    ]));
    let reply = told["reply"].as_str().unwrap();
    assert!(reply.contains(&format!(r#"{{"kind":"file","size":{size}}}"#)), "{told}");
    let guest = told["usage"]["guest_memory_bytes"].as_u64().unwrap();
    eprintln!("a copy of {} MiB: {} MiB in the guest", size / MIB, guest / MIB);
    assert!(guest < 4 * MIB, "{guest}");
    let added = held.saturating_sub(idle);
    eprintln!("{} MiB above {} MiB idle", added / MIB, idle / MIB);
    assert!(added < ADDED_MAX, "a copy holds {} MiB more than an idle host", added / MIB);
}
