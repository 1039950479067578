use serde_json::json;

use super::harness::{Machine, guest_or_skip};
use super::serve::{Serving, json};
use crate::api::skills::{content_type, multipart};

const GUIDE: &[u8] = include_bytes!("../../../../examples/skills/csv-report/guide.md");
const PAGE: &[u8] = include_bytes!("../../../../examples/skills/csv-report/SKILL.md");
const PENGUINS: &[u8] = include_bytes!("../../../../examples/data/penguins.csv");
const AGENT: [&str; 4] = ["-w", "acme", "-a", "clerk"];

fn page(slug: &str) -> String {
    format!("---\nname: {slug}\ndescription: What for.\n---\n")
}

/// A folder is published as a skill, in versions, given to an agent, and read by its turns on the
/// command line; what is given to a turn alone comes first.
#[test]
fn a_skill_is_published_and_given_on_the_command_line() {
    let guest = guest_or_skip!("script", "a_skill_is_published_and_given_on_the_command_line");
    let machine = Machine::new();
    machine.file("pdf/SKILL.md", page("pdf").as_bytes());
    machine.file("pdf/docs/text", b"first");
    machine.file("own/docs/text", b"own");
    let publish = ["skills", "publish", "pdf", "-w", "acme"];
    let told = machine.run(&publish);
    assert!(told.err.contains("published `pdf`, version 1 (2 files"), "{told:?}");
    assert!(machine.run(&publish).err.contains("nothing is new"), "the same files");
    machine.file("pdf/docs/text", b"second");
    machine.ok(&publish);
    let listed = machine.ok(&["skills", "list", "-w", "acme", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((&listed["version"], &listed["description"]), (&json!(2), &json!("What for.")));
    assert!(machine.ok(&["skills", "ls", "-w", "acme"]).contains("What for."));

    machine.ok(&["agents", "new", "clerk", "-w", "acme"]);
    machine.ok(&[["skills", "bind", "pdf"].as_slice(), &AGENT].concat());
    let steps = r#"[{"do":"read","path":"skill/pdf/docs/text"}]"#;
    let read = |more: &[&str]| {
        let run = ["run", &guest, "--input", steps, "-s", "monday"];
        machine.ok(&[run.as_slice(), &AGENT, more].concat())
    };
    assert!(read(&[]).contains("second"));
    assert!(read(&["--skill", "pdf=own"]).contains("own"));
    assert!(read(&[]).contains("second"), "that was for one turn");
    machine.ok(&[["skills", "bind", "pdf", "--version", "1"].as_slice(), &AGENT].concat());
    assert!(read(&[]).contains("first"));
    let given = machine.ok(&[["skills", "ls", "--json"].as_slice(), &AGENT].concat());
    let given: serde_json::Value = serde_json::from_str(&given).unwrap();
    assert_eq!(given, json!({ "slug": "pdf", "of": "workspace", "version": 1, "sent": 1 }));

    machine.ok(&["workspaces", "new", "platform"]);
    machine.ok(&["workspaces", "platform", "platform"]);
    assert_eq!(machine.ok(&["workspaces", "platform"]), "platform\n");
    machine.ok(&["skills", "publish", "pdf", "-w", "platform"]);
    machine.ok(&[["skills", "unbind", "pdf"].as_slice(), &AGENT].concat());
    assert!(read(&[]).contains("not-found"));
    machine.ok(&[["skills", "bind", "pdf", "--platform"].as_slice(), &AGENT].concat());
    assert!(read(&[]).contains("second"));
    machine.ok(&["workspaces", "platform", "--none"]);
    assert!(read(&[]).contains("not-found"));
    machine.ok(&["skills", "rm", "pdf", "-w", "acme"]);
    assert_eq!(machine.ok(&["skills", "ls", "-w", "acme", "--json"]), "");
}

/// What is no skill is refused in a sentence, before anything is made.
#[test]
fn what_is_no_skill_is_refused_before_anything_is_made() {
    let machine = Machine::new();
    machine.file("none/a.txt", b"x");
    machine.file("bare/SKILL.md", b"# Text");
    machine.file("odd/SKILL.md", page("odd").as_bytes());
    machine.file("odd/.bailiwick-x", b"x");
    machine.file("large/SKILL.md", page("large").as_bytes());
    machine.file("large/a", &vec![0; (1 << 20) + 1]);
    machine.file("link/SKILL.md", page("link").as_bytes());
    std::os::unix::fs::symlink("/etc/passwd", machine.path("link/passwd")).unwrap();
    for (folder, told) in [
        ("nowhere", "cannot be read"),
        ("none", "has no SKILL.md"),
        ("bare", "`name`"),
        ("odd", "bailiwick"),
        ("large", "larger than"),
        ("link", "is a link"),
    ] {
        let refused = machine.refused(&["skills", "publish", folder, "-w", "acme"]);
        assert!(refused.contains(told), "{folder}: {refused}");
    }
    assert_eq!(machine.ok(&["workspaces", "ls", "--json"]), "");
    let unknown = machine.refused(&[["skills", "bind", "pdf"].as_slice(), &AGENT].concat());
    assert!(unknown.contains("there is no workspace `acme`"), "{unknown}");
    let illegal = machine.run(&[["skills", "bind", "../pdf"].as_slice(), &AGENT].concat());
    assert_eq!(illegal.code, Some(2), "{illegal:?}");
}

/// Over HTTP alone: a guest is uploaded, a skill is published and given to its agent, and a turn
/// that is asked for reads it.
#[test]
fn a_turn_asked_for_over_http_reads_the_skill_that_its_agent_is_given() {
    let test = "a_turn_asked_for_over_http_reads_the_skill_that_its_agent_is_given";
    let Some(guest) = super::harness::guest("report") else {
        return super::harness::skip(test, "the guests: run `cargo xtask guests` first");
    };
    let machine = Machine::new();
    let penguins = machine.file("penguins.csv", PENGUINS);
    machine.ok(&["files", "put", &penguins, "workspace/reference/penguins.csv", "-w", "acme"]);
    machine.ok(&["agents", "new", "clerk", "-w", "acme"]);
    let serving = Serving::start(&machine, &[]);
    let token = machine
        .ok(&[
            "token",
            "--subject",
            "ann",
            "-w",
            "acme",
            "--allow",
            "admin",
            "--allow",
            "sessions:write",
            "--allow",
            "skills:write",
        ])
        .trim()
        .to_owned();
    let root = machine.ok(&["token", "--subject", "root", "--allow", "admin"]).trim().to_owned();
    let ask = |method: &str, path: &str, body: &str| {
        let answer = serving.ask(method, path, &token, body);
        assert!(answer.starts_with("HTTP/1.1 2"), "{method} {path}: {answer}");
        answer
    };
    let workspaces = json(&serving.ask("GET", "/v1/workspaces", &root, ""));
    let workspace = format!("/v1/workspaces/{}", workspaces["items"][0]["id"].as_str().unwrap());
    let agents = json(&ask("GET", &format!("{workspace}/agents"), ""));
    let agent = format!("/v1/agents/{}", agents["items"][0]["id"].as_str().unwrap());
    let opened = "{\"name\":\"monday\",\"participants\":[\"ann\"]}";
    let session = json(&ask("POST", &format!("{agent}/sessions"), opened));
    let session = format!("/v1/agent-sessions/{}", session["id"].as_str().unwrap());

    let component = std::fs::read(guest).unwrap();
    let kind = "application/octet-stream";
    let kept =
        serving.send("PUT", &format!("{workspace}/components/report"), &token, kind, &component);
    assert!(kept.starts_with("HTTP/1.1 200"), "{kept}");
    ask("PUT", &format!("{agent}/component"), "{\"name\":\"report\"}");
    let publish = |guide: &[u8]| {
        let body = multipart(&[("SKILL.md", PAGE), ("guide.md", guide)]);
        let path = format!("{workspace}/skills/csv-report/versions");
        json(&serving.send("PUT", &path, &token, &content_type(), &body))
    };
    assert_eq!(publish(GUIDE)["version"], 1);
    ask("PUT", &format!("{agent}/skills/csv-report"), "{}");
    let asked = json(&ask("POST", &format!("{session}/turns"), "{\"input\":\"How heavy?\"}"));
    // What is published from now on is for later turns.
    assert_eq!(publish(b"nothing")["version"], 2);
    let turn = format!("{session}/turns/{}", asked["id"].as_str().unwrap());
    let mut shown = serde_json::Value::Null;
    super::harness::wait_for("the turn", || {
        shown = json(&ask("GET", &turn, ""));
        shown["state"] == "done" || shown["state"] == "failed"
    });
    assert_eq!(shown["state"], "done", "{shown}");
    assert!(shown["reply"].as_str().unwrap().contains("session/summary.md"), "{shown}");
    let asked = json(&ask("POST", &format!("{session}/turns"), "{\"input\":\"Again?\"}"));
    let turn = format!("{session}/turns/{}", asked["id"].as_str().unwrap());
    super::harness::wait_for("the turn", || {
        shown = json(&ask("GET", &turn, ""));
        shown["state"] == "done" || shown["state"] == "failed"
    });
    let error = shown["error"].as_str().unwrap_or_default();
    assert!(error.contains("skill/csv-report/guide.md"), "the later version: {shown}");
    assert_eq!(serving.stop().0.code, Some(0));
}
