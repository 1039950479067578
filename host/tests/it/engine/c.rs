//! Guests in C: the example does what its page says, and the SDK has the verbs of the contract under
//! C's own habits.

use bailiwick::engine::End;
use serde_json::{Value, json};

use super::{Host, limits};
use crate::guests::program;

/// What the steps come to, in a host of their own.
async fn answers(steps: Value) -> Option<Vec<Value>> {
    super::languages::answers("c-script", steps).await
}

/// `count-c` counts what `wc` counts, of all files below a folder, and says where there is none.
#[tokio::test]
async fn count_c_counts() {
    let Some(count) = program("count-c") else { return };
    let host = Host::new(limits());
    let count = host.load(&count).await;
    host.publish("b/deep/er.txt", b"a word\ttwo\x0bthree\n\nlast").await;
    host.publish("b/empty", b"").await;
    host.publish("a.txt", b"one\n").await;
    let end = async |input: &str| host.run(&count, input).await.end;
    let counts = "       1        1        4 /workspace/a.txt
       2        5       22 /workspace/b/deep/er.txt
       0        0        0 /workspace/b/empty
       3        6       26 total\n";
    assert_eq!(end("").await, End::Reply(counts.to_owned()));
    let End::Reply(below) = end(" b/deep").await else { panic!("no reply") };
    assert!(below.ends_with(" 22 total\n"), "{below}");
    for (folder, said) in [("none", "No such file or directory"), ("../agent", "agent cannot be")] {
        let End::GuestError(told) = end(folder).await else { panic!("{folder} is counted") };
        assert!(told.contains(said), "{told}");
    }
}

/// What a writer wrote is at its path once it is finished, and not before.
#[tokio::test]
async fn a_writer_writes_all_or_nothing() {
    let path = "session/lines.txt";
    let write = |bytes: &str| {
        json!([
            { "do": "open-writer", "path": path, "as": "w" },
            { "do": "writer-write", "on": "w", "bytes": bytes },
        ])
    };
    let steps = |more: Value| {
        json!(
            [write("lost").as_array().unwrap().clone(), more.as_array().unwrap().clone()].concat()
        )
    };
    let forgotten = steps(json!([{ "do": "stat", "path": path }]));
    let Some(answers) = answers(forgotten).await else { return };
    assert_eq!(answers[2]["error"]["code"], "not-found");
    let finished = steps(json!([
        { "do": "writer-finish", "on": "w" },
        { "do": "writer-finish", "on": "w" },
        { "do": "read", "path": path },
    ]));
    let answers = self::answers(finished).await.unwrap();
    assert_eq!(answers[2]["ok"]["size"], 4);
    assert_eq!(answers[3]["error"]["code"], "closed");
    assert_eq!(answers[4]["ok"]["tail"], "lost");
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
        { "do": "list", "folder": "nowhere" },
    ]);
    let Some(answers) = answers(steps).await else { return };
    assert_eq!(answers[0]["ok"]["size"], size);
    let expected: String = "penguin".chars().cycle().skip((size - 8) % 7).take(8).collect();
    assert_eq!(answers[1]["ok"], json!({ "length": size, "tail": expected }));
    assert_eq!(answers[3]["ok"]["paths"], json!(["agent/b.txt", "agent/large.bin"]));
    assert_eq!(answers[4]["ok"]["found"], json!(["agent/b.txt:2"]));
    assert_eq!(answers[5]["error"]["code"], "no-scope");
}

/// C's texts can be anything: one that is not UTF-8 is refused, and no such argument traps.
#[tokio::test]
async fn arguments_that_the_contract_has_not_are_refused() {
    let Some(answers) = answers(json!([{ "do": "half" }])).await else { return };
    assert_eq!(answers[0]["ok"], json!({ "refused": vec!["invalid"; 5], "said": false }));
}

/// Arguments of a model that no reader takes are answered in words.
#[tokio::test]
async fn arguments_of_a_model_that_are_hostile_are_answered() {
    let Some(guest) = program("c-script") else { return };
    let host = Host::new(limits());
    let guest = host.load(&guest).await;
    let deep = "[".repeat(100_000);
    let cases = [
        (r#"{"path": "session/\ud800"}"#, "holds what it may not"),
        (r#"{"path": "session/a\u0000b"}"#, "`path` is not a string"),
        (r#"{"path": "session/%s%n"}"#, "there is no file `session/%s%n`"),
        (&deep, "nested too deeply"),
        (r#"{"path": "session/a""#, "a comma is expected"),
        (r#"{"path": "session/a"} x"#, "more follows it"),
        (r#"{"path": "session/a", "path": 7}"#, "`path` is not a string"),
        (r#"{"%s": 1, "path": "session/a"}"#, "no argument `%s`"),
    ];
    for (arguments, said) in cases {
        let call = json!({ "name": "file_info", "arguments": arguments });
        let End::Reply(reply) = host.run(&guest, &call.to_string()).await.end else {
            panic!("{arguments:.40}: no reply")
        };
        let answer: Value = serde_json::from_str(&reply).unwrap();
        assert!(
            answer["is_error"] == true && reply.contains(said),
            "{arguments:.40}: {reply:.200}"
        );
    }
}
