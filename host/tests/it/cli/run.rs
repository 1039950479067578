use std::io::Read;

use bailiwick::catalog::{Event, Recorded};
use rustix::process::Signal;
use serde_json::Value;

use super::harness::{Done, Machine, finish, guest_or_skip, signal, wait_for};

const NAMES: [&str; 6] = ["-w", "acme", "-a", "clerk", "-s", "monday"];

fn run(machine: &Machine, arguments: &[&str]) -> Done {
    machine.run(&[&["run"], arguments, NAMES.as_slice()].concat())
}

/// Runs the guest that does the calls of its input, and gives their answers.
fn script(machine: &Machine, guest: &str, steps: &str, options: &[&str]) -> Value {
    let done = run(machine, &[&[guest, "--input", steps], options].concat());
    assert_eq!(done.code, Some(0), "{done:?}");
    serde_json::from_str(&done.out).unwrap()
}

/// A turn's reply is on standard output, and what it wrote is there for a person.
#[test]
fn a_turn_replies_and_its_files_are_there() {
    let guest = guest_or_skip!("script", "a_turn_replies_and_its_files_are_there");
    let machine = Machine::new();
    let steps = r#"[{"do":"write","path":"session/a.txt","bytes":"kept"}]"#;
    let input = machine.file("steps.json", steps.as_bytes());
    let done = run(&machine, &[&guest, "--input", &format!("@{input}")]);
    assert_eq!(done.code, Some(0), "{done:?}");
    for made in ["workspace `acme`", "agent `clerk`", "session `monday`"] {
        assert!(done.err.contains(&format!("made {made}")), "{done:?}");
    }
    let cat = ["files", "cat", "session/a.txt"];
    assert_eq!(machine.ok(&[cat.as_slice(), &NAMES].concat()), "kept");
    let sessions = machine.ok(&["sessions", "ls", "-w", "acme", "-a", "clerk", "--json"]);
    let session: Value = serde_json::from_str(&sessions).unwrap();
    assert_eq!((&session["turns"], &session["latest"]), (&1.into(), &"done".into()));
}

/// With `--json`, all that is to be known of a turn is one object.
#[test]
fn a_turn_is_told_as_one_object() {
    let guest = guest_or_skip!("script", "a_turn_is_told_as_one_object");
    let machine = Machine::new();
    let steps = r#"[{"do":"write","path":"session/a.txt","bytes":"kept"}]"#;
    let done = run(&machine, &[&guest, "--input", steps, "--json"]);
    let told: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((&told["outcome"], &told["session"]), (&"reply".into(), &"monday".into()));
    let written = serde_json::json!({"kind": "written", "path": "session/a.txt", "size": 4});
    assert_eq!(told["events"], serde_json::json!([written]));
    assert!(told["usage"]["elapsed_ms"].is_u64(), "{told}");
    assert!(told["reply"].is_string() && told["error"].is_null(), "{told}");
}

/// The exit code tells a guest's own error from a trap and from a limit.
#[test]
fn the_exit_code_tells_how_a_turn_ended() {
    let guest = guest_or_skip!("hostile", "the_exit_code_tells_how_a_turn_ended");
    let machine = Machine::new();
    for (input, code, told) in [
        ("nonsense", 11, "the guest reports an error: `nonsense` is none of"),
        ("panic", 12, "the guest trapped: "),
        ("memory", 13, "the turn was ended: "),
    ] {
        let done = run(&machine, &[&guest, "--input", input]);
        assert_eq!(done.code, Some(code), "{done:?}");
        assert!(done.err.contains(told), "{done:?}");
        assert!(!done.err.contains('\u{1b}'), "no colours where there is no terminal");
    }
}

/// A turn that parks prints its question; the answer goes to the component that asked, also when
/// its file is gone; and until then the session takes nothing else.
#[test]
fn a_question_is_answered_by_the_next_run() {
    let guest = guest_or_skip!("ask", "a_question_is_answered_by_the_next_run");
    let machine = Machine::new();
    let component = machine.file("ask.wasm", &std::fs::read(guest).unwrap());
    let none = run(&machine, &["--answer", "yes"]);
    assert!(none.err.contains("there is no workspace `acme`"), "{none:?}");

    let asked = run(&machine, &[&component, "--input", "ten chairs"]);
    assert_eq!(asked.code, Some(10), "{asked:?}");
    assert!(asked.out.contains("ten chairs"), "{asked:?}");
    assert!(asked.err.contains("bailiwick run --answer TEXT -w acme -a clerk -s monday"));
    let second = run(&machine, &[&component, "--input", "more"]);
    assert_eq!(second.code, Some(1));
    assert!(second.err.contains("waits for an answer"), "{second:?}");

    std::fs::remove_file(component).unwrap();
    let unclear = run(&machine, &["--answer", "perhaps"]);
    assert_eq!(unclear.code, Some(10), "{unclear:?}");
    let done = run(&machine, &["--answer", "yes"]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "Done: ten chairs\n"), "{done:?}");
    let late = run(&machine, &["--answer", "yes"]);
    assert!(late.err.contains("waits for no answer"), "{late:?}");
}

/// A turn reads the skills that it was given and no others, and its grant is what was said.
#[test]
fn a_turn_gets_its_skills_and_its_grant() {
    let guest = guest_or_skip!("script", "a_turn_gets_its_skills_and_its_grant");
    let machine = Machine::new();
    machine.file("skills/csv/docs/guide.md", b"look here");
    let steps = r#"[{"do":"read","path":"skill/csv/docs/guide.md"},
        {"do":"write","path":"agent/a","bytes":""},{"do":"write","path":"workspace/a","bytes":""}]"#;
    let answers = script(&machine, &guest, steps, &["--skill", "csv=skills/csv"]);
    assert!(answers[0].to_string().contains("look here"), "{answers}");
    assert_eq!(answers[1]["error"], Value::Null, "{answers}");
    assert_eq!(answers[2]["error"]["code"], "denied", "{answers}");
    let options = ["--grant", "agent=none", "--grant", "workspace=read-write"];
    let answers = script(&machine, &guest, steps, &options);
    assert_eq!(answers[0]["error"]["code"], "not-found", "{answers}");
    assert_eq!(answers[1]["error"]["code"], "denied", "{answers}");
    assert_eq!(answers[2]["error"], Value::Null, "{answers}");
}

/// What is not a skill or no grant is refused before anything is made.
#[test]
fn wrong_skills_and_grants_are_refused() {
    let guest = guest_or_skip!("hello", "wrong_skills_and_grants_are_refused");
    let machine = Machine::new();
    machine.file("empty/skill/SKILL.md", b"x");
    std::os::unix::fs::symlink("/etc/hostname", machine.path("empty/link")).unwrap();
    machine.file("large/SKILL.md", &vec![b'x'; (1 << 20) + 1]);
    for (options, code, told) in [
        (["--grant", "agent=all"], 2, "`none`, `read-only` or `read-write`"),
        (["--grant", "session=none"], 2, "always read-write"),
        (["--skill", "csv"], 2, "SLUG=DIR"),
        (["--skill", "csv=nowhere"], 1, "nowhere cannot be read"),
        (["--skill", "CSV=empty/skill"], 1, "a slug is"),
        (["--skill", "csv=empty"], 1, "is a link"),
        (["--skill", "csv=large"], 1, "larger than"),
    ] {
        let done = run(&machine, &[&[guest.as_str()], options.as_slice()].concat());
        assert_eq!(done.code, Some(code), "{options:?}: {done:?}");
        assert!(done.err.contains(told), "{options:?}: {done:?}");
    }
    assert_eq!(machine.ok(&["workspaces", "ls", "--json"]), "");
}

/// Ctrl-C asks a guest to stop; one that does not listen is ended by the second.
#[test]
fn ctrl_c_cancels_a_turn() {
    let guest = guest_or_skip!("hostile", "ctrl_c_cancels_a_turn");
    let machine = Machine::new();
    for (input, times, code) in [("until-cancelled", 1, 0), ("spin", 2, 130)] {
        let child = machine.start(&[&["run", &guest, "--input", input], NAMES.as_slice()].concat());
        wait_for("the turn to run", || latest(&machine) == "running");
        for _ in 0..times {
            signal(child.id(), Signal::INT);
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
        let done = finish(child);
        assert_eq!(done.code, Some(code), "{input}: {done:?}");
        assert!(done.err.contains("the turn is asked to stop"), "{done:?}");
    }
    assert_eq!(latest(&machine), "failed");
}

/// One turn at a time: a second process is told so, and one that was killed blocks nobody.
#[test]
fn a_session_belongs_to_one_process_at_a_time() {
    let guest = guest_or_skip!("hostile", "a_session_belongs_to_one_process_at_a_time");
    let machine = Machine::new();
    let first = machine.start(&[&["run", &guest, "--input", "spin"], NAMES.as_slice()].concat());
    wait_for("the turn to run", || latest(&machine) == "running");
    let second = run(&machine, &[&guest, "--input", "say 3"]);
    assert_eq!(second.code, Some(1));
    assert!(second.err.contains("a turn is running in this session"), "{second:?}");
    let removed = machine.refused(&["workspaces", "rm", "acme"]);
    assert!(removed.contains("a turn is running there"), "{removed}");
    signal(first.id(), Signal::KILL);
    finish(first);
    assert_eq!(latest(&machine), "failed", "a turn whose process is gone is given up at once");
    let next = run(&machine, &[&guest, "--input", "say 3"]);
    assert_eq!(next.code, Some(0), "{next:?}");
    let locks = std::fs::read_dir(machine.data_dir().join("running")).unwrap();
    assert_eq!(locks.count(), 0, "nothing is left of those that are over");
}

/// What a guest said is its partial reply when its process is killed.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_turn_keeps_what_its_guest_said() {
    let guest = guest_or_skip!("hostile", "a_killed_turn_keeps_what_its_guest_said");
    let machine = Machine::new();
    let run = ["run", &guest, "--input", "say-and-spin"];
    let child = machine.start(&[run.as_slice(), &NAMES].concat());
    wait_for("the turn to run", || latest(&machine) == "running");
    let catalog = machine.catalog().await;
    let [workspace, agent, session] = ["acme", "clerk", "monday"].map(|name| name.parse().unwrap());
    let workspace = catalog.workspace(&workspace).await.unwrap().unwrap();
    let agent = catalog.agent(workspace, &agent).await.unwrap().unwrap();
    let session = catalog.session(agent, &session).await.unwrap().unwrap();
    let said = |event: &Recorded| matches!(event.event, Event::Said { .. });
    while !catalog.events(session, 0, 100).await.unwrap().iter().any(said) {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    signal(child.id(), Signal::KILL);
    finish(child);
    assert_eq!(latest(&machine), "failed");
    let turn = &catalog.turns(session, 0, 1).await.unwrap()[0];
    assert_eq!(turn.said, "said before it was too late");
    assert_eq!(turn.failure.as_deref(), Some("abandoned"));
}

fn latest(machine: &Machine) -> String {
    let done = machine.run(&["sessions", "ls", "-w", "acme", "-a", "clerk", "--json"]);
    let session: Value = serde_json::from_str(&done.out).unwrap_or_default();
    session["latest"].as_str().unwrap_or_default().to_owned()
}

/// A turn whose reply nobody reads is recorded all the same, and Ctrl-C ends the process.
#[test]
fn a_reply_that_nobody_reads_is_recorded() {
    let guest = guest_or_skip!("script", "a_reply_that_nobody_reads_is_recorded");
    let machine = Machine::new();
    let steps = format!(r#"[{{"do":"say","part":"{}"}}]"#, "x".repeat(1 << 20));
    let input = format!("@{}", machine.file("steps.json", steps.as_bytes()));
    let run = ["run", &guest, "--input", &input];
    let mut child = machine.start(&[run.as_slice(), &NAMES].concat());
    wait_for("the turn to be recorded", || latest(&machine) == "done");
    assert_eq!(child.try_wait().unwrap(), None, "nobody has read what it prints");
    wait_for("the process to end", || {
        signal(child.id(), Signal::INT);
        child.try_wait().unwrap().is_some()
    });
    assert_eq!(finish(child).code, Some(130));
}

/// Pieces come out as they are said, while the turn still runs.
#[test]
fn pieces_of_a_reply_are_printed_at_once() {
    let guest = guest_or_skip!("script", "pieces_of_a_reply_are_printed_at_once");
    let machine = Machine::new();
    let steps =
        r#"[{"do":"say","part":"first"},{"do":"log","level":"info","message":"\u001b[2J\nerror"}]"#;
    let mut child = machine.start(&[&["run", &guest, "--input", steps], NAMES.as_slice()].concat());
    let mut first = [0; 5];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"first");
    let done = finish(child);
    let shown = "info  \\u{1b}[2J\n      error\n";
    assert!(done.err.contains(shown), "a log line cannot drive a terminal, nor be two: {done:?}");
}
