//! Erasures: from what was asked to a receipt, over real catalogs and the model store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bailiwick::catalog::{
    AskErasure, Blocked, Catalog, CatalogError, CatalogLocation, CatalogOptions, Ending, Enqueue,
    Erasure, ErasureId, Finish, Label, Name, Promoter, SettingsOf, TurnState,
};
use bailiwick::clock::Clock;
use bailiwick::erasure::Eraser;
use bailiwick::limits::Limits;
use bailiwick::proofs::{ReceiptKey, SignedReceipt};
use bailiwick::retention::Sweeper;
use bailiwick::scope::{
    Access, AgentId, Coordinates, Deletion, Grant, MountTable, SessionId, Sha256, SkillTable,
    WorkspaceId,
};
use bailiwick::space::Storage;
use bailiwick::store::{Layer, MemoryStore, ObjectStore, Precondition};
use serde_json::json;
use sha2::Digest as _;
use tempfile::TempDir;

use crate::faulty::{Fault, Faulty, Plan};
use crate::postgres::Schema;

const START_MS: u64 = 1_700_000_000_000;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// A clock that stands until it is moved.
#[derive(Debug)]
struct Hands(AtomicU64);

impl Clock for Hands {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A store and a catalog, and what works on them.
struct World {
    clock: Arc<Hands>,
    store: Faulty,
    storage: Arc<Storage>,
    catalog: Catalog,
    key: ReceiptKey,
    _kept: (TempDir, Option<Schema>),
}

fn name(name: &str) -> Name {
    name.parse().unwrap()
}

fn label(label: &str) -> Label {
    label.parse().unwrap()
}

impl World {
    async fn on_sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = CatalogLocation::File(folder.path().join("catalog.sqlite"));
        Self::on(location, (folder, None)).await
    }

    async fn on_both() -> Vec<Self> {
        let mut worlds = vec![Self::on_sqlite().await];
        if let Some(schema) = Schema::new().await {
            let location = CatalogLocation::Server(schema.url());
            worlds.push(Self::on(location, (tempfile::tempdir().unwrap(), Some(schema))).await);
        }
        worlds
    }

    async fn on(location: CatalogLocation, kept: (TempDir, Option<Schema>)) -> Self {
        let clock = Arc::new(Hands(AtomicU64::new(START_MS)));
        let store = Faulty::new(Arc::new(MemoryStore::keeping_versions(clock.clone())));
        let storage = Storage::new(Arc::new(store.clone()), clock.clone(), Limits::default());
        let lease_ms = Limits::default().turn_lease_ms;
        let options =
            CatalogOptions { location: &location, store: "files", lease_ms, clock: clock.clone() };
        let catalog = Catalog::open(options).await.unwrap();
        let key = ReceiptKey::generate().unwrap().0;
        Self { clock, store, storage, catalog, key, _kept: kept }
    }

    fn pass(&self, ms: u64) {
        self.clock.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// Another host of the same deployment.
    fn eraser(&self) -> Eraser {
        let (limits, clock) = (Limits::default(), self.clock.clone());
        Eraser::new(self.catalog.clone(), self.key.clone(), limits, clock, Arc::new(()))
    }

    async fn go_on(&self) {
        self.eraser().tick().await.unwrap();
        let sweeper = Sweeper::new(self.catalog.clone(), self.storage.clone(), Arc::new(()));
        sweeper.empty_owed().await;
        self.eraser().tick().await.unwrap();
    }

    async fn agent(&self, workspace: &str, agent: &str) -> (WorkspaceId, AgentId) {
        let workspace = self.catalog.make_workspace(&name(workspace)).await.unwrap().id();
        (workspace, self.catalog.make_agent(workspace, &name(agent)).await.unwrap().id())
    }

    /// A session that somebody opened, with files that were changed.
    async fn session(
        &self,
        (workspace, agent): (WorkspaceId, AgentId),
        called: &str,
        opener: &str,
    ) -> SessionId {
        let opened = self.catalog.open_session(agent, &name(called), &label(opener)).await;
        let session = opened.unwrap().id();
        let coordinates = Coordinates { workspace, agent, session: Some(session) };
        let all = Some(Access::ReadWrite);
        let grant = Grant { agent: all, workspace: all };
        let space = self.storage.space(MountTable::new(coordinates, grant, SkillTable::default()));
        for path in ["session/a", "session/b/c", "session/a", "agent/kept"] {
            space.write(path, path.to_owned().into(), Precondition::Always).await.unwrap();
        }
        session
    }

    async fn ask(&self, workspace: WorkspaceId, subject: Option<&str>) -> ErasureId {
        let subject = subject.map(label);
        let (by, deadline_ms) = (label("officer"), START_MS + 30 * DAY_MS);
        let asked = AskErasure { workspace, subject: subject.as_ref(), by: Some(&by), deadline_ms };
        self.catalog.ask_erasure(asked).await.unwrap().id()
    }

    async fn erasure(&self, id: ErasureId) -> Erasure {
        self.catalog.erasure(id).await.unwrap().unwrap()
    }

    async fn receipt(&self, id: ErasureId) -> SignedReceipt {
        let erasure = self.erasure(id).await;
        let text = erasure.receipt.unwrap_or_else(|| panic!("{id} is not proved"));
        SignedReceipt::verified(&text, &self.key.public()).unwrap()
    }

    async fn left(&self, deletion: Deletion) -> usize {
        let mut left = 0;
        for prefix in deletion.prefixes() {
            for layer in Layer::ALL {
                left += self.store.remains(&prefix, layer, None, 1000).await.unwrap().left.len();
            }
        }
        left
    }

    async fn turn(&self, workspace: WorkspaceId, session: SessionId) {
        let bytes = b"component";
        let component = Sha256(sha2::Sha256::digest(bytes).into());
        let echo = name("echo");
        self.catalog.upload_component(workspace, &echo, component, bytes).await.unwrap();
        let request = None;
        let turn = Enqueue { session, component, input: "", retries: 0, request };
        self.catalog.enqueue(turn).await.unwrap();
    }
}

const LEASE_MS: u64 = 360_000;

/// A workspace is erased, proved once nothing can come any more, and its receipt says so when it
/// is gone; its neighbour has all that it had.
#[tokio::test]
async fn a_workspace_is_erased_and_proved() {
    for world in World::on_both().await {
        let doomed = world.agent("acme", "clerk").await;
        let kept = world.agent("acme1", "clerk").await;
        world.session(doomed, "monday", "ann").await;
        world.session(kept, "monday", "ann").await;
        let before = world.left(Deletion::Workspace(kept.0)).await;
        let id = world.ask(doomed.0, None).await;
        assert_eq!(world.ask(doomed.0, None).await, id, "asked twice it is one");
        world.go_on().await;
        let deleted = world.erasure(id).await;
        assert!(deleted.gone_ms.is_some() && deleted.proved_ms.is_none(), "{deleted:?}");
        assert_eq!(world.catalog.workspace(&name("acme")).await.unwrap(), None);
        world.pass(LEASE_MS);
        world.go_on().await;
        world.go_on().await;
        let signed = world.receipt(id).await;
        let (asked, deletions) = (&signed.receipt.asked, &signed.receipt.deletions);
        assert_eq!(asked.workspace, doomed.0.to_string());
        assert_eq!(asked.by, Some(world.key.hash("officer")));
        assert_eq!(deletions.len(), 1);
        let done = &deletions[0];
        assert_eq!((done.what.as_str(), &done.id), ("workspace", &doomed.0.to_string()));
        assert_eq!((done.files, done.versions, done.markers), (3, 1, 0), "{done:?}");
        assert!(done.proved_ms >= done.deleted_ms + LEASE_MS, "{done:?}");
        assert!(signed.receipt.unpromised.is_empty());
        assert_eq!(world.left(Deletion::Workspace(doomed.0)).await, 0);
        assert_eq!(world.left(Deletion::Workspace(kept.0)).await, before);
        assert!(world.erasure(id).await.by.is_none(), "who asked is not kept in the clear");
    }
}

/// With a subject, the sessions that he opened go, in that workspace, and no others; the receipt
/// hides who he was, and names what was promoted out of them.
#[tokio::test]
async fn a_subjects_sessions_are_erased() {
    for world in World::on_both().await {
        let here = world.agent("acme", "clerk").await;
        let there = world.agent("elsewhere", "clerk").await;
        let anns =
            [world.session(here, "one", "ann").await, world.session(here, "two", "ann").await];
        let others = [
            (here, world.session(here, "three", "anne").await),
            (there, world.session(there, "one", "ann").await),
        ];
        let at = Coordinates { workspace: here.0, agent: here.1, session: Some(anns[0]) };
        let by = Promoter::Subject(label("ann"));
        let receipt = world.catalog.open_receipt(at, &by, "session/a", "agent/a").await.unwrap();
        world.catalog.complete_receipt(receipt, "r").await.unwrap();
        world.catalog.open_receipt(at, &by, "session/a", "agent/begun").await.unwrap();
        let id = world.ask(here.0, Some("ann")).await;
        world.go_on().await;
        world.pass(LEASE_MS);
        world.go_on().await;
        let signed = world.receipt(id).await;
        let mut ids: Vec<_> = anns.iter().map(ToString::to_string).collect();
        ids.sort();
        let done: Vec<_> = signed.receipt.deletions.iter().map(|done| done.id.clone()).collect();
        assert_eq!(done, ids);
        assert_eq!(signed.receipt.asked.subject, Some(world.key.hash("ann")));
        let lives_on = signed.receipt.promoted.iter();
        let lives_on: Vec<_> = lives_on.map(|copy| (&*copy.path, &*copy.revision)).collect();
        assert_eq!(lives_on, [("agent/a", "r"), ("agent/begun", "not known")]);
        assert!(!signed.to_text().contains("ann\""), "{}", signed.to_text());
        assert_eq!(world.erasure(id).await.subject, None);
        for session in anns {
            assert_eq!(world.left(Deletion::Session(here.0, here.1, session)).await, 0);
            assert!(world.catalog.session_by_id(session).await.unwrap().is_none());
        }
        for ((workspace, agent), session) in others {
            assert!(world.left(Deletion::Session(workspace, agent, session)).await > 0);
            assert!(world.catalog.session_by_id(session).await.unwrap().is_some());
        }
    }
}

/// What a subject was asked and answered goes as well where his session went before, by its age or by
/// hand; what others were asked stays.
#[tokio::test]
async fn questions_of_a_subjects_gone_sessions_are_erased() {
    for world in World::on_both().await {
        let (workspace, agent) = world.agent("acme", "clerk").await;
        let catalog = &world.catalog;
        for (called, opener) in [("one", "ann"), ("two", "ann"), ("three", "anne")] {
            let session = world.session((workspace, agent), called, opener).await;
            world.turn(workspace, session).await;
            let lease = catalog.claim("host", 1).await.unwrap()[0].lease;
            let ending = Ending::Asked { question: opener.to_owned(), component: None };
            let (wakes, events, invoked) = (Vec::new(), Vec::new(), Vec::new());
            let asks = Finish { ending, said: String::new(), wakes, events, recorded: 0, invoked };
            catalog.finish_turn(lease, &asks).await.unwrap();
            catalog.cancel(lease.turn).await.unwrap();
            if called != "two" {
                catalog.remove_session(session).await.unwrap();
            }
        }
        let asked = async || {
            let settled = catalog.settled_questions(workspace, None, 10).await.unwrap();
            settled.into_iter().map(|settled| settled.question).collect::<Vec<_>>()
        };
        assert_eq!(asked().await, ["anne", "ann", "ann"]);
        let held = json!({ "retention_hold": { "value": true } });
        let of = SettingsOf::Agent(agent);
        catalog.put_settings(of, &held).await.unwrap();
        let id = world.ask(workspace, Some("ann")).await;
        world.go_on().await;
        assert_eq!(world.erasure(id).await.blocked, Some(Blocked::Held));
        assert_eq!(asked().await, ["anne", "ann", "ann"]);
        catalog.put_settings(of, &json!({})).await.unwrap();
        world.go_on().await;
        assert_eq!(asked().await, ["anne"]);
        world.pass(LEASE_MS);
        world.go_on().await;
        world.receipt(id).await;
    }
}

/// A hold stops an erasure, by a setting of whatever level or of a session, and says so; once it
/// is lifted, the erasure goes on.
#[tokio::test]
async fn a_hold_stops_an_erasure() {
    let world = World::on_sqlite().await;
    let (workspace, agent) = world.agent("acme", "clerk").await;
    let session = world.session((workspace, agent), "monday", "ann").await;
    let id = world.ask(workspace, None).await;
    let held = json!({ "retention_hold": { "value": true } });
    for of in [SettingsOf::Deployment, SettingsOf::Workspace(workspace), SettingsOf::Agent(agent)] {
        world.catalog.put_settings(of, &held).await.unwrap();
        world.go_on().await;
        assert_eq!(world.erasure(id).await.blocked, Some(Blocked::Held), "{of:?}");
        world.catalog.put_settings(of, &json!({})).await.unwrap();
    }
    world.catalog.hold_session(session).await.unwrap();
    world.go_on().await;
    assert_eq!(world.erasure(id).await.blocked, Some(Blocked::Held));
    assert!(world.left(Deletion::Workspace(workspace)).await > 0);
    world.catalog.release_session(session).await.unwrap();
    world.go_on().await;
    world.pass(LEASE_MS);
    world.go_on().await;
    world.receipt(id).await;
}

/// Turns are stopped, none begins any more, and what runs is waited for.
#[tokio::test]
async fn turns_are_stopped_for_an_erasure() {
    for world in World::on_both().await {
        let (workspace, agent) = world.agent("acme", "clerk").await;
        let session = world.session((workspace, agent), "monday", "ann").await;
        world.turn(workspace, session).await;
        let claimed = world.catalog.claim("host", 1).await.unwrap();
        assert_eq!(claimed.len(), 1);
        let id = world.ask(workspace, Some("ann")).await;
        world.go_on().await;
        assert_eq!(world.erasure(id).await.blocked, Some(Blocked::Running));
        let turn = world.catalog.turn(claimed[0].lease.turn).await.unwrap().unwrap();
        assert_eq!(turn.state, TurnState::Running);
        let component = claimed[0].component;
        let request = None;
        let late = Enqueue { session, component, input: "", retries: 0, request };
        let late = world.catalog.enqueue(late).await;
        assert!(matches!(late, Err(CatalogError::Closed)), "{late:?}");
        // The host of the turn is gone.
        world.pass(LEASE_MS + 1);
        world.go_on().await;
        world.pass(LEASE_MS);
        world.go_on().await;
        world.receipt(id).await;
    }
}

/// Whichever store call fails, and whichever host goes on, it is done once and proved once.
#[tokio::test]
async fn a_failing_store_delays_a_proof_and_loses_nothing() {
    for nth in 0.. {
        let world = World::on_sqlite().await;
        let doomed = world.agent("acme", "clerk").await;
        world.session(doomed, "monday", "ann").await;
        let id = world.ask(doomed.0, None).await;
        world.store.plan(Plan::Nth(nth, Fault::After));
        world.go_on().await;
        let was_reached = world.store.calls() > nth;
        world.store.plan(Plan::None);
        for _ in 0..3 {
            world.pass(DAY_MS);
            world.go_on().await;
        }
        let signed = world.receipt(id).await;
        let done = &signed.receipt.deletions[0];
        assert_eq!((done.files, done.versions), (3, 1), "call {nth}");
        assert_eq!(world.left(Deletion::Workspace(doomed.0)).await, 0, "call {nth}");
        let again = world.erasure(id).await;
        let forged = world.catalog.settle_erasure(&again, "another", None).await.unwrap();
        assert!(!forged, "it is proved once");
        if !was_reached {
            break;
        }
    }
}

/// Two hosts at once write one receipt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hosts_prove_an_erasure_once() {
    for world in World::on_both().await {
        let doomed = world.agent("acme", "clerk").await;
        for number in 0..5 {
            world.session(doomed, &format!("s{number}"), "ann").await;
        }
        let id = world.ask(doomed.0, Some("ann")).await;
        for _ in 0..3 {
            tokio::join!(world.go_on(), world.go_on(), world.go_on());
            world.pass(LEASE_MS);
        }
        let signed = world.receipt(id).await;
        assert_eq!(signed.receipt.deletions.len(), 5);
        for done in &signed.receipt.deletions {
            assert_eq!((done.files, done.versions, done.resumed), (2, 1, 0), "{done:?}");
        }
    }
}

/// How many erasures were told to be open, near their deadline, and late.
#[derive(Debug, Default)]
struct Told(std::sync::Mutex<(u64, u64, u64)>);

impl bailiwick::erasure::Observer for Told {
    fn erasures(&self, open: u64, near: u64, late: u64) {
        *self.0.lock().unwrap() = (open, near, late);
    }
}

/// While a deadline is near, or over, and the erasure is not proved, it is counted as such.
#[tokio::test]
async fn a_deadline_that_is_near_is_told() {
    let world = World::on_sqlite().await;
    let (workspace, agent) = world.agent("acme", "clerk").await;
    let session = world.session((workspace, agent), "monday", "ann").await;
    world.catalog.hold_session(session).await.unwrap();
    let id = world.ask(workspace, None).await;
    let told = Arc::new(Told::default());
    let (limits, clock) = (Limits::default(), world.clock.clone());
    let eraser = Eraser::new(world.catalog.clone(), world.key.clone(), limits, clock, told.clone());
    for (days, expected) in [(0, (1, 0, 0)), (26, (1, 0, 0)), (1, (1, 1, 0)), (3, (1, 0, 1))] {
        world.pass(days * DAY_MS);
        eraser.tick().await.unwrap();
        assert_eq!(*told.0.lock().unwrap(), expected);
    }
    world.catalog.release_session(session).await.unwrap();
    world.go_on().await;
    world.pass(LEASE_MS);
    world.go_on().await;
    assert_eq!(eraser.tick().await.unwrap(), 0);
    assert_eq!(*told.0.lock().unwrap(), (0, 0, 0));
    let signed = world.receipt(id).await;
    assert!(signed.receipt.proved_ms > signed.receipt.asked.deadline_ms, "it was late");
}
