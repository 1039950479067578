use serde_json::{Value, json};

use super::harness::{Machine, guest, skip, wait_for};
use super::serve::{Serving, json as body};

const AGENT: [&str; 4] = ["-w", "acme", "-a", "clerk"];

/// Runs the program of plain files, and gives what its steps came to.
fn run(machine: &Machine, program: &str, session: &str, steps: &Value) -> Value {
    let steps = steps.to_string();
    let run = ["run", program, "--input", &steps, "-s", session];
    serde_json::from_str(&machine.ok(&[run.as_slice(), &AGENT].concat())).unwrap()
}

/// An agent that only `run` ever runs finds the page as well, once.
#[test]
fn a_run_welcomes_an_agents_folder_once() {
    let Some(program) = guest("folders") else {
        return skip("a_run_welcomes_an_agents_folder_once", "rustup's target for programs");
    };
    let machine = Machine::new();
    let found = run(&machine, &program, "monday", &json!([["read", "agent-files/README.md"]]));
    assert!(found[0]["ok"].as_str().unwrap().contains("# What lasts here"), "{found}");
    let gone = run(&machine, &program, "monday", &json!([["rm", "/agent/README.md"]]));
    assert_eq!(gone, json!([{ "ok": null }]));
    for session in ["monday", "tuesday"] {
        let found = run(&machine, &program, session, &json!([["ls", "/agent"]]));
        assert_eq!(found, json!([{ "ok": [] }]), "{session}");
    }
}

/// A page that somebody deleted over HTTP is not written again, whoever asks for turns; and what a
/// model is told can be asked for there.
#[test]
fn an_agents_folder_is_welcomed_once_over_http() {
    let Some(program) = guest("folders") else {
        return skip("an_agents_folder_is_welcomed_once_over_http", "rustup's target for programs");
    };
    let machine = Machine::new();
    machine.ok(&["workspaces", "new", "acme"]);
    machine.ok(&["agents", "new", "clerk", "-w", "acme"]);
    let serving = Serving::start(&machine, &["--require-mounts"]);
    let root = machine.ok(&["token", "--subject", "root", "--allow", "admin"]).trim().to_owned();
    let mut mint = vec!["token", "--subject", "ann", "-w", "acme"];
    for authority in ["admin", "sessions:write", "storage:agent:write"] {
        mint.extend(["--allow", authority]);
    }
    let ann = machine.ok(&mint).trim().to_owned();
    let ask = |method: &str, path: &str, body: &str| {
        let answer = serving.ask(method, path, &ann, body);
        assert!(answer.starts_with("HTTP/1.1 2"), "{method} {path}: {answer}");
        answer
    };
    let workspaces = body(&serving.ask("GET", "/v1/workspaces", &root, ""));
    let workspace = format!("/v1/workspaces/{}", workspaces["items"][0]["id"].as_str().unwrap());
    let agents = body(&ask("GET", &format!("{workspace}/agents"), ""));
    let agent = format!("/v1/agents/{}", agents["items"][0]["id"].as_str().unwrap());
    let component = std::fs::read(program).unwrap();
    let (path, kind) = (format!("{workspace}/components/folders"), "application/octet-stream");
    let kept = serving.send("PUT", &path, &ann, kind, &component);
    assert!(kept.starts_with("HTTP/1.1 200"), "{kept}");
    ask("PUT", &format!("{agent}/component"), r#"{"name":"folders"}"#);
    let listed = |name: &str| {
        let opened = json!({ "name": name, "participants": ["ann"] }).to_string();
        let session = body(&ask("POST", &format!("{agent}/sessions"), &opened));
        let session = format!("/v1/agent-sessions/{}", session["id"].as_str().unwrap());
        let asked = json!({ "input": json!([["ls", "/agent"]]).to_string() }).to_string();
        let asked = body(&ask("POST", &format!("{session}/turns"), &asked));
        let turn = format!("{session}/turns/{}", asked["id"].as_str().unwrap());
        let mut shown = Value::Null;
        wait_for("the turn", || {
            shown = body(&ask("GET", &turn, ""));
            shown["state"] == "done" || shown["state"] == "failed"
        });
        let told = body(&ask("GET", &format!("{session}/guidance"), ""));
        assert!(told["guidance"].as_str().unwrap().contains("your own durable folder"), "{told}");
        shown["reply"].as_str().unwrap_or_else(|| panic!("{shown}")).trim().to_owned()
    };
    assert_eq!(listed("monday"), r#"[{"ok":[["README.md","file"]]}]"#);
    let page = format!("{agent}/files/agent/README.md");
    assert!(ask("GET", &page, "").contains("# What lasts here"));
    ask("DELETE", &page, "");
    assert_eq!(listed("tuesday"), r#"[{"ok":[]}]"#);
    assert!(serving.ask("GET", &page, &ann, "").starts_with("HTTP/1.1 404"));
    assert_eq!(serving.stop().0.code, Some(0));
}
