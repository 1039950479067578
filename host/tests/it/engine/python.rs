//! Guests in Python: the example does what its page says, and the SDK has the verbs of the
//! contract under Python's own habits.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use bailiwick::engine::{Cancel, End, Request};
use bailiwick::limits::Limits;
use bailiwick::scope::{Access, Grant};
use bailiwick::store::Precondition;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use super::{Host, Recorder, limits};
use crate::guests::program;

/// What the steps come to, in a host of their own.
async fn answers(steps: Value) -> Option<Vec<Value>> {
    super::languages::answers("python-script", steps).await
}

/// `notes-python` keeps notes, finds them, makes a table of them, and asks for what is missing.
#[tokio::test]
async fn notes_python_keeps_notes() {
    let Some(notes) = program("notes-python") else { return };
    let host = Host::new(limits());
    let notes = host.load(&notes).await;
    let reply = |input: &'static str| {
        let (host, notes) = (&host, &notes);
        async move {
            match host.run(notes, input).await.end {
                End::Reply(reply) => reply,
                end => panic!("{input}: {end:?}"),
            }
        }
    };
    assert_eq!(reply("table").await, "There are no notes yet.");
    assert_eq!(reply("note the kettle, red, is new").await, "Noted: the kettle, red, is new");
    let asked = host.run(&notes, "note").await.end;
    assert_eq!(asked, End::Parked("What shall be noted?".to_owned()));
    let answer = Some("tea is out".to_owned());
    let request = Request { input: "note".to_owned(), answer, attempt: 1, ..Request::default() };
    let turn = host.engine.run(&notes, host.space(), request, Arc::new(()), Cancel::new());
    assert_eq!(turn.await.end, End::Reply("Noted: tea is out".to_owned()));
    assert_eq!(reply("find ^- t.a").await, "2: - tea is out");
    assert!(reply("table").await.starts_with("session/notes.csv has "));
    let table = host.space().read("session/notes.csv", 0, 1000).await.unwrap();
    assert_eq!(
        &table.bytes[..],
        b"number,note\r\n1,\"the kettle, red, is new\"\r\n2,tea is out\r\n"
    );
    let end = host.run(&notes, "sing").await.end;
    let said = "The input is `note TEXT`, `find PATTERN` or `table`.";
    assert_eq!(end, End::GuestError(said.to_owned()));
}

/// A file object's content is at its path once it is closed, and not before: neither what an
/// exception left nor what was forgotten.
#[tokio::test]
async fn a_file_object_is_whole_or_nothing() {
    let path = "session/lines.txt";
    let write = |leave: &str, mode: &str, lines: Value| json!({ "do": "write-object", "path": path, "leave": leave, "mode": mode, "lines": lines });
    let read = json!({ "do": "read-object", "path": path, "tail": 4 });
    let steps = json!([
        write("raising", "w", json!(["lost"])),
        { "do": "stat", "path": path },
        write("whole", "x", json!(["one", "zwei é"])),
        read,
        write("raising", "w", json!(["lost"])),
        write("forgotten", "w", json!(["lost"])),
        write("whole", "x", json!(["lost"])),
        write("whole", "a", json!(["lost"])),
        read,
        write("whole", "w", json!(["three"])),
        read,
    ]);
    let Some(answers) = answers(steps).await else { return };
    let kept = json!({ "lines": ["one", "zwei é"], "tail": " é\n" });
    assert_eq!(answers[1]["error"]["code"], "not-found");
    assert_eq!(answers[3]["ok"], kept);
    assert_eq!(answers[6]["error"]["code"], "conflict");
    assert_eq!(answers[7]["error"]["reason"], "mode");
    assert_eq!(answers[8]["ok"], kept);
    assert_eq!(answers[10]["ok"]["lines"], json!(["three"]));
}

/// Python's text can hold half of a character, its numbers anything: no such argument traps.
#[tokio::test]
async fn arguments_that_the_contract_has_not_are_refused() {
    let steps = json!([
        { "do": "half" },
        { "do": "read", "path": "session/a", "offset": -1 },
        { "do": "read", "path": "session/a", "length": 4_294_967_296_u64 },
        { "do": "text-read", "path": "session/a", "line": -7 },
        { "do": "natural" },
    ]);
    let Some(answers) = answers(steps).await else { return };
    assert_eq!(answers[0]["ok"]["refused"], json!(vec!["invalid"; 6]));
    for answer in &answers[1..4] {
        assert_eq!(answer["error"]["code"], "invalid", "{answer}");
    }
    assert_eq!(answers[4]["ok"]["caught"], json!([true, true, true]));
}

/// The scopes are folders to the standard library, under the same grants.
#[tokio::test]
async fn pathlib_works_on_the_scopes() {
    let Some(answers) = answers(json!([{ "do": "plain" }])).await else { return };
    let expected = json!({ "names": ["a.txt"], "text": "one\nzwei é\n", "refused": true });
    assert_eq!(answers[0]["ok"], expected);
}

/// A model's arguments with half of a character are answered in words.
#[tokio::test]
async fn half_a_character_of_a_model_is_answered() {
    let Some(guest) = program("python-script") else { return };
    let host = Host::new(limits());
    let guest = host.load(&guest).await;
    let call = r#"{"name": "file_info", "arguments": {"path": "session/\ud800"}}"#;
    let End::Reply(reply) = host.run(&guest, call).await.end else { panic!("no reply") };
    assert!(reply.contains("not JSON"), "{reply}");
}

/// An exception fails its turn with a sentence, and its place is in the log.
#[tokio::test]
async fn an_exception_is_a_failure_that_is_logged() {
    let Some(guest) = program("python-script") else { return };
    let host = Host::new(limits());
    let guest = host.load(&guest).await;
    let seen = Arc::new(Recorder::default());
    let end = host.observed(&guest, r#"[{"do": "stat"}]"#, seen.clone()).await.end;
    assert_eq!(end, End::GuestError("KeyError: 'path'".to_owned()));
    let lines: Vec<_> = seen.logged().into_iter().map(|(_, line)| line).collect();
    assert!(lines.join("\n").contains("app.py:"), "{lines:?}");
    let end = host.run(&guest, r#"[{"do": "sing"}]"#).await.end;
    assert_eq!(end, End::GuestError("`sing` is no step".to_owned()));
}

/// A table of flights as the public one of New York's is: 336,776 rows, 31 MB, with 19 columns.
fn flights() -> (String, BTreeMap<String, [i64; 2]>) {
    const CARRIERS: [&str; 16] = [
        "9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN",
        "YV",
    ];
    let mut table = String::from(
        "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,\
         carrier,flight,tailnum,origin,dest,air_time,distance,hour,minute,time_hour\n",
    );
    let mut sums = BTreeMap::new();
    let mut random = SmallRng::seed_from_u64(2013);
    for row in 0..336_776_u32 {
        let (month, day) = (row / 28_065 + 1, row % 28 + 1);
        let carrier = CARRIERS[random.random_range(0..CARRIERS.len())];
        let delay = random.random_range(-80..1_200_i64);
        let [flights, minutes] = sums.entry(carrier.to_owned()).or_insert([0, 0]);
        *flights += 1;
        let told = if row % 36 == 0 { "NA".to_owned() } else { delay.to_string() };
        *minutes += if row % 36 == 0 { 0 } else { delay };
        let number = random.random_range(1..8_500);
        writeln!(
            table,
            "2013,{month},{day},517,515,2,830,819,{told},{carrier},{number},N{number}UA,EWR,IAH,\
             227,1400,5,15,2013-{month:02}-{day:02}T10:00:00Z",
        )
        .unwrap();
    }
    (table, sums)
}

/// A table of 31 MB is aggregated with the standard library alone, out of a plain file of the
/// workspace's, in a quarter of the memory that a turn may have.
#[tokio::test]
async fn a_large_table_is_aggregated_in_a_turns_memory() {
    let Some(bytes) = program("python-script") else { return };
    let host = Host::new(Limits { turn_ms_max: 300_000, ..limits() });
    let (table, sums) = flights();
    assert!(table.len() > 28_000_000, "{}", table.len());
    let publisher = host.granted(Grant { workspace: Some(Access::ReadWrite), ..Grant::default() });
    let mut writer =
        publisher.open_writer("workspace/flights.csv", Precondition::Always).await.unwrap();
    for piece in table.as_bytes().chunks(1 << 20) {
        writer.write(piece.to_vec().into()).await.unwrap();
    }
    writer.finish().await.unwrap();
    let steps =
        json!([{"do": "aggregate", "path": "/workspace/flights.csv", "into": "/agent/sums.csv"}]);
    let guest = host.load(&bytes).await;
    let report = host.run(&guest, &steps.to_string()).await;
    let End::Reply(reply) = report.end else { panic!("{:?}", report.end) };
    let came: Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(came, json!([{ "ok": sums }]));
    let held = report.usage.guest_memory_bytes;
    assert!(held < 64 << 20, "{} MiB", held >> 20);
    let sums = host.space().read("agent/sums.csv", 0, 1_000).await.unwrap().bytes;
    assert!(sums.starts_with(b"carrier,flights,delay\r\n9E,"), "{sums:?}");
}
