use std::process::{Command, Stdio};

use super::harness::{Done, Machine, finish, guest_or_skip, piped, skip};

const NAMES: [&str; 6] = ["-w", "acme", "-a", "clerk", "-s", "monday"];

/// A store that is not there is named, and what can be done about it.
#[test]
fn a_wrong_store_is_told() {
    let machine = Machine::new();
    let file = machine.file("file", b"");
    for (store, code, told) in [
        ("s4://bucket", 2, "there is no store of the kind `s4://`"),
        ("s3://", 2, "names no bucket"),
        ("", 2, "not an empty text"),
        ("nowhere", 1, "there is no directory nowhere"),
        (&file, 1, "is not a directory"),
    ] {
        let done = machine.run(&["files", "ls", "-w", "acme", "--store", store]);
        assert_eq!(done.code, Some(code), "{store:?}: {done:?}");
        assert!(done.err.contains(told), "{store:?}: {done:?}");
    }
}

/// An endpoint that does not answer is told within seconds, with the reason.
#[test]
fn an_unreachable_endpoint_is_told() {
    let machine = Machine::new();
    // Nothing listens on the discard port.
    let mut command = machine.command(&["workspaces", "ls", "--store", "s3://bucket/prefix"]);
    command.env("AWS_ENDPOINT_URL", "http://127.0.0.1:9").env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", "a").env("AWS_SECRET_ACCESS_KEY", "b");
    let done = finish(piped(&mut command));
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.err.contains("cannot be reached"), "{done:?}");
    assert!(done.err.contains("because: "), "{done:?}");
}

/// What is no component is told from what is one for another host, each in a sentence, and
/// neither makes anything.
#[test]
fn a_component_that_cannot_run_is_told_why() {
    let machine = Machine::new();
    let for_another = component_for_another_world();
    for (name, bytes, told) in [
        ("empty.wasm", b"".as_slice(), "empty"),
        ("text.wasm", b"hello", "not WebAssembly"),
        ("module.wasm", b"\0asm\x01\0\0\0", "core module"),
        ("corrupt.wasm", b"\0asm\x0d\0\x01\0garbage", "corrupt"),
        ("other.wasm", &for_another, "acme:billing/ledger@1.0.0"),
        ("idle.wasm", b"\0asm\x0d\0\x01\0", "exports none of"),
    ] {
        let file = machine.file(name, bytes);
        let told_by_run = machine.refused(&[&["run", &file], NAMES.as_slice()].concat());
        assert!(told_by_run.contains(told), "{name}: {told_by_run}");
        let check = machine.run(&["check", &file]);
        assert_eq!(check.code, Some(1), "{name}: {check:?}");
        assert!(check.out.contains(told), "{name}: {check:?}");
    }
    assert_eq!(machine.ok(&["workspaces", "ls", "--json"]), "");
    let missing = machine.refused(&["check", "missing.wasm"]);
    assert!(missing.contains("missing.wasm cannot be read"), "{missing}");
}

/// A component that imports `acme:billing/ledger@1.0.0` and nothing else, by hand.
fn component_for_another_world() -> Vec<u8> {
    let name = b"acme:billing/ledger@1.0.0";
    // One function without parameters and results, exported as `pay`.
    let instance = b"\x42\x02\x01\x40\0\x01\0\x04\0\x03pay\x01\0";
    let length = |bytes: usize| u8::try_from(bytes).unwrap();
    let mut bytes = b"\0asm\x0d\0\x01\0".to_vec();
    // Types: that instance alone.
    bytes.extend([0x07, length(instance.len() + 1), 1]);
    bytes.extend(instance);
    // Imports: one of that name, an instance of type 0.
    bytes.extend([0x0a, length(name.len() + 5), 1, 0, length(name.len())]);
    bytes.extend(name);
    bytes.extend([0x05, 0]);
    bytes
}

/// `check` tells what a guest imports and exports, and that it can run.
#[test]
fn a_good_component_is_told_as_well() {
    let guest = guest_or_skip!("hello", "a_good_component_is_told_as_well");
    let machine = Machine::new();
    let told = machine.ok(&["check", &guest]);
    assert!(told.contains("bailiwick:agent/turn@0.1.0"), "{told}");
    assert!(told.contains("This host can run it"), "{told}");
    let told = machine.ok(&["check", &guest, "--json"]);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["verdict"], "turn");
}

/// Where nothing can be written, that is said, and where to go instead.
#[test]
fn a_read_only_directory_is_told() {
    let machine = Machine::new();
    for option in ["--data-dir", "--store"] {
        let command = ["workspaces", "ls", option, "disk"];
        let Some(done) = with_disk(&machine, "ro,size=1m", &command) else {
            return skip("a_read_only_directory_is_told", "`unshare` and a tmpfs of one's own");
        };
        assert_eq!(done.code, Some(1), "{done:?}");
        assert!(done.err.contains("disk"), "{done:?}");
        assert!(done.err.contains("ead-only") || done.err.contains("read only"), "{done:?}");
    }
}

/// A disk that is full is told, and nothing half-written is left.
#[test]
fn a_full_disk_is_told() {
    let machine = Machine::new();
    let local = machine.file("big", &vec![b'x'; 8 << 20]);
    let put = ["files", "put", &local, "workspace/big", "-w", "acme", "--data-dir", "disk"];
    let Some(done) = with_disk(&machine, "size=4m", &put) else {
        return skip("a_full_disk_is_told", "`unshare` and a tmpfs of one's own");
    };
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.err.contains("storage is full"), "{done:?}");
}

/// A turn goes on when its storage is full, and its guest is told; so is a person whose catalog
/// has no room left.
#[test]
fn a_turn_on_a_full_disk_is_told() {
    let guest = guest_or_skip!("script", "a_turn_on_a_full_disk_is_told");
    let machine = Machine::new();
    let steps = r#"[{"do":"write","path":"session/a","bytes":{"fill":"x","size":6000000}}]"#;
    let run = [&["run", &guest, "-i", steps, "--data-dir", "disk"], NAMES.as_slice()].concat();
    let Some(done) = with_disk(&machine, "size=4m", &run) else {
        return skip("a_turn_on_a_full_disk_is_told", "`unshare` and a tmpfs of one's own");
    };
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("storage is full"), "{done:?}");
    let done = with_disk(&machine, "size=100k", &run).unwrap();
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.err.contains("disk is full"), "{done:?}");
}

/// Runs a command beside a directory `disk` that is a small file system of its own.
fn with_disk(machine: &Machine, options: &str, arguments: &[&str]) -> Option<Done> {
    std::fs::create_dir_all(machine.path("disk")).unwrap();
    let mount = format!("mount -t tmpfs -o {options} tmpfs disk || exit 99; exec \"$0\" \"$@\"");
    let mut command = Command::new("unshare");
    machine.environment(&mut command);
    command.args(["--map-root-user", "--mount", "sh", "-c", &mount]);
    command.arg(env!("CARGO_BIN_EXE_bailiwick")).args(arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    let done = finish(child);
    // Where namespaces are forbidden, `unshare` says so itself.
    let forbidden = done.code == Some(99) || done.err.starts_with("unshare:");
    (!forbidden).then_some(done)
}

/// `store check` says what a directory's file system can do.
#[test]
fn store_check_tells_what_a_directory_can_do() {
    let machine = Machine::new();
    assert!(machine.ok(&["store", "check"]).contains("names that differ in case or accents"));
    let told = machine.ok(&["store", "check", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert!(told["time_step_ns"].as_u64().unwrap() > 0, "{told}");
}
