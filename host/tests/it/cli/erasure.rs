use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick::catalog::{
    AskErasure, Catalog, CatalogLocation, CatalogOptions, ErasureId, Label, Name, Promoter,
};
use bailiwick::clock::{Clock, SystemClock};
use bailiwick::limits::Limits;
use bailiwick::proofs::{PublicKey, SignedReceipt};
use bailiwick::scope::{AgentId, Coordinates, Grant, MountTable, SkillTable, WorkspaceId};
use bailiwick::space::Storage;
use bailiwick::store::{LocalStore, Precondition};
use rustix::process::Signal;

use super::super::postgres::Schema;
use super::harness::{Machine, signal};
use super::serve::Serving;

const SESSIONS: usize = 40;
const PATIENCE: Duration = Duration::from_secs(60);

async fn open(url: &str, store: &str) -> Catalog {
    let location = CatalogLocation::Server(url.to_owned());
    let clock = Arc::new(SystemClock);
    let options = CatalogOptions { location: &location, store, lease_ms: 2_000, clock };
    Catalog::open(options).await.unwrap()
}

async fn fill(catalog: &Catalog, store: &str) -> (WorkspaceId, AgentId) {
    let name = |name: &str| name.parse::<Name>().unwrap();
    let workspace = catalog.make_workspace(&name("acme")).await.unwrap().id();
    let agent = catalog.make_agent(workspace, &name("clerk")).await.unwrap().id();
    let clock = Arc::new(SystemClock);
    let files = LocalStore::open_ambient(store.as_ref(), clock.clone()).unwrap();
    let storage = Storage::new(Arc::new(files), clock, Limits::default());
    for number in 0..SESSIONS {
        let opener: Label = if number % 2 == 0 { "ann" } else { "bob" }.parse().unwrap();
        let called = name(&format!("s{number}"));
        let session = catalog.open_session(agent, &called, &opener).await.unwrap().id();
        let coordinates = Coordinates { workspace, agent, session: Some(session) };
        let table = MountTable::new(coordinates, Grant::default(), SkillTable::default());
        let space = storage.space(table);
        for path in ["session/a", "session/b/c"] {
            space.write(path, "kept".into(), Precondition::Always).await.unwrap();
        }
    }
    (workspace, agent)
}

async fn proved(catalog: &Catalog, id: ErasureId) -> String {
    let began = Instant::now();
    loop {
        let erasure = catalog.erasure(id).await.unwrap().unwrap();
        if let Some(receipt) = erasure.receipt {
            return receipt;
        }
        assert!(began.elapsed() < PATIENCE, "{erasure:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Two hosts work on an erasure, and one is killed in the middle: it is done once and proved once,
/// and anybody can check that who has the public key.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_is_proved_once_though_a_host_is_killed() {
    let Some(schema) = Schema::new().await else { return };
    let (one, other) = (Machine::new(), Machine::new());
    let store = one.path("files");
    std::fs::create_dir(&store).unwrap();
    let store = store.to_str().unwrap();
    let catalog = open(&schema.url(), store).await;
    let (workspace, agent) = fill(&catalog, store).await;
    let session = catalog.session(agent, &"s0".parse().unwrap()).await.unwrap();
    let at = Coordinates { workspace, agent, session };
    catalog.open_receipt(at, &Promoter::Operator, "session/a", "agent/begun").await.unwrap();
    let public = one.ok(&["receipts", "key"]);
    let key = one.data_dir().join("receipt-key.pem");
    let (url, key) = (schema.url(), key.to_str().unwrap().to_owned());
    let shared = ["--catalog", &url, "--store", store, "--lease", "2s", "--receipt-key-file", &key];
    let (killed, survivor) = (Serving::start(&one, &shared), Serving::start(&other, &shared));
    let subject: Label = "ann".parse().unwrap();
    let deadline_ms = SystemClock.now_ms() + 3_600_000;
    let asked = AskErasure { workspace, subject: Some(&subject), by: None, deadline_ms };
    let id = catalog.ask_erasure(asked).await.unwrap().id();
    loop {
        let parts = catalog.erasure_parts(id).await.unwrap();
        if parts.iter().filter(|part| part.deletion.is_some()).count() > 3 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    signal(killed.child.id(), Signal::KILL);
    let receipt = proved(&catalog, id).await;
    drop(killed);
    let signed = SignedReceipt::verified(&receipt, &PublicKey::parse(&public).unwrap()).unwrap();
    assert_eq!(signed.receipt.deletions.len(), SESSIONS / 2);
    for done in &signed.receipt.deletions {
        let counted = done.files - 2;
        assert!(counted <= 2 * done.resumed, "{done:?}");
    }
    let (done, log) = survivor.stop();
    assert_eq!(done.code, Some(0), "{log}");
    let mut left = 0;
    for entry in ignore::WalkBuilder::new(store).hidden(false).build() {
        left += usize::from(entry.unwrap().path().ends_with("b/c"));
    }
    assert_eq!(left, SESSIONS / 2, "bob's are there");

    let file = one.file("receipt.json", receipt.as_bytes());
    let public = public.trim();
    let told = one.ok(&["receipts", "verify", &file, "--public-key", public]);
    assert!(told.starts_with("verified: "), "{told}");
    assert!(told.contains("agent/begun") && told.contains("not known"), "{told}");
    let changed =
        one.file("changed.json", receipt.replace("\"files\":2", "\"files\":3").as_bytes());
    let refused = one.run(&["receipts", "verify", &changed, "--public-key", public]);
    assert!(refused.code == Some(1) && refused.err.contains("does not fit"), "{refused:?}");
    let others = other.ok(&["receipts", "key", "--pem"]);
    let others = other.file("key.pem", others.as_bytes());
    let refused = one.run(&["receipts", "verify", &file, "--public-key", &others]);
    assert!(refused.code == Some(1) && refused.err.contains("another key"), "{refused:?}");
}

/// An erasure is asked for on the command line, and shown with its receipt once it is proved.
#[test]
fn an_erasure_is_asked_for_on_the_command_line() {
    let machine = Machine::new();
    let file = machine.file("a", b"kept");
    machine.ok(&["files", "put", &file, "workspace/a", "-w", "acme"]);
    let asked = machine.run(&["erasure", "ask", "-w", "acme", "--within", "30d"]);
    assert_eq!(asked.code, Some(0), "{asked:?}");
    assert!(asked.err.contains("is deleted, and proved once"), "{asked:?}");
    let id = asked.err.split_whitespace().find(|word| word.len() == 36).unwrap();
    let shown = machine.run(&["erasure", "show", id]);
    assert!(shown.err.contains("is deleted, and proved once"), "{shown:?}");
    assert!(!machine.ok(&["workspaces", "ls"]).contains("acme"));
    let none = machine.run(&["erasure", "ask", "-w", "acme"]);
    assert_eq!(none.code, Some(1), "{none:?}");
}
