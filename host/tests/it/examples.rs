//! The examples and the guest SDK, run by the engine: each does what its README says.

use std::sync::{Arc, OnceLock};

use bailiwick::clock::SystemClock;
use bailiwick::engine::{Cancel, Component, End, Engine, EngineOptions, Request};
use bailiwick::limits::Limits;
use bailiwick::scope::{
    AgentId, Coordinates, Grant, MountTable, SessionId, SkillTable, WorkspaceId,
};
use bailiwick::space::{Space, Storage};
use bailiwick::store::{MemoryStore, Precondition};
use bytes::Bytes;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::guests::guest;
use crate::space::publish;

const PENGUINS: &[u8] = include_bytes!("../../../examples/data/penguins.csv");
const SKILL_PAGE: &[u8] = include_bytes!("../../../examples/skills/csv-report/SKILL.md");
const GUIDE: &[u8] = include_bytes!("../../../examples/skills/csv-report/guide.md");
const WORKSPACE: WorkspaceId = WorkspaceId(Uuid::from_u128(1));

/// One guest, in sessions of agents of one workspace that holds the penguins.
struct Host {
    engine: Engine,
    storage: Arc<Storage>,
    guest: Component,
    skills: SkillTable,
}

/// Whose turn it is.
#[derive(Clone, Copy)]
struct Whose {
    agent: u128,
    session: u128,
}

const ANALYST_A: Whose = Whose { agent: 1, session: 1 };
const ANALYST_B: Whose = Whose { agent: 1, session: 2 };
const AUDITOR: Whose = Whose { agent: 2, session: 3 };

impl Host {
    async fn new(guest: &[u8]) -> Self {
        let clock = Arc::new(SystemClock);
        let limits = Limits::default();
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let storage = Storage::new(store, clock, limits.clone());
        // One for all tests: a guest is compiled once.
        static ENGINE: OnceLock<Engine> = OnceLock::new();
        let engine = || Engine::new(limits, EngineOptions::default()).unwrap();
        let engine = ENGINE.get_or_init(engine).clone();
        let guest = engine.load(guest).await.unwrap();
        let files = [("SKILL.md", SKILL_PAGE), ("guide.md", GUIDE)];
        let files = files.map(|(path, bytes)| (path.to_owned(), Bytes::from_static(bytes)));
        let skill = publish(&storage, WORKSPACE, files).await;
        let mut skills = SkillTable::default();
        skills.bind("csv-report", Arc::new(skill)).unwrap();
        let host = Self { engine, storage, guest, skills };
        host.put("workspace/reference/penguins.csv", PENGUINS).await;
        host
    }

    fn space(&self, whose: Whose, grant: Grant) -> Space {
        let coordinates = Coordinates {
            workspace: WORKSPACE,
            agent: AgentId(Uuid::from_u128(whose.agent)),
            session: Some(SessionId(Uuid::from_u128(whose.session))),
        };
        self.storage.space(MountTable::new(coordinates, grant, self.skills.clone()))
    }

    async fn put(&self, path: &str, bytes: &'static [u8]) {
        let all = Some(bailiwick::scope::Access::ReadWrite);
        let space = self.space(ANALYST_A, Grant { agent: all, workspace: all });
        space.write(path, Bytes::from_static(bytes), Precondition::Always).await.unwrap();
    }

    async fn file(&self, whose: Whose, path: &str) -> String {
        let space = self.space(whose, Grant::default());
        let chunk = space.read(path, 0, 4 << 20).await.unwrap();
        String::from_utf8(chunk.bytes.to_vec()).unwrap()
    }

    async fn turn(&self, whose: Whose, input: &str, answer: Option<&str>) -> End {
        let answer = answer.map(str::to_owned);
        let request = Request { input: input.to_owned(), answer, attempt: 1, ..Request::default() };
        let space = self.space(whose, Grant::default());
        self.engine.run(&self.guest, space, request, Arc::new(()), Cancel::new()).await.end
    }

    async fn reply(&self, whose: Whose, input: &str) -> String {
        match self.turn(whose, input, None).await {
            End::Reply(reply) => reply,
            end => panic!("no reply: {end:?}"),
        }
    }

    /// What the one step of a script comes to.
    async fn step(&self, step: Value) -> Value {
        let answers: Value =
            serde_json::from_str(&self.reply(ANALYST_A, &json!([step]).to_string()).await).unwrap();
        answers[0].clone()
    }

    /// What the tool of the SDK answers, and whether it went wrong.
    async fn tool(&self, name: &str, arguments: Value) -> (String, bool) {
        let call = json!({ "name": name, "arguments": arguments }).to_string();
        let answer: Value = serde_json::from_str(&self.reply(ANALYST_A, &call).await).unwrap();
        (answer["content"].as_str().unwrap().to_owned(), answer["is_error"].as_bool().unwrap())
    }

    async fn done(&self, name: &str, arguments: Value) -> String {
        let (content, is_error) = self.tool(name, arguments).await;
        assert!(!is_error, "{name}: {content}");
        content
    }

    async fn refused(&self, name: &str, arguments: Value) -> String {
        let (content, is_error) = self.tool(name, arguments).await;
        assert!(is_error, "{name}: {content}");
        content
    }
}

/// `hello` greets whoever its input names, and reports an error of its own when it names nobody.
#[tokio::test]
async fn hello_greets() {
    let Some(hello) = guest("hello") else { return };
    let host = Host::new(&hello).await;
    assert_eq!(host.reply(ANALYST_A, "Ada").await, "Hello, Ada.");
    assert!(matches!(host.turn(ANALYST_A, " ", None).await, End::GuestError(_)));
}

/// `ask` parks with a question, and a later turn goes on with the answer and what was kept.
#[tokio::test]
async fn ask_goes_on_with_the_answer() {
    let Some(ask) = guest("ask") else { return };
    let host = Host::new(&ask).await;
    let end = host.turn(ANALYST_A, "12 chairs", None).await;
    assert!(matches!(end, End::Parked(question) if question.contains("12 chairs")));
    let end = host.turn(ANALYST_A, "", Some("perhaps")).await;
    assert!(matches!(end, End::Parked(question) if question.contains("perhaps")));
    let end = host.turn(ANALYST_A, "", Some("yes")).await;
    assert_eq!(end, End::Reply("Done: 12 chairs".to_owned()));
}

/// `report` follows its skill's guide, writes the means of the data, names the result that is
/// too large to show, and remembers for the agent alone.
#[tokio::test]
async fn report_computes_and_remembers() {
    let Some(report) = guest("report") else { return };
    let host = Host::new(&report).await;
    let first = host.reply(ANALYST_A, "How heavy are they?").await;
    assert!(first.contains("no notes yet"), "{first}");
    let summary = host.file(ANALYST_A, "session/summary.md").await;
    // The means of the published data.
    assert!(summary.contains("| Adelie | 152 | 3700.66 | 189.95 | 38.79 | 18.35 |"), "{summary}");
    assert!(summary.contains("| Gentoo | 124 | 5076.02 |"), "{summary}");
    let spilled = first.split_whitespace().find(|word| word.starts_with("session/spill/")).unwrap();
    let rows = host.file(ANALYST_A, spilled.trim_end_matches('.')).await;
    // A line for the header, and one for each of four measures of the 342 that have any.
    assert_eq!(rows.lines().count(), 1 + 4 * 342);
    let second = host.reply(ANALYST_B, "And now?").await;
    assert!(second.contains("How heavy are they?"), "{second}");
    let other = host.reply(AUDITOR, "How heavy are they?").await;
    assert!(other.contains("no notes yet"), "{other}");
}

/// `gather` reads what is under a folder and writes its table, however many files it reads at once.
#[tokio::test]
async fn gather_counts_what_it_reads() {
    let Some(gather) = guest("gather") else { return };
    let host = Host::new(&gather).await;
    for input in ["workspace/reference", "workspace/reference 1"] {
        let reply = host.reply(ANALYST_A, input).await;
        assert!(
            reply.starts_with("1 files have ") && reply.contains("session/table.md"),
            "{reply}"
        );
        let table = host.file(ANALYST_A, "session/table.md").await;
        assert!(table.contains("| workspace/reference/penguins.csv | 345 | "), "{table}");
    }
    assert!(matches!(host.turn(ANALYST_A, "", None).await, End::GuestError(_)));
}

/// `reach` finds every way out shut, and no refusal says an id.
#[tokio::test]
async fn reach_gets_nowhere() {
    let Some(reach) = guest("reach") else { return };
    let host = Host::new(&reach).await;
    let reply = host.reply(ANALYST_A, "").await;
    assert!(reply.ends_with("none is open."), "{reply}");
    assert!(reply.lines().filter(|line| line.contains("denied")).count() >= 14, "{reply}");
}

/// `reach` is no test that cannot fail: where a scope is open to it, it says which.
#[tokio::test]
async fn reach_tells_of_an_open_way() {
    let Some(reach) = guest("reach") else { return };
    let host = Host::new(&reach).await;
    let mut skills = SkillTable::default();
    let files = [("SKILL.md".to_owned(), Bytes::from_static(b"secret"))];
    let payroll = publish(&host.storage, WORKSPACE, files).await;
    skills.bind("payroll", Arc::new(payroll)).unwrap();
    let host = Host { skills, ..host };
    let end = host.turn(ANALYST_A, "", None).await;
    let End::GuestError(error) = end else { panic!("{end:?}") };
    assert!(error.contains("a skill that was not given: 6 bytes"), "{error}");
}

/// A model loop has working file tools: what one call writes, the next reads, edits, finds,
/// copies, moves and deletes.
#[tokio::test]
async fn tools_work_together() {
    let Some(tools) = guest("tools") else { return };
    let host = Host::new(&tools).await;
    let path = "agent/plan.md";
    let content = "# Plan\n\n1. count\n2. weigh\n";
    host.done("write_file", json!({ "path": path, "content": content })).await;
    assert_eq!(host.done("read_file", json!({ "path": path })).await, content);
    let second = json!({ "path": path, "line": 3, "lines": 1 });
    let slice = host.done("read_file", second).await;
    assert!(slice.starts_with("1. count\n") && slice.contains("\"offset\": 17"), "{slice}");
    let rest = host.done("read_file", json!({ "path": path, "offset": 17 })).await;
    assert_eq!(rest, "2. weigh\n");
    host.done("edit_file", json!({ "path": path, "old": "weigh", "new": "weigh twice" })).await;
    host.done("append_to_file", json!({ "path": path, "text": "3. rest\n" })).await;
    let found =
        host.done("search_files", json!({ "pattern": "^\\d\\. we", "folder": "agent" })).await;
    assert_eq!(found, "agent/plan.md:4: 2. weigh twice");
    host.done("copy_file", json!({ "source": path, "target": "session/plan.md" })).await;
    host.done("move_file", json!({ "source": path, "target": "agent/old.md" })).await;
    let listed = host.done("list_files", json!({ "folder": "agent" })).await;
    assert_eq!(listed, "agent/old.md (40 bytes)");
    assert!(host.done("file_info", json!({ "path": "agent/old.md" })).await.contains("40 bytes"));
    host.done("delete_file", json!({ "path": "agent/old.md" })).await;
    assert_eq!(host.done("list_files", json!({ "folder": "agent" })).await, "There is nothing.");
}

/// What a tool cannot do is answered in sentences that say what to do instead.
#[tokio::test]
async fn tools_refuse_in_sentences() {
    let Some(tools) = guest("tools") else { return };
    let host = Host::new(&tools).await;
    let refusal = host.refused("read_file", json!({ "path": "reference/penguins.csv" })).await;
    assert!(refusal.contains("Try: ") && refusal.contains("`workspace/reference/penguins.csv`"));
    host.refused("write_file", json!({ "path": "workspace/a.md", "content": "" })).await;
    let content = json!({ "path": "agent/a.md", "content": "one one" });
    host.done("write_file", content.clone()).await;
    let twice = json!({ "path": "agent/a.md", "old": "one", "new": "two" });
    assert!(host.refused("edit_file", twice).await.contains('2'));
    let absent = json!({ "path": "agent/a.md", "content": "", "if_absent": true });
    host.refused("write_file", absent).await;
    assert!(host.refused("write_file", json!({ "path": "agent/a.md" })).await.contains("missing"));
}

/// No answer of a tool is too large to show: a long file comes in slices, a long listing is kept
/// in a file that the answer names.
#[tokio::test]
async fn tools_answer_within_bounds() {
    let Some(tools) = guest("tools") else { return };
    let host = Host::new(&tools).await;
    let penguins = json!({ "path": "workspace/reference/penguins.csv", "lines": 10_000 });
    let slice = host.done("read_file", penguins).await;
    assert!(slice.len() < 17 << 10, "{}", slice.len());
    let long = "x".repeat(200) + "\n";
    for _ in 0..3 {
        let text = json!({ "path": "agent/long.txt", "text": long.repeat(80) });
        host.done("append_to_file", text).await;
    }
    let all = json!({ "path": "agent/long.txt", "lines": 10_000 });
    let slice = host.done("read_file", all).await;
    assert!(slice.len() <= 17 << 10 && slice.contains("[there is more"), "{}", slice.len());
    let every = json!({ "pattern": ".", "folder": "agent", "limit": 1000 });
    let found = host.done("search_files", every).await;
    assert!(found.len() < 40 << 10 && found.contains("session/spill/search_files"), "{found}");
}

/// A file larger than any one call takes is written and read whole by one call of the SDK.
#[tokio::test]
async fn whole_files_of_any_size() {
    let Some(script) = guest("script") else { return };
    let host = Host::new(&script).await;
    let size = (17 << 20) + 1;
    let bytes = json!({ "fill": "penguin", "size": size });
    let write = json!({ "do": "write-all", "path": "agent/large.bin", "bytes": bytes });
    assert_eq!(host.step(write).await["ok"]["size"], size);
    let read = host.step(json!({ "do": "read-all", "path": "agent/large.bin" })).await;
    assert_eq!(read["ok"]["length"], size);
    let space = host.space(ANALYST_A, Grant::default());
    let end = space.read("agent/large.bin", size - 8, 100).await.unwrap();
    let expected = b"penguin".iter().cycle().skip(usize::try_from(size - 8).unwrap() % 7);
    assert!(end.bytes.iter().eq(expected.take(8)), "{:?}", end.bytes);
}

/// A whole-file read is of one revision, however many calls it takes, while others write.
#[tokio::test(flavor = "multi_thread")]
async fn a_whole_file_is_of_one_revision() {
    let Some(script) = guest("script") else { return };
    let host = Arc::new(Host::new(&script).await);
    let space = host.space(ANALYST_A, Grant::default());
    let contents = [b'a', b'b'].map(|byte| Bytes::from(vec![byte; 5 << 20]));
    space.write("session/turns.bin", contents[0].clone(), Precondition::Always).await.unwrap();
    let read = json!({ "do": "read-all", "path": "session/turns.bin" });
    let mut sums = Vec::new();
    for content in &contents {
        space.write("session/turns.bin", content.clone(), Precondition::Always).await.unwrap();
        sums.push(host.step(read.clone()).await["ok"]["fnv"].clone());
    }
    let writer = tokio::spawn(async move {
        for content in contents.iter().cycle() {
            let write = space.write("session/turns.bin", content.clone(), Precondition::Always);
            write.await.unwrap();
            tokio::task::yield_now().await;
        }
    });
    for _ in 0..8 {
        let answer = host.step(read.clone()).await;
        let whole = sums.contains(&answer["ok"]["fnv"]);
        assert!(whole || answer["error"]["code"] == "conflict", "{answer}");
    }
    writer.abort();
}

/// What a guest panics with is in its log: the trap alone says nothing.
#[tokio::test]
async fn a_panic_is_logged() {
    let Some(hostile) = guest("hostile") else { return };
    let host = Host::new(&hostile).await;
    let seen = Arc::new(Lines::default());
    let request = Request { input: "panic 7".to_owned(), attempt: 1, ..Request::default() };
    let space = host.space(ANALYST_A, Grant::default());
    let report = host.engine.run(&host.guest, space, request, seen.clone(), Cancel::new()).await;
    assert!(matches!(report.end, End::Trapped(_)), "{:?}", report.end);
    let lines = seen.0.lock().unwrap().join("\n");
    assert!(lines.contains("a panic with the number 7"), "{lines}");
}

/// The lines of a turn's log.
#[derive(Default)]
struct Lines(std::sync::Mutex<Vec<String>>);

impl bailiwick::engine::Observer for Lines {
    fn said(&self, _: &str) {}

    fn logged(&self, _: bailiwick::engine::Level, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }
}

/// A program of plain files counts words, and finds in a later session what it counted before.
#[tokio::test]
async fn rust_plain_counts_words_of_plain_files() {
    let Some(plain) = crate::guests::program("rust-plain") else { return };
    let host = Host::new(&plain).await;
    let run = async |whose, folder: &str| {
        let request =
            Request { arguments: vec![folder.to_owned()], attempt: 1, ..Request::default() };
        let space = host.space(whose, Grant::default());
        let report =
            host.engine.run(&host.guest, space, request, Arc::new(()), Cancel::new()).await;
        let End::Reply(reply) = report.end else { panic!("{:?}", report.end) };
        reply
    };
    let reply = run(ANALYST_A, "/workspace").await;
    assert!(reply.contains("/workspace/reference/penguins.csv"), "{reply}");
    assert!(reply.ends_with("in all, nothing when it was counted last\n"), "{reply}");
    let words = reply.split_whitespace().next().unwrap().to_owned();
    let again = run(ANALYST_B, "/workspace").await;
    assert!(again.ends_with(&format!("in all, {words} when it was counted last\n")), "{again}");
    assert_eq!(run(AUDITOR, ".").await, "       0 in all, nothing when it was counted last\n");
}
