//! What guests have in common, whatever they are written in.

use std::fs;
use std::path::Path;

use bailiwick::engine::End;
use serde_json::{Value, json};

use super::{Host, limits};
use crate::guests::program;

/// What the steps come to that a guest interprets, in a host of their own; none if it is not built.
pub(super) async fn answers(name: &str, steps: Value) -> Option<Vec<Value>> {
    let guest = program(name)?;
    let host = Host::new(limits());
    let guest = host.load(&guest).await;
    let report = host.run(&guest, &steps.to_string()).await;
    let End::Reply(reply) = report.end else { panic!("{name}: {:?}", report.end) };
    Some(serde_json::from_str(&reply).unwrap())
}

/// A model is told of the same tools, whatever language its guest is written in.
#[tokio::test]
async fn tools_are_those_of_every_language() {
    let mut told = Vec::new();
    for name in ["tools", "python-script", "js-script", "c-script"] {
        let Some(bytes) = program(name) else { continue };
        let host = Host::new(limits());
        let guest = host.load(&bytes).await;
        let mut replies = Vec::new();
        for call in calls() {
            let End::Reply(reply) = host.run(&guest, &call.to_string()).await.end else {
                panic!("{name}: {call}");
            };
            let mut answer: Value = serde_json::from_str(&reply).unwrap();
            if let Some(content) = answer.get_mut("content") {
                // Revisions are those of each host.
                let words = content.as_str().unwrap().split(", revision ").next().unwrap();
                *content = json!(words);
            }
            replies.push((call, answer));
        }
        told.push((name, replies));
    }
    for (name, replies) in &told {
        assert_eq!(*replies, told[0].1, "{name}");
        assert_eq!(replies[0].1.as_array().unwrap().len(), 10);
    }
}

/// Calls of tools, which answer the same words; the first asks for their definitions.
fn calls() -> Vec<Value> {
    let call = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
    let long = "é".repeat(9000) + "\n";
    vec![
        json!({}),
        call("append_to_file", json!({ "path": "agent/plan.md", "text": "1. count\n2. weigh\n" })),
        call("read_file", json!({ "path": "agent/plan.md", "lines": 1 })),
        call("read_file", json!({ "path": "agent/plan.md", "offset": 9 })),
        call("edit_file", json!({ "path": "agent/plan.md", "old": "none", "new": "" })),
        call("search_files", json!({ "pattern": "we", "folder": "agent", "glob": "*.md" })),
        call("list_files", json!({})),
        call("list_files", json!({ "folder": "session" })),
        call("delete_file", json!({ "path": "agent/nothing.md" })),
        call("write_file", json!({ "path": "plan.md", "content": "" })),
        call("open_socket", json!({})),
        call("read_file", json!({ "path": 7 })),
        call("read_file", json!({ "path": "agent/plan.md", "line": 0 })),
        call("read_file", json!({ "path": "agent/plan.md", "line": true })),
        call("read_file", json!({ "path": null })),
        call("read_file", json!({ "path": "agent/plan.md", "mode": "r" })),
        call("append_to_file", json!({ "path": "agent/long.md", "text": long.repeat(2) })),
        call("read_file", json!({ "path": "agent/long.md" })),
        call("delete_file", json!({ "path": "agent/plan.md" })),
    ]
}

/// `csv-python` and `csv-js` make the same summary of the same table.
#[tokio::test]
async fn a_table_is_summed_up_alike() {
    let penguins = include_bytes!("../../../../examples/data/penguins.csv");
    for name in ["csv-python", "csv-js"] {
        let Some(bytes) = program(name) else { continue };
        let host = Host::new(limits());
        let guest = host.load(&bytes).await;
        host.publish("reference/penguins.csv", penguins).await;
        let end = async |input: &str| host.run(&guest, input).await.end;
        let table = "species,rows,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,year\r\n\
                     Adelie,152,38.8,18.3,190.0,3700.7,2008.0\r\n\
                     Chinstrap,68,48.8,18.4,195.8,3733.1,2008.0\r\n\
                     Gentoo,124,47.5,15.0,217.2,5076.0,2008.1\r\n";
        let End::Reply(reply) = end("reference/penguins.csv species").await else {
            panic!("{name}: no reply");
        };
        assert_eq!(reply.replace("\r\n", "\n"), table.replace("\r\n", "\n"), "{name}");
        let kept = host.space().read("session/summary.csv", 0, 1000).await.unwrap();
        assert_eq!(&kept.bytes[..], table.as_bytes(), "{name}");
        let odd = "kind,n,note\r\n,1,\"a, \"\"b\"\"\nc\"\r\nx,2.5,\r\n";
        host.publish("odd.csv", odd.as_bytes()).await;
        let End::Reply(reply) = end("odd.csv kind").await else { panic!("{name}: no reply") };
        assert_eq!(reply.replace("\r\n", "\n"), "kind,rows,n\n,1,1.0\nx,1,2.5\n", "{name}");
        let said = "There is no file /workspace/reference/cats.csv.";
        assert_eq!(end("reference/cats.csv species").await, End::GuestError(said.to_owned()));
        let End::GuestError(said) = end("reference/penguins.csv kind").await else {
            panic!("{name}: no column is called so");
        };
        assert!(said.ends_with("sex, year, and not `kind`."), "{name}: {said}");
    }
}

/// A file larger than any one call takes is written and read whole by one call of the SDK, and
/// pages are asked for as they are needed.
#[tokio::test]
async fn whole_files_of_any_size() {
    let size = (17 << 20) + 1;
    let bytes = json!({ "fill": "penguin", "size": size });
    let steps = json!([
        { "do": "write", "path": "agent/large.bin", "bytes": bytes },
        { "do": "read-all", "path": "agent/large.bin" },
        { "do": "write", "path": "agent/b.txt", "bytes": "a\nb\n" },
        { "do": "list", "folder": "agent" },
        { "do": "search", "folder": "agent", "pattern": "^b", "glob": "*.txt" },
    ]);
    for name in ["python-script", "js-script"] {
        let Some(answers) = answers(name, steps.clone()).await else { continue };
        assert_eq!(answers[0]["ok"]["size"], size);
        let expected: String = "penguin".chars().cycle().skip((size - 8) % 7).take(8).collect();
        assert_eq!(answers[1]["ok"], json!({ "length": size, "tail": expected }));
        assert_eq!(answers[3]["ok"]["paths"], json!(["agent/b.txt", "agent/large.bin"]));
        assert_eq!(answers[4]["ok"]["found"], json!(["agent/b.txt:2"]));
    }
}

/// Each SDK carries the contract, so that a guest is built without this checkout.
#[test]
fn the_sdks_carry_the_contract() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for sdk in ["guest-sdk/python/bailiwick_guest", "guest-sdk/js", "guest-sdk/c"] {
        for file in ["agent.wit", "deps/storage/storage.wit"] {
            let read = |folder: &Path| fs::read_to_string(folder.join("wit").join(file)).unwrap();
            assert!(read(&root.join(sdk)) == read(&root), "copy wit/{file} to {sdk}");
        }
    }
}
