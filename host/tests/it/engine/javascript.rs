//! Guests in JavaScript: the example does what its page says, and the SDK has the verbs of the
//! contract under JavaScript's own habits.

use std::sync::Arc;

use bailiwick::engine::{Cancel, End, Request};
use serde_json::{Value, json};

use super::{Host, Recorder, limits};
use crate::guests::program;

/// What the steps come to, in a host of their own.
async fn answers(steps: Value) -> Option<Vec<Value>> {
    super::languages::answers("js-script", steps).await
}

/// `notes-js` keeps notes, finds them, makes a table of them, and asks for what is missing.
#[tokio::test]
async fn notes_js_keeps_notes() {
    let Some(notes) = program("notes-js") else { return };
    let host = Host::new(limits());
    let notes = host.load(&notes).await;
    let end = async |input: &str| host.run(&notes, input).await.end;
    let reply = |text: &str| End::Reply(text.to_owned());
    assert_eq!(end("table").await, reply("There are no notes yet."));
    assert_eq!(end("note a \"red\" kettle, new").await, reply("Noted: a \"red\" kettle, new"));
    assert_eq!(end("note").await, End::Parked("What shall be noted?".to_owned()));
    let answer = Some("tea is out".to_owned());
    let request = Request { input: "note".to_owned(), answer, attempt: 1, ..Request::default() };
    let turn = host.engine.run(&notes, host.space(), request, Arc::new(()), Cancel::new());
    assert_eq!(turn.await.end, reply("Noted: tea is out"));
    assert_eq!(end("find ^- t.a").await, reply("2: - tea is out"));
    assert_eq!(end("find coffee").await, reply("No note matches."));
    assert_eq!(end("table").await, reply("session/notes.csv has 54 bytes."));
    let table = host.space().read("session/notes.csv", 0, 1000).await.unwrap();
    assert_eq!(
        &table.bytes[..],
        b"number,note\r\n1,\"a \"\"red\"\" kettle, new\"\r\n2,tea is out\r\n"
    );
    let said = "The input is `note TEXT`, `find PATTERN` or `table`.";
    assert_eq!(end("sing").await, End::GuestError(said.to_owned()));
}

/// What a handle wrote is at its path once it is finished, and not before: neither what an error
/// left nor what was not finished.
#[tokio::test]
async fn a_handle_writes_all_or_nothing() {
    let path = "session/lines.txt";
    let write = |leave: &str, lines: Value| json!({ "do": "write-handle", "path": path, "leave": leave, "lines": lines });
    let read = json!({ "do": "read-handle", "path": path, "tail": 4 });
    let mut absent = write("finished", json!(["lost"]));
    absent["if"] = json!("absent");
    let steps = json!([
        write("throwing", json!(["lost"])),
        { "do": "stat", "path": path },
        write("finished", json!(["one", "zwei é\r"])),
        read,
        write("throwing", json!(["lost"])),
        write("forgotten", json!(["lost"])),
        absent,
        read,
        write("finished", json!(["é".repeat(200_000), "end"])),
        read,
    ]);
    let Some(answers) = answers(steps).await else { return };
    let kept = json!({ "lines": ["one", "zwei é"], "tail": "é\r\n", "position": 13, "rest": 0 });
    assert_eq!(answers[1]["error"]["code"], "not-found");
    assert_eq!(answers[3]["ok"], kept);
    assert_eq!(answers[6]["error"]["code"], "conflict");
    assert_eq!(answers[7]["ok"], kept);
    // Characters that a piece cut are whole again.
    assert_eq!(answers[9]["ok"]["lines"], json!(["é".repeat(200_000), "end"]));
}

/// JavaScript's text can hold half of a character, its numbers and values anything: no such
/// argument traps.
#[tokio::test]
async fn arguments_that_the_contract_has_not_are_refused() {
    let Some(answers) = answers(json!([{ "do": "hostile" }, { "do": "untyped" }])).await else {
        return;
    };
    let refused = answers[0]["ok"].as_object().unwrap();
    assert_eq!(refused.len(), 14);
    assert!(refused.values().all(|code| code == "invalid"), "{refused:?}");
    let thrown = json!({ "path": "TypeError", "data": "TypeError", "depth": "TypeError", "number": "invalid" });
    assert_eq!(answers[1]["ok"], thrown);
}

/// The SDK has UTF-8 and a console where the engine has none, as the Encoding Standard says; and
/// numbers of chance are others in each turn.
#[tokio::test]
async fn what_the_engine_lacks_is_put_in() {
    let Some(guest) = program("js-script") else { return };
    let host = Host::new(limits());
    let guest = host.load(&guest).await;
    let turn = async |bytes: &[u8]| {
        let steps = json!([{ "do": "engine", "bytes": bytes, "text": "hä😀" }]);
        let seen = Arc::new(Recorder::default());
        let End::Reply(reply) = host.observed(&guest, &steps.to_string(), seen.clone()).await.end
        else {
            panic!("no reply");
        };
        let answer = serde_json::from_str::<Vec<Value>>(&reply).unwrap()[0]["ok"].clone();
        (answer, seen.logged())
    };
    let cases: [(&[u8], &str, bool); 6] = [
        (b"h\xc3\xa4\xf0\x9f\x98\x80", "hä😀", true),
        (b"\xff", "\u{fffd}", false),
        (b"\xe2\x82A", "\u{fffd}A", false),
        (b"\xed\xa0\x80", "\u{fffd}\u{fffd}\u{fffd}", false),
        (b"\xc0\xaf", "\u{fffd}\u{fffd}", false),
        (b"\xf0\x9f\x98", "\u{fffd}", false),
    ];
    for (bytes, text, is_whole) in cases {
        let marked = [b"\xef\xbb\xbf", bytes].concat();
        let (answer, _) = turn(&marked).await;
        assert_eq!(answer["whole"], text, "{bytes:?}");
        assert_eq!(answer["streamed"], text, "{bytes:?}");
        assert_eq!(answer["marked"], format!("\u{feff}{text}"), "{bytes:?}");
        assert_eq!(answer["fatal"], if is_whole { text } else { "TypeError" }, "{bytes:?}");
        assert_eq!(answer["encoded"], json!("hä😀".as_bytes()));
        assert_eq!(answer["halved"], json!([0xef, 0xbf, 0xbd]));
    }
    let (one, lines) = turn(b"a").await;
    let (other, _) = turn(b"a").await;
    assert_ne!(one["random"], other["random"]);
    assert_eq!(lines[0].1, r#"seen {"bytes":[97]} 7"#);
}

/// An error fails its turn with its text and that of its cause, and its place is in the log; a
/// `Failure` is said as it is.
#[tokio::test]
async fn an_error_is_a_failure_that_is_logged() {
    let Some(guest) = program("js-script") else { return };
    let host = Host::new(limits());
    let guest = host.load(&guest).await;
    let seen = Arc::new(Recorder::default());
    let steps = r#"[{"do": "throw", "text": "broken"}]"#;
    let end = host.observed(&guest, steps, seen.clone()).await.end;
    assert_eq!(end, End::GuestError("Error: broken: a cause".to_owned()));
    let lines: Vec<_> = seen.logged().into_iter().map(|(_, line)| line).collect();
    assert!(lines.join("\n").contains(".mjs:"), "{lines:?}");
    let end = host.run(&guest, r#"[{"do": "sing"}]"#).await.end;
    assert_eq!(end, End::GuestError("`sing` is no step".to_owned()));
}

/// Arguments of a model that no parser takes are answered in words.
#[tokio::test]
async fn arguments_of_a_model_that_are_hostile_are_answered() {
    let Some(guest) = program("js-script") else { return };
    let host = Host::new(limits());
    let guest = host.load(&guest).await;
    let deep = "[".repeat(100_000);
    let quoted = format!(r#"{{"path": "{}"}}"#, "[".repeat(1000));
    let cases = [
        (r#"{"path": "session/\ud800"}"#, "not JSON: half of a character"),
        (&deep, "nested too deeply"),
        (&quoted, "a path is at most"),
        (r#"{"__proto__": "session/a"}"#, "no argument `__proto__`"),
        (r#"{"toString": 1, "path": "session/a"}"#, "no argument `toString`"),
    ];
    for (arguments, said) in cases {
        let call = json!({ "name": "file_info", "arguments": arguments });
        let End::Reply(reply) = host.run(&guest, &call.to_string()).await.end else {
            panic!("{arguments}: no reply")
        };
        let answer: Value = serde_json::from_str(&reply).unwrap();
        assert!(
            answer["is_error"] == true && reply.contains(said),
            "{arguments:.40}: {reply:.200}"
        );
    }
}
