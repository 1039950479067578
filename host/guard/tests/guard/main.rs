//! What calls cost, in instructions and allocations, held against what they are known to: a guard
//! that no busy machine upsets. The counts are of a development build, which is there anyhow: some
//! ten times those of a release, and what they tell is change.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]
#![expect(clippy::disallowed_methods, reason = "the limits are a file of this repository")]

mod bucket;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;
use std::sync::Mutex;

/// So many more instructions than the limit are too many; so many fewer, and it says little.
const MORE_PERCENT: u64 = 5;
const FEWER_PERCENT: u64 = 20;

/// In the folder of this package, where cargo runs its tests.
const LIMITS: &str = "limits.txt";

/// What one call costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    instructions: u64,
    allocations: u64,
}

type Costs = BTreeMap<String, Cost>;

/// No path that every turn takes costs more than it is known to.
#[test]
fn calls_cost_what_they_are_known_to() {
    if !can_count() {
        return;
    }
    let counted = count();
    if std::env::var_os("BAILIWICK_GUARD").is_some_and(|task| task == "update") {
        return std::fs::write(LIMITS, written(&counted)).unwrap();
    }
    let broken = compare(&counted, &read(&std::fs::read_to_string(LIMITS).unwrap()));
    assert!(
        broken.is_empty(),
        "calls do not cost what they are known to:\n  {}\nWhere that is not meant, find it with \
        `valgrind --tool=callgrind` on the program `guard`, and callgrind_annotate. Where it is \
        meant, run `cargo xtask guard --update`, and say in the commit what the cost is for.",
        broken.join("\n  ")
    );
}

/// A cost over its limit is told, and one far below it, and one that nobody counts any more.
#[test]
fn what_is_not_as_known_is_told() {
    let limits = read("# a comment\na 1000 2\nb 1000 2\nc 1000 2\nd 1 1\nf 9 200\ng 9 200\n");
    let cost = |instructions, allocations| Cost { instructions, allocations };
    let counted = [
        ("a", cost(1050, 2)),
        ("b", cost(1051, 3)),
        ("c", cost(799, 2)),
        ("e", cost(1, 1)),
        ("f", cost(9, 202)),
        ("g", cost(9, 203)),
    ];
    let counted = counted.map(|(path, cost)| (path.to_owned(), cost)).into();
    let told = compare(&counted, &limits);
    let paths: Vec<_> = told.iter().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(paths, ["b", "b", "c", "e", "g", "d"]);
    assert_eq!(read(&written(&counted)), counted);
}

fn can_count() -> bool {
    let has_valgrind = Command::new("valgrind").arg("--version").output().is_ok();
    let has_guests = std::env::var_os("BAILIWICK_GUESTS").is_some();
    if !has_valgrind || !has_guests {
        assert!(std::env::var_os("CI").is_none(), "CI counts: with valgrind and the guests");
        eprintln!("SKIPPED: nothing is counted without valgrind and guests: `cargo xtask guard`");
    }
    has_valgrind && has_guests
}

/// Every path, as many at once as there are cores: what is counted is no time.
fn count() -> Costs {
    let guard = env!("CARGO_BIN_EXE_guard");
    let paths = Command::new(guard).output().unwrap();
    let paths = String::from_utf8(paths.stdout).unwrap();
    let port = bucket::serve();
    // Compiles the guest for what callgrind takes for this machine, and keeps it: no part of a call.
    total(guard, "guest/nothing", port, 1);
    let (left, counted) = (Mutex::new(paths.lines()), Mutex::new(Costs::new()));
    let work = || {
        loop {
            let Some(line) = left.lock().unwrap().next() else { return };
            let (path, times) = line.split_once(' ').unwrap();
            let cost = cost(times.parse().unwrap(), |times| total(guard, path, port, times));
            counted.lock().unwrap().insert(path.to_owned(), cost);
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..workers).for_each(|_| _ = scope.spawn(work)));
    counted.into_inner().unwrap()
}

/// What one more call costs: set-up is in both counts, and falls out.
fn cost(times: u64, total: impl Fn(u64) -> Cost) -> Cost {
    let (few, many) = (total(times), total(3 * times));
    let each = |few: u64, many: u64| (many.saturating_sub(few) + times) / (2 * times);
    Cost {
        instructions: each(few.instructions, many.instructions),
        allocations: each(few.allocations, many.allocations),
    }
}

fn total(guard: &str, path: &str, port: u16, times: u64) -> Cost {
    let mut counted = Command::new("valgrind");
    counted.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    counted.env("BAILIWICK_GUARD_PORT", port.to_string());
    counted.env("BAILIWICK_GUARD_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/compiled"));
    let output = counted.args([guard, path, &times.to_string()]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let counts = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`guard {path}`: {}\n{counts}", output.status);
    let number = |text: &str, after: &str| -> u64 {
        let (_, rest) = text.rsplit_once(after).unwrap_or_else(|| panic!("no count in: {text}"));
        rest.split_whitespace().next().unwrap().parse().unwrap()
    };
    Cost { instructions: number(&counts, "Collected :"), allocations: number(&said, "allocations") }
}

fn compare(counted: &Costs, limits: &Costs) -> Vec<String> {
    let mut broken = Vec::new();
    for (path, cost) in counted {
        let Some(limit) = limits.get(path) else {
            broken.push(format!("{path}: has no limit"));
            continue;
        };
        let most = limit.instructions * (100 + MORE_PERCENT) / 100;
        let least = limit.instructions * (100 - FEWER_PERCENT) / 100;
        if !(least..=most).contains(&cost.instructions) {
            let is = cost.instructions;
            broken.push(format!("{path}: {is} instructions, not {least} to {most}"));
        }
        // To one, but for calls with a hundred and more: what they amortise is not always the same.
        if cost.allocations.abs_diff(limit.allocations) > limit.allocations / 100 {
            let (is, known) = (cost.allocations, limit.allocations);
            broken.push(format!("{path}: {is} allocations, not {known}"));
        }
    }
    let forgotten = limits.keys().filter(|path| !counted.contains_key(*path));
    broken.extend(forgotten.map(|path| format!("{path}: has a limit, and is not counted")));
    broken
}

fn read(text: &str) -> Costs {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let limit = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [path, instructions, allocations] = words[..] else { panic!("no limit: {line}") };
        let (instructions, allocations) =
            (instructions.parse().unwrap(), allocations.parse().unwrap());
        (path.to_owned(), Cost { instructions, allocations })
    };
    lines.map(limit).collect()
}

fn written(counted: &Costs) -> String {
    let mut text = format!(
        "# What one call costs in a development build: instructions, allocations. A test holds\n\
        # it: at most {MORE_PERCENT} % more instructions, and 1 % more allocations or less: none of a few.\n\
        # `cargo xtask guard --update` writes it anew.\n"
    );
    for (path, Cost { instructions, allocations }) in counted {
        writeln!(text, "{path:24} {instructions:>10} {allocations:>6}").unwrap();
    }
    text
}
